package lifecycle

import "standin/internal/jobs/job"

// The kinds of timeline entries beside the triggers of the state machine.
const (
	CommandQueued    job.Trigger = "command_queued"     // data: commandId, command
	CommandDone      job.Trigger = "command_done"       // data: commandId, command
	CommandFailed    job.Trigger = "command_failed"     // data: commandId, command, reason
	JobChanged       job.Trigger = "job_changed"        // data: by, changed (names of fields), joinAt if it changed
	InviteTimePassed job.Trigger = "invite_time_passed" // data: joinAt, lateMs (when the invite arrived)
	RecordingDeleted job.Trigger = "recording_deleted"  // data: by
	BotLaunched      job.Trigger = "bot_launched"       // data: node, lateMs (after joinAt; of a first attempt)
	SignIn           job.Trigger = "sign_in"            // data: reason, and accountId, account and address if the bot has one
	LaunchFailed     job.Trigger = "launch_failed"      // data: node, detail
	MediaStored      job.Trigger = "media_stored"       // data: bytesDone, bytesTotal; while a recording is uploaded or finalized

	StreamConnected    job.Trigger = "stream_connected"    // data: stream, host
	StreamDisconnected job.Trigger = "stream_disconnected" // data: stream, host, reason
	StreamFailed       job.Trigger = "stream_failed"       // data: stream, host, reason

	TranscriptRequested job.Trigger = "transcript_requested" // data: model, language, keyterms that were given
	TranscriptRetrying  job.Trigger = "transcript_retrying"  // data: detail, retryAt; after the first failure in a row
	TranscriptAttached  job.Trigger = "transcript_attached"  // data: segments, audioMs, partial
	TranscriptFailed    job.Trigger = "transcript_failed"    // data: detail

	VideoAttached job.Trigger = "video_attached" // data: durationMs, bytes
	VideoFailed   job.Trigger = "video_failed"   // data: detail

	LiveTranscriptFailed job.Trigger = "live_transcript_failed" // data: detail; after the first failure in a row
	LiveTranscriptEnded  job.Trigger = "live_transcript_ended"  // data: complete, model, fromMs, toMs, lostMs, failures
)

// Who changes a job beside its bot and the dispatcher, as the timeline names
// them.
const (
	byConsumer  = "consumer"
	byInvite    = "calendar invite"
	byCalendar  = "calendar" // that is connected
	byRetention = "retention"
	byPlatform  = "platform"
)
