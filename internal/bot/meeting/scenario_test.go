package meeting

import (
	"fmt"
	"math/rand/v2"
	"time"

	"standin/internal/job"
	"standin/internal/replica"
)

// outcome is the outcome of a visit in a scenario.
type outcome string

// The outcomes. The last four occur before joining.
const (
	staysOutcome    outcome = "admitted and stays"
	removedOutcome  outcome = "removed"
	endedOutcome    outcome = "ended"
	deniedOutcome   outcome = "denied"
	timeoutOutcome  outcome = "lobby timeout"
	absentOutcome   outcome = "host absent"
	offlineOutcome  outcome = "offline, then back"
	notFoundOutcome outcome = "not found"
	signInOutcome   outcome = "sign-in wall"
	captchaOutcome  outcome = "captcha"
	blockedOutcome  outcome = "blocked"
)

// outcomes returns the outcomes, repeated by their weight.
func outcomes() []outcome {
	return []outcome{
		staysOutcome, staysOutcome, staysOutcome, removedOutcome, removedOutcome, endedOutcome, endedOutcome, deniedOutcome, deniedOutcome,
		timeoutOutcome, absentOutcome, offlineOutcome, offlineOutcome, notFoundOutcome, signInOutcome, captchaOutcome, blockedOutcome,
	}
}

// scenario is one random meeting that a bot visits.
type scenario struct {
	number   int
	seed     uint64
	platform job.Platform
	settings replica.Settings
	outcome  outcome
	botName  string
	chatter  []string // the participants' messages
	openChat bool     // the bot opens the chat
	inLobby  bool     // the outcome occurs in the lobby
}

// String returns a text that identifies the scenario.
func (s scenario) String() string {
	return fmt.Sprintf("meeting %d of seed %d (%s, %s)", s.number, s.seed, s.platform, s.outcome)
}

// draw returns scenario number n of a seed.
func draw(seed uint64, n int) scenario {
	chance := rand.New(rand.NewPCG(seed, uint64(n)))
	maybe := func(oneIn int) bool { return chance.IntN(oneIn) == 0 }
	all := outcomes()
	s := scenario{
		number: n, seed: seed,
		platform: []job.Platform{job.Meet, job.Teams, job.ZoomWeb}[chance.IntN(3)],
		outcome:  all[chance.IntN(len(all))],
		openChat: maybe(2), inLobby: maybe(3),
		botName: pick(chance, "Standin", "Notes for Zoë", "Standin \U0001F4DD", "The very long name of a notetaker that wants to be sure that everyone has read it"),
	}
	s.settings = replica.Settings{
		Platform:   replicaPlatforms()[s.platform],
		HostAbsent: s.outcome == absentOutcome || maybe(6),
		NoTips:     maybe(2), LeaveAtOnce: maybe(3),
		Language: pick(chance, "en", "de"),
		Texts:    texts(chance, s.platform),
	}
	if maybe(3) {
		s.settings.PageDelay = time.Duration(chance.IntN(1500)) * time.Millisecond
	}
	s.settings.NoLobby = maybe(4) && s.outcome != deniedOutcome && s.outcome != timeoutOutcome && !s.inLobby
	for range 1 + chance.IntN(4) {
		s.settings.Participants = append(s.settings.Participants, replica.Participant{Name: pick(chance, names()...), CameraOff: maybe(2), Muted: maybe(2)})
	}
	switch s.outcome {
	case notFoundOutcome:
		s.settings.Refusal = replica.RefusalNotFound
	case signInOutcome:
		s.settings.Refusal = replica.RefusalSignIn
	case captchaOutcome:
		s.settings.Refusal = replica.RefusalCaptcha
	}
	addObstacles(chance, &s.settings)
	for range 4 + chance.IntN(8) {
		s.chatter = append(s.chatter, pick(chance, terminalPhrases()...))
	}
	return s
}

// addObstacles adds dialogs and notices of the platform.
func addObstacles(chance *rand.Rand, settings *replica.Settings) {
	maybe := func(oneIn int) bool { return chance.IntN(oneIn) == 0 }
	notices := []replica.Notice{replica.NoticeRecorded, replica.NoticeTranscribed}
	switch settings.Platform {
	case replica.Meet:
		settings.DeviceDialog = maybe(2)
		notices = append(notices, replica.NoticeGemini)
	case replica.Teams:
		settings.NoLauncher, settings.DevicesBeforeJoin, settings.DevicesAfterJoin = maybe(2), maybe(3), maybe(3)
	case replica.Zoom:
		settings.NoLauncher, settings.CookieBanner, settings.DeviceDialog, settings.Framed = maybe(2), maybe(2), maybe(2), maybe(3)
	}
	if settings.Platform != replica.Meet && maybe(2) && settings.Refusal == replica.NoRefusal {
		settings.Passcode = "k3Yq7a"
	}
	for _, notice := range notices {
		if maybe(3) {
			settings.Notices = append(settings.Notices, notice)
		}
	}
}

// names returns participants' names, including names similar to the bot's and
// texts of pages that end a visit.
func names() []string {
	return append(terminalPhrases(), "Ada Quill", "Ben Okafor", "Zoë Ångström", "王小明", "St\u0430ndin", "Standin 2", "Otter Smith", "You left", "Me (Host)", "<b>Eve</b>")
}

// texts draws the texts that the platform's screens show.
func texts(chance *rand.Rand, platform job.Platform) map[replica.State]string {
	known := map[job.Platform]map[replica.State][]string{
		job.Meet: {
			replica.StateLobby: {"", "Asking to be let in", "Please wait until a meeting host brings you into the call",
				"Please wait until a meeting host admits you to the call", "Waiting for the host to let you in"},
			replica.StateNotFound: {"", "Invalid video call name", "Your meeting code has expired", "The meeting code you entered doesn't work"},
			replica.StateEnded:    {"", "The call ended"},
		},
		job.Teams: {
			replica.StateLobby:  {"", "Someone in the meeting should let you in soon", "You're in the lobby", "Waiting to be admitted"},
			replica.StateDenied: {"", "Your request to join was declined"},
			replica.StateEnded:  {"", "Call ended"},
			replica.StateSignIn: {"", "We need to verify your info before you can join", "To join, sign in or use Teams on the web",
				"You need to be signed in to Teams to access this meeting", "External participants are not permitted to join before the event begins"},
		},
		job.ZoomWeb: {
			replica.StateLobby:  {"", "Host has joined. We've let them know you're here"},
			replica.StateEnded:  {"", "Meeting is end now"},
			replica.StateSignIn: {"", "The host requires authentication on the commercial Zoom platform to join this meeting."},
		},
	}
	drawn := make(map[replica.State]string)
	for _, state := range []replica.State{replica.StateLobby, replica.StateNotFound, replica.StateDenied, replica.StateEnded, replica.StateSignIn} {
		if texts := known[platform][state]; len(texts) > 0 {
			if text := pick(chance, texts...); text != "" {
				drawn[state] = text
			}
		}
	}
	return drawn
}

// pick draws one value.
func pick[T any](chance *rand.Rand, of ...T) T { return of[chance.IntN(len(of))] }
