package job

import "slices"

// Transition is a row of the transition table: the trigger changes any status of
// From to To.
type Transition struct {
	Trigger Trigger
	Failing bool // for events with a failure code
	From    []Status
	To      Status // empty: back to the status before the permission request
}

// transitions is the table of State.destination.
var transitions = Transitions()

// Transitions returns the transition table. A job may skip statuses. It goes back
// only by pause and resume, after a permission request, for a new attempt, and when it is
// moved to a later time. A
// job in permission_requested counts as being in the status before the request.
func Transitions() []Transition {
	return []Transition{
		{Trigger: NoCapacity, From: []Status{Scheduled}, To: Pending},
		{Trigger: Rescheduled, From: []Status{Pending}, To: Scheduled},
		{Trigger: AttemptStarted, From: upTo(RecordingStopped), To: Dispatching},

		{Trigger: BotJoined, From: upTo(Dispatching), To: Joining},
		{Trigger: BotEnteringLobby, From: upTo(Joining), To: EnteringLobby},
		{Trigger: BotInMeeting, From: upTo(EnteringLobby), To: InMeeting},
		{Trigger: BotRecordingStarted, From: append(upTo(InMeeting), RecordingPaused), To: RecordingStarted},
		{Trigger: BotRecordingPaused, From: upTo(RecordingStarted), To: RecordingPaused},
		{Trigger: BotPermissionRequest, From: upTo(RecordingStopped), To: PermissionRequested},
		{Trigger: BotPermissionResponse, From: []Status{PermissionRequested}, To: ""},
		{Trigger: BotRecordingStopped, From: upTo(RecordingPaused), To: RecordingStopped},
		{Trigger: BotExited, From: upTo(RecordingStopped), To: Finalizing},
		{Trigger: BotExited, Failing: true, From: upTo(MediaUploading), To: Failed},
		{Trigger: BotPostProcessing, From: upTo(Finalizing), To: PostProcessing},
		{Trigger: BotMediaUploading, From: upTo(PostProcessing), To: MediaUploading},
		{Trigger: ManifestFinalized, From: upTo(MediaUploading), To: Completed},

		{Trigger: SalvageStarted, From: upTo(RecordingStopped), To: Finalizing},
		{Trigger: SalvagePacking, From: upTo(Finalizing), To: PostProcessing},
		{Trigger: SalvageStoring, From: upTo(PostProcessing), To: MediaUploading},

		{Trigger: CancelRequested, From: upTo(MediaUploading), To: Cancelled},
		{Trigger: GivenUp, Failing: true, From: upTo(MediaUploading), To: Failed},
	}
}

// upTo returns the statuses from scheduled up to and including last, without
// permission_requested: see State.destination.
func upTo(last Status) []Status {
	sequence := slices.DeleteFunc(Statuses(), func(s Status) bool { return s == PermissionRequested })
	return slices.Clip(sequence[:slices.Index(sequence, last)+1])
}
