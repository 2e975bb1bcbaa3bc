package mcpserver_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store"
)

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
	got := ada.call(t, "get_transcript", map[string]any{"jobId": id})
	if want := []string{"[00:00:00] Ada: hello there"}; !slices.Equal(got.lines("lines"), want) {
		t.Errorf("got %s, want %q", got.text, want)
	}
}
