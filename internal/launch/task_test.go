package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/launch"
)

// TestTask: what is put into a bot's file is what it finds in its
// environment, and the file is gone then.
func TestTask(t *testing.T) {
	a := assignment("Ada's stand-in")
	content, err := a.Task("/spool", launch.BotSettings{NoSandbox: true}, []string{"STANDIN_LOG_LEVEL=debug"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "task")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{
		launch.EnvToken: secretToken, launch.EnvJob: a.JobID.String(), launch.EnvDir: "/spool", launch.EnvNoSandbox: "true",
		launch.EnvName: "Ada's stand-in", launch.EnvMeeting: a.MeetingURL, "STANDIN_LOG_LEVEL": "debug",
	}
	for name := range wanted {
		t.Setenv(name, "") // put back after the test
	}
	t.Setenv(launch.EnvTask, path)
	if err := launch.TakeTask(path); err != nil {
		t.Fatal(err)
	}
	for name, want := range wanted {
		if got := os.Getenv(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file with the token is still there: %v", err)
	}
	if _, set := os.LookupEnv(launch.EnvTask); set {
		t.Error("what the bot starts is told of the file")
	}
}

func TestTaskThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"no JSON":          "STANDIN_BOT_TOKEN=" + secretToken,
		"another variable": `{"LD_PRELOAD": "/tmp/evil.so"}`,
		"no strings":       `{"STANDIN_BOT_TOKEN": {"of": "` + secretToken + `"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "task")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			err := launch.TakeTask(path)
			if err == nil {
				t.Fatal("it was taken")
			}
			if strings.Contains(err.Error(), secretToken) {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
	if err := launch.TakeTask(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was taken")
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ log, want string }{
		"empty":            {"", ""},
		"one line":         {"it broke\n", "it broke"},
		"the last ones":    {"1\n2\n3\n\n4\n5\n", "2 | 3 | 4 | 5"},
		"colours":          {"\x1b[31mred\x1b[0m \a\x00 end\r\n", "[31mred [0m end"},
		"broken UTF-8":     {"\xff\xfebroken", "broken"},
		"right to left":    {"a\u202eb", "a b"},
		"cut in a letter":  {strings.Repeat("ä", 400), "…" + strings.Repeat("ä", 300)},
		"cut before it":    {"x" + strings.Repeat("ä", 400), "…" + strings.Repeat("ä", 300)},
		"one more, uneven": {strings.Repeat("ä", 400) + "x", "…" + strings.Repeat("ä", 299) + "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := launch.LogTail([]byte(test.log)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got, want := launch.Shorten(strings.Repeat("ü", 400)), strings.Repeat("ü", 300)+"…"; got != want {
		t.Errorf("an engine's word is cut to %q", got)
	}
	if got := launch.Shorten(" two\nlines "); got != "two lines" {
		t.Errorf("an engine's word is %q", got)
	}
}
