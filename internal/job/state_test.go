package job_test

import (
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/job"
)

var at = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// TestWayOfARecording walks the usual way and the two ways back.
func TestWayOfARecording(t *testing.T) {
	t.Parallel()
	steps := []struct {
		trigger job.Trigger
		want    job.Status
	}{
		{job.NoCapacity, job.Pending},
		{job.AttemptStarted, job.Dispatching},
		{job.BotJoined, job.Joining},
		{job.BotEnteringLobby, job.EnteringLobby},
		{job.BotInMeeting, job.InMeeting},
		{job.BotPermissionRequest, job.PermissionRequested},
		{job.BotPermissionResponse, job.InMeeting},
		{job.BotRecordingStarted, job.RecordingStarted},
		{job.BotRecordingPaused, job.RecordingPaused},
		{job.BotRecordingStarted, job.RecordingStarted},
		{job.BotPermissionRequest, job.PermissionRequested},
		{job.BotRecordingPaused, job.RecordingPaused}, // overtakes the answer
		{job.BotPermissionResponse, job.RecordingPaused},
		{job.BotRecordingStopped, job.RecordingStopped},
		{job.BotExited, job.Finalizing},
		{job.BotPostProcessing, job.PostProcessing},
		{job.BotMediaUploading, job.MediaUploading},
		{job.ManifestFinalized, job.Completed},
	}
	state := job.New()
	for i, step := range steps {
		next, result := state.Apply(job.Event{Trigger: step.trigger, At: at, ManifestURI: "https://standin.test/m"})
		if !result.Applied || next.Status != step.want {
			t.Fatalf("step %d, %s in %s: got %s (applied %v, %s), want %s",
				i, step.trigger, state.Status, next.Status, result.Applied, result.Reason, step.want)
		}
		state = next
	}
	if state.Attempts != 1 || state.Attempt != 0 || !state.StartedAt.Equal(at) || !state.FinalizedAt.Equal(at) {
		t.Errorf("after the way: attempts %d, attempt %d, started %v, finalized %v",
			state.Attempts, state.Attempt, state.StartedAt, state.FinalizedAt)
	}
}

// TestRefusals holds what must not move a job, and why.
func TestRefusals(t *testing.T) {
	t.Parallel()
	in := func(status job.Status, attempt int) job.State {
		return job.State{Status: status, Attempts: attempt + 1, Attempt: attempt}
	}
	tests := map[string]struct {
		state  job.State
		event  job.Event
		reason job.Reason
	}{
		"back to the lobby":             {in(job.InMeeting, 0), job.Event{Trigger: job.BotEnteringLobby}, job.OutOfOrder},
		"the same state again":          {in(job.InMeeting, 0), job.Event{Trigger: job.BotInMeeting}, job.OutOfOrder},
		"recording after its stop":      {in(job.RecordingStopped, 0), job.Event{Trigger: job.BotRecordingStarted}, job.OutOfOrder},
		"exit after the exit":           {in(job.PostProcessing, 0), job.Event{Trigger: job.BotExited}, job.OutOfOrder},
		"permission while finalizing":   {in(job.Finalizing, 0), job.Event{Trigger: job.BotPermissionRequest}, job.OutOfOrder},
		"an earlier attempt":            {in(job.Joining, 2), job.Event{Trigger: job.BotInMeeting, Attempt: 1}, job.StaleAttempt},
		"an earlier attempt, ended job": {in(job.Completed, 2), job.Event{Trigger: job.BotInMeeting, Attempt: 1}, job.StaleAttempt},
		"a completed job":               {in(job.Completed, 0), job.Event{Trigger: job.ManifestFinalized}, job.Terminal},
		"a failed job":                  {in(job.Failed, 0), job.Event{Trigger: job.BotJoined}, job.Terminal},
		"a cancelled job":               {in(job.Cancelled, 0), job.Event{Trigger: job.BotExited, FailureCode: job.MeetingEnded}, job.Terminal},
		"a new attempt while packing":   {in(job.PostProcessing, 0), job.Event{Trigger: job.AttemptStarted}, job.OutOfOrder},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, result := test.state.Apply(test.event)
			if result.Applied || result.Reason != test.reason {
				t.Errorf("got applied %v with reason %q, want reason %q", result.Applied, result.Reason, test.reason)
			}
			if got != test.state {
				t.Errorf("the state moved: %+v, was %+v", got, test.state)
			}
		})
	}
}

// TestManifestOfACancelledRecording: it is attached once, and the job stays
// cancelled.
func TestManifestOfACancelledRecording(t *testing.T) {
	t.Parallel()
	state := job.State{Status: job.Cancelled, Attempts: 1}
	state, result := state.Apply(job.Event{Trigger: job.ManifestFinalized, At: at, ManifestURI: "https://standin.test/m"})
	if !result.Applied || result.Changed() || state.ManifestURI == "" || !state.FinalizedAt.Equal(at) {
		t.Fatalf("the first manifest: %+v, %+v", state, result)
	}
	if _, result = state.Apply(job.Event{Trigger: job.ManifestFinalized, At: at, ManifestURI: "https://other.test/m"}); result.Applied {
		t.Error("a second manifest was attached")
	}
}

// TestNewAttemptOfABot: the events of a later attempt begin a new way.
func TestNewAttemptOfABot(t *testing.T) {
	t.Parallel()
	state := job.State{Status: job.RecordingStarted, Attempts: 1}
	state, result := state.Apply(job.Event{Trigger: job.BotJoined, Attempt: 1, At: at})
	if !result.Applied || state.Status != job.Joining || state.Attempt != 1 {
		t.Fatalf("got %+v, %+v", state, result)
	}
}

// TestAnySequence draws sequences of events and holds what is true of all.
func TestAnySequence(t *testing.T) {
	t.Parallel()
	triggers := append(job.BotTriggers(), job.NoCapacity, job.AttemptStarted, job.SalvageStarted,
		job.SalvagePacking, job.SalvageStoring, job.CancelRequested, job.GivenUp)
	rapid.Check(t, func(t *rapid.T) {
		state := job.New()
		now := at
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now = now.Add(time.Second)
			event := job.Event{
				Trigger:     rapid.SampledFrom(triggers).Draw(t, "trigger"),
				Attempt:     rapid.IntRange(0, 3).Draw(t, "attempt"),
				At:          now,
				ManifestURI: "https://standin.test/m",
			}
			if event.Trigger == job.GivenUp || event.Trigger == job.BotExited && rapid.Bool().Draw(t, "failing") {
				event.FailureCode = rapid.SampledFrom(job.FailureCodes()).Draw(t, "code")
				event.FailureDetail = "why"
			}
			next, result := state.Apply(event)
			checkStep(t, state, next, result, event)
			state = next
		}
	})
}

// checkStep holds a single step against the rules.
func checkStep(t *rapid.T, was, is job.State, result job.Result, event job.Event) {
	if result.From != was.Status || result.To != is.Status {
		t.Fatalf("%s: told %s -> %s, did %s -> %s", event.Trigger, result.From, result.To, was.Status, is.Status)
	}
	if !result.Applied && (is != was || result.Reason == "") {
		t.Fatalf("%s refused (%q), and the state moved: %+v -> %+v", event.Trigger, result.Reason, was, is)
	}
	if was.Status.Terminal() && result.Changed() {
		t.Fatalf("%s left the terminal state %s for %s", event.Trigger, was.Status, is.Status)
	}
	if (is.Status == job.Failed) != (is.FailureCode != "") {
		t.Fatalf("%s: status %s with failure code %q", event.Trigger, is.Status, is.FailureCode)
	}
	if is.Status == job.Completed && (is.ManifestURI == "" || is.FinalizedAt.IsZero()) {
		t.Fatalf("%s: completed without a manifest: %+v", event.Trigger, is)
	}
	if (is.Status == job.PermissionRequested) != (is.PreviousStatus != "") || is.PreviousStatus == job.PermissionRequested {
		t.Fatalf("%s: status %s remembers %q", event.Trigger, is.Status, is.PreviousStatus)
	}
	if is.Attempts < was.Attempts || is.Attempt < was.Attempt {
		t.Fatalf("%s: attempts went back: %+v -> %+v", event.Trigger, was, is)
	}
	if !result.Changed() {
		return
	}
	back := order(is) < order(was)
	newAttempt := event.Trigger == job.AttemptStarted || event.Attempt > was.Attempt
	resumed := was.Status == job.RecordingPaused && is.Status == job.RecordingStarted
	resumedAsking := was.PreviousStatus == job.RecordingPaused && is.Status == job.RecordingStarted
	if back && !newAttempt && !resumed && !resumedAsking {
		t.Fatalf("%s went back from %+v to %+v", event.Trigger, was, is)
	}
}

// order is how far a state is on its way; one that asks for permission is
// where it asked from.
func order(s job.State) int {
	if s.Status == job.PermissionRequested {
		s.Status = s.PreviousStatus
	}
	return slices.Index(job.Statuses(), s.Status)
}

var update = flag.Bool("update", false, "draw docs/states.md anew")

// TestStatesDrawing: the drawing in the docs is the table's.
func TestStatesDrawing(t *testing.T) {
	t.Parallel()
	const path = "../../docs/states.md"
	want := "# States of a job\n\n" +
		"Drawn from the transition table in `internal/job/transitions.go`; `go test ./internal/job -update` draws it anew.\n" +
		"It shows the usual way, the ways back and the ends. Jumps ahead are legal too: a bot may report `lifecycle.in_meeting`\n" +
		"without having seen a lobby. Nothing leaves `completed`, `failed` and `cancelled`.\n\n" +
		"```mermaid\n" + job.Diagram() + "```\n"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the table says (%v); go test ./internal/job -update", path, err)
	}
}
