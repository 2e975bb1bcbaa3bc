package dashboard

import (
	"strings"

	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/recording"
)

// side is where the cause of a failure lies.
type side string

const (
	meetingSide side = "the meeting"
	yourSide    side = "your account or request"
	ourSide     side = "the service"
)

// explanation describes the state of a job in plain words.
type explanation struct {
	Title  string
	Text   string // what happened
	Side   side
	Action string // what to do next
	Stage  string // how far the bot got
	Failed bool
}

// explain describes a job by its status, its timeline, and the end reason and
// the partial flag of its manifest.
func explain(j job.Job, entries []job.TimelineEntry, endReason string, partial bool) explanation {
	switch j.Status {
	case job.Failed:
		e := explainFailure(j.FailureCode)
		e.Failed, e.Stage = true, stageText(statusBefore(entries, job.Failed))
		return e
	case job.Completed, job.Cancelled:
		return explainEnded(j, endReason, partial)
	case job.Scheduled:
		return explanation{Title: "The bot is scheduled", Text: "It joins at the scheduled time."}
	case job.Pending:
		return explanation{Title: "The bot is waiting for capacity", Side: ourSide,
			Text: "The job is due, but the service is running as many bots as it can. The bot starts as soon as capacity is free."}
	}
	return explanation{Title: "The bot is running", Text: "Current status: " + statusText(j.Status) + "."}
}

// explainFailure describes a failure code.
func explainFailure(code job.FailureCode) explanation {
	switch code {
	case job.WaitingForHost:
		return explanation{Title: "The host did not start the meeting", Side: meetingSide,
			Text:   "The bot waited for the host until its time limit.",
			Action: "Send a bot again when the host is present, or allow more time with “if not admitted”."}
	case job.MeetingNotFound:
		return explanation{Title: "Meeting not found", Side: yourSide,
			Text:   "The link does not lead to a meeting, or its host is not allowed for bots.",
			Action: "Compare the link with the invitation. If the meeting is on your own host, ask the operator to add the host to STANDIN_ALLOWED_MEETING_HOSTS."}
	case job.HostDeniedAdmission:
		return explanation{Title: "The host did not admit the bot", Side: meetingSide,
			Text:   "Someone in the meeting rejected the bot’s request to join.",
			Action: "Tell the host to expect the bot, by name, then retry."}
	case job.RemovedFromMeeting:
		return explanation{Title: "The bot was removed", Side: meetingSide,
			Text:   "Someone removed the bot from the meeting before anything was recorded.",
			Action: "Ask the host whether recording is allowed, then retry."}
	case job.MeetingEnded:
		return explanation{Title: "The meeting had ended", Side: meetingSide,
			Text:   "The meeting ended, or the bot was asked to leave, before anything was recorded.",
			Action: "Check the time of the meeting. The service is working normally."}
	case job.InternalError:
		return explanation{Title: "Internal error", Side: ourSide,
			Text:   "The bot or the service failed. See the details below.",
			Action: "Send the bot again. If it fails again, ask the operator to check the details and to run standin doctor."}
	case job.DispatchTimeout:
		return explanation{Title: "No bot could be started", Side: ourSide,
			Text:   "The service could not start a bot in time: no capacity was free, or bots fail to start.",
			Action: "Ask the operator to check the capacity and to run standin doctor, then send the bot again."}
	case job.NetworkLoss:
		return explanation{Title: "The connection was lost", Side: ourSide,
			Text:   "The bot lost its connection to the meeting and could not rejoin. Nothing usable was recorded.",
			Action: "Check the network of the machine that runs the bots, then send the bot again."}
	case job.RecordingDisabled:
		return explanation{Title: "Recording was not allowed", Side: meetingSide,
			Text:   "This job requires the host’s permission and did not get it, or the meeting forbids recording.",
			Action: "Ask the host to allow recording when the bot asks."}
	case job.LobbyTimeout:
		return explanation{Title: "Nobody admitted the bot", Side: meetingSide,
			Text:   "The bot waited in the lobby until its time limit.",
			Action: "Ask the host to admit the bot, or allow more time with “if not admitted”."}
	case job.AuthFailure:
		return explanation{Title: "The meeting requires sign-in", Side: meetingSide,
			Text:   "Only signed-in people can join the meeting, or it needs a passcode that the link does not contain.",
			Action: "Use a link that contains the passcode, ask the host to allow guests, or let the bot sign in (see docs/platforms.md)."}
	case job.QuotaExceeded:
		return explanation{Title: "Quota exceeded", Side: yourSide,
			Text:   "Your plan allows no more jobs in this period, so no bot was sent.",
			Action: "See Usage. Wait for the next month or upgrade your plan."}
	}
	return explanation{Title: "The job failed", Text: "Unknown failure code: “" + string(code) + "”."}
}

// explainEnded describes a completed or cancelled job.
func explainEnded(j job.Job, endReason string, partial bool) explanation {
	e, known := explainEnd(endReason)
	switch {
	case j.Status == job.Cancelled && j.ManifestURI == "":
		return explanation{Title: "The job was cancelled", Text: "Nothing was recorded."}
	case !known && endReason != "":
		e = explanation{Title: "The meeting was recorded", Text: "The bot reported “" + endReason + "” as the end reason."}
	case !known:
		e = explanation{Title: "The meeting was recorded", Text: "The recording was deleted, or is stored elsewhere."}
	}
	if j.Status == job.Cancelled {
		e.Text += " The job was cancelled. The recording up to that point was kept."
	}
	if partial {
		e.Text += " The recording is incomplete: see the gaps below."
	}
	return e
}

// explainEnd describes the end reason of a manifest. It reports false for an
// unknown reason.
func explainEnd(reason string) (explanation, bool) {
	switch reason {
	case "host_ended":
		return explanation{Title: "The host ended the meeting", Text: "The bot stayed until the end."}, true
	case "removed":
		return explanation{Title: "The bot was removed", Side: meetingSide,
			Text: "Someone removed the bot from the meeting. The recording up to that point was kept."}, true
	case "alone":
		return explanation{Title: "Everyone left", Text: "The bot was alone in the meeting and left, as configured in “when alone”."}, true
	case "silence":
		return explanation{Title: "The meeting was silent", Text: "There was no sound for the time configured in “after silence”, so the bot left."}, true
	case "max_duration":
		return explanation{Title: "The time limit was reached",
			Text:   "The meeting reached the maximum duration of this job. The rest was not recorded.",
			Action: "To record longer, increase “maximum duration” for the next job."}, true
	case "competing_bot":
		return explanation{Title: "Another notetaker was in the meeting", Text: "The bot left immediately, as this job requests."}, true
	case "left_on_command":
		return explanation{Title: "The bot left on command", Text: "A user or an API client told the bot to leave, or cancelled the job."}, true
	case "permission_refused":
		return explanation{Title: "The host refused recording", Side: meetingSide,
			Text: "This job records only with permission, so the bot left."}, true
	case "superseded":
		return explanation{Title: "Another attempt took over", Side: ourSide,
			Text: "The service had started another attempt and stopped this bot."}, true
	case "bot_stopped":
		return explanation{Title: "The bot’s process was stopped", Side: ourSide,
			Text: "The machine or its operator stopped the bot, and no other bot could continue. The recording up to that point was kept."}, true
	case "browser_crashed":
		return explanation{Title: "The bot’s browser crashed", Side: ourSide,
			Text:   "The browser could not be restarted. The recording up to that point was kept.",
			Action: "If this happens often, ask the operator to check the memory of the machine."}, true
	case "connection_lost":
		return explanation{Title: "The connection was lost", Side: ourSide,
			Text: "The bot could not rejoin the meeting. The recording up to that point was kept."}, true
	case "recording_failed":
		return explanation{Title: "Recording stopped early", Side: ourSide,
			Text: "The recorder failed and could not be restarted. The recording up to that point was kept."}, true
	case "bot_lost":
		return explanation{Title: "The bot was lost", Side: ourSide,
			Text: "The bot stopped responding and could not be replaced. The recording was assembled from the media it had uploaded."}, true
	case "cancelled":
		return explanation{Title: "The job was cancelled",
			Text: "The bot did not report how it ended. The recording was assembled from the media it had uploaded."}, true
	case recording.EndUnknown:
		return explanation{Title: "The end reason is unknown", Side: ourSide, Text: "The bot ended without reporting a reason."}, true
	}
	return explanation{}, false
}

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

// stageText describes how far a job got that failed in a status.
func stageText(s job.Status) string {
	switch s {
	case job.Scheduled, job.Pending:
		return "before a bot was started"
	case job.Dispatching:
		return "while a bot was starting"
	case job.Joining:
		return "while the bot was opening the meeting"
	case job.EnteringLobby:
		return "while the bot was waiting in the lobby"
	case job.InMeeting:
		return "in the meeting, before recording started"
	case job.RecordingStarted:
		return "while recording"
	case job.RecordingPaused:
		return "while recording was paused"
	case job.PermissionRequested:
		return "while the bot was waiting for permission"
	case job.RecordingStopped:
		return "in the meeting, after recording"
	case job.Finalizing, job.PostProcessing, job.MediaUploading:
		return "while the recording was being processed"
	}
	return ""
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

// kindText describes the kind of a timeline entry.
func kindText(kind job.Trigger) string {
	switch kind {
	case job.BotJoined:
		return "Bot opened the meeting"
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
		return "Fault of the recorded media"
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
	case job.CancelRequested:
		return "Job cancelled"
	case job.GivenUp:
		return "Job failed"
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

// reasonText describes why an event was not applied.
func reasonText(reason job.Reason) string {
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
