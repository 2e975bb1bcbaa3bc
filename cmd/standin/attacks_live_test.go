package main

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestAttackLiveStreamsAfterRevocation follows a job on its page and with a key. Both
// streams end soon after the user was removed and the key was revoked.
func TestAttackLiveStreamsAfterRevocation(t *testing.T) {
	t.Parallel()
	s := startTarget(t, newDataDir(t))
	ada := s.operator()
	invited := ada.submit("/team", "/team/invite", url.Values{"email": {"bob@example.test"}})
	token := regexp.MustCompile(`/welcome\?token=([\w-]+)`).FindStringSubmatch(invited.body)
	if token == nil {
		t.Fatalf("the invitation: %d: %s", invited.status, invited.body)
	}
	bob := &visitor{target: s}
	bob.accept(token[1], "bob@example.test")
	key := s.key("crew")
	id := s.create(key, map[string]any{"joinAt": "2999-01-01T00:00:00Z"})
	page := s.follow("/jobs/"+id+"/live", http.Header{"Cookie": {bob.cookie}})
	stream := s.follow("/api/v1/jobs/"+id+"/live", http.Header{"Authorization": {"Bearer " + key}})

	removed := time.Now()
	member := regexp.MustCompile(`/team/[0-9a-f-]{36}/remove`).FindString(ada.get("/team").body)
	if got := ada.submit("/team", member, url.Values{}); got.status != http.StatusSeeOther {
		t.Fatalf("remove the member: %d: %s", got.status, got.body)
	}
	<-page
	checkSoon(t, "the page of a removed user", removed)

	keys, err := s.standin("keys", "list")
	if err != nil {
		t.Fatal(err)
	}
	keyID, _, _ := strings.Cut(keys[strings.LastIndex(strings.TrimSpace(keys), "\n")+1:], " ")
	if _, err := s.standin("keys", "revoke", keyID); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	<-stream
	checkSoon(t, "the stream of a revoked key", revoked)
}

// checkSoon checks that a stream ended within a few seconds after a revocation.
func checkSoon(t *testing.T, name string, revoked time.Time) {
	t.Helper()
	after := time.Since(revoked)
	t.Logf("%s ended after %s", name, after)
	if after > 8*time.Second { // an interval of 3 s, on a busy machine
		t.Errorf("%s ended only after %s", name, after)
	}
}

// follow opens a stream and waits for its first line. The channel is closed when the
// service ends the stream.
func (s *target) follow(path string, header http.Header) <-chan struct{} {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.base+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	request.Header = header
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = got.Body.Close() })
	stream := bufio.NewReader(got.Body)
	if first, err := stream.ReadString('\n'); got.StatusCode != http.StatusOK || err != nil {
		s.Fatalf("%s: status %d, %q, %v", path, got.StatusCode, first, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stream) // until the service ends it
	}()
	return ended
}
