package mcpserver_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// heartbeat reports who is in a meeting, as its bot does.
func (h *harness) heartbeat(t *testing.T, id, roster string) {
	t.Helper()
	body := fmt.Sprintf(`{"jobId":%q,"attempt":0,"acked":[],"stats":{"roster":%s}}`, id, roster)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.BaseURL()+"/api/v1/ingest/heartbeat", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+ingest.Token([]byte("key"), id, 0))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the heartbeat: %s", response.Status)
	}
}

// TestLiveTranscript checks that an agent gets what the live transcriber has heard, in its
// last revision, instead of the captions.
func TestLiveTranscript(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.overHTTP(t, h.ada)
	id, at := h.scheduled(t), time.Now()
	heard := func(id, text string, revision int, final bool) job.MeetingText {
		return job.MeetingText{
			Kind: job.TranscriptText, ID: id, Author: "Ada", Text: text, StartedAt: at, EndedAt: at.Add(time.Second),
			Speech: &job.Speech{Revision: revision, Final: final, EndMs: 1000},
		}
	}
	for _, text := range []job.MeetingText{
		{Kind: job.CaptionText, ID: "1", Author: "Ada", Text: "helo", StartedAt: at, EndedAt: at},
		heard("1-1", "hello", 1, false), heard("1-1", "hello there", 2, true), heard("1-2", "well", 1, false), heard("1-2", "", 2, true),
	} {
		h.say(t, id, text)
	}
	h.heartbeat(t, id, `{"participants":[{"id":"p-1","name":"Ada","speaking":true},{"id":"p-2","name":"Ben"}]}`)
	for _, tool := range []string{"listen", "get_transcript"} {
		got := ada.call(t, tool, `{"jobId":"`+id+`"}`)
		if !slices.Equal(got.lines("lines"), []string{"[00:00:00] Ada: hello there"}) ||
			tool == "listen" && !slices.Equal(got.lines("speaking"), []string{"Ada"}) {
			t.Errorf("%s: %s", tool, got.text)
		}
	}
}
