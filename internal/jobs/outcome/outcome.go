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

// HostSteps are what the host of a meeting can do so that a bot is let in.
var HostSteps = map[job.Platform]string{
	job.Meet: "In Google Meet, the host opens People and admits it under “Waiting to join”. Guests who are not on the invitation may be in a second " +
		"list there, which is refused by itself unless the host opens it. Whoever is on the invitation is let in without waiting.",
	job.Teams: "In Microsoft Teams, the organizer opens People and admits it. If Teams takes it for a bot, the organizer has to admit it alone, and the " +
		"meeting policy of the organization (ExternalBotAccessMode) must allow external bots.",
	job.ZoomWeb: "In Zoom, the host opens Participants and admits it from the waiting room. The host must have started the meeting.",
}

// Explain describes a job by its status, the status in which it failed, and the end
// reason and the partial flag of its manifest.
func Explain(j job.Job, failedIn job.Status, endReason string, partial bool) Explanation {
	switch j.Status {
	case job.Failed:
		e, known := failures[j.FailureCode]
		if !known {
			e = Explanation{Title: "The job failed", Text: "Unknown failure code: “" + string(j.FailureCode) + "”."}
		}
		if j.FailureCode == job.NetworkLoss && (failedIn == job.Dispatching || failedIn == job.Joining) {
			e.Title, e.Text = "The meeting page could not be reached", "The bot could not open the meeting page."
		}
		if j.FailureCode == job.AuthFailure && strings.HasPrefix(j.FailureDetail, "Bot wall") {
			e.Title, e.Text = "The meeting page refused the bot", "It shows a captcha, or it refuses visitors that it takes for bots."
			e.Action = "Let the bot sign in, or ask the host to allow guests."
		}
		if j.FailureCode == job.AuthFailure && j.Platform == job.ZoomSDK {
			e.Title, e.Text = "Zoom refused the bot", "The failure detail says why."
			e.Action = "Under Accounts, compare the client ID and the client secret with Zoom’s, and check the scopes of the app."
		}
		if j.FailureCode == job.LobbyTimeout || j.FailureCode == job.HostDeniedAdmission {
			e.Action = strings.TrimSpace(e.Action + " " + HostSteps[j.Platform])
		}
		e.Failed, e.Stage = true, stages[failedIn]
		return e
	case job.Completed, job.Cancelled:
		e, known := endings[endReason]
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
	if e, ok := running[j.Status]; ok {
		if j.Status == job.EnteringLobby {
			e.Action = HostSteps[j.Platform]
		}
		return e
	}
	return Explanation{Title: "The recording is being finished", Text: "The bot has left the meeting. The recording will be ready soon."}
}

// running describes the jobs that have not ended.
var running = map[job.Status]Explanation{
	job.Scheduled: {Title: "The bot is scheduled", Text: "It joins at the scheduled time."},
	job.Pending: {Title: "The bot is waiting for capacity", Side: OurSide,
		Text: "The job is due, but the service is running as many bots as it can. The bot starts as soon as capacity is free."},
	job.Dispatching: {Title: "The bot is being started",
		Text: "The service starts a browser for the bot. If that fails, it tries again, and the timeline has the reason."},
	job.Joining:             {Title: "The bot is opening the meeting", Text: "It has opened the meeting page and asks to join."},
	job.EnteringLobby:       {Title: "The bot is waiting in the lobby", Text: "Someone in the meeting has to admit it."},
	job.InMeeting:           {Title: "The bot is in the meeting", Text: "It does not record yet."},
	job.RecordingStarted:    {Title: "The bot is recording", Text: "It stays until the meeting ends, or one of its limits is reached."},
	job.RecordingPaused:     {Title: "The recording is paused", Text: "The bot stays in the meeting and keeps nothing of it."},
	job.PermissionRequested: {Title: "The bot asks for permission to record", Text: "It waits for the answer of the host."},
	job.RecordingStopped:    {Title: "The recording was stopped", Text: "Nothing more is recorded."},
}

// failures describes the failure codes.
var failures = map[job.FailureCode]Explanation{
	job.WaitingForHost: {Title: "The host did not start the meeting", Side: MeetingSide,
		Text:   "The bot waited for the host until its time limit.",
		Action: "Send a bot again when the host is present, or give the bot more time to be admitted (afterEntryDelaySeconds)."},
	job.MeetingNotFound: {Title: "Meeting not found", Side: YourSide,
		Text:   "The link does not lead to a meeting, or its host is not allowed for bots.",
		Action: "Compare the link with the invitation. If the meeting is on your own host, ask the operator to add the host to STANDIN_ALLOWED_MEETING_HOSTS."},
	job.HostDeniedAdmission: {Title: "The host did not admit the bot", Side: MeetingSide,
		Text:   "Someone in the meeting rejected the bot’s request to join.",
		Action: "Tell the host to expect the bot, by name, then retry."},
	job.RemovedFromMeeting: {Title: "The bot was removed", Side: MeetingSide,
		Text:   "Someone removed the bot from the meeting before anything was recorded.",
		Action: "Ask the host whether recording is allowed, then retry."},
	job.MeetingEnded: {Title: "The meeting had ended", Side: MeetingSide,
		Text:   "The meeting ended, or the bot was asked to leave, before anything was recorded.",
		Action: "Check the time of the meeting. The service is working normally."},
	job.InternalError: {Title: "Internal error", Side: OurSide,
		Text:   "The bot or the service failed. The failure detail says what happened.",
		Action: "Send the bot again. If it fails again, ask the operator to check the details and to run standin doctor."},
	job.DispatchTimeout: {Title: "No bot could be started", Side: OurSide,
		Text:   "The service could not start a bot in time: no capacity was free, bots fail to start, or the service was down.",
		Action: "Ask the operator to check the capacity and to run standin doctor, then send the bot again."},
	job.NetworkLoss: {Title: "The connection was lost", Side: OurSide,
		Text:   "The bot lost its connection to the meeting and could not rejoin. Nothing usable was recorded.",
		Action: "Check the network of the machine that runs the bots, then send the bot again."},
	job.RecordingDisabled: {Title: "Recording was not allowed", Side: MeetingSide,
		Text:   "This job requires the host’s permission and did not get it, or the meeting forbids recording.",
		Action: "Ask the host to allow recording when the bot asks."},
	job.LobbyTimeout: {Title: "Nobody admitted the bot", Side: MeetingSide,
		Text:   "The bot waited in the lobby until its time limit.",
		Action: "Ask the host to admit the bot, or give the bot more time to be admitted (afterEntryDelaySeconds)."},
	job.AuthFailure: {Title: "The meeting requires sign-in", Side: MeetingSide,
		Text:   "Only signed-in people can join the meeting, or it needs a passcode that the link does not contain.",
		Action: "Use a link that contains the passcode, ask the host to allow guests, or let the bot sign in."},
	job.QuotaExceeded: {Title: "Quota exceeded", Side: YourSide,
		Text:   "Your plan allows no more jobs in this period, so no bot was sent.",
		Action: "Wait for the next month or upgrade your plan."},
}

// endings describes the end reasons of manifests.
var endings = map[string]Explanation{
	"host_ended": {Title: "The host ended the meeting", Text: "The bot stayed until the end."},
	"removed": {Title: "The bot was removed", Side: MeetingSide,
		Text: "Someone removed the bot from the meeting. The recording up to that point was kept."},
	"alone": {Title: "Everyone left", Text: "The bot was alone in the meeting and left, as its limit afterSoloSeconds says."},
	"silence": {
		Title: "The meeting was silent", Text: "There was no sound for as long as its limit afterSilenceSeconds allows, so the bot left.",
	},
	"max_duration": {Title: "The time limit was reached",
		Text:   "The meeting reached the maximum duration of this job (afterMaxSeconds). The rest was not recorded.",
		Action: "To record longer, increase the limit for the next job."},
	"competing_bot":   {Title: "Another notetaker was in the meeting", Text: "The bot left immediately, as this job requests."},
	"left_on_command": {Title: "The bot left on command", Text: "A user or an API client told the bot to leave, or cancelled the job."},
	"permission_refused": {Title: "The host refused recording", Side: MeetingSide,
		Text: "This job records only with permission, so the bot left."},
	"superseded": {Title: "Another attempt took over", Side: OurSide,
		Text: "The service had started another attempt and stopped this bot."},
	"bot_stopped": {Title: "The bot’s process was stopped", Side: OurSide,
		Text: "The machine or its operator stopped the bot, and no other bot could continue. The recording up to that point was kept."},
	"browser_crashed": {Title: "The bot’s browser crashed", Side: OurSide,
		Text:   "The browser could not be restarted. The recording up to that point was kept.",
		Action: "If this happens often, ask the operator to check the memory of the machine."},
	"connection_lost": {Title: "The connection was lost", Side: OurSide,
		Text: "The bot could not rejoin the meeting. The recording up to that point was kept."},
	"recording_failed": {Title: "Recording stopped early", Side: OurSide,
		Text: "The recorder failed and could not be restarted. The recording up to that point was kept."},
	"bot_lost": {Title: "The bot was lost", Side: OurSide,
		Text: "The bot stopped responding and could not be replaced. The recording was assembled from the media it had uploaded."},
	"cancelled": {Title: "The job was cancelled",
		Text: "The bot did not report how it ended. The recording was assembled from the media it had uploaded."},
	recording.EndUnknown: {Title: "The end reason is unknown", Side: OurSide, Text: "The bot ended without reporting a reason."},
}

// stages says how far a bot got that failed in a status.
var stages = map[job.Status]string{
	job.Scheduled:           "before a bot was started",
	job.Pending:             "before a bot was started",
	job.Dispatching:         "while a bot was starting",
	job.Joining:             "while the bot was opening the meeting",
	job.EnteringLobby:       "while the bot was waiting in the lobby",
	job.InMeeting:           "in the meeting, before recording started",
	job.RecordingStarted:    "while recording",
	job.RecordingPaused:     "while recording was paused",
	job.PermissionRequested: "while the bot was waiting for permission",
	job.RecordingStopped:    "in the meeting, after recording",
	job.Finalizing:          "while the recording was being processed",
	job.PostProcessing:      "while the recording was being processed",
	job.MediaUploading:      "while the recording was being processed",
}
