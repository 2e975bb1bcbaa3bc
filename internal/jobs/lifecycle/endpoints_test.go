package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/testing/world"
)

// TestEndpointEvents checks that registered endpoints get the events that they have chosen,
// in order and once, beside the URLs of the job.
func TestEndpointEvents(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	const live, all = "https://hooks.test/live", "https://hooks.test/all"
	h.registerEndpoint(t, h.Caller, live, "participant.*", "chat.message", "transcript.data")
	h.registerEndpoint(t, h.Caller, all, "*")
	h.registerEndpoint(t, h.Caller, world.StatusURL, webhook.JobStatusChanged) // also of the job
	other := h.Caller
	other.Mode = job.Test
	h.registerEndpoint(t, other, "https://hooks.test/other", "*")

	id := h.begun(t)
	h.walk(t, id, job.BotJoined)
	ada, ben := ingest.LiveParticipant{ID: "p1", Name: "Ada", Speaking: true}, ingest.LiveParticipant{ID: "p2", Name: "Ben"}
	for _, roster := range [][]ingest.LiveParticipant{{ada}, {ada, ben}, {ada, ben}, {ben}} {
		beat := ingest.Heartbeat{Stats: &ingest.Stats{Roster: &ingest.LiveRoster{Participants: roster}}}
		if _, err := h.Heartbeat(t.Context(), ingest.Simulated(id, 0), beat, 0); err != nil {
			t.Fatal(err)
		}
	}
	chat := ingest.Texts{Texts: []ingest.Text{
		{ID: "1", Kind: job.ChatText, Text: "Hello", StartedAt: time.Now(), EndedAt: time.Now()},
		{ID: "2", Kind: job.CaptionText, Text: "Hello", StartedAt: time.Now(), EndedAt: time.Now()},
	}}
	for range 2 { // a repetition changes nothing
		if _, err := h.IngestTexts(t.Context(), ingest.Simulated(id, 0), chat); err != nil {
			t.Fatal(err)
		}
	}
	heard := job.MeetingText{Kind: job.TranscriptText, ID: "p1-000001", Author: "Ada", Text: "Hello", Speech: &job.Speech{Revision: 1}}
	final := heard
	final.Speech = &job.Speech{Revision: 2, Final: true}
	for _, text := range []job.MeetingText{heard, final, final} { // a segment that may change is not told, and one that does not is told once
		if err := h.StoreLiveTexts(t.Context(), id, 0, []job.MeetingText{text}); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string][]string{}
	for i, e := range h.outbox(t, id) {
		got[e.URL] = append(got[e.URL], e.Event)
		if i > 0 && e.Sequence == 0 {
			t.Errorf("event %d has no sequence", i)
		}
	}
	inMeeting := []string{
		webhook.ParticipantJoined, webhook.ParticipantSpeaking, webhook.ParticipantJoined, webhook.ParticipantSpeaking, webhook.ParticipantLeft,
		webhook.ChatMessage, webhook.TranscriptData,
	}
	changes := []string{webhook.JobStatusChanged, webhook.JobStatusChanged}
	for url, want := range map[string][]string{world.StatusURL: changes, live: inMeeting, all: slices.Concat(changes, inMeeting)} {
		if !slices.Equal(got[url], want) {
			t.Errorf("%s got %v, want %v", url, got[url], want)
		}
		delete(got, url)
	}
	if len(got) > 0 {
		t.Errorf("others got %v", got)
	}
	if r := h.Record(t, id); r.Sequence != 9 {
		t.Errorf("the job has %d events, want 9", r.Sequence)
	}
}

// registerEndpoint registers an endpoint.
func (h *harness) registerEndpoint(t *testing.T, as account.Caller, url string, events ...string) webhook.Endpoint {
	t.Helper()
	e, err := h.RegisterEndpoint(t.Context(), as, lifecycle.NewEndpoint{URL: url, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestEndpointChoice checks what can be chosen and changed, and by whom.
func TestEndpointChoice(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	for _, wrong := range []lifecycle.NewEndpoint{
		{URL: "https://hooks.test/"}, {
			URL: "https://hooks.test/", Events: []string{"job.*", "webcam.on"},
		}, {URL: "https://hooks.test/", Events: []string{"job"}},
		{URL: "ftp://hooks.test/", Events: []string{"*"}}, {URL: "/hooks", Events: []string{"*"}}, {
			URL: "https://hooks.test/\n", Events: []string{"*"},
		},
		{URL: "https://hooks.test/", Events: make([]string, 51)}, {URL: "https://hooks.test/", Events: []string{"*"}, Description: "\x00"},
	} {
		if _, err := h.RegisterEndpoint(t.Context(), h.Caller, wrong); !job.ErrorIs(err, job.InvalidInput) {
			t.Errorf("register %+v: %v", wrong, err)
		}
	}
	e := h.registerEndpoint(t, h.Caller, "https://hooks.test/", "job.failed", "bot.*", "bot.*")
	if !slices.Equal(e.Events, []string{"bot.*", "job.failed"}) || lifecycle.StateOf(e) != lifecycle.Untried {
		t.Errorf("registered %+v", e)
	}
	off := false
	if e, err := h.ChangeEndpoint(t.Context(), h.Caller, e.ID, lifecycle.EndpointPatch{Enabled: &off}); err != nil || e.Enabled ||
		len(e.Events) != 2 {
		t.Errorf("changed %+v, %v", e, err)
	}
	for who, stranger := range h.otherCallers(t) {
		if _, err := h.Endpoint(t.Context(), stranger, e.ID); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("%s: %v", who, err)
		}
		if err := h.DeleteEndpoint(t.Context(), stranger, e.ID); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("%s deletes it: %v", who, err)
		}
	}
	if err := h.DeleteEndpoint(t.Context(), h.Caller, e.ID); err != nil {
		t.Error(err)
	}
	if _, err := h.Endpoint(t.Context(), h.Caller, e.ID); !job.ErrorIs(err, job.NotFound) {
		t.Errorf("a deleted endpoint: %v", err)
	}
}
