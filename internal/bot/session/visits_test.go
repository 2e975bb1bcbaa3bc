package session

import (
	"bytes"
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

	"standin/internal/bot/capture"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/replica"
)

// platforms returns the platforms with a replica.
func platforms() []job.Platform { return []job.Platform{job.Meet, job.Teams, job.ZoomWeb} }

// onMeet marks scenarios that test nothing new on a second platform.
func onMeet() []job.Platform { return []job.Platform{job.Meet} }

// parallelScenarios is how many scenarios run at a time. Each keeps a browser
// busy: more of them only take longer.
const parallelScenarios = 2

// TestVisits sends the bot, with a real browser, into replicas of the platforms.
// The scenarios cover each failure code, each reason to leave, each limit of
// autoLeave and each command.
func TestVisits(t *testing.T) {
	t.Parallel()
	requireTools(t)
	server := startReplica(t)
	var delays delays
	queue := make(chan func())
	var workers sync.WaitGroup
	for range parallelScenarios {
		workers.Go(func() {
			for run := range queue {
				run()
			}
		})
	}
	for number, s := range slices.Concat(failureScenarios(), leaveScenarios(), commandScenarios(), recoveryScenarios(), mediaFaultScenarios(), []scenario{notStartedOnZoom()}) {
		for _, platform := range platformsOf(s, number) {
			queue <- func() {
				t.Run(fmt.Sprintf("%s/%s", platform, s.name), func(t *testing.T) {
					newHarness(t, server, platform, s, &delays).run()
				})
			}
		}
	}
	close(queue)
	workers.Wait()
	delays.check(t, map[string]time.Duration{
		"lobby": time.Second, "admission": time.Second, "removal": 2 * time.Second, "leaving": 2 * time.Second,
	})
}

// platformsOf returns the platforms to run a scenario on: with
// STANDIN_TEST_MATRIX=full (make matrix) all that it applies to, else one of
// them, in turn, or none if the scenario is long.
func platformsOf(s scenario, number int) []job.Platform {
	all := s.only
	if len(all) == 0 {
		all = platforms()
	}
	if fullMatrix() {
		return all
	}
	if s.long {
		return nil
	}
	return []job.Platform{all[number%len(all)]}
}

// fullMatrix reports whether all scenarios run on all platforms, with full-size video.
func fullMatrix() bool { return os.Getenv("STANDIN_TEST_MATRIX") == "full" }

// notStartedOnZoom returns a visit to a Zoom meeting whose page cannot tell an
// unknown meeting from one that has not started.
func notStartedOnZoom() scenario {
	return scenario{
		name: "not started or not found", long: true, only: []job.Platform{job.ZoomWeb}, configure: entryDelay(2),
		meeting: withRefusal(replica.RefusalNotFound), code: job.WaitingForHost, detail: "3,001",
	}
}

// withRefusal returns a meeting that refuses visitors.
func withRefusal(refusal replica.Refusal) replica.Settings { return replica.Settings{Refusal: refusal} }

// entryDelay sets how many seconds the bot waits to be admitted.
func entryDelay(seconds int) func(*Settings) {
	return func(s *Settings) { s.AutoLeave.AfterEntryDelaySeconds = seconds }
}

// hasLobby checks that the bot reported the lobby.
func hasLobby(h *harness) {
	if !slices.Contains(h.kinds(), job.BotEnteringLobby) {
		h.Errorf("no event of the lobby: %v", h.kinds())
	}
}

// detailHasAdvice checks that the failure's detail names the way that the platform
// offers.
func detailHasAdvice(h *harness) {
	if offered := map[job.Platform]string{job.Meet: "Google account", job.Teams: "Microsoft account", job.ZoomWeb: "RTMS"}[h.platform]; !strings.Contains(h.exited.FailureDetail, offered) {
		h.Errorf("the detail does not name %s: %s", offered, h.exited.FailureDetail)
	}
}

// hasCapture checks that a capture of the page was uploaded that holds a word, and
// that the failure's detail names it.
func hasCapture(word string) func(*harness) {
	return func(h *harness) {
		h.Helper()
		made := h.capture(0)
		if !bytes.HasPrefix(made.Screenshot, []byte("\x89PNG")) || len(made.Accessibility) == 0 || len(made.Profile) == 0 || len(made.Snapshots) == 0 {
			h.Errorf("the capture has a screenshot of %d bytes, %d bytes of the accessibility tree, %d bytes of the profile, %d snapshots",
				len(made.Screenshot), len(made.Accessibility), len(made.Profile), len(made.Snapshots))
		}
		if page := string(made.Page); !strings.Contains(page, word) || strings.Contains(page+made.Address, "secret") {
			h.Errorf("the capture of %s holds the page %s", made.Address, page)
		}
		if !strings.Contains(h.exited.FailureDetail, "capture-0.zip") {
			h.Errorf("the detail does not name the file: %s", h.exited.FailureDetail)
		}
	}
}

// capture returns the n-th capture that was uploaded.
func (h *harness) capture(n int) *capture.Capture {
	h.Helper()
	data, _ := h.service.Uploaded(fmt.Sprintf("capture-%d.zip", n))
	made, err := capture.Decode([]byte(data))
	if err != nil {
		h.Fatalf("capture %d: %v", n, err)
	}
	return made
}

// closedPort returns an address at which no server listens.
func closedPort(h *harness) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.Fatal(err)
	}
	host := listener.Addr().String()
	listener.Close()
	h.settings.AllowedHosts = []string{host}
	return "http://" + host + "/abc-defg-hij"
}

// emptyPage returns the address of a page that stays empty.
func emptyPage(h *harness) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Meeting</title><div id=root></div>"))
	}))
	h.Cleanup(server.Close)
	h.settings.AllowedHosts = []string{strings.TrimPrefix(server.URL, "http://")}
	return server.URL + "/abc-defg-hij"
}

// notAMeeting returns the address of a page of the replica that is no meeting.
func notAMeeting(h *harness) string { return h.replica.URL() + "/?pwd=secret" }

// failureScenarios are the sessions that record nothing.
func failureScenarios() []scenario {
	return []scenario{
		{
			name: "host absent", outside: true, meeting: replica.Settings{HostAbsent: true}, configure: entryDelay(2),
			code: job.WaitingForHost, detail: "It waited 2 s", check: hasLobby,
		},
		{
			name: "not admitted", outside: true, configure: entryDelay(2),
			during: func(h *harness) { h.awaitLobby(1) },
			code:   job.LobbyTimeout, detail: "It waited 2 s",
			check: func(h *harness) { h.awaitGuest(1, replica.EventKind(replica.StateLeft)) },
		},
		{
			name: "lobby timeout of the platform", long: true,
			during: func(h *harness) { h.awaitLobby(1); h.meeting.LobbyTimeout() },
			code:   job.LobbyTimeout, detail: "platform",
		},
		{
			name: "denied", outside: true,
			during: func(h *harness) { h.awaitLobby(1); h.meeting.Deny() },
			code:   job.HostDeniedAdmission,
		},
		{
			// The browser is ready before the join time, and opens the page then.
			name: "not found, launched early", outside: true, only: []job.Platform{job.Meet, job.Teams}, meeting: withRefusal(replica.RefusalNotFound), code: job.MeetingNotFound,
			configure: func(s *Settings) { s.JoinAt = time.Now().Add(4 * time.Second).Truncate(time.Millisecond) }, // the precision of events
			check:     joinedInTime,
		},
		{name: "sign-in wall", outside: true, meeting: withRefusal(replica.RefusalSignIn), code: job.AuthFailure, detail: "Sign-in wall", check: detailHasAdvice},
		{name: "captcha", long: true, meeting: withRefusal(replica.RefusalCaptcha), code: job.AuthFailure, detail: "Bot wall", check: detailHasAdvice},
		{
			name: "bot wall", long: true, only: onMeet(),
			meeting: withRefusal(replica.RefusalBlocked), code: job.AuthFailure, detail: "Bot wall",
		},
		{
			name: "cannot connect", long: true, only: []job.Platform{job.Teams, job.ZoomWeb},
			meeting: withRefusal(replica.RefusalBlocked), code: job.NetworkLoss, detail: "cannot connect",
		},
		{
			name: "wrong passcode", long: true, only: []job.Platform{job.Teams, job.ZoomWeb}, meeting: replica.Settings{Passcode: "right1"},
			configure: func(s *Settings) { s.MeetingURL = strings.Replace(s.MeetingURL, "right1", "secret1", 1) },
			code:      job.MeetingNotFound,
		},
		{
			name: "ended while waiting", long: true,
			during: func(h *harness) { h.awaitLobby(1); h.meeting.End() },
			code:   job.MeetingEnded,
		},
		{
			name: "removed before anything was recorded", long: true, configure: func(s *Settings) { s.RequirePermission = true },
			during: func(h *harness) {
				h.admit(1)
				h.event(job.BotPermissionRequest)
				h.meeting.Remove()
			},
			code:  job.RemovedFromMeeting,
			check: answeredWith("timeout", "left"),
		},
		{
			name: "unknown page instead of the lobby", long: true, outside: true,
			configure: func(s *Settings) { s.AutoLeave.AfterEntryDelaySeconds, s.Timeouts.Leave = 12, time.Second }, // the page loads in this time
			during: func(h *harness) {
				h.awaitLobby(1)
				if _, err := h.meeting.NavigateAway(notAMeeting(h)); err != nil {
					h.Fatal(err)
				}
			},
			code: job.InternalError, detail: "not recogni", check: hasCapture("A local copy of meeting platforms"),
		},
		{
			name: "unknown page from the start", long: true, only: onMeet(), address: notAMeeting,
			configure: func(s *Settings) { s.Timeouts.Join = 2 * time.Second },
			code:      job.InternalError, detail: "not recogni", check: hasCapture("A local copy of meeting platforms"),
		},
		{
			name: "page never loads", outside: true, meeting: replica.Settings{NeverLoads: true},
			configure: func(s *Settings) { s.Timeouts.Open, s.Timeouts.MaxRejoins = 5*time.Second, -1 },
			code:      job.NetworkLoss, detail: "did not load",
		},
		{
			name: "page stays empty", long: true, only: onMeet(), address: emptyPage,
			configure: func(s *Settings) { s.Timeouts.Join, s.Timeouts.MaxRejoins = 2*time.Second, -1 },
			code:      job.NetworkLoss, detail: "stayed empty",
		},
		{
			name: "no server at the address", outside: true, only: onMeet(), address: closedPort,
			code: job.NetworkLoss, detail: "did not load",
		},
		{
			name: "host refuses recording", long: true, configure: func(s *Settings) { s.RequirePermission = true },
			during: func(h *harness) { h.admit(1); h.answerPermission(1, false) },
			code:   job.RecordingDisabled, detail: "permission", check: answeredWith("denied", ""),
		},
		{
			name: "host does not answer about recording", long: true,
			configure: func(s *Settings) { s.RequirePermission, s.PermissionTimeout = true, time.Second },
			during:    func(h *harness) { h.admit(1) },
			code:      job.RecordingDisabled, detail: "did not answer", check: answeredWith("timeout", ""),
		},
	}
}

// answerPermission answers the bot's n-th request for permission.
func (h *harness) answerPermission(n int, granted bool) {
	h.Helper()
	h.awaitMeeting("request for permission", nthRequest(n))
	if h.platform == job.ZoomWeb {
		h.meeting.AnswerPermission(granted)
		return
	}
	// The first two only resemble an answer.
	for _, text := range []string{"I said yes to lunch", "no idea who that is", map[bool]string{true: "Yes!", false: "No."}[granted]} {
		if err := h.meeting.Say("Ada Quill", text); err != nil {
			h.Fatal(err)
		}
	}
}

// nthRequest matches the n-th request for permission, on the page or in the chat.
func nthRequest(n int) func(replica.Event) bool {
	asked := 0
	return func(event replica.Event) bool {
		if event.Kind == replica.EventPermissionAsked || event.Kind == replica.EventChat && strings.Contains(event.Text, "record") {
			asked++
		}
		return asked == n
	}
}

// answeredWith checks the outcome of the first request for permission.
func answeredWith(outcome, detail string) func(*harness) {
	return func(h *harness) {
		h.Helper()
		data := ingest.ParseEventData(h.event(job.BotPermissionResponse).Data)
		if data.Outcome != outcome || data.Granted == nil || *data.Granted != (outcome == "granted") || !strings.Contains(data.Detail, detail) {
			h.Errorf("answer about permission: %+v", data)
		}
	}
}
