package simulator

import (
	"time"

	"standin/internal/job"
)

// place is how far a bot gets.
type place int

const (
	nowhere place = iota // it does not even open the page
	door                 // the page, where it clicks join
	lobby
	meeting
)

// moment is when a bot is lost: when its process ends without a word.
type moment int

const (
	never moment = iota
	atDoor
	unrecorded // in the meeting, before anything was recorded
	recorded   // in the meeting, with its recording uploaded so far
)

// course is what happens to the bots of a job.
type course struct {
	name string

	unlaunchable bool            // no bot can be started at all
	reaches      place           // where the bot gets to, and fails if it does
	fails        job.FailureCode // empty: the meeting is recorded
	detail       string          // of the failure
	lost         []moment        // of each attempt; the last one holds for all later

	waits      bool          // in the lobby, on the way in
	asks       bool          // for permission to record, by itself, before recording
	answer     answer        // of the host, whoever asked
	competitor bool          // another notetaker is in the meeting
	stay       time.Duration // in the meeting, or in the lobby if the bot gets no further

	duplicates bool // every event is sent twice
	disorder   bool // two events are sent later than they happened
}

const (
	shortStay = 2 * time.Second
	longStay  = 30 * time.Second
)

// courses lists what can be wished for; the first one is the default.
// docs/simulator.md describes each, and a test holds it against what happens.
func courses() []course {
	list := []course{
		{name: "success"},
		{name: "lobby", waits: true},
		{name: "slow_meeting", stay: longStay},

		{name: "permission_granted", asks: true},
		{name: "permission_denied", asks: true, answer: denied},
		{name: "permission_timeout", asks: true, answer: timeout},
		{name: "competing_bot", competitor: true},

		{name: "duplicate_events", waits: true, duplicates: true},
		{name: "disordered_events", waits: true, disorder: true},

		{name: "second_attempt", lost: []moment{unrecorded, never}},
		{name: "lost_bot", lost: []moment{unrecorded}},
		{name: "lost_bot_media_saved", lost: []moment{recorded, atDoor}},

		failure(job.WaitingForHost, lobby, "The host did not come."),
		failure(job.MeetingNotFound, door, "The page says that there is no such meeting."),
		failure(job.HostDeniedAdmission, lobby, "The host denied the request to join."),
		failure(job.RemovedFromMeeting, meeting, "The bot was removed before anything was recorded."),
		failure(job.MeetingEnded, meeting, "The meeting ended before anything was recorded."),
		failure(job.InternalError, door, "The browser crashed and nothing was recorded."),
		{name: string(job.DispatchTimeout), unlaunchable: true},
		failure(job.NetworkLoss, meeting, "The connection to the meeting was lost and not regained."),
		{name: string(job.RecordingDisabled), reaches: meeting, fails: job.RecordingDisabled, detail: "The host did not permit the recording.",
			asks: true, answer: denied},
		failure(job.LobbyTimeout, lobby, "Nobody let the bot in."),
		failure(job.AuthFailure, door, "The meeting is for signed-in people only: a sign-in page was shown."),
		failure(job.QuotaExceeded, nowhere, "The quota of meetings is spent."),
	}
	for i := range list {
		if list[i].fails == "" {
			list[i].reaches = meeting
		}
		if list[i].answer == "" {
			list[i].answer = granted
		}
		if list[i].stay == 0 {
			list[i].stay = shortStay
		}
	}
	return list
}

// failure is the course that fails with the code of its name.
func failure(code job.FailureCode, at place, detail string) course {
	return course{name: string(code), reaches: at, fails: code, detail: detail, waits: at == lobby}
}

// unfulfillable is the course of a wish that cannot be fulfilled.
func unfulfillable(err error) wish {
	return wish{course: course{name: "unfulfillable", fails: job.InternalError, detail: err.Error()}, speed: 1}
}

// Outcomes lists what metadata.simulate may name; the first one is the default.
func Outcomes() []string {
	var names []string
	for _, c := range courses() {
		names = append(names, c.name)
	}
	return names
}

// lostAt is when the bot of an attempt is lost.
func (c course) lostAt(attempt int) moment {
	if len(c.lost) == 0 {
		return never
	}
	return c.lost[min(attempt, len(c.lost)-1)]
}
