package job

// Status is where a job stands (specification, States and transitions).
type Status string

// The sixteen states of the specification.
const (
	Pending             Status = "pending"
	Scheduled           Status = "scheduled"
	Dispatching         Status = "dispatching"
	Joining             Status = "joining"
	EnteringLobby       Status = "entering_lobby"
	InMeeting           Status = "in_meeting"
	RecordingStarted    Status = "recording_started"
	RecordingPaused     Status = "recording_paused"
	RecordingStopped    Status = "recording_stopped"
	PermissionRequested Status = "permission_requested"
	Finalizing          Status = "finalizing"
	PostProcessing      Status = "post_processing"
	MediaUploading      Status = "media_uploading"
	Completed           Status = "completed"
	Failed              Status = "failed"
	Cancelled           Status = "cancelled"
)

// Statuses lists every state in the order of a life. Pause and permission
// stand beside recording_started: a job may go back from them.
func Statuses() []Status {
	return []Status{
		Scheduled, Pending, Dispatching, Joining, EnteringLobby, InMeeting,
		RecordingStarted, RecordingPaused, PermissionRequested, RecordingStopped,
		Finalizing, PostProcessing, MediaUploading, Completed, Failed, Cancelled,
	}
}

// Terminal reports whether nothing leaves the state.
func (s Status) Terminal() bool {
	return s == Completed || s == Failed || s == Cancelled
}

// Teardown reports whether the meeting is over for the bot and only the
// recording is still being put together. Control verbs answer 409 there.
func (s Status) Teardown() bool {
	return s == Finalizing || s == PostProcessing || s == MediaUploading
}

// Dispatched reports whether an attempt has been begun and the job has not
// ended: a bot runs, or should.
func (s Status) Dispatched() bool {
	return !s.Terminal() && s != Scheduled && s != Pending
}

// InCall reports whether the bot was seen inside the meeting and has not been
// seen leaving it.
func (s Status) InCall() bool {
	switch s {
	case InMeeting, RecordingStarted, RecordingPaused, RecordingStopped, PermissionRequested:
		return true
	}
	return false
}
