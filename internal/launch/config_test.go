package launch_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/testing/launchtest"
)

// secretToken is the token of assignment.
const secretToken = "5ec2e7"

func assignment() launch.Assignment {
	return launch.Assignment{
		JobID: uuid.New(), Attempt: 2, Token: secretToken, ServiceURL: "http://127.0.0.1:8080", DisplayName: "Ada's notetaker",
		MeetingURL: "https://meet.google.com/abc-defg-hij?pwd=1", Platform: job.Meet,
		JoinAt: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), RequirePermission: true, LoopbackPeers: true,
		AutoLeave: job.DefaultAutoLeave(), AllowedHosts: []string{"a.test", "b.test:81"},
		Options: job.Job{Metadata: []byte(`{"participantAudio": true}`)}.Resolved(),
	}
}

// TestBotConfig: every field survives encoding, a job's options are applied, and
// the file is removed from the bot's own folder only.
func TestBotConfig(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	want := launch.NewBotConfig(assignment(), launchtest.BotSettings(), dir)
	content, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want.Options = job.Options{} // not encoded
	if want.Recording.ParticipantAudio != launch.ParticipantAudioOn {
		t.Errorf("participant audio is %q; the job turns it on", want.Recording.ParticipantAudio)
	}
	for folder, removed := range map[string]bool{dir: true, elsewhere: false} {
		path := filepath.Join(folder, launch.ConfigFile)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := launch.ReadBotConfig(path)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("read %+v (%v), want %+v", got, err, want)
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) != removed {
			t.Errorf("after reading: %v; it must be removed: %v", err, removed)
		}
	}
}

// TestBotConfigDefaults: a configuration written by hand may leave things out.
func TestBotConfigDefaults(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(`{"autoLeave": {"afterSoloSeconds": 5}, "displayName": "A\u0000da"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	want := job.DefaultAutoLeave()
	want.AfterSoloSeconds = 5
	if got, err := launch.ReadBotConfig(path); err != nil || got.AutoLeave != want || got.DisplayName != "Ada" {
		t.Errorf("read %+v (%v)", got, err)
	}
}

// TestInvalidBotConfig: errors do not quote the content, which holds secrets.
func TestInvalidBotConfig(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.json")
	for _, content := range []string{"token=" + secretToken, `{"token": {"of": "` + secretToken + `"}}`, `{"jobId": "` + secretToken + `"}`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := launch.ReadBotConfig(path); err == nil || strings.Contains(err.Error(), secretToken) {
			t.Errorf("%s: the error is %v", content, err)
		}
	}
	if _, err := launch.ReadBotConfig(path + ".missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
