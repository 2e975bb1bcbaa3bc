package simulator

import (
	"time"

	"standin/internal/job"
)

// stage is how far a bot gets.
type stage int

const (
	notOpened stage = iota
	joinPage        // where it clicks Join
	lobby
	meeting
)

// crashPoint is where a bot's process ends unexpectedly.
type crashPoint int

const (
	never crashPoint = iota
	whileJoining
	beforeRecording // in the meeting
	whileRecording  // after uploading the recording so far
)

// scenario describes what happens to the bots of a job.
type scenario struct {
	name string

	launchFails bool
	furthest    stage           // where a bot that fails does so
	failureCode job.FailureCode // empty: the meeting is recorded
	detail      string          // of the failure
	crashes     []crashPoint    // of each attempt; the last one applies to all later ones

	usesLobby      bool // before it is admitted
	asksPermission bool // to record, without a command
	permission     permission
	competitor     bool          // another notetaker is in the meeting
	duration       time.Duration // in the meeting, or in the lobby of a bot that gets no further

	duplicates bool // every event is sent twice
	reorders   bool // two events are sent late
}

const (
	shortMeeting = 2 * time.Second
	longMeeting  = 30 * time.Second
)

// scenarios returns all scenarios; the first one is the default.
// docs/simulator.md describes them, and a test checks the description.
func scenarios() []scenario {
	list := []scenario{
		{name: "success"},
		{name: "lobby", usesLobby: true},
		{name: "slow_meeting", duration: longMeeting},

		{name: "permission_granted", asksPermission: true},
		{name: "permission_denied", asksPermission: true, permission: denied},
		{name: "permission_timeout", asksPermission: true, permission: timeout},
		{name: "competing_bot", competitor: true},

		{name: "duplicate_events", usesLobby: true, duplicates: true},
		{name: "disordered_events", usesLobby: true, reorders: true},

		{name: "second_attempt", crashes: []crashPoint{beforeRecording, never}},
		{name: "lost_bot", crashes: []crashPoint{beforeRecording}},
		{name: "lost_bot_media_saved", crashes: []crashPoint{whileRecording, whileJoining}},

		failure(job.WaitingForHost, lobby, "The host did not start the meeting."),
		failure(job.MeetingNotFound, joinPage, "The meeting page reports that the meeting does not exist."),
		failure(job.HostDeniedAdmission, lobby, "The host denied the request to join."),
		failure(job.RemovedFromMeeting, meeting, "The bot was removed before anything was recorded."),
		failure(job.MeetingEnded, meeting, "The meeting ended before anything was recorded."),
		failure(job.InternalError, joinPage, "The browser crashed and nothing was recorded."),
		{name: string(job.DispatchTimeout), launchFails: true},
		failure(job.NetworkLoss, meeting, "The connection to the meeting was lost and not regained."),
		{name: string(job.RecordingDisabled), furthest: meeting, failureCode: job.RecordingDisabled, detail: "The host did not permit the recording.",
			asksPermission: true, permission: denied},
		failure(job.LobbyTimeout, lobby, "Nobody admitted the bot."),
		failure(job.AuthFailure, joinPage, "Only signed-in users can join: the meeting page asked to sign in."),
		failure(job.QuotaExceeded, notOpened, "The meeting quota is used up."),
	}
	for i := range list {
		if list[i].failureCode == "" {
			list[i].furthest = meeting
		}
		if list[i].permission == "" {
			list[i].permission = granted
		}
		if list[i].duration == 0 {
			list[i].duration = shortMeeting
		}
	}
	return list
}

// failure returns the scenario that fails with the code of its name.
func failure(code job.FailureCode, at stage, detail string) scenario {
	return scenario{name: string(code), furthest: at, failureCode: code, detail: detail, usesLobby: at == lobby}
}

// invalidOptions returns the options of a job whose metadata.simulate is
// invalid.
func invalidOptions(err error) options {
	return options{scenario: scenario{name: "invalid", failureCode: job.InternalError, detail: err.Error()}, speed: 1}
}

// Outcomes returns the values of metadata.simulate; the first one is the
// default.
func Outcomes() []string {
	var names []string
	for _, c := range scenarios() {
		names = append(names, c.name)
	}
	return names
}

// crashAt returns where the bot of an attempt crashes.
func (c scenario) crashAt(attempt int) crashPoint {
	if len(c.crashes) == 0 {
		return never
	}
	return c.crashes[min(attempt, len(c.crashes)-1)]
}
