package dashboard

import (
	"cmp"
	"strings"

	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/recording"
)

// gapTexts describe the reasons for gaps in a recording, and name them in a few words.
var gapTexts = map[string]struct{ text, name string }{
	recording.GapPaused:       {"recording was paused", "paused"},
	recording.GapBotLost:      {"the bot was lost and replaced by another one", "bot replaced"},
	recording.GapMediaLost:    {"the media was lost with the bot", "media lost"},
	recording.GapNotRecording: {"the bot was not recording", "not recorded"},
	recording.GapDiskFull:     {"the bot’s disk was full", "disk full"},
	recording.GapNoSound:      {"the bot received no sound", "no sound"},
	recording.GapStalled:      {"the machine was too busy to let the browser run", "machine too busy"},
	recording.GapNetworkLost:  {"the bot’s network was lost", "network lost"},
}

// gapText describes the reason for a gap in a recording.
func gapText(reason string) string { return cmp.Or(gapTexts[reason].text, reason) }

// kindTexts describe the kinds of timeline entries.
var kindTexts = map[job.Trigger]string{
	job.BotJoined:                  "Opening the meeting page",
	job.BotEnteringLobby:           "Bot entered the lobby",
	job.BotInMeeting:               "Bot joined the meeting",
	job.BotRecordingStarted:        "Recording started",
	job.BotRecordingPaused:         "Recording paused",
	job.BotRecordingStopped:        "Recording stopped",
	job.BotPermissionRequest:       "Bot asked for permission to record",
	job.BotPermissionResponse:      "Host responded to the permission request",
	job.BotCompetingDetected:       "Another notetaker detected",
	job.BotMediaFault:              "Problem with sound, picture or texts",
	job.BotOutputStarted:           "Output started",
	job.BotOutputFinished:          "Output finished",
	job.BotOutputFailed:            "Output failed",
	job.BotPostProcessing:          "Processing the recording",
	job.BotMediaUploading:          "Uploading the recording",
	job.BotExited:                  "Bot left",
	job.ManifestFinalized:          "Recording ready",
	job.NoCapacity:                 "Waiting for capacity",
	job.AttemptStarted:             "Starting a bot",
	job.SalvageStarted:             "Bot lost; recovering uploaded media",
	job.SalvagePacking:             "Assembling the recovered media",
	job.SalvageStoring:             "Storing the recovered media",
	lifecycle.BotLaunched:          "Bot started",
	lifecycle.SignIn:               "Sign-in",
	lifecycle.LaunchFailed:         "Bot has not started",
	lifecycle.MediaStored:          "Recording is being stored",
	lifecycle.CommandQueued:        "Command sent to the bot",
	lifecycle.CommandDone:          "Command executed",
	lifecycle.CommandFailed:        "Command failed",
	lifecycle.JobChanged:           "Job changed",
	lifecycle.RecordingDeleted:     "Recording deleted",
	lifecycle.InviteTimePassed:     "The calendar invite arrived late",
	lifecycle.StreamConnected:      "Sound stream connected",
	lifecycle.StreamDisconnected:   "Sound stream disconnected",
	lifecycle.StreamFailed:         "Sound stream failed",
	job.Rescheduled:                "Job rescheduled",
	job.RecordingFinished:          "Recording finished by the operator",
	job.CancelRequested:            "Job cancelled",
	job.GivenUp:                    "Job failed",
	lifecycle.TranscriptRequested:  "Another transcription was requested",
	lifecycle.LiveTranscriptFailed: "Live transcription has failed",
	lifecycle.LiveTranscriptEnded:  "Live transcription ended",
	lifecycle.TranscriptAttached:   "Transcript ready",
	lifecycle.TranscriptRetrying:   "Transcription is retried",
	lifecycle.TranscriptFailed:     "No transcript",
	lifecycle.VideoAttached:        "Picture ready",
	lifecycle.VideoFailed:          "No picture",
}

// KindText describes the kind of a timeline entry.
func KindText(kind job.Trigger) string {
	if text, known := kindTexts[kind]; known {
		return text
	}
	text := strings.ReplaceAll(string(kind), "_", " ")
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

// ReasonText describes why an event was not applied.
func ReasonText(reason job.Reason) string {
	return cmp.Or(map[job.Reason]string{
		job.Duplicate: "duplicate", job.OutOfOrder: "out of order", job.StaleAttempt: "a later attempt had started",
		job.Terminal: "the job had ended",
	}[reason], string(reason))
}
