package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"standin/internal/service"
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
	if got := visitor.get(html.UnescapeString(media[1])); got.status != http.StatusOK || got.header.Get("Content-Type") != "video/mp4" {
		t.Errorf("the video: %d %s", got.status, got.header.Get("Content-Type"))
	}
	for _, path := range []string{page, page + "/media/recording.mp4", page + "/manifest"} {
		if got := visitor.get(path); got.status != http.StatusSeeOther {
			t.Errorf("%s without signing in: %d", path, got.status)
		}
	}
	for _, wrong := range []string{"/shared", "/shared?token=x", link[:len(link)-1], strings.Replace(link, "token=", "token=A", 1)} {
		if got := visitor.get(wrong); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", wrong, got.status)
		}
	}
	second := sharedLink(ada, page)
	listed := regexp.MustCompile(`name="link" value="([0-9a-f]{64})"`).FindAllStringSubmatch(ada.get(page).body, -1)
	if len(listed) != 2 || strings.Count(ada.get(page).body, "ada@example.test") < 2 {
		t.Fatalf("%d links are listed", len(listed))
	}
	if got := ada.submit(page, page+"/share/revoke", url.Values{"link": {listed[0][1]}}); got.status != http.StatusSeeOther {
		t.Errorf("revoke: %d", got.status)
	}
	if got := visitor.get(second); got.status != http.StatusNotFound || visitor.get(link).status != http.StatusOK {
		t.Errorf("the revoked link: %d, the other: %d", got.status, visitor.get(link).status)
	}
	f.otherUser()
	if got := f.signedIn("bob@example.test").submit("/jobs/new", page+"/share", nil); got.status != http.StatusNotFound {
		t.Errorf("another team shares it: %d", got.status)
	}
	ada.submit(page, page+"/delete-recording", nil)
	if got := visitor.get(link); got.status != http.StatusNotFound {
		t.Errorf("after the deletion: %d", got.status)
	}
}

// TestShareEnds checks links that have expired, and a service that allows none.
func TestShareEnds(t *testing.T) {
	t.Parallel()
	f := recorded(newHarness(t, func(s *service.Settings) { s.ShareLinks = time.Nanosecond }))
	page := "/jobs/" + f.done.String()
	if got := f.person().get(sharedLink(f.signedIn(f.ada.Email), page)); got.status != http.StatusGone {
		t.Errorf("an expired link: %d", got.status)
	}
	f = recorded(newHarness(t))
	ada, page := f.signedIn(f.ada.Email), "/jobs/"+f.done.String()
	if got := ada.submit(page, page+"/share", url.Values{}); got.status != http.StatusNotFound || strings.Contains(ada.get(page).body, ">Share<") {
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
