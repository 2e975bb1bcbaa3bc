package dashboard

import (
	"strings"

	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/recording"
)

// gapText describes the reason for a gap in a recording.
func gapText(reason string) string {
	switch reason {
	case recording.GapPaused:
		return "recording was paused"
	case recording.GapBotLost:
		return "the bot was lost and replaced by another one"
	case recording.GapMediaLost:
		return "the media was lost with the bot"
	case recording.GapNotRecording:
		return "the bot was not recording"
	case recording.GapDiskFull:
		return "the bot’s disk was full"
	}
	return reason
}

// gapName names a gap in a few words.
func gapName(reason string) string {
	switch reason {
	case recording.GapPaused:
		return "paused"
	case recording.GapBotLost:
		return "bot replaced"
	case recording.GapMediaLost:
		return "media lost"
	case recording.GapNotRecording:
		return "not recorded"
	case recording.GapDiskFull:
		return "disk full"
	}
	return clip(reason, maxTitle)
}

// statusBefore returns the status that a job had before it changed to another.
func statusBefore(entries []job.TimelineEntry, to job.Status) job.Status {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].To == to && entries[i].From != to {
			return entries[i].From
		}
	}
	return ""
}

// KindText describes the kind of a timeline entry.
func KindText(kind job.Trigger) string {
	switch kind {
	case job.BotJoined:
		return "Opening the meeting page"
	case job.BotEnteringLobby:
		return "Bot entered the lobby"
	case job.BotInMeeting:
		return "Bot joined the meeting"
	case job.BotRecordingStarted:
		return "Recording started"
	case job.BotRecordingPaused:
		return "Recording paused"
	case job.BotRecordingStopped:
		return "Recording stopped"
	case job.BotPermissionRequest:
		return "Bot asked for permission to record"
	case job.BotPermissionResponse:
		return "Host responded to the permission request"
	case job.BotCompetingDetected:
		return "Another notetaker detected"
	case job.BotMediaFault:
		return "Audio or video problem"
	case job.BotOutputStarted:
		return "Output started"
	case job.BotOutputFinished:
		return "Output finished"
	case job.BotOutputFailed:
		return "Output failed"
	case job.BotPostProcessing:
		return "Processing the recording"
	case job.BotMediaUploading:
		return "Uploading the recording"
	case job.BotExited:
		return "Bot left"
	case job.ManifestFinalized:
		return "Recording ready"
	case job.NoCapacity:
		return "Waiting for capacity"
	case job.AttemptStarted:
		return "Starting a bot"
	case job.SalvageStarted:
		return "Bot lost; recovering uploaded media"
	case job.SalvagePacking:
		return "Assembling the recovered media"
	case job.SalvageStoring:
		return "Storing the recovered media"
	case lifecycle.BotLaunched:
		return "Bot started"
	case lifecycle.LaunchFailed:
		return "Bot could not be started"
	case lifecycle.MediaStored:
		return "Recording is being stored"
	case lifecycle.CommandQueued:
		return "Command sent to the bot"
	case lifecycle.CommandDone:
		return "Command executed"
	case lifecycle.CommandFailed:
		return "Command failed"
	case lifecycle.JobChanged:
		return "Job changed"
	case lifecycle.RecordingDeleted:
		return "Recording deleted"
	case lifecycle.InviteTimePassed:
		return "The calendar invite arrived late"
	case lifecycle.StreamConnected:
		return "Sound stream connected"
	case lifecycle.StreamLost:
		return "Sound stream lost"
	case lifecycle.StreamGaveUp:
		return "Sound stream given up"
	case job.Rescheduled:
		return "Job rescheduled"
	case job.RecordingFinished:
		return "Recording finished by the operator"
	case job.CancelRequested:
		return "Job cancelled"
	case job.GivenUp:
		return "Job failed"
	case lifecycle.TranscriptRequested:
		return "Another transcription was requested"
	case lifecycle.LiveTranscriptFailed:
		return "Live transcription has failed"
	case lifecycle.LiveTranscriptEnded:
		return "Live transcription ended"
	case lifecycle.TranscriptAttached:
		return "Transcript ready"
	case lifecycle.TranscriptRetrying:
		return "Transcription is retried"
	case lifecycle.TranscriptFailed:
		return "No transcript"
	}
	text := strings.ReplaceAll(string(kind), "_", " ")
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

// ReasonText describes why an event was not applied.
func ReasonText(reason job.Reason) string {
	switch reason {
	case job.Duplicate:
		return "duplicate"
	case job.OutOfOrder:
		return "out of order"
	case job.StaleAttempt:
		return "a later attempt had started"
	case job.Terminal:
		return "the job had ended"
	}
	return string(reason)
}
