package session

import (
	"net/http"
	"strings"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
	"standin/internal/replica"
	"standin/internal/testing/ingesttest"
)

// hostilePage is a meeting that admits only signed-in visitors, and whose page tries
// to reach other ports of this machine, by requests and by navigation. It is still
// recorded, until the bot is stopped.
func hostilePage() scenario {
	return scenario{
		name: "hostile page, signed in", lane: job.Meet,
		meeting: replica.Settings{
			Hostile: true, Refusal: replica.RefusalSignIn, SignInCookie: true, NoLobby: true, Participants: withoutCameras(),
		},
		configure: func(s *Settings) { audioOnly(s); signIn(s) },
		during: func(h *harness) {
			h.event(job.BotRecordingStarted)
			h.awaitGuest(1, replica.EventProbeFinished)
			if moved, err := h.meeting.NavigateAway(h.meeting.TrapURL()); moved != 1 || err != nil {
				h.Errorf("%d pages navigated: %v", moved, err)
			}
			h.awaitGuest(1, replica.EventMediaConnected)
			h.stopWhileRecording()
		},
		reason: ingest.EndStopped, packedByService: true,
		check: func(h *harness) {
			leftAndUploaded(h)
			for _, event := range h.meeting.Events() {
				if event.Kind == replica.EventTrapReached {
					h.Errorf("the page reached %s", event.Text)
				}
				for _, device := range []string{"microphone", "camera", "screen"} {
					if event.Kind == replica.EventProbeFinished && !strings.Contains(event.Text, "take the "+device+": failed") {
						h.Errorf("the page took the %s of a bot without output: %s", device, event.Text)
					}
				}
			}
		},
	}
}

// sessionCookie is the cookie of a visitor who is signed in to a replica, as browsers export it.
const sessionCookie = `[{"name":"session","value":"signed-in","domain":"127.0.0.1","path":"/","hostOnly":true}]`

// signIn gives the bot the cookie of a signed-in visitor.
func signIn(s *Settings) {
	cookies, err := browser.ParseCookies([]byte(sessionCookie))
	if err != nil {
		panic(err)
	}
	s.Account = browser.Account{Cookies: cookies}
}

// guestRefused is a meeting that refuses guests. The bot borrows an account, joins with it, and returns it with
// the cookies that the page has changed.
func guestRefused() scenario {
	return scenario{
		name: "guest refused, then signed in", lane: job.Teams,
		meeting:   replica.Settings{Refusal: replica.RefusalSignIn, SignInCookie: true, NoLobby: true, Participants: withoutCameras()},
		configure: func(s *Settings) { audioOnly(s); s.SignIn = job.SignInIfRequired },
		prepare: func(h *harness) {
			h.service.Account = ingest.AccountResponse{Account: "Recorder", Reason: "a guest was refused", State: signin.State{Cookies: []byte(sessionCookie)}}
		},
		during: func(h *harness) {
			h.event(job.BotRecordingStarted)
			h.stopWhileRecording()
		},
		reason: ingest.EndStopped, packedByService: true,
		check: func(h *harness) {
			h.service.Lock()
			defer h.service.Unlock()
			if len(h.service.Refusals) != 2 || h.service.Refusals[0] != "" || !strings.Contains(h.service.Refusals[1], "Sign-in wall") {
				h.Errorf("the bot asked for accounts because of %q", h.service.Refusals)
			}
			if len(h.service.Returned) != 1 || !strings.Contains(string(h.service.Returned[0].Cookies), "signed-in") {
				h.Errorf("the bot returned %d accounts, %s", len(h.service.Returned), h.service.Returned)
			}
		},
	}
}

// noAccount is a meeting that refuses guests, with a bot that always signs in, or finds no account.
func noAccount(mode job.SignIn) scenario {
	return scenario{
		name: "no account, " + string(mode), lane: job.Meet, outside: true,
		meeting:   replica.Settings{Refusal: replica.RefusalSignIn},
		configure: func(s *Settings) { s.SignIn = mode },
		prepare: func(h *harness) {
			h.service.Account.Reason = "No account is free: Recorder is in 1 of 1 meetings."
			if mode == job.SignInAlways {
				h.service.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
					if r.URL.Path == ingest.AccountPath {
						ingesttest.WriteJSON(w, h.service.Account)
					}
					return r.URL.Path == ingest.AccountPath
				}
			}
		},
		code: job.AuthFailure, detail: "Recorder is in 1 of 1 meetings",
	}
}
