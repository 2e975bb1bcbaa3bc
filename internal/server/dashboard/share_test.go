package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"standin/internal/server/service"
)

// TestShare opens a recording with a link, without signing in.
func TestShare(t *testing.T) {
	t.Parallel()
	f := recorded(newHarness(t, func(s *service.Settings) { s.ShareLinks = time.Hour }))
	ada, visitor := f.signedIn(f.ada.Email), f.person()
	page := "/jobs/" + f.done.String()
	link := sharedLink(ada, page)
	got := visitor.get(link)
	media := regexp.MustCompile(`src="(/shared/media/[^"]*)"`).FindStringSubmatch(got.body)
	if got.status != http.StatusOK || !strings.Contains(got.body, "quarterly budget") || media == nil {
		t.Fatalf("the shared page: %d %s", got.status, got.body)
	}
	if strings.Contains(got.body, "standup-0412") || !strings.Contains(got.body, "<h1 class=\"break\">Recording</h1>") {
		t.Error("the shared page shows the external ID, or no title")
	}
	if got := visitor.get(html.UnescapeString(media[1])); got.status != http.StatusOK || got.header.Get("Content-Type") != "video/mp4" {
		t.Errorf("the video: %d %s", got.status, got.header.Get("Content-Type"))
	}
	for _, path := range []string{page, page + "/media/recording.mp4", page + "/manifest"} {
		visitor.get(path).want(t, path+" without signing in", http.StatusSeeOther)
	}
	for _, wrong := range []string{"/shared", "/shared?token=x", link[:len(link)-1], strings.Replace(link, "token=", "token=A", 1)} {
		visitor.get(wrong).want(t, wrong, http.StatusNotFound)
	}
	second := sharedLink(ada, page)
	listed := regexp.MustCompile(`name="link" value="([0-9a-f]{64})"`).FindAllStringSubmatch(ada.get(page).body, -1)
	if len(listed) != 2 || strings.Count(ada.get(page).body, "ada@example.test") < 2 {
		t.Fatalf("%d links are listed", len(listed))
	}
	ada.submit(page, page+"/share/revoke", url.Values{"link": {listed[0][1]}}).want(t, "revoke", http.StatusSeeOther)
	if got := visitor.get(second); got.status != http.StatusNotFound || visitor.get(link).status != http.StatusOK {
		t.Errorf("the revoked link: %d, the other: %d", got.status, visitor.get(link).status)
	}
	f.otherUser()
	f.signedIn("bob@example.test").submit("/jobs/new", page+"/share", nil).want(t, "another team shares it", http.StatusNotFound)
	ada.submit(page, page+"/delete-recording", nil)
	visitor.get(link).want(t, "after the deletion", http.StatusNotFound)
}

// TestShareEnds checks links that have expired, and a service that allows none.
func TestShareEnds(t *testing.T) {
	t.Parallel()
	f := recorded(newHarness(t, func(s *service.Settings) { s.ShareLinks = time.Nanosecond }))
	page := "/jobs/" + f.done.String()
	f.person().get(sharedLink(f.signedIn(f.ada.Email), page)).want(t, "an expired link", http.StatusGone)
	f = recorded(newHarness(t))
	ada, page := f.signedIn(f.ada.Email), "/jobs/"+f.done.String()
	if got := ada.submit(page, page+"/share", url.Values{}); got.status != http.StatusNotFound ||
		strings.Contains(ada.get(page).body, ">Share<") {
		t.Errorf("links are not allowed: %d", got.status)
	}
}

// sharedLink creates a link to the recording of a job and returns its path.
func sharedLink(p *person, page string) string {
	p.Helper()
	got := p.submit(page, page+"/share", nil)
	found := regexp.MustCompile(`<code[^>]*>[^<]*(/shared\?token=[\w-]+)</code>`).FindStringSubmatch(got.body)
	if found == nil {
		p.Fatalf("share: %d %s", got.status, got.body)
	}
	return found[1]
}
