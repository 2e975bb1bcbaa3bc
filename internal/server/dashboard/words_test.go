package dashboard_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/store"
)

// said stores captions and a chat message of a job's meeting, which become
// searchable.
func (h *harness) said(id uuid.UUID, caption, message string) {
	h.Helper()
	r, err := h.Store().Job(h.Context(), id)
	if err != nil {
		h.Fatal(err)
	}
	start := r.StartedAt.Add(2 * time.Second)
	texts := []job.MeetingText{
		{Kind: job.CaptionText, ID: "1", Author: "Ada", Text: "good morning", StartedAt: start, EndedAt: start.Add(time.Second)},
		{Kind: job.CaptionText, ID: "2", Author: "Bob", Text: caption, StartedAt: start.Add(5 * time.Second), EndedAt: start.Add(9 * time.Second)},
		{Kind: job.ChatText, ID: "1", Author: "Carol", Text: message, StartedAt: start, EndedAt: start},
	}
	err = h.Store().Write(h.Context(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.AppendTexts(ctx, id, texts); err != nil {
			return err
		}
		return tx.ReplaceSearchTexts(ctx, r.Job, job.CaptionText, []job.SearchText{{StartMs: 7000, Speaker: "Bob", Text: caption}})
	})
	if err != nil {
		h.Fatal(err)
	}
}

// TestWords finds words of a meeting, follows the link to the player, and seeks
// with a caption. Markup in them is shown as text, and other consumers do not find
// them.
func TestWords(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	f := recorded(h)
	h.said(f.done, "the quarterly budget "+hostile, "a link "+hostile)
	page := openTab(t)
	page.signIn(h, f.ada.Email)
	page.Open(h.BaseURL() + "/search?mode=test")
	page.Fill(`input[name="q"]`, "budg quart")
	page.Click("form.filters button")
	page.AwaitText("the quarterly budget </script>")
	page.Until(harmless)
	page.Click(".matches a")
	page.at("/jobs/0")
	page.AwaitText("the quarterly budget </script>")
	page.AwaitText("a link </script>")
	page.Until(harmless)
	page.Until(`document.querySelector("video").currentTime > 6`)
	page.Until(`document.querySelector("[data-words] p[aria-current]") !== null`)
	page.Click("[data-words] p:first-child button")
	page.Until(`document.querySelector("video").currentTime < 6`)

	ada := f.signedIn(f.ada.Email)
	for query, found := range map[string]bool{
		"&speaker=BOB": true, "&speaker=ada": false, "&from=2020-01-01": true, "&to=2020-01-01": false,
		"&from=2020-01-01&to=2999-01-01&speaker=bob": true,
	} {
		if got := ada.get("/search?mode=test&q=budget" + query); got.status != 200 || strings.Contains(got.body, f.done.String()) != found {
			t.Errorf("%s: %d, want a match: %v", query, got.status, found)
		}
	}
	ada.get("/search?q=budget&from=yesterday").want(t, "no date", 400)

	f.otherUser()
	bob := f.signedIn("bob@example.test")
	if got := bob.get("/search?mode=test&q=budget"); got.status != 200 || strings.Contains(got.body, f.done.String()) {
		t.Errorf("another consumer finds the words (%d)", got.status)
	}
}
