package job_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/jobs/job"
)

var at = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

func TestApplyThroughRecording(t *testing.T) {
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
		{job.BotRecordingPaused, job.RecordingPaused}, // before the response
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
		t.Errorf("at the end: attempts %d, attempt %d, started %v, finalized %v",
			state.Attempts, state.Attempt, state.StartedAt, state.FinalizedAt)
	}
}

func TestApplyRefuses(t *testing.T) {
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
				t.Errorf("the state changed to %+v, was %+v", got, test.state)
			}
		})
	}
}

// A manifest is attached once to a cancelled job, which stays cancelled.
func TestApplyManifestAfterCancel(t *testing.T) {
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

// checkStep checks the invariants of a single step.
func checkStep(t *rapid.T, was, is job.State, result job.Result, event job.Event) {
	if result.From != was.Status || result.To != is.Status {
		t.Fatalf("%s: result %s -> %s, state %s -> %s", event.Trigger, result.From, result.To, was.Status, is.Status)
	}
	if !result.Applied && (is != was || result.Reason == "") {
		t.Fatalf("%s refused (%q), and the state changed: %+v -> %+v", event.Trigger, result.Reason, was, is)
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
		t.Fatalf("%s: status %s with previous status %q", event.Trigger, is.Status, is.PreviousStatus)
	}
	if is.Attempts < was.Attempts || is.Attempt < was.Attempt {
		t.Fatalf("%s: attempts decreased: %+v -> %+v", event.Trigger, was, is)
	}
	if !result.Changed() {
		return
	}
	back := statusIndex(is) < statusIndex(was)
	newAttempt := event.Trigger == job.AttemptStarted || event.Attempt > was.Attempt
	resumed := was.Status == job.RecordingPaused && is.Status == job.RecordingStarted
	resumedRequest := was.PreviousStatus == job.RecordingPaused && is.Status == job.RecordingStarted
	if back && !newAttempt && !resumed && !resumedRequest {
		t.Fatalf("%s went back from %+v to %+v", event.Trigger, was, is)
	}
}

// statusIndex returns the position of a state among the statuses. During a permission
// request it is that of the previous status.
func statusIndex(s job.State) int {
	if s.Status == job.PermissionRequested {
		s.Status = s.PreviousStatus
	}
	return slices.Index(job.Statuses(), s.Status)
}

var update = flag.Bool("update", false, "write docs/internals/states.md")

func TestStatesDocument(t *testing.T) {
	t.Parallel()
	const path = "../../../docs/internals/states.md"
	want := "# Transitions of a job\n\n" +
		"<!-- Generated from internal/jobs/job/transitions.go by go test ./internal/jobs/job -update -->\n\n" +
		"Jobs can skip statuses, which is not shown. For example, a meeting without a lobby goes straight from `joining` to `in_meeting`.\n" +
		"`completed`, `failed` and `cancelled` are terminal.\n\n" +
		"```mermaid\n" + diagram() + "```\n"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s does not match the transition table (%v); run go test ./internal/jobs/job -update", path, err)
	}
}

// diagram returns the table as a Mermaid state diagram, without the skipped
// statuses.
func diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n    [*] --> scheduled\n")
	for _, row := range job.Transitions() {
		label := string(row.Trigger)
		if row.Failing {
			label += " with a failure code"
		}
		label = strings.ReplaceAll(label, ".", "·") // a dot ends a Mermaid label early
		switch {
		case row.To == "":
			fmt.Fprintf(&b, "    %s --> in_meeting: %s (back to the state before)\n", job.PermissionRequested, label)
		case row.To == job.Cancelled || row.To == job.Failed:
			fmt.Fprintf(&b, "    %s --> %s: %s (from any state before)\n", row.From[len(row.From)-1], row.To, label)
		case row.Trigger == job.AttemptStarted:
			fmt.Fprintf(&b, "    %s --> %s: %s\n", job.Scheduled, row.To, label)
			fmt.Fprintf(&b, "    %s --> %s: %s\n", job.Pending, row.To, label)
			fmt.Fprintf(&b, "    %s --> %s: %s again (bot lost; from any state up to %s)\n", job.InMeeting, row.To, label, job.RecordingStopped)
		case row.Trigger == job.BotRecordingStarted:
			fmt.Fprintf(&b, "    %s --> %s: %s\n", job.InMeeting, row.To, label)
			fmt.Fprintf(&b, "    %s --> %s: %s\n", job.RecordingPaused, row.To, label)
		case row.Trigger == job.BotPermissionRequest:
			fmt.Fprintf(&b, "    %s --> %s: %s (from any state up to %s)\n", job.InMeeting, row.To, label, job.RecordingStopped)
		default:
			fmt.Fprintf(&b, "    %s --> %s: %s\n", row.From[len(row.From)-1], row.To, label)
		}
	}
	for _, status := range job.Statuses() {
		if status.Terminal() {
			fmt.Fprintf(&b, "    %s --> [*]\n", status)
		}
	}
	return b.String()
}
