package session

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
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

// signedInBySAML is a meeting that refuses guests. The bot has an account of a domain that asks the service who it is.
func signedInBySAML(accepted bool) scenario {
	s := guestRefused()
	s.name, s.prepare = "signed in by SAML", func(h *harness) {
		google := httptest.NewServer(googleDouble(accepted))
		h.Cleanup(google.Close)
		h.settings.AllowedHosts = append(h.settings.AllowedHosts, strings.TrimPrefix(google.URL, "http://"))
		h.service.Account = ingest.AccountResponse{Account: "Recorder", Reason: "a guest was refused", SignInURL: google.URL + "/samlredirect"}
		h.service.AnswerSAML = func(query string) string {
			return `<form method="post" action="` + google.URL + `/acs"><input name="SAMLResponse" value="` + html.EscapeString(query) +
				`"></form><script>document.forms[0].submit()</script>`
		}
	}
	s.check = func(h *harness) {
		if returned := h.service.Returned; len(returned) != 1 || !strings.Contains(string(returned[0].Cookies), `"SID"`) {
			h.Errorf("the bot returned %s", returned)
		}
	}
	if !accepted {
		s.name, s.lane, s.outside, s.during, s.reason, s.packedByService = "not signed in by SAML", "", true, nil, "", false
		s.configure = func(s *Settings) { s.SignIn = job.SignInIfRequired }
		s.code, s.detail, s.check = job.AuthFailure, "Google did not sign the bot in as Recorder", nil
	}
	return s
}

// googleDouble asks who a visitor is at an address that no server has, lets a user whom it accepts confirm the account,
// and signs in to the replica, which is at the same host.
func googleDouble(accepted bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /samlredirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, ingest.SAMLOrigin+"/team?SAMLRequest=who&RelayState=back", http.StatusFound)
	})
	mux.HandleFunc("POST /acs", func(w http.ResponseWriter, r *http.Request) {
		if !accepted || r.PostFormValue("SAMLResponse") != "SAMLRequest=who&RelayState=back" {
			http.Error(w, "This account cannot be used", http.StatusForbidden)
			return
		}
		http.Redirect(w, r, "/speedbump/samlconfirmaccount", http.StatusFound)
	})
	mux.HandleFunc("GET /speedbump/samlconfirmaccount", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<button onclick="location='/confirmed'">続行</button><button onclick="location='/denied'">このアカウントに心当たりがない</button>`)
	})
	mux.HandleFunc("GET /confirmed", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "signed-in", Path: "/"})
		http.SetCookie(w, &http.Cookie{Name: "SID", Value: "google", Path: "/"})
	})
	return mux
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
