package job

// Status is the status of a job. See docs/internals/states.md.
type Status string

// The statuses.
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

// Statuses returns all statuses in the order in which a job passes through them.
// recording_paused and permission_requested are next to recording_started: a job
// may return from them.
func Statuses() []Status {
	return []Status{
		Scheduled, Pending, Dispatching, Joining, EnteringLobby, InMeeting,
		RecordingStarted, RecordingPaused, PermissionRequested, RecordingStopped,
		Finalizing, PostProcessing, MediaUploading, Completed, Failed, Cancelled,
	}
}

// Terminal reports whether the job has ended: the status never changes again.
func (s Status) Terminal() bool {
	return s == Completed || s == Failed || s == Cancelled
}

// Teardown reports whether the bot has left the meeting and only the recording is
// still being finalized. Commands are refused with 409.
func (s Status) Teardown() bool {
	return s == Finalizing || s == PostProcessing || s == MediaUploading
}

// Dispatched reports whether an attempt has been started and the job has not
// ended: a bot runs, or should.
func (s Status) Dispatched() bool {
	return !s.Terminal() && s != Scheduled && s != Pending
}

// InCall reports whether the bot has reported that it is in the meeting, and not
// that it has left.
func (s Status) InCall() bool {
	switch s {
	case InMeeting, RecordingStarted, RecordingPaused, RecordingStopped, PermissionRequested:
		return true
	}
	return false
}
