package bot

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/replica"
)

// platforms are those that the rows are run on.
func platforms() []job.Platform { return []job.Platform{job.Meet, job.Teams, job.ZoomWeb} }

// onMeet marks rows that tell nothing new on a second platform.
func onMeet() []job.Platform { return []job.Platform{job.Meet} }

// atOnce is how many outings go on at a time. Each is a browser that is busy for
// as long as its meeting lasts: more of them only make each other last longer.
const atOnce = 2

// TestVisits sends the bot, with a real browser, into replicas of every
// platform: each failure code that can arise in the page, each ending that is a
// success, each auto-leave knob and each command (issue: what it must show).
func TestVisits(t *testing.T) {
	t.Parallel()
	needTools(t)
	stage := startReplica(t)
	var delays delays
	queue := make(chan func())
	var outings sync.WaitGroup
	for range atOnce {
		outings.Go(func() {
			for outing := range queue {
				outing()
			}
		})
	}
	for number, r := range slices.Concat(failures(), successes(), commands(), troubles()) {
		for _, platform := range on(r, number) {
			queue <- func() {
				t.Run(fmt.Sprintf("%s/%s", platform, r.name), func(t *testing.T) {
					newOuting(t, stage, platform, r, &delays).run()
				})
			}
		}
	}
	close(queue)
	outings.Wait()
	delays.check(t, map[string]time.Duration{
		"lobby": time.Second, "admission": time.Second, "removal": 2 * time.Second, "leaving": 2 * time.Second,
	})
}

// on are the platforms that a row is run on: with STANDIN_TEST_MATRIX=full
// (make matrix) all that it is for, else one of them, in turn.
func on(r row, number int) []job.Platform {
	all := r.only
	if len(all) == 0 {
		all = platforms()
	}
	if fullMatrix() {
		return all
	}
	return []job.Platform{all[number%len(all)]}
}

// fullMatrix tells that every row is wanted everywhere, and as it is in life.
func fullMatrix() bool { return os.Getenv("STANDIN_TEST_MATRIX") == "full" }

// walled is a meeting behind a wall.
func walled(wall replica.Refusal) replica.Settings { return replica.Settings{Refusal: wall} }

// impatient makes the bot wait so many seconds to be let in.
func impatient(seconds int) func(*Settings) {
	return func(s *Settings) { s.AutoLeave.AfterEntryDelaySeconds = seconds }
}

// hasLobby tells that the bot has told of the lobby.
func hasLobby(o *outing) {
	if !slices.Contains(o.kinds(), job.BotEnteringLobby) {
		o.Errorf("it never told of the lobby: %v", o.kinds())
	}
}

// keptEvidence tells that picture and text of the page were uploaded, and that
// the failure says so.
func keptEvidence(word string) func(*outing) {
	return func(o *outing) {
		o.Helper()
		picture, _ := o.service.Uploaded("diagnostics-0.png")
		if !strings.HasPrefix(picture, "\x89PNG") {
			o.Errorf("no picture of the page was kept (%d bytes)", len(picture))
		}
		if text, _ := o.service.Uploaded("diagnostics-0.txt"); !strings.Contains(text, word) || strings.Contains(text, "secret") {
			o.Errorf("kept of the page's text: %q", text)
		}
		if !strings.Contains(o.exited.FailureDetail, "diagnostics-0.txt") {
			o.Errorf("the detail does not tell of it: %s", o.exited.FailureDetail)
		}
	}
}

// nobodyListens is an address at which nobody does.
func nobodyListens(o *outing) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		o.Fatal(err)
	}
	host := listener.Addr().String()
	listener.Close()
	o.settings.AllowedHosts = []string{host}
	return "http://" + host + "/abc-defg-hij"
}

// emptyPage is an address at which a page loads whose parts never come.
func emptyPage(o *outing) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Meeting</title><div id=root></div>"))
	}))
	o.Cleanup(server.Close)
	o.settings.AllowedHosts = []string{strings.TrimPrefix(server.URL, "http://")}
	return server.URL + "/abc-defg-hij"
}

// home is a page of the replica's that is no meeting.
func home(o *outing) string { return o.stage.URL() + "/?pwd=secret" }

// failures are the visits that come to nothing.
func failures() []row {
	return []row{
		{
			name: "the host does not come", meeting: replica.Settings{HostAbsent: true}, bot: impatient(2),
			code: job.WaitingForHost, detail: "It waited 2 s", check: hasLobby,
		},
		{
			name: "nobody lets it in", bot: impatient(2),
			act:  func(o *outing) { o.waits(1) },
			code: job.LobbyTimeout, detail: "It waited 2 s",
			check: func(o *outing) { o.happens(1, replica.EventKind(replica.StateLeft)) },
		},
		{
			name: "the platform ends the wait",
			act:  func(o *outing) { o.waits(1); o.meeting.LobbyTimeout() },
			code: job.LobbyTimeout, detail: "platform",
		},
		{
			name: "denied",
			act:  func(o *outing) { o.waits(1); o.meeting.Deny() },
			code: job.HostDeniedAdmission,
		},
		{name: "not found", meeting: walled(replica.RefusalNotFound), code: job.MeetingNotFound},
		{name: "sign-in wall", meeting: walled(replica.RefusalSignIn), code: job.AuthFailure, detail: "Sign-in wall"},
		{name: "captcha", meeting: walled(replica.RefusalCaptcha), code: job.AuthFailure, detail: "Bot wall"},
		{
			name: "bot wall", only: onMeet(),
			meeting: walled(replica.RefusalBlocked), code: job.AuthFailure, detail: "Bot wall",
		},
		{
			name: "cannot connect", only: []job.Platform{job.Teams, job.ZoomWeb},
			meeting: walled(replica.RefusalBlocked), code: job.NetworkLoss, detail: "cannot connect",
		},
		{
			name: "wrong passcode", only: []job.Platform{job.Teams, job.ZoomWeb}, meeting: replica.Settings{Passcode: "right1"},
			bot:  func(s *Settings) { s.MeetingURL = strings.Replace(s.MeetingURL, "right1", "secret1", 1) },
			code: job.MeetingNotFound,
		},
		{
			name: "ended while it waited",
			act:  func(o *outing) { o.waits(1); o.meeting.End() },
			code: job.MeetingEnded,
		},
		{
			name: "removed before anything was recorded", bot: func(s *Settings) { s.RequirePermission = true },
			act: func(o *outing) {
				o.admit(1)
				o.told(job.BotPermissionRequest)
				o.meeting.Remove()
			},
			code:  job.RemovedFromMeeting,
			check: answeredWith("timeout", "left"),
		},
		{
			name: "an unknown page in place of the lobby",
			bot:  func(s *Settings) { s.AutoLeave.AfterEntryDelaySeconds, s.Timeouts.Leave = 4, time.Second },
			act: func(o *outing) {
				o.waits(1)
				if _, err := o.meeting.NavigateAway(home(o)); err != nil {
					o.Fatal(err)
				}
			},
			code: job.InternalError, detail: "not recognised", check: keptEvidence("Meetings of this replica"),
		},
		{
			name: "an unknown page from the start", only: onMeet(), elsewhere: home,
			bot:  func(s *Settings) { s.Timeouts.Join = 2 * time.Second },
			code: job.InternalError, detail: "not recognised", check: keptEvidence("Meetings of this replica"),
		},
		{
			name: "a page that never loads", meeting: replica.Settings{NeverLoads: true},
			bot:  func(s *Settings) { s.Timeouts.Open, s.Timeouts.MaxRejoins = 5*time.Second, -1 },
			code: job.NetworkLoss, detail: "did not load",
		},
		{
			name: "a page that stays empty", only: onMeet(), elsewhere: emptyPage,
			bot:  func(s *Settings) { s.Timeouts.Join, s.Timeouts.MaxRejoins = 2*time.Second, -1 },
			code: job.NetworkLoss, detail: "stayed empty",
		},
		{
			name: "nobody is at the address", only: onMeet(), elsewhere: nobodyListens,
			code: job.NetworkLoss, detail: "did not load",
		},
		{
			name: "the host refuses to be recorded", bot: func(s *Settings) { s.RequirePermission = true },
			act:  func(o *outing) { o.admit(1); o.answerPermission(1, false) },
			code: job.RecordingDisabled, detail: "permission", check: answeredWith("denied", ""),
		},
		{
			name: "the host does not say whether it may record",
			bot:  func(s *Settings) { s.RequirePermission, s.PermissionTimeout = true, time.Second },
			act:  func(o *outing) { o.admit(1) },
			code: job.RecordingDisabled, detail: "did not answer", check: answeredWith("timeout", ""),
		},
	}
}

// answerPermission answers the bot's question of that number as the platform
// has it.
func (o *outing) answerPermission(number int, granted bool) {
	o.Helper()
	o.happensSo("the question", questions(number))
	if o.platform == job.ZoomWeb {
		o.meeting.AnswerPermission(granted)
		return
	}
	// What only sounds like an answer is none.
	for _, text := range []string{"I said yes to lunch", "no idea who that is", map[bool]string{true: "Yes!", false: "No."}[granted]} {
		if err := o.meeting.Say("Ada Quill", text); err != nil {
			o.Fatal(err)
		}
	}
}

// questions matches the question of that number, whether the page or the chat
// asks it.
func questions(number int) func(replica.Event) bool {
	asked := 0
	return func(event replica.Event) bool {
		if event.Kind == replica.EventPermissionAsked || event.Kind == replica.EventChat && strings.Contains(event.Text, "record") {
			asked++
		}
		return asked == number
	}
}

// answeredWith tells that the last request for permission had that outcome.
func answeredWith(outcome, detail string) func(*outing) {
	return func(o *outing) {
		o.Helper()
		data := ingest.ParseEventData(o.told(job.BotPermissionResponse).Data)
		if data.Outcome != outcome || data.Granted == nil || *data.Granted != (outcome == "granted") || !strings.Contains(data.Detail, detail) {
			o.Errorf("the permission was answered with %+v", data)
		}
	}
}
