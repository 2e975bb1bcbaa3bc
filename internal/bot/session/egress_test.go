package session

import (
	"os"
	"path/filepath"
	"strings"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/replica"
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

// signIn gives the bot the cookie of a signed-in visitor.
func signIn(s *Settings) {
	s.SignIn = filepath.Join(s.Dir, "sign-in")
	cookies := `[{"name":"session","value":"signed-in","domain":"127.0.0.1","path":"/","hostOnly":true}]`
	file := filepath.Join(s.SignIn, string(s.Platform)+".cookies.json")
	if err := os.MkdirAll(s.SignIn, 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(file, []byte(cookies), 0o600); err != nil {
		panic(err)
	}
}
