// Package launchtest holds what the tests of all launchers share.
package launchtest

import (
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// Secrets of Assignment, which must not show outside a bot's configuration.
const (
	Token    = "5ec2e7"
	Passcode = "9a55"
	// Signature is that of a stream.
	Signature = "5167-of-a-stream"
)

// Timeout bounds every wait.
const Timeout = 60 * time.Second

// Assignment returns the assignment of a new job's first retry.
func Assignment() launch.Assignment {
	return launch.Assignment{
		JobID: uuid.New(), Attempt: 1, Token: Token, ServiceURL: "http://standin:8080", Platform: job.Meet,
		MeetingURL: "https://meet.google.com/abc-defg-hij?pwd=" + Passcode, DisplayName: "Standin", AutoLeave: job.DefaultAutoLeave(),
		ZoomStream: &launch.ZoomStream{Signature: Signature},
	}
}

// NewInstance returns the name of a new instance.
func NewInstance() string { return "it" + uuid.NewString()[:8] }

// Harness is a launcher under test.
type Harness struct {
	launch.RemoteLauncher
	changes chan launch.Key
}

// Settings returns the settings with which the harness's launcher must be
// created.
func (h *Harness) Settings(image string) launch.RemoteSettings {
	h.changes = make(chan launch.Key, 1000)
	return launch.RemoteSettings{
		Instance: NewInstance(), ContainerSettings: launch.ContainerSettings{Image: image},
		LeaveTime: 2 * time.Second, Log: slog.New(slog.DiscardHandler),
		OnChange: func(jobID uuid.UUID, attempt int) { h.changes <- launch.Key{JobID: jobID, Attempt: attempt} },
	}
}

// Expect waits until a bot has a state with a reason that contains the words.
func (h *Harness) Expect(t *testing.T, a launch.Assignment, want launch.State, words ...string) {
	t.Helper()
	deadline := time.After(Timeout)
	for {
		state, reason := h.State(a.JobID, a.Attempt), h.Reason(a.JobID, a.Attempt)
		match := state == want
		for _, word := range words {
			match = match && strings.Contains(reason, word)
		}
		if match {
			return
		}
		select {
		case <-h.changes:
		case <-time.After(20 * time.Millisecond): // a lost connection reports no change
		case <-deadline:
			t.Fatalf("the bot is %s (%s), want %s (%s)", state, reason, want, words)
		}
	}
}

// BotSettings returns settings of bots, with secrets.
func BotSettings() launch.BotSettings {
	return launch.BotSettings{
		Browser: "/usr/bin/browser", Profiles: "/etc/profiles", SpoolMiB: 512, LogSettings: launch.LogSettings{
			LogLevel: slog.LevelDebug, LogFormat: "json",
		},
		Recording: launch.Recording{Mode: job.RecordAudio, Picture: launch.PictureSize{Width: 640, Height: 360}, VideoBitRate: 500_000},
	}
}

// FreeAddress returns an address of this machine that nothing listens on.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
