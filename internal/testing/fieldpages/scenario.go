package fieldpages

import (
	"math/rand/v2"
	"slices"

	"standin/internal/jobs/job"
)

// Scenario is what happens in a meeting, and how the bot has to report it.
type Scenario struct {
	Name   string
	Weight int            // share of the generated meetings
	Only   []job.Platform // platforms that it exists on; empty: all

	// Codes are the right failure codes, and Reasons the right end reasons of a
	// recording.
	Codes   []job.FailureCode
	Reasons []string
	// Waits is true if the bot ends the meeting by a limit of its own: the page
	// never does.
	Waits bool
	Once  bool // the bot asks to join only once
}

// Scenarios returns all scenarios.
func Scenarios() []Scenario {
	hostEnded := []string{"host_ended"}
	only := func(platforms ...job.Platform) []job.Platform { return platforms }
	codes := func(codes ...job.FailureCode) []job.FailureCode { return codes }
	return []Scenario{
		// The bot is admitted.
		{Name: "lobby", Weight: 8, Reasons: hostEnded},
		{Name: "straight", Weight: 4, Reasons: hostEnded},
		{Name: "removed", Weight: 4, Reasons: []string{"removed"}},
		{Name: "hostAbsent", Weight: 4, Only: only(job.Meet, job.ZoomWeb), Reasons: hostEnded},
		{Name: "unknownLobby", Weight: 4, Reasons: hostEnded},
		{Name: "unknownScreen", Weight: 3, Reasons: hostEnded},
		{Name: "quiet", Weight: 2, Reasons: hostEnded},
		{Name: "dialogs", Weight: 4, Reasons: hostEnded},
		{Name: "consent", Weight: 2, Only: only(job.Meet, job.ZoomWeb), Reasons: hostEnded},
		{Name: "decoys", Weight: 4, Reasons: hostEnded},
		{Name: "alone", Weight: 4, Reasons: []string{"alone"}, Waits: true},
		{Name: "lost", Weight: 2, Only: only(job.Meet), Reasons: hostEnded},
		{Name: "problem", Weight: 2, Only: only(job.Meet, job.Teams), Reasons: hostEnded},
		{Name: "workspace", Weight: 1, Only: only(job.Meet), Reasons: hostEnded, Codes: codes(job.AuthFailure, job.NetworkLoss)},
		{Name: "terms", Weight: 2, Only: only(job.ZoomWeb), Reasons: hostEnded},
		{Name: "freeEnd", Weight: 2, Only: only(job.ZoomWeb), Reasons: hostEnded, Once: true},
		{Name: "strangeEnd", Weight: 2, Only: only(job.Meet, job.Teams), Reasons: hostEnded, Once: true},
		{Name: "crowd", Weight: 3, Reasons: hostEnded},
		{Name: "talk", Weight: 3, Reasons: hostEnded},
		{Name: "notetaker", Weight: 2, Only: only(job.Meet), Reasons: hostEnded},
		{Name: "panelist", Weight: 1, Only: only(job.ZoomWeb), Reasons: hostEnded},
		{Name: "reload", Weight: 2, Only: only(job.Meet), Reasons: hostEnded},
		{Name: "drawnEnd", Weight: 1, Only: only(job.ZoomWeb), Reasons: hostEnded},
		{Name: "contradiction", Weight: 2, Only: only(job.Meet), Reasons: hostEnded},
		{Name: "invalid", Weight: 1, Only: only(job.ZoomWeb), Reasons: hostEnded},

		// The bot is not admitted.
		{Name: "denied", Weight: 4, Codes: codes(job.HostDeniedAdmission)},
		{Name: "left", Weight: 3, Only: only(job.Meet), Codes: codes(job.HostDeniedAdmission)},
		{Name: "noAnswer", Weight: 2, Only: only(job.Meet), Codes: codes(job.LobbyTimeout)},
		{Name: "never", Weight: 4, Codes: codes(job.LobbyTimeout), Waits: true},
		{Name: "unknownNever", Weight: 2, Codes: codes(job.LobbyTimeout), Waits: true},
		{Name: "botLobby", Weight: 3, Only: only(job.Teams), Codes: codes(job.LobbyTimeout), Waits: true},
		{Name: "hostNever", Weight: 2, Only: only(job.Meet, job.ZoomWeb), Codes: codes(job.WaitingForHost), Waits: true},

		// The bot is kept out.
		{Name: "notFound", Weight: 4, Codes: codes(job.MeetingNotFound)},
		{Name: "passcode", Weight: 2, Only: only(job.ZoomWeb), Codes: codes(job.MeetingNotFound)},
		{Name: "signIn", Weight: 4, Codes: codes(job.AuthFailure)},
		{Name: "emailCode", Weight: 3, Only: only(job.Teams), Codes: codes(job.AuthFailure)},
		{Name: "codeError", Weight: 3, Only: only(job.ZoomWeb), Codes: codes(job.AuthFailure)},
		{Name: "captcha", Weight: 2, Codes: codes(job.AuthFailure)},
		{Name: "botWall", Weight: 3, Only: only(job.Meet, job.ZoomWeb), Codes: codes(job.AuthFailure)},
		{Name: "credentials", Weight: 1, Only: only(job.Meet), Codes: codes(job.AuthFailure)},
		{Name: "full", Weight: 1, Only: only(job.Meet), Codes: codes(job.AuthFailure, job.HostDeniedAdmission)},
		{Name: "refused", Weight: 1, Only: only(job.Meet), Codes: codes(job.AuthFailure, job.NetworkLoss)},
		{Name: "locked", Weight: 2, Only: only(job.Teams, job.ZoomWeb), Codes: codes(job.HostDeniedAdmission), Once: true},
		{Name: "finalModal", Weight: 2, Only: only(job.ZoomWeb), Codes: codes(job.HostDeniedAdmission, job.AuthFailure)},
		{Name: "busyHost", Weight: 1, Only: only(job.ZoomWeb), Codes: codes(job.WaitingForHost), Waits: true},
		{Name: "registration", Weight: 1, Only: only(job.ZoomWeb), Codes: codes(job.AuthFailure)},
		{Name: "network", Weight: 1, Only: only(job.ZoomWeb), Codes: codes(job.AuthFailure, job.NetworkLoss)},
	}
}

// scenario returns the plan's scenario, with what differs on its platform.
func (p Plan) scenario() Scenario {
	all := Scenarios()
	s := all[slices.IndexFunc(all, func(s Scenario) bool { return s.Name == p.Scenario })]
	if p.Platform == job.ZoomWeb {
		switch s.Name {
		case "denied": // the lobby of Zoom has no words of its own for it
			s.Codes = append(s.Codes, job.RemovedFromMeeting)
		case "notFound": // its page is also shown before the host has started
			s.Codes = append(s.Codes, job.WaitingForHost)
		}
	}
	return s
}

// on reports whether the scenario exists on a platform.
func (s Scenario) on(platform job.Platform) bool {
	return len(s.Only) == 0 || slices.Contains(s.Only, platform)
}

// chooseScenario chooses a scenario of a platform by weight.
func chooseScenario(random *rand.Rand, platform job.Platform) Scenario {
	total := 0
	for _, s := range Scenarios() {
		if s.on(platform) {
			total += s.Weight
		}
	}
	n := random.IntN(total)
	for _, s := range Scenarios() {
		if !s.on(platform) {
			continue
		}
		if n -= s.Weight; n < 0 {
			return s
		}
	}
	panic("the weights do not add up")
}
