package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/store"
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
	sent := ada.call(t, "send_bot", map[string]any{
		"meetingUrl": "https://meet.google.com/abc-defg-hij", "live": true, "speak": true, "joinAt": time.Now().Add(time.Hour).Format(time.RFC3339),
	})
	id, _ := sent.field("job", "jobId").(string)
	at := time.Now()
	heard := func(id, text string, revision int, final bool) job.MeetingText {
		return job.MeetingText{
			Kind: job.TranscriptText, ID: id, Author: "Ada", Text: text, StartedAt: at, EndedAt: at.Add(time.Second),
			Speech: &job.Speech{Revision: revision, Final: final, EndMs: 1000},
		}
	}
	err := h.Store().Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for _, text := range []job.MeetingText{
			{Kind: job.CaptionText, ID: "1", Author: "Ada", Text: "helo", StartedAt: at, EndedAt: at},
			heard("1-1", "hello", 1, false), heard("1-1", "hello there", 2, true), heard("1-2", "well", 1, false), heard("1-2", "", 2, true),
		} {
			if _, err := tx.AppendTexts(ctx, uuid.MustParse(id), []job.MeetingText{text}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.heartbeat(t, id, `{"participants":[{"id":"p-1","name":"Ada","speaking":true},{"id":"p-2","name":"Ben"}]}`)
	listened := ada.call(t, "listen", map[string]any{"jobId": id})
	if lines, speaking := listened.lines("lines"), listened.lines("speaking"); !slices.Equal(lines, []string{"[00:00:00] Ada: hello there"}) || !slices.Equal(speaking, []string{"Ada"}) {
		t.Errorf("listened to %s", listened.text)
	}
	got := ada.call(t, "get_transcript", map[string]any{"jobId": id})
	if want := []string{"[00:00:00] Ada: hello there"}; !slices.Equal(got.lines("lines"), want) {
		t.Errorf("got %s, want %q", got.text, want)
	}
}
