// Package outcome explains to people how jobs stand and how they ended: what happened,
// where the cause is, and what to do next.
package outcome

import (
	"strings"

	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// Side is where the cause of a failure lies.
type Side string

// The sides.
const (
	MeetingSide Side = "the meeting"
	YourSide    Side = "your account or request"
	OurSide     Side = "the service"
)

// Explanation describes the state of a job in plain words.
type Explanation struct {
	Title  string
	Text   string // what happened
	Side   Side
	Action string // what to do next
	Stage  string // how far the bot got
	Failed bool
}

// Explain describes a job by its status, the status in which it failed, and the end
// reason and the partial flag of its manifest.
func Explain(j job.Job, failedIn job.Status, endReason string, partial bool) Explanation {
	switch j.Status {
	case job.Failed:
		e := explainFailure(j.FailureCode)
		if j.FailureCode == job.NetworkLoss && (failedIn == job.Dispatching || failedIn == job.Joining) {
			e.Title, e.Text = "The meeting page could not be reached", "The bot could not open the meeting page."
		}
		if j.FailureCode == job.AuthFailure && strings.HasPrefix(j.FailureDetail, "Bot wall") {
			e.Title, e.Text = "The meeting page refused the bot", "It shows a captcha, or it refuses visitors that it takes for bots."
			e.Action = "Let the bot sign in, or ask the host to allow guests."
		}
		e.Failed, e.Stage = true, stageText(failedIn)
		return e
	case job.Completed, job.Cancelled:
		return explainEnded(j, endReason, partial)
	case job.Scheduled:
		return Explanation{Title: "The bot is scheduled", Text: "It joins at the scheduled time."}
	case job.Pending:
		return Explanation{Title: "The bot is waiting for capacity", Side: OurSide,
			Text: "The job is due, but the service is running as many bots as it can. The bot starts as soon as capacity is free."}
	case job.Dispatching:
		return Explanation{Title: "The bot is being started",
			Text: "The service starts a browser for the bot. If that fails, it tries again, and the timeline has the reason."}
	}
	return explainRunning(j.Status)
}

// explainRunning describes what a running bot does.
func explainRunning(status job.Status) Explanation {
	switch status {
	case job.Joining:
		return Explanation{Title: "The bot is opening the meeting", Text: "It has opened the meeting page and asks to join."}
	case job.EnteringLobby:
		return Explanation{Title: "The bot is waiting in the lobby", Text: "Someone in the meeting has to admit it."}
	case job.InMeeting:
		return Explanation{Title: "The bot is in the meeting", Text: "It does not record yet."}
	case job.RecordingStarted:
		return Explanation{Title: "The bot is recording", Text: "It stays until the meeting ends, or one of its limits is reached."}
	case job.RecordingPaused:
		return Explanation{Title: "The recording is paused", Text: "The bot stays in the meeting and keeps nothing of it."}
	case job.PermissionRequested:
		return Explanation{Title: "The bot asks for permission to record", Text: "It waits for the answer of the host."}
	case job.RecordingStopped:
		return Explanation{Title: "The recording was stopped", Text: "Nothing more is recorded."}
	}
	return Explanation{Title: "The recording is being finished", Text: "The bot has left the meeting. The recording will be ready soon."}
}

// explainFailure describes a failure code.
func explainFailure(code job.FailureCode) Explanation {
	switch code {
	case job.WaitingForHost:
		return Explanation{Title: "The host did not start the meeting", Side: MeetingSide,
			Text:   "The bot waited for the host until its time limit.",
			Action: "Send a bot again when the host is present, or give the bot more time to be admitted (afterEntryDelaySeconds)."}
	case job.MeetingNotFound:
		return Explanation{Title: "Meeting not found", Side: YourSide,
			Text:   "The link does not lead to a meeting, or its host is not allowed for bots.",
			Action: "Compare the link with the invitation. If the meeting is on your own host, ask the operator to add the host to STANDIN_ALLOWED_MEETING_HOSTS."}
	case job.HostDeniedAdmission:
		return Explanation{Title: "The host did not admit the bot", Side: MeetingSide,
			Text:   "Someone in the meeting rejected the bot’s request to join.",
			Action: "Tell the host to expect the bot, by name, then retry."}
	case job.RemovedFromMeeting:
		return Explanation{Title: "The bot was removed", Side: MeetingSide,
			Text:   "Someone removed the bot from the meeting before anything was recorded.",
			Action: "Ask the host whether recording is allowed, then retry."}
	case job.MeetingEnded:
		return Explanation{Title: "The meeting had ended", Side: MeetingSide,
			Text:   "The meeting ended, or the bot was asked to leave, before anything was recorded.",
			Action: "Check the time of the meeting. The service is working normally."}
	case job.InternalError:
		return Explanation{Title: "Internal error", Side: OurSide,
			Text:   "The bot or the service failed. The failure detail says what happened.",
			Action: "Send the bot again. If it fails again, ask the operator to check the details and to run standin doctor."}
	case job.DispatchTimeout:
		return Explanation{Title: "No bot could be started", Side: OurSide,
			Text:   "The service could not start a bot in time: no capacity was free, or bots fail to start.",
			Action: "Ask the operator to check the capacity and to run standin doctor, then send the bot again."}
	case job.NetworkLoss:
		return Explanation{Title: "The connection was lost", Side: OurSide,
			Text:   "The bot lost its connection to the meeting and could not rejoin. Nothing usable was recorded.",
			Action: "Check the network of the machine that runs the bots, then send the bot again."}
	case job.RecordingDisabled:
		return Explanation{Title: "Recording was not allowed", Side: MeetingSide,
			Text:   "This job requires the host’s permission and did not get it, or the meeting forbids recording.",
			Action: "Ask the host to allow recording when the bot asks."}
	case job.LobbyTimeout:
		return Explanation{Title: "Nobody admitted the bot", Side: MeetingSide,
			Text:   "The bot waited in the lobby until its time limit.",
			Action: "Ask the host to admit the bot, or give the bot more time to be admitted (afterEntryDelaySeconds)."}
	case job.AuthFailure:
		return Explanation{Title: "The meeting requires sign-in", Side: MeetingSide,
			Text:   "Only signed-in people can join the meeting, or it needs a passcode that the link does not contain.",
			Action: "Use a link that contains the passcode, ask the host to allow guests, or let the bot sign in."}
	case job.QuotaExceeded:
		return Explanation{Title: "Quota exceeded", Side: YourSide,
			Text:   "Your plan allows no more jobs in this period, so no bot was sent.",
			Action: "Wait for the next month or upgrade your plan."}
	}
	return Explanation{Title: "The job failed", Text: "Unknown failure code: “" + string(code) + "”."}
}

// explainEnded describes a completed or cancelled job.
func explainEnded(j job.Job, endReason string, partial bool) Explanation {
	e, known := explainEnd(endReason)
	switch {
	case j.Status == job.Cancelled && j.ManifestURI == "":
		return Explanation{Title: "The job was cancelled", Text: "Nothing was recorded."}
	case !known && endReason != "":
		e = Explanation{Title: "The meeting was recorded", Text: "The bot reported “" + endReason + "” as the end reason."}
	case !known:
		e = Explanation{Title: "The meeting was recorded", Text: "The recording was deleted, or is stored elsewhere."}
	}
	if j.Status == job.Cancelled {
		e.Text += " The job was cancelled. The recording up to that point was kept."
	}
	if partial {
		e.Text += " The recording is incomplete: the manifest lists its gaps."
	}
	return e
}

// explainEnd describes the end reason of a manifest. It reports false for an
// unknown reason.
func explainEnd(reason string) (Explanation, bool) {
	switch reason {
	case "host_ended":
		return Explanation{Title: "The host ended the meeting", Text: "The bot stayed until the end."}, true
	case "removed":
		return Explanation{Title: "The bot was removed", Side: MeetingSide,
			Text: "Someone removed the bot from the meeting. The recording up to that point was kept."}, true
	case "alone":
		return Explanation{Title: "Everyone left", Text: "The bot was alone in the meeting and left, as its limit afterSoloSeconds says."}, true
	case "silence":
		return Explanation{
			Title: "The meeting was silent", Text: "There was no sound for as long as its limit afterSilenceSeconds allows, so the bot left.",
		}, true
	case "max_duration":
		return Explanation{Title: "The time limit was reached",
			Text:   "The meeting reached the maximum duration of this job (afterMaxSeconds). The rest was not recorded.",
			Action: "To record longer, increase the limit for the next job."}, true
	case "competing_bot":
		return Explanation{Title: "Another notetaker was in the meeting", Text: "The bot left immediately, as this job requests."}, true
	case "left_on_command":
		return Explanation{Title: "The bot left on command", Text: "A user or an API client told the bot to leave, or cancelled the job."}, true
	case "permission_refused":
		return Explanation{Title: "The host refused recording", Side: MeetingSide,
			Text: "This job records only with permission, so the bot left."}, true
	case "superseded":
		return Explanation{Title: "Another attempt took over", Side: OurSide,
			Text: "The service had started another attempt and stopped this bot."}, true
	case "bot_stopped":
		return Explanation{Title: "The bot’s process was stopped", Side: OurSide,
			Text: "The machine or its operator stopped the bot, and no other bot could continue. The recording up to that point was kept."}, true
	case "browser_crashed":
		return Explanation{Title: "The bot’s browser crashed", Side: OurSide,
			Text:   "The browser could not be restarted. The recording up to that point was kept.",
			Action: "If this happens often, ask the operator to check the memory of the machine."}, true
	case "connection_lost":
		return Explanation{Title: "The connection was lost", Side: OurSide,
			Text: "The bot could not rejoin the meeting. The recording up to that point was kept."}, true
	case "recording_failed":
		return Explanation{Title: "Recording stopped early", Side: OurSide,
			Text: "The recorder failed and could not be restarted. The recording up to that point was kept."}, true
	case "bot_lost":
		return Explanation{Title: "The bot was lost", Side: OurSide,
			Text: "The bot stopped responding and could not be replaced. The recording was assembled from the media it had uploaded."}, true
	case "cancelled":
		return Explanation{Title: "The job was cancelled",
			Text: "The bot did not report how it ended. The recording was assembled from the media it had uploaded."}, true
	case recording.EndUnknown:
		return Explanation{Title: "The end reason is unknown", Side: OurSide, Text: "The bot ended without reporting a reason."}, true
	}
	return Explanation{}, false
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
