package bot

import (
	"os"
	"path/filepath"
	"testing"

	"standin/internal/job"
	"standin/internal/replica"
)

// TestWalls sends the bot to meetings whose pages try what they must not, or
// ask who visits.
func TestWalls(t *testing.T) {
	needTools(t)
	for _, platform := range platforms() {
		t.Run(string(platform), func(t *testing.T) {
			t.Parallel()
			// A hostile meeting loosens the policy of its whole server.
			stage := startReplica(t)
			for _, r := range []row{tryingPage(), signedIn(platform)} {
				t.Run(r.name, func(t *testing.T) {
					newOuting(t, stage, platform, r, new(delays)).run()
				})
			}
		})
	}
}

// tryingPage is a meeting whose page tries to reach other ports of this
// machine, from within and by going there. It is recorded all the same.
func tryingPage() row {
	return row{
		name:    "a page that tries",
		meeting: replica.Settings{Hostile: true, NoLobby: true},
		act: func(o *outing) {
			o.told(job.BotRecordingStarted)
			o.happens(1, replica.EventProbeFinished)
			if moved, err := o.meeting.NavigateAway(o.meeting.TrapURL()); moved != 1 || err != nil {
				o.Errorf("%d pages wander: %v", moved, err)
			}
			o.happens(1, replica.EventMediaConnected)
			o.meeting.End()
		},
		reason: reasonHostEnded,
		check: func(o *outing) {
			for _, event := range o.meeting.Events() {
				if event.Kind == replica.EventTrapReached {
					o.Errorf("the page reached %s", event.Text)
				}
			}
		},
	}
}

// signedIn is a meeting that lets only signed-in visitors in, and a bot whose
// operator has supplied the cookie.
func signedIn(platform job.Platform) row {
	return row{
		name:    "signed in",
		meeting: replica.Settings{Refusal: replica.RefusalSignIn, SignInCookie: true, NoLobby: true},
		bot: func(s *Settings) {
			s.SignInDir = filepath.Join(s.Dir, "sign-in")
			cookies := `[{"name":"session","value":"signed-in","domain":"127.0.0.1","path":"/","hostOnly":true}]`
			file := filepath.Join(s.SignInDir, string(platform)+cookieSuffix)
			if err := os.MkdirAll(s.SignInDir, 0o700); err != nil {
				panic(err)
			}
			if err := os.WriteFile(file, []byte(cookies), 0o600); err != nil {
				panic(err)
			}
		},
		act:    func(o *outing) { o.told(job.BotRecordingStarted); o.meeting.End() },
		reason: reasonHostEnded,
	}
}
