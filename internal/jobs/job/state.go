package job

import (
	"slices"
	"time"
)

// Trigger is an event that may change the state of a job: reported by a bot (the
// kinds of the ingestEvent operation) or caused by the service.
type Trigger string

// The triggers that bots report: the kind of an ingest event.
const (
	BotJoined             Trigger = "lifecycle.joined"
	BotEnteringLobby      Trigger = "lifecycle.entering_lobby"
	BotInMeeting          Trigger = "lifecycle.in_meeting"
	BotRecordingStarted   Trigger = "lifecycle.recording_started"
	BotRecordingPaused    Trigger = "lifecycle.recording_paused"
	BotRecordingStopped   Trigger = "lifecycle.recording_stopped"
	BotPermissionRequest  Trigger = "lifecycle.permission_requested"
	BotPermissionResponse Trigger = "lifecycle.permission_response"
	BotCompetingDetected  Trigger = "lifecycle.competing_bot_detected"
	BotMediaFault         Trigger = "lifecycle.media_fault"
	BotOutputStarted      Trigger = "lifecycle.output_started"
	BotOutputFinished     Trigger = "lifecycle.output_finished"
	BotOutputFailed       Trigger = "lifecycle.output_failed"
	BotPostProcessing     Trigger = "lifecycle.post_processing"
	BotMediaUploading     Trigger = "lifecycle.media_uploading"
	BotExited             Trigger = "lifecycle.exited"
	ManifestFinalized     Trigger = "manifest.finalized"
)

// The triggers that the service causes.
const (
	NoCapacity        Trigger = "no_capacity"
	Rescheduled       Trigger = "rescheduled" // joinAt was moved into the future while the job waited for capacity
	AttemptStarted    Trigger = "attempt_started"
	SalvageStarted    Trigger = "salvage_started" // the bot is lost; what it uploaded is finalized without it
	SalvagePacking    Trigger = "salvage_packing"
	SalvageStoring    Trigger = "salvage_storing"
	CancelRequested   Trigger = "cancel"
	GivenUp           Trigger = "job_failed"
	RecordingFinished Trigger = "recording_finished" // the operator finished the recording of a job that had ended without one
)

// BotTriggers returns the triggers that bots report, in the order of
// api/openapi.yaml.
func BotTriggers() []Trigger {
	return []Trigger{
		BotJoined, BotEnteringLobby, BotInMeeting, BotRecordingStarted,
		BotRecordingPaused, BotRecordingStopped, BotPermissionRequest,
		BotPermissionResponse, BotCompetingDetected, BotMediaFault,
		BotOutputStarted, BotOutputFinished, BotOutputFailed, BotPostProcessing,
		BotMediaUploading, BotExited, ManifestFinalized,
	}
}

// Reason is why a trigger was not applied.
type Reason string

// The reasons of an ingest response. The state machine never returns Duplicate:
// it has no history.
const (
	Duplicate    Reason = "duplicate"
	OutOfOrder   Reason = "out_of_order"
	StaleAttempt Reason = "stale_attempt"
	Terminal     Reason = "terminal"
)

// State is the part of a job that the state machine changes.
type State struct {
	Status         Status
	PreviousStatus Status // before the permission request; empty outside permission_requested
	Attempts       int    // number of attempts so far
	Attempt        int    // the current one, or the next one before the first; see NextAttempt
	StartedAt      time.Time
	FinalizedAt    time.Time
	ManifestURI    string
	FailureCode    FailureCode
	FailureDetail  string
}

// Event is a trigger with its data.
type Event struct {
	Trigger Trigger
	Attempt int       // of bot triggers: the reporting attempt
	Lost    bool      // of BotExited: the bot was stopped from outside, which does not end the job
	At      time.Time // when the service handles it

	FailureCode   FailureCode // of BotExited and GivenUp
	FailureDetail string
	ManifestURI   string // of ManifestFinalized
}

// Result is the outcome of an event.
type Result struct {
	Applied bool
	Reason  Reason // empty if applied
	From    Status
	To      Status // equal to From if the status did not change
}

// Changed reports whether the job's status changed.
func (r Result) Changed() bool { return r.From != r.To }

// New returns the state of a new job.
func New() State { return State{Status: Scheduled} }

// NextAttempt returns the number of the next attempt. The first is 0, unless
// bots that were launched before joinAt were withdrawn: each used a number.
func (s State) NextAttempt() int {
	if s.Attempts == 0 {
		return s.Attempt
	}
	return s.Attempt + 1
}

// notices are the triggers of bots that change no status. They are on the timeline, and
// some cause a webhook.
var notices = []Trigger{BotCompetingDetected, BotMediaFault, BotOutputStarted, BotOutputFinished, BotOutputFailed}

// Apply returns the state after the event, and the outcome. An event that is not
// applied does not change the state.
func (s State) Apply(event Event) (State, Result) {
	refuse := func(reason Reason) (State, Result) {
		return s, Result{Reason: reason, From: s.Status, To: s.Status}
	}
	fromBot := slices.Contains(BotTriggers(), event.Trigger)
	if fromBot && event.Attempt < s.Attempt {
		return refuse(StaleAttempt)
	}
	if s.Status.Terminal() {
		// Only the manifest of a recording of a cancelled job is applied, and of one that the operator finished.
		attached := s.Status == Cancelled && event.Trigger == ManifestFinalized || s.Status != Completed && event.Trigger == RecordingFinished
		if !attached || s.ManifestURI != "" {
			return refuse(Terminal)
		}
		s.ManifestURI, s.FinalizedAt = event.ManifestURI, event.At
		return s, Result{Applied: true, From: s.Status, To: s.Status}
	}

	next := s
	if fromBot && next.StartedAt.IsZero() {
		next.StartedAt = event.At
	}
	if slices.Contains(notices, event.Trigger) || event.Lost ||
		event.Trigger == BotPermissionResponse && s.Status != PermissionRequested {
		return next, Result{Applied: true, From: s.Status, To: s.Status} // on the timeline, and some cause a webhook
	}

	to, ok := s.destination(event, fromBot)
	if !ok {
		return refuse(OutOfOrder)
	}
	next.Status, next.PreviousStatus = to, ""
	switch to {
	case PermissionRequested:
		next.PreviousStatus = s.Status
		if event.Attempt > s.Attempt {
			next.PreviousStatus = Dispatching
		}
	case Dispatching:
		if event.Trigger == AttemptStarted {
			next.Attempt = s.NextAttempt()
			next.Attempts++
		}
	case Completed:
		next.ManifestURI, next.FinalizedAt = event.ManifestURI, event.At
	case Failed:
		next.FailureCode, next.FailureDetail = event.FailureCode, event.FailureDetail
	}
	if fromBot && event.Attempt > s.Attempt {
		next.Attempt = event.Attempt
		next.Attempts = max(s.Attempts, event.Attempt+1) // the operator may have started attempts
	}
	return next, Result{Applied: true, From: s.Status, To: to}
}

// destination returns the status that the transition table gives for the event.
func (s State) destination(event Event, fromBot bool) (Status, bool) {
	at := s.Status
	switch {
	case fromBot && event.Attempt > s.Attempt:
		at = Dispatching // where every attempt starts
	case at == PermissionRequested && event.Trigger != BotPermissionResponse:
		at = s.PreviousStatus // a permission request interrupts a status, it does not replace it
		if event.Trigger == BotPermissionRequest {
			return "", false
		}
	}
	failing := event.Trigger == GivenUp || event.Trigger == BotExited && event.FailureCode != ""
	for _, rule := range transitions {
		if rule.Trigger != event.Trigger || rule.Failing != failing || !slices.Contains(rule.From, at) {
			continue
		}
		if rule.To == "" {
			return s.PreviousStatus, true
		}
		return rule.To, true
	}
	return "", false
}
