package dashboard

import (
	"standin/internal/job"
	"standin/internal/recording"
)

// side is whose move it is, or was.
type side string

const (
	meetingSide side = "the meeting’s side"
	yourSide    side = "your side"
	ourSide     side = "the service’s side"
	noSide      side = ""
)

// explanation says in plain words what became of a job.
type explanation struct {
	Title string
	What  string // what happened
	Side  side   // where the cause lies
	Do    string // what to do next
	Stage string // how far the bot had come
	Bad   bool
}

// explainFailure says what a failure code means (specification, FailureCode).
func explainFailure(code job.FailureCode) explanation {
	switch code {
	case job.WaitingForHost:
		return explanation{Title: "The host did not come", Side: meetingSide,
			What: "The meeting had not been started, and the bot waited for its host as long as it may.",
			Do:   "Send a bot again when the host is there, or give it more time with “leave when not admitted”."}
	case job.MeetingNotFound:
		return explanation{Title: "There is no such meeting", Side: yourSide,
			What: "The address leads to no meeting, or to a host that bots may not open.",
			Do:   "Compare the address with the invitation. If it is on a host of your own, whoever runs this service has to name it in STANDIN_ALLOWED_MEETING_HOSTS."}
	case job.HostDeniedAdmission:
		return explanation{Title: "The host did not let the bot in", Side: meetingSide,
			What: "Somebody in the meeting turned the bot’s request to join down.",
			Do:   "Tell the host that a bot comes and under which name, then send it again."}
	case job.RemovedFromMeeting:
		return explanation{Title: "The bot was removed", Side: meetingSide,
			What: "Somebody removed the bot from the meeting before anything was recorded.",
			Do:   "Ask the host whether recording is welcome, then send a bot again."}
	case job.MeetingEnded:
		return explanation{Title: "The meeting was over", Side: meetingSide,
			What: "The meeting ended, or the bot was told to leave, before anything was recorded.",
			Do:   "Check the time of the meeting. Nothing is wrong with the service."}
	case job.InternalError:
		return explanation{Title: "Something broke", Side: ourSide,
			What: "The bot or the service failed. The detail below says what it was.",
			Do:   "Send the bot again. If it fails again, whoever runs the service should look at the detail and run standin doctor."}
	case job.DispatchTimeout:
		return explanation{Title: "No bot could be started", Side: ourSide,
			What: "The service tried to start a bot until the time for it was over: there was no room, or bots do not start.",
			Do:   "Whoever runs the service should look at its capacity and run standin doctor. Then send the bot again."}
	case job.NetworkLoss:
		return explanation{Title: "The connection was lost", Side: ourSide,
			What: "The bot lost its connection to the meeting and could not come back, and nothing usable was recorded.",
			Do:   "Check the network of the machine that bots run on, then send the bot again."}
	case job.RecordingDisabled:
		return explanation{Title: "Recording was not allowed", Side: meetingSide,
			What: "This job records only with the host’s permission, and there was none; or the meeting forbids recording.",
			Do:   "Ask the host to allow recording when the bot asks."}
	case job.LobbyTimeout:
		return explanation{Title: "Nobody let the bot in", Side: meetingSide,
			What: "The bot waited in the lobby as long as it may, and nobody answered.",
			Do:   "Ask the host to admit the bot, or give it more time with “leave when not admitted”."}
	case job.AuthFailure:
		return explanation{Title: "The meeting is for signed-in people", Side: meetingSide,
			What: "The meeting takes only people who are signed in, or asks for a passcode that the address does not hold.",
			Do:   "Use an address with the passcode in it, have the host allow guests, or have the bot sign in (see docs/platforms.md)."}
	case job.QuotaExceeded:
		return explanation{Title: "The quota is spent", Side: yourSide,
			What: "Your plan allows no further jobs at present, so no bot was sent.",
			Do:   "Look at Usage; wait for the next month or ask for a larger plan."}
	}
	return explanation{Title: "The job failed", What: "The service does not know the code “" + string(code) + "”."}
}

// explainEnd says what the reason for the end of a visit means, as it stands in
// the manifest; false for one that is not known.
func explainEnd(reason string) (explanation, bool) {
	switch reason {
	case "host_ended":
		return explanation{Title: "The host ended the meeting", What: "The bot stayed to the end."}, true
	case "removed":
		return explanation{Title: "The bot was removed", Side: meetingSide, What: "Somebody removed the bot from the meeting. What it had recorded by then is kept."}, true
	case "alone":
		return explanation{Title: "Everybody had left", What: "The bot was alone in the meeting and left, as “leave when alone” says."}, true
	case "silence":
		return explanation{Title: "It was silent for long", What: "Nothing was heard for as long as “leave after silence” allows, so the bot left."}, true
	case "max_duration":
		return explanation{Title: "The time was up", What: "The meeting reached the longest time that this job may take. What came after it is not recorded.",
			Do: "If that was too early, set “leave at the latest” higher for the next one."}, true
	case "competing_bot":
		return explanation{Title: "Another notetaker was there", What: "The bot left at once, as this job asks for."}, true
	case "left_on_command":
		return explanation{Title: "The bot was told to leave", What: "Somebody here, or a program with your key, told it to, or cancelled the job."}, true
	case "permission_refused":
		return explanation{Title: "The host refused recording", Side: meetingSide, What: "This job records only with permission, so the bot left."}, true
	case "superseded":
		return explanation{Title: "Another attempt took over", Side: ourSide, What: "The service had begun another attempt and sent this bot away."}, true
	case "bot_stopped":
		return explanation{Title: "The bot’s process was ended", Side: ourSide, What: "Whoever runs the service, or its machine, ended the bot. What it had recorded by then is kept."}, true
	case "browser_crashed":
		return explanation{Title: "The bot’s browser crashed", Side: ourSide, What: "It crashed and could not come back. What was recorded by then is kept.",
			Do: "If this happens often, whoever runs the service should look at the machine’s memory."}, true
	case "connection_lost":
		return explanation{Title: "The connection was lost", Side: ourSide, What: "The bot could not get back into the meeting. What was recorded by then is kept."}, true
	case "recording_failed":
		return explanation{Title: "Recording broke off", Side: ourSide, What: "The recorder failed and could not be started again. What was recorded by then is kept."}, true
	case "bot_lost":
		return explanation{Title: "The bot was lost", Side: ourSide, What: "The bot fell silent and no other could take its place. The recording was put together from what it had handed in."}, true
	case "cancelled":
		return explanation{Title: "The job was cancelled", What: "The bot did not come to tell more. The recording was put together from what it had handed in."}, true
	case recording.EndUnknown:
		return explanation{Title: "Nobody told why it ended", Side: ourSide, What: "The bot ended without giving a reason."}, true
	}
	return explanation{}, false
}

// explainGap says why something is missing in a recording.
func explainGap(reason string) string {
	switch reason {
	case recording.GapPaused:
		return "the recording was paused"
	case recording.GapBotLost:
		return "the bot was lost, and another one took over"
	case recording.GapMediaLost:
		return "what was recorded was lost with the bot"
	case recording.GapNotRecording:
		return "the bot was not recording"
	case recording.GapDiskFull:
		return "the bot’s disk was full"
	}
	return reason
}

// stageWords says how far a job had come that was in a state.
func stageWords(s job.Status) string {
	switch s {
	case job.Scheduled, job.Pending:
		return "before a bot was started"
	case job.Dispatching:
		return "while a bot was being started"
	case job.Joining:
		return "while the bot was opening the meeting"
	case job.EnteringLobby:
		return "while the bot was waiting in the lobby"
	case job.InMeeting:
		return "in the meeting, before recording began"
	case job.RecordingStarted:
		return "while recording"
	case job.RecordingPaused:
		return "while the recording was paused"
	case job.PermissionRequested:
		return "while the host was being asked for permission"
	case job.RecordingStopped:
		return "in the meeting, after recording"
	case job.Finalizing, job.PostProcessing, job.MediaUploading:
		return "while the recording was being put together"
	}
	return ""
}

// explain says what happened to a job, from its state, its timeline and its
// manifest.
func explain(j job.Job, entries []job.TimelineEntry, end string, partial bool) explanation {
	switch j.Status {
	case job.Failed:
		told := explainFailure(j.FailureCode)
		told.Bad, told.Stage = true, stageWords(stageBefore(entries, job.Failed))
		return told
	case job.Completed, job.Cancelled:
		return explainDone(j, end, partial)
	case job.Scheduled:
		return explanation{Title: "The bot is scheduled", What: "It is sent when the time to join comes."}
	case job.Pending:
		return explanation{Title: "The bot waits for room", Side: ourSide, What: "The time has come, but the service has no room for another bot at this moment. It is sent as soon as there is."}
	}
	return explanation{Title: "The bot is at work", What: "It is " + statusWords(j.Status) + "."}
}

// explainDone says what happened to a job that recorded something, or was
// cancelled.
func explainDone(j job.Job, end string, partial bool) explanation {
	told, known := explainEnd(end)
	switch {
	case j.Status == job.Cancelled && j.ManifestURI == "":
		return explanation{Title: "The job was cancelled", What: "Nothing was recorded."}
	case !known && end != "":
		told = explanation{Title: "The meeting was recorded", What: "The bot gave “" + end + "” as the reason for its end."}
	case !known:
		told = explanation{Title: "The meeting was recorded", What: "The recording is not here any more, or is kept elsewhere."}
	}
	if j.Status == job.Cancelled {
		told.What += " The job was cancelled; what was recorded by then is kept."
	}
	if partial {
		told.What += " The recording is not whole: see the gaps below."
	}
	return told
}

// stageBefore is the state that a job was in when it came to another.
func stageBefore(entries []job.TimelineEntry, to job.Status) job.Status {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].To == to && entries[i].From != to {
			return entries[i].From
		}
	}
	return ""
}

// kindWords says what a line of the timeline tells of.
func kindWords(e job.TimelineEntry) string {
	switch e.Kind {
	case job.BotJoined:
		return "The bot opens the meeting"
	case job.BotEnteringLobby:
		return "The bot waits in the lobby"
	case job.BotInMeeting:
		return "The bot is in the meeting"
	case job.BotRecordingStarted:
		return "Recording"
	case job.BotRecordingPaused:
		return "Recording is paused"
	case job.BotRecordingStopped:
		return "Recording has stopped"
	case job.BotPermissionRequest:
		return "The bot asks for permission to record"
	case job.BotPermissionResponse:
		return "Permission to record is answered"
	case job.BotCompetingDetected:
		return "Another notetaker is in the meeting"
	case job.BotPostProcessing:
		return "The recording is put together"
	case job.BotMediaUploading:
		return "The recording is stored"
	case job.BotExited:
		return "The bot has left"
	case job.ManifestFinalized:
		return "The recording is ready"
	case job.NoCapacity:
		return "There is no room for a bot"
	case job.AttemptStarted:
		return "A bot is started"
	case job.SalvageStarted:
		return "The bot is lost; what it handed in is saved"
	case job.SalvagePacking:
		return "What was handed in is put together"
	case job.SalvageStoring:
		return "What was put together is stored"
	case job.CancelRequested:
		return "Cancelled"
	case job.GivenUp:
		return "Given up"
	}
	return sentenceCase(string(e.Kind))
}

// reasonWords says why an event changed nothing.
func reasonWords(reason job.Reason) string {
	switch reason {
	case job.Duplicate:
		return "it was told before"
	case job.OutOfOrder:
		return "the job was further on already"
	case job.StaleAttempt:
		return "a later attempt had begun"
	case job.Terminal:
		return "the job had ended"
	}
	return string(reason)
}

// sentenceCase gives a text a capital letter.
func sentenceCase(text string) string {
	if text == "" {
		return text
	}
	return string(text[0]&^0x20) + text[1:]
}
