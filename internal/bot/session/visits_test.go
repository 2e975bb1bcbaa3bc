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
	"testing"
	"time"

	"standin/internal/bot/capture"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/replica"
)

// platforms returns the platforms with a replica.
func platforms() []job.Platform { return []job.Platform{job.Meet, job.Teams, job.ZoomWeb} }

// onMeet marks scenarios that test nothing new on a second platform.
func onMeet() []job.Platform { return []job.Platform{job.Meet} }

// TestVisits sends the bot, with a real browser, into replicas of the platforms.
// The scenarios cover each failure code, each reason to leave, each limit of
// autoLeave and each command. With -short, those in the lane run.
func TestVisits(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios() {
		for _, platform := range platformsOf(s) {
			t.Run(fmt.Sprintf("%s/%s", platform, s.name), func(t *testing.T) { visit(t, platform, s) })
		}
	}
}

// scenarios begins with those that take the longest with -short.
func scenarios() []scenario {
	return slices.Concat(commandScenarios(), leaveScenarios(), mediaFaultScenarios(), recoveryScenarios(),
		[]scenario{hostilePage(), guestRefused(), signedInBySAML(true), signedInBySAML(false), noAccount(job.SignInIfRequired), noAccount(job.SignInAlways)}, failureScenarios())
}

// TestLane checks what runs with -short: few visits, which record, speak and leave on each
// platform.
func TestLane(t *testing.T) {
	t.Parallel()
	visits := 0
	var complete []job.Platform
	for _, s := range scenarios() {
		if s.lane != "" {
			visits++
		}
		if s.lane != "" && s.beeps > 0 {
			complete = append(complete, s.lane)
		}
	}
	if visits > 16 || len(complete) != 3 ||
		!slices.Equal(slices.Compact(slices.Sorted(slices.Values(complete))), slices.Sorted(slices.Values(platforms()))) {
		t.Errorf("%d visits run with -short; the bot records and speaks on %v", visits, complete)
	}
}

// platformsOf returns the platforms to run a scenario on: with
// STANDIN_TEST_MATRIX=full (make matrix) all that it applies to, else its lane.
func platformsOf(s scenario) []job.Platform {
	switch {
	case fullMatrix() && len(s.only) > 0:
		return s.only
	case fullMatrix():
		return platforms()
	case s.lane != "":
		return []job.Platform{s.lane}
	}
	return nil
}

// fullMatrix reports whether all scenarios run on all platforms, with full-size video.
func fullMatrix() bool { return os.Getenv("STANDIN_TEST_MATRIX") == "full" }

// entryDelay sets how many seconds the bot waits to be admitted.
func entryDelay(seconds int) func(*Settings) {
	return func(s *Settings) { s.AutoLeave.AfterEntryDelaySeconds = seconds }
}

// detailHasAdvice checks that the failure's detail names the way that the platform
// offers.
func detailHasAdvice(h *harness) {
	if offered := map[job.Platform]string{
		job.Meet: "Google account", job.Teams: "Microsoft account", job.ZoomWeb: "RTMS",
	}[h.platform]; !strings.Contains(h.exited.FailureDetail, offered) {
		h.Errorf("the detail does not name %s: %s", offered, h.exited.FailureDetail)
	}
}

// hasCapture checks that a capture of the page of elsewhere was uploaded, and that the
// failure's detail names it.
func hasCapture(h *harness) {
	made := h.capture(0)
	if !bytes.HasPrefix(made.Screenshot, []byte("\x89PNG")) || len(made.Accessibility) == 0 || len(made.Profile) == 0 ||
		len(made.Snapshots) == 0 {
		h.Errorf("the capture has a screenshot of %d bytes, %d bytes of the accessibility tree, %d bytes of the profile, %d snapshots",
			len(made.Screenshot), len(made.Accessibility), len(made.Profile), len(made.Snapshots))
	}
	if page := string(made.Page); !strings.Contains(page, elsewhereText) || strings.Contains(page+made.Address, "secret") {
		h.Errorf("the capture of %s holds the page %s", made.Address, page)
	}
	if !strings.Contains(h.exited.FailureDetail, "capture-0.zip") {
		h.Errorf("the detail does not name the file: %s", h.exited.FailureDetail)
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

// closedPort sends the bot to an address at which no server listens.
func closedPort(h *harness) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.Fatal(err)
	}
	host := listener.Addr().String()
	listener.Close()
	h.settings.AllowedHosts, h.settings.MeetingURL = []string{host}, "http://"+host+"/abc-defg-hij"
}

// emptyPage sends the bot to a page that stays empty.
func emptyPage(h *harness) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Meeting</title><div id=root></div>"))
	}))
	h.Cleanup(server.Close)
	h.settings.AllowedHosts, h.settings.MeetingURL = []string{strings.TrimPrefix(server.URL, "http://")}, server.URL+"/abc-defg-hij"
}

// elsewhere returns the address of a page of the replica that is no meeting.
func (h *harness) elsewhere() string { return h.replica.URL() + "/?pwd=secret" }

const elsewhereText = "A local copy of meeting platforms"

// failureScenarios are the sessions that record nothing.
func failureScenarios() []scenario {
	return []scenario{
		{
			name: "host absent", outside: true, meeting: replica.Settings{HostAbsent: true}, configure: entryDelay(2),
			code: job.WaitingForHost, detail: "It waited 2 s", check: func(h *harness) { h.event(job.BotEnteringLobby) },
		},
		{
			name: "not admitted", lane: job.Teams, outside: true, configure: entryDelay(2),
			during: func(h *harness) { h.awaitLobby(1) },
			code:   job.LobbyTimeout, detail: "It waited 2 s",
			check: func(h *harness) { h.awaitGuest(1, replica.EventKind(replica.StateLeft)) },
		},
		{
			name: "denied", lane: job.Meet, outside: true,
			during: func(h *harness) { h.awaitLobby(1); h.meeting.Deny() },
			code:   job.HostDeniedAdmission,
		},
		{
			// The browser is ready before the join time, and opens the page then.
			name: "not found, launched early", outside: true, only: []job.Platform{job.Meet, job.Teams}, meeting: replica.Settings{
				Refusal: replica.RefusalNotFound,
			}, code: job.MeetingNotFound,
			configure: func(s *Settings) { s.JoinAt = time.Now().Add(4 * time.Second).Truncate(time.Millisecond) }, // the precision of events
			check:     joinedInTime,
		},
		{name: "sign-in wall", lane: job.ZoomWeb, outside: true, meeting: replica.Settings{
			Refusal: replica.RefusalSignIn,
		}, code: job.AuthFailure, detail: "Sign-in wall", check: detailHasAdvice},
		{
			name: "removed before anything was recorded", configure: func(s *Settings) { s.RequirePermission = true },
			during: func(h *harness) {
				h.admit(1)
				h.event(job.BotPermissionRequest)
				h.meeting.Remove()
			},
			code:  job.RemovedFromMeeting,
			check: answeredWith("timeout", "left"),
		},
		{
			name: "unknown page", only: onMeet(), prepare: func(h *harness) { h.settings.MeetingURL = h.elsewhere() },
			configure: func(s *Settings) { s.Timeouts.Join = 2 * time.Second },
			code:      job.InternalError, detail: "not recogni", check: hasCapture,
		},
		{
			name: "page never loads", outside: true, meeting: replica.Settings{NeverLoads: true},
			configure: func(s *Settings) { s.Timeouts.Open, s.Timeouts.MaxRejoins = 5*time.Second, -1 },
			code:      job.NetworkLoss, detail: "did not load",
		},
		{
			name: "page stays empty", only: onMeet(), prepare: emptyPage,
			configure: func(s *Settings) { s.Timeouts.Join, s.Timeouts.MaxRejoins = 2*time.Second, -1 },
			code:      job.NetworkLoss, detail: "stayed empty",
		},
		{name: "no server at the address", lane: job.Meet, outside: true, only: onMeet(), prepare: closedPort, code: job.NetworkLoss, detail: "did not load"},
		{
			name: "host refuses recording", configure: func(s *Settings) { s.RequirePermission = true },
			during: func(h *harness) { h.admit(1); h.answerPermission(1, false) },
			code:   job.RecordingDisabled, detail: "permission", check: answeredWith("denied", ""),
		},
		{
			name: "host does not answer about recording", configure: func(s *Settings) {
				s.RequirePermission, s.PermissionTimeout = true, time.Second
			},
			during: func(h *harness) { h.admit(1) },
			code:   job.RecordingDisabled, detail: "did not answer", check: answeredWith("timeout", ""),
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
		data := ingest.ParseEventData(h.event(job.BotPermissionResponse).Data)
		if data.Outcome != outcome || data.Granted == nil || *data.Granted != (outcome == "granted") || !strings.Contains(data.Detail, detail) {
			h.Errorf("answer about permission: %+v", data)
		}
	}
}
