package job

import (
	"slices"
	"time"
)

// Trigger is anything that may move a job: what a bot reports (the ingest
// kinds of the specification) or what the service does itself.
type Trigger string

// What bots report: the kind field of an ingest event.
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
	BotPostProcessing     Trigger = "lifecycle.post_processing"
	BotMediaUploading     Trigger = "lifecycle.media_uploading"
	BotExited             Trigger = "lifecycle.exited"
	ManifestFinalized     Trigger = "manifest.finalized"
)

// What the service itself does.
const (
	NoCapacity      Trigger = "no capacity"
	AttemptStarted  Trigger = "attempt begun"
	SalvageStarted  Trigger = "salvage begun" // the bot is lost; its saved media is finalized without it
	SalvagePacking  Trigger = "salvage packing"
	SalvageStoring  Trigger = "salvage storing"
	CancelRequested Trigger = "cancel"
	GivenUp         Trigger = "given up"
)

// BotTriggers lists the ingest kinds, in the specification's order.
func BotTriggers() []Trigger {
	return []Trigger{
		BotJoined, BotEnteringLobby, BotInMeeting, BotRecordingStarted,
		BotRecordingPaused, BotRecordingStopped, BotPermissionRequest,
		BotPermissionResponse, BotCompetingDetected, BotPostProcessing,
		BotMediaUploading, BotExited, ManifestFinalized,
	}
}

// Reason says why a trigger was not applied (contract, State machine).
type Reason string

// The reasons an ingest answer may carry. Duplicate is found by whoever keeps
// the history; this package never gives it.
const (
	Duplicate    Reason = "duplicate"
	OutOfOrder   Reason = "out_of_order"
	StaleAttempt Reason = "stale_attempt"
	Terminal     Reason = "terminal"
)

// State is the part of a job that the machine moves.
type State struct {
	Status         Status
	PreviousStatus Status // where a permission request came from; empty outside permission_requested
	Attempts       int    // dispatches so far
	Attempt        int    // the attempt whose events count; the first is 0
	StartedAt      time.Time
	FinalizedAt    time.Time
	ManifestURI    string
	FailureCode    FailureCode
	FailureDetail  string
}

// Event is a trigger with what the machine needs to know of it.
type Event struct {
	Trigger Trigger
	Attempt int       // of bot triggers: the attempt that reports
	At      time.Time // when the service takes notice

	FailureCode   FailureCode // of BotExited and GivenUp
	FailureDetail string
	ManifestURI   string // of ManifestFinalized
}

// Result tells what an event did.
type Result struct {
	Applied bool
	Reason  Reason // empty when applied
	From    Status
	To      Status // equal to From when the state did not change
}

// Changed reports whether the job's status changed.
func (r Result) Changed() bool { return r.From != r.To }

// New returns the state of a job just created.
func New() State { return State{Status: Scheduled} }

// Apply returns the state after the event, and what became of it. An event
// that is not applied leaves the state as it was.
func (s State) Apply(event Event) (State, Result) {
	refuse := func(reason Reason) (State, Result) {
		return s, Result{Reason: reason, From: s.Status, To: s.Status}
	}
	fromBot := slices.Contains(BotTriggers(), event.Trigger)
	if fromBot && event.Attempt < s.Attempt {
		return refuse(StaleAttempt)
	}
	if s.Status.Terminal() {
		return s.applyAfterEnd(event)
	}

	next := s
	if fromBot && next.StartedAt.IsZero() {
		next.StartedAt = event.At
	}
	if event.Trigger == BotCompetingDetected ||
		event.Trigger == BotPermissionResponse && s.Status != PermissionRequested {
		return next, Result{Applied: true, From: s.Status, To: s.Status} // told on, moves nothing
	}

	to, ok := s.destination(event, fromBot)
	if !ok {
		return refuse(OutOfOrder)
	}
	next.enter(to, s, event)
	if fromBot && event.Attempt > s.Attempt {
		next.Attempt = event.Attempt
		next.Attempts = max(s.Attempts, event.Attempt+1) // there were as many dispatches, wherever from
	}
	return next, Result{Applied: true, From: s.Status, To: to}
}

// applyAfterEnd is Apply for a job that has ended: only the manifest of a
// cancelled recording still counts (contract, Jobs).
func (s State) applyAfterEnd(event Event) (State, Result) {
	result := Result{From: s.Status, To: s.Status}
	if s.Status == Cancelled && event.Trigger == ManifestFinalized && s.ManifestURI == "" {
		s.ManifestURI, s.FinalizedAt = event.ManifestURI, event.At
		result.Applied = true
		return s, result
	}
	result.Reason = Terminal
	return s, result
}

// destination looks the event up in the table.
func (s State) destination(event Event, fromBot bool) (Status, bool) {
	at := s.Status
	switch {
	case fromBot && event.Attempt > s.Attempt:
		at = Dispatching // a new attempt begins where every attempt begins
	case at == PermissionRequested && event.Trigger != BotPermissionResponse:
		at = s.PreviousStatus // asking for permission interrupts a state, it does not replace it
		if event.Trigger == BotPermissionRequest {
			return "", false
		}
	}
	failing := event.Trigger == GivenUp || event.Trigger == BotExited && event.FailureCode != ""
	for _, rule := range Transitions() {
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

// enter puts the state into to, having come from old.
func (s *State) enter(to Status, old State, event Event) {
	s.Status = to
	s.PreviousStatus = ""
	switch to {
	case PermissionRequested:
		s.PreviousStatus = old.Status
		if event.Attempt > old.Attempt {
			s.PreviousStatus = Dispatching
		}
	case Dispatching:
		if event.Trigger == AttemptStarted {
			s.Attempt = s.Attempts
			s.Attempts++
		}
	case Completed:
		s.ManifestURI, s.FinalizedAt = event.ManifestURI, event.At
	case Failed:
		s.FailureCode, s.FailureDetail = event.FailureCode, event.FailureDetail
	}
}
