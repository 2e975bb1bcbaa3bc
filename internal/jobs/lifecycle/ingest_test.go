package lifecycle_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/testing/world"
)

// TestIngestRejections checks that rejected events are answered with the reason, are
// on the timeline, and change no status.
func TestIngestRejections(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		id := h.begun(t)
		h.begin(t, id) // attempt 0 was lost
		steps := []struct {
			attempt, n int
			kind       job.Trigger
			want       job.Reason
			status     job.Status
		}{
			{1, 0, job.BotJoined, "", job.Joining},
			{1, 0, job.BotJoined, job.Duplicate, job.Joining},
			{1, 1, job.BotJoined, job.OutOfOrder, job.Joining},
			{1, 1, job.BotJoined, job.Duplicate, job.Joining}, // rejected before, but received
			{0, 2, job.BotInMeeting, job.StaleAttempt, job.Joining},
			{0, 2, job.BotInMeeting, job.Duplicate, job.Joining},
			{1, 2, job.BotInMeeting, "", job.InMeeting}, // the same time, another attempt
			{1, 3, job.BotEnteringLobby, job.OutOfOrder, job.InMeeting},
			{1, 4, job.ManifestFinalized, "", job.Completed},
			{1, 5, job.BotRecordingStarted, job.Terminal, job.Completed},
			{2, 6, job.BotJoined, job.Terminal, job.Completed},
			{0, 7, job.BotJoined, job.StaleAttempt, job.Completed},
			{1, 4, job.ManifestFinalized, job.Duplicate, job.Completed},
			{1, 8, job.ManifestFinalized, job.Terminal, job.Completed},
		}
		for i, step := range steps {
			answer := h.ingest(t, botEvent(id, step.attempt, step.n, step.kind, ""))
			if answer.Reason != step.want || answer.Applied != (step.want == "") || answer.Status != step.status {
				t.Errorf("step %d, %s of attempt %d: %+v, want %q and %s", i, step.kind, step.attempt, answer, step.want, step.status)
			}
		}
		if entries := h.Entries(t, id); len(entries) != len(steps)+2 {
			t.Errorf("%d timeline entries for %d events and 2 attempts", len(entries), len(steps))
		}
		h.checkHistory(t, id)
		if finalized := eventsNamed(h.outbox(t, id), webhook.JobFinalized); len(finalized) != 1 ||
			finalized[0].ManifestURI != h.ManifestURI(id) || finalized[0].URL != world.FinalizeURL {
			t.Errorf("job.finalized: %+v", finalized)
		}
	})
}

// TestIngestUnknownJob checks that messages of an unknown job fail with the path jobId.
func TestIngestUnknownJob(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	bot := ingest.Simulated(uuid.New(), 1)
	for _, kind := range []job.Trigger{job.BotJoined, job.BotExited, job.ManifestFinalized} {
		_, err := h.Ingest(t.Context(), bot, botEvent(bot.JobID(), 1, 0, kind, `{"failureCode":"meeting_ended"}`))
		checkUnknown(t, string(kind), err)
	}
	_, err := h.AdmitUpload(t.Context(), bot)
	checkUnknown(t, "an upload", err)
	_, err = h.Heartbeat(t.Context(), bot, ingest.Heartbeat{}, time.Minute)
	checkUnknown(t, "a heartbeat", err)
}

// checkUnknown checks that the error names the field jobId.
func checkUnknown(t *testing.T, name string, err error) {
	t.Helper()
	if !job.ErrorIs(err, job.InvalidInput) {
		t.Errorf("%s: got %v", name, err)
		return
	}
	if own := asJobError(err); !slices.Equal(own.Path, []any{"jobId"}) {
		t.Errorf("%s: the path is %v", name, own.Path)
	}
}

// TestFailure checks that a bot that exits with a failure fails its job once.
func TestFailure(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	tests := map[string]struct {
		data   string
		code   job.FailureCode
		detail string
	}{
		"code and detail":  {`{"failureCode":"lobby_timeout","failureDetail":"Nobody came."}`, job.LobbyTimeout, "Nobody came."},
		"without a detail": {`{"failureCode":"recording_disabled"}`, job.RecordingDisabled, "recording disabled"},
		"unknown code": {
			`{"failureCode":"cosmic_ray","failureDetail":"zap"}`, job.InternalError, `the bot gave the unknown failure code "cosmic_ray": zap`,
		},
		"only an unknown code":   {`{"failureCode":"cosmic_ray"}`, job.InternalError, `the bot gave the unknown failure code "cosmic_ray"`},
		"detail is not a string": {`{"failureCode":"auth_failure","failureDetail":7}`, job.AuthFailure, "auth failure"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := h.begun(t)
			exit := botEvent(id, 0, 1, job.BotExited, test.data)
			if answer := h.ingest(t, exit); answer.Status != job.Failed {
				t.Fatalf("response %+v", answer)
			}
			h.ingest(t, exit)
			h.ingest(t, botEvent(id, 0, 2, job.BotExited, test.data))
			all := h.outbox(t, id)
			failures := eventsNamed(all, webhook.JobFailed)
			if len(failures) != 2 || failures[0].Sequence != failures[1].Sequence || failures[0].URL == failures[1].URL {
				t.Fatalf("job.failed: %+v, want one event to two addresses", failures)
			}
			changes := eventsNamed(all, webhook.JobStatusChanged)
			for _, one := range append(failures, changes[len(changes)-1]) {
				if one.FailureCode == nil || *one.FailureCode != test.code || one.FailureDetail == nil || *one.FailureDetail != test.detail {
					t.Errorf("%s contains %v, %v", one.Event, one.FailureCode, one.FailureDetail)
				}
			}
			if first := changes[0]; first.FailureCode != nil || first.FailureDetail != nil || string(first.Job.Metadata) != `{"ticket":7}` {
				t.Errorf("a status change without failure: %+v", first)
			}
			if r := h.Record(t, id); test.code != job.InternalError && (r.FailureCode != test.code || r.WakeAt.IsZero()) {
				t.Errorf("failed with %s, cleanup at %s", r.FailureCode, r.WakeAt)
			}
		})
	}
}

// TestFailureOfLaterAttempt checks that the recordings of earlier attempts are kept
// if a later bot fails to join.
func TestFailureOfLaterAttempt(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	for name, saved := range map[string]bool{"something saved": true, "nothing saved": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := h.begun(t)
			h.walk(t, id, job.BotRecordingStarted)
			if saved {
				h.Upload(t, id, 0, ingest.SegmentName(0, 0), []byte("media"))
			}
			h.begin(t, id)
			answer := h.ingest(t, botEvent(id, 1, 1, job.BotExited, `{"failureCode":"meeting_ended"}`))
			want := job.Failed
			if saved {
				want = job.Finalizing
			}
			if !answer.Applied || answer.Status != want {
				t.Errorf("response %+v, want %s", answer, want)
			}
			if failures := eventsNamed(h.outbox(t, id), webhook.JobFailed); (len(failures) > 0) == saved {
				t.Errorf("job.failed: %+v", failures)
			}
			if r := h.Record(t, id); r.WakeAt.After(r.StatusSince) {
				t.Errorf("wake time %s, %s after the exit", r.WakeAt, r.WakeAt.Sub(r.StatusSince))
			}
		})
	}
}

// TestBotThatCannotRecord checks that a bot that left because it could not record does not end its
// job: it is lost, and the dispatcher decides about another attempt at once.
func TestBotThatCannotRecord(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.begun(t)
	h.walk(t, id, job.BotInMeeting)
	exit := botEvent(id, 0, 9, job.BotExited, `{"endReason":"recording_failed","detail":"No encoder.","failureCode":"internal_error"}`)
	if answer := h.ingest(t, exit); !answer.Applied || answer.Status != job.InMeeting {
		t.Errorf("response %+v", answer)
	}
	if r := h.Record(t, id); !strings.Contains(r.BotLost, "could not record") || r.WakeAt.After(time.Now()) {
		t.Errorf("lost %q, wake time %s", r.BotLost, r.WakeAt)
	}
	h.begin(t, id)
	h.ingest(t, botEvent(id, 1, 1, job.BotRecordingStarted, ""))
	if r := h.Record(t, id); r.Status != job.RecordingStarted || r.Attempts != 2 {
		t.Errorf("%s after %d attempts", r.Status, r.Attempts)
	}
}

// TestPermissionResponse checks that the host's response is delivered and the job
// returns to its previous status.
func TestPermissionResponse(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	tests := map[string]struct {
		data    string
		granted bool
		detail  string
	}{
		"granted":            {`{"granted":true}`, true, ""},
		"granted by outcome": {`{"outcome":"granted"}`, true, "granted"},
		"denied":             {`{"granted":false,"outcome":"denied","detail":"No thanks."}`, false, "No thanks."},
		"contradictory":      {`{"granted":true,"outcome":"denied"}`, false, "denied"},
		"timed out":          {`{"outcome":"timeout"}`, false, "timeout"},
		"no data":            {``, false, ""},
		"not an object":      {`[1]`, false, ""},
		"unexpected types":   {`{"granted":"yes","outcome":1}`, false, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := h.begun(t)
			h.walk(t, id, job.BotRecordingStarted, job.BotPermissionRequest)
			if answer := h.ingest(t, botEvent(id, 0, 9, job.BotPermissionResponse, test.data)); answer.Status != job.RecordingStarted {
				t.Errorf("status %s after the response", answer.Status)
			}
			h.ingest(t, botEvent(id, 0, 9, job.BotPermissionResponse, test.data))
			responses := eventsNamed(h.outbox(t, id), webhook.BotPermissionResponse)
			if len(responses) != 1 || responses[0].URL != world.StatusURL || responses[0].Granted == nil || *responses[0].Granted != test.granted {
				t.Fatalf("delivered: %+v", responses)
			}
			if detail := responses[0].Detail; detail == nil && test.detail != "" || detail != nil && *detail != test.detail {
				t.Errorf("detail %v, want %q", detail, test.detail)
			}
			h.checkHistory(t, id)
		})
	}
}

// TestCompetingBot checks that the detection of another bot is delivered and changes
// no status.
func TestCompetingBot(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	for name, test := range map[string]struct {
		data    string
		setting bool
		left    bool
	}{
		"setting on":               {`{"detectedBotName":"Noter"}`, true, true},
		"setting off":              {`{"detectedBotName":"Noter"}`, false, false},
		"the bot has not left yet": {`{"detectedBotName":"Noter","leftMeeting":false}`, true, true},
		"the bot left although the setting is off": {`{"detectedBotName":"Noter","leftMeeting":true}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requested := world.Request(uuid.NewString())
			requested.AutoLeave.OnBotDetected = test.setting
			j, _, err := h.Create(t.Context(), h.Caller, requested)
			if err != nil {
				t.Fatal(err)
			}
			h.begin(t, j.ID)
			h.walk(t, j.ID, job.BotInMeeting)
			if answer := h.ingest(t, botEvent(j.ID, 0, 5, job.BotCompetingDetected, test.data)); !answer.Applied || answer.Status != job.InMeeting {
				t.Errorf("response %+v", answer)
			}
			found := eventsNamed(h.outbox(t, j.ID), webhook.BotCompetingDetected)
			if len(found) != 1 || found[0].Detected != "Noter" || found[0].Left == nil || *found[0].Left != test.left {
				t.Errorf("delivered: %+v", found)
			}
			h.checkHistory(t, j.ID)
		})
	}
}

// TestManifestURIFromBot checks that a bot can set a manifest URI only below the
// service's URL.
func TestManifestURIFromBot(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	for data, elsewhere := range map[string]string{
		`{"manifestUri":"https://attacker.test/collect-keys"}`:         "",
		`{"manifestUri":"` + world.BaseURL + `.attacker.test/m.json"}`: "",
		`{"manifestUri":"` + world.BaseURL + `/somewhere/m.json"}`:     world.BaseURL + "/somewhere/m.json",
		`{"manifestUri":"javascript:alert(1)"}`:                        "",
		`{"manifestUri":"/etc/passwd"}`:                                "",
		`{}`:                                                           "",
	} {
		id := h.begun(t)
		h.ingest(t, botEvent(id, 0, 1, job.ManifestFinalized, data))
		want := elsewhere
		if want == "" {
			want = h.ManifestURI(id)
		}
		if r := h.Record(t, id); r.Status != job.Completed || r.ManifestURI != want {
			t.Errorf("%s: %s with %s, want %s", data, r.Status, r.ManifestURI, want)
		}
	}
}

// TestSequenceCountsUndeliveredEvents checks that events without a webhook URL are
// counted in the sequence.
func TestSequenceCountsUndeliveredEvents(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	requested := world.Request(uuid.NewString())
	requested.Webhooks = job.Webhooks{OnFinalize: world.FinalizeURL}
	j, _, err := h.Create(t.Context(), h.Caller, requested)
	if err != nil {
		t.Fatal(err)
	}
	h.begin(t, j.ID)
	h.ingest(t, botEvent(j.ID, 0, 0, job.ManifestFinalized, ""))
	all := h.outbox(t, j.ID)
	if len(all) != 1 || all[0].Event != webhook.JobFinalized || all[0].Sequence != 3 {
		t.Errorf("delivered: %+v, want job.finalized as the third event", all)
	}
}

// step is one step of the property test.
type step struct {
	kind      job.Trigger // of a bot, or of the service
	attempt   int
	n         int
	failing   bool
	byService bool
}

// TestAnyInterleaving checks that for any sequence of events of two attempts, new
// attempts and cancellations, the job makes only allowed transitions, each transition
// is delivered once, and the job ends at most once.
func TestAnyInterleaving(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	draw := rapid.Custom(func(t *rapid.T) step {
		s := step{
			kind:    rapid.SampledFrom(append(job.BotTriggers(), job.AttemptStarted, job.CancelRequested)).Draw(t, "kind"),
			attempt: rapid.IntRange(0, 1).Draw(t, "attempt"),
			n:       rapid.IntRange(0, 2).Draw(t, "moment"), // few, so that there are duplicates
		}
		s.byService = !slices.Contains(job.BotTriggers(), s.kind)
		s.failing = s.kind == job.BotExited && rapid.Bool().Draw(t, "failing")
		return s
	})
	rapid.Check(t, func(rt *rapid.T) {
		j, _, err := h.Create(t.Context(), h.Caller, world.Request(uuid.NewString()))
		if err != nil {
			rt.Fatalf("create: %v", err)
		}
		for _, s := range rapid.SliceOfN(draw, 1, 25).Draw(rt, "steps") {
			h.do(rt, j.ID, s)
		}
		h.checkHistory(rt, j.ID)
	})
}

// do executes a step.
func (h *harness) do(t world.T, id uuid.UUID, s step) {
	t.Helper()
	switch {
	case s.kind == job.AttemptStarted:
		h.begin(t, id)
	case s.byService:
		if err := h.Cancel(context.Background(), h.Caller, id); err != nil {
			t.Fatalf("cancel: %v", err)
		}
	case s.failing:
		h.ingest(t, botEvent(id, s.attempt, s.n, s.kind, `{"failureCode":"network_loss"}`))
	default:
		h.ingest(t, botEvent(id, s.attempt, s.n, s.kind, ""))
	}
}

// TestConcurrentBots sends the events of two attempts concurrently, each event twice.
func TestConcurrentBots(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		id := h.begun(t)
		path := []job.Trigger{
			job.BotJoined, job.BotEnteringLobby, job.BotInMeeting, job.BotRecordingStarted,
			job.BotRecordingStopped, job.BotExited, job.BotPostProcessing, job.BotMediaUploading, job.ManifestFinalized,
		}
		var group sync.WaitGroup
		for sender := range 4 {
			group.Go(func() {
				for n, kind := range path {
					h.ingest(t, botEvent(id, sender/2, n, kind, ""))
				}
			})
		}
		group.Wait()
		h.checkHistory(t, id)
		if r := h.Record(t, id); r.Status != job.Completed {
			t.Errorf("status %s", r.Status)
		}
	})
}
