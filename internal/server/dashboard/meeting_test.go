package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// beat sends a heartbeat of a live job's bot with a roster.
func (h *harness) beat(id uuid.UUID, roster string) {
	h.Helper()
	h.ingest(id, ingest.HeartbeatPath, fmt.Sprintf(`{"jobId":%q,"attempt":0,"stats":{"bytesRecorded":0,"bytesUploaded":0,"eventsWaiting":0,"recordedMillis":0,"roster":{"participants":[%s]}}}`, id, roster))
}

// spoken stores captions and a message of a running meeting.
func (h *harness) spoken(id uuid.UUID) {
	h.Helper()
	err := h.Store().Write(h.Context(), func(ctx context.Context, tx *store.Tx) error {
		now := time.Now()
		_, err := tx.AppendTexts(ctx, id, []job.MeetingText{
			{Kind: job.CaptionText, ID: "1", Author: "Ada Quill", Text: "Let us begin.", StartedAt: now, EndedAt: now},
			{Kind: job.ChatText, ID: "2", Author: "Ben Okafor", Text: "The agenda is in the invitation.", StartedAt: now.Add(time.Second), EndedAt: now.Add(time.Second)},
			{Kind: job.CaptionText, ID: "3", Author: "Ada Quill", Text: "Thank you, Ben.", StartedAt: now.Add(2 * time.Second), EndedAt: now.Add(2 * time.Second)},
		})
		return err
	})
	if err != nil {
		h.Fatal(err)
	}
}

var element = regexp.MustCompile(`<[^>]*>`)

// TestMeeting shows who is in a running meeting and what is said, and why nothing comes.
func TestMeeting(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ada := h.signedIn(h.ada().Email)
	send := func(form url.Values) (uuid.UUID, func() string) {
		form.Set("mode", "live")
		form.Set("meetingUrl", "https://meet.google.com/abc-defg-hij")
		id := ada.sendBot(form)
		return id, func() string { return element.ReplaceAllString(ada.get("/jobs/"+id.String()).body, "") }
	}
	id, page := send(url.Values{"title": {"Weekly sync"}, "captions": {"on"}, "chat": {"on"}})
	has := func(text string, want bool) {
		t.Helper()
		if got := page(); strings.Contains(got, text) != want {
			t.Errorf("the page shows %q: %v, want %v\n%s", text, !want, want, got)
		}
	}
	h.report(id, "lifecycle.joined", struct{}{})
	h.report(id, "lifecycle.entering_lobby", struct{}{})
	has("The bot is waiting in the lobby", true)
	has("In the lobby for", true)
	has("The bot is not in the meeting yet.", true)
	h.report(id, "lifecycle.in_meeting", struct{}{})
	h.report(id, "lifecycle.recording_started", struct{}{})
	has("Nothing was said or written yet.", true)
	h.beat(id, `{"id":"p-1","name":"Ada Quill","speaking":true},{"id":"p-2","name":"Ben Okafor"}`)
	h.spoken(id)
	for _, text := range []string{
		"Weekly sync", "Ada Quill speaks", "Let us begin.", "The agenda is in the invitation.",
		"The first picture comes within a few seconds.",
	} {
		has(text, true)
	}
	has("Ben Okafor speaks", false)
	has("Nothing was said", false)
	ada.submit("/jobs/"+id.String(), "/jobs/"+id.String()+"/pin", url.Values{"participantId": {"p-2"}}).want(t, "pin", http.StatusSeeOther)
	h.report(id, "lifecycle.recording_paused", struct{}{})
	has("captions and chat are not kept", true)
	has("No picture is taken while the recording is paused.", true)
	h.report(id, "lifecycle.exited", map[string]string{"failureCode": "removed_from_meeting"})
	has("Captions and chat", false)

	again := ada.get("/jobs/new?again=" + id.String()).body
	for _, filled := range []string{
		`value="Weekly sync"`, `https://meet.google.com/abc-defg-hij</textarea>`, `name="captions" checked`, `name="chat" checked`,
	} {
		if !strings.Contains(again, filled) {
			t.Errorf("the form that sends the bot again lacks %s", filled)
		}
	}

	id, page = send(url.Values{})
	h.report(id, "lifecycle.joined", struct{}{})
	h.report(id, "lifecycle.in_meeting", struct{}{})
	has("Captions and chat are off for this job.", true)
}

// TestBulk cancels several jobs, and sends the bots of several again.
func TestBulk(t *testing.T) {
	t.Parallel()
	f := populate(newHarness(t))
	ada := f.signedIn(f.ada.Email)
	jobs := func() int { return strings.Count(ada.get("/jobs?mode=test").body, `id="job-`) }
	before := jobs()
	got := ada.submit("/jobs?mode=test", "/jobs/bulk", url.Values{
		"job": {f.done.String(), f.failed.String()}, "verb": {"again"}, "back": {"mode=test"},
	})
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/jobs?mode=test&note=jobs-sent" || jobs() != before+2 {
		t.Errorf("sent again: %d to %s, %d jobs instead of %d", got.status, got.header.Get("Location"), jobs(), before)
	}
	ada.submit("/jobs", "/jobs/bulk", url.Values{"job": {f.scheduled.String(), f.running.String()}, "verb": {"cancel"}})
	for _, id := range []uuid.UUID{f.scheduled, f.running} {
		if status := f.job(id.String()).Status; status != job.Cancelled {
			t.Errorf("a job is %s", status)
		}
	}
	f.otherUser()
	bob := f.signedIn("bob@example.test")
	bob.submit("/jobs/new", "/jobs/bulk", url.Values{
		"job": {f.done.String()}, "verb": {"again"},
	}).want(t, "another team's job", http.StatusNotFound)
}

// TestTranscriptDownload downloads what was said as text and as subtitles.
func TestTranscriptDownload(t *testing.T) {
	t.Parallel()
	f := recorded(newHarness(t))
	ada := f.signedIn(f.ada.Email)
	unrecorded := ada.sendBot(url.Values{"mode": {"live"}, "meetingUrl": {"https://meet.google.com/abc-defg-hij"}})
	for path, want := range map[string]string{"/transcript": "quarterly budget", "/transcript?format=vtt": "WEBVTT"} {
		if got := ada.get("/jobs/" + f.done.String() + path); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %.200s", path, got.status, got.body)
		}
	}
	ada.get("/jobs/"+unrecorded.String()+"/transcript").want(t, "a job without a recording", http.StatusNotFound)
}
