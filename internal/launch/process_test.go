package launch_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/launch"
)

const secretToken = "5ec2e7"

// fixture is a Process launcher on a folder, and what it reports.
type fixture struct {
	*launch.Process
	dir   string
	exits chan string
}

func newFixture(t *testing.T, dir string, change ...func(*launch.ProcessSettings)) *fixture {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{dir: dir, exits: make(chan string, 10)}
	settings := launch.ProcessSettings{
		Dir: dir, Executable: executable, Bot: launch.BotSettings{
			Browser: "/usr/bin/browser", Profiles: "/etc/profiles",
			ZoomSDK: launch.ZoomSDK{Dir: "/opt/zoom", Key: "sdk key", Secret: "sdk secret"},
		}, LeaveTime: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
		OnExit: func(jobID uuid.UUID, attempt int) { f.exits <- name(jobID, attempt) },
	}
	for _, fn := range change {
		fn(&settings)
	}
	if f.Process, err = launch.NewProcess(settings); err != nil {
		t.Fatal(err)
	}
	return f
}

func name(jobID uuid.UUID, attempt int) string { return fmt.Sprintf("%s-%d", jobID, attempt) }

// assignment is for a bot of the kind.
func assignment(kind string) launch.Assignment {
	return launch.Assignment{
		JobID: uuid.New(), Attempt: 2, Token: secretToken, ServiceURL: "http://127.0.0.1:8080",
		MeetingURL: "https://meet.google.com/abc-defg-hij?pwd=1", Platform: job.Meet, DisplayName: kind,
		AutoLeave: job.DefaultAutoLeave(), AllowedHosts: []string{"a.test", "b.test:81"},
	}
}

// start launches a bot and returns its process id and that of its child.
func (f *fixture) start(t *testing.T, a launch.Assignment) (bot, child int) {
	t.Helper()
	if err := f.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // whatever the test has come to
		if err := f.Stop(context.Background(), a.JobID, a.Attempt); err != nil {
			t.Error(err)
		}
	})
	path := f.file(a, processFile)
	eventually(t, "the bot tells of itself", func() bool { _, err := os.Stat(path); return err == nil })
	if _, err := fmt.Sscan(read(t, path), &bot, &child); err != nil {
		t.Fatal(err)
	}
	return bot, child
}

// file is a file in a bot's folder.
func (f *fixture) file(a launch.Assignment, file string) string {
	return filepath.Join(f.dir, name(a.JobID, a.Attempt), file)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("it never came that %s", what)
		}
	}
}

// exited waits for the report of a bot's end.
func (f *fixture) exited(t *testing.T, a launch.Assignment) {
	t.Helper()
	select {
	case got := <-f.exits:
		if got != name(a.JobID, a.Attempt) {
			t.Errorf("the exit of %s was reported", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("the bot's exit was not reported")
	}
}

// alive reports whether a process runs. One that has ended and that nobody has
// fetched yet does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// TestSecrets: the token reaches the bot through its environment alone, and the
// service's own settings not at all.
func TestSecrets(t *testing.T) {
	for _, variable := range []string{
		"STANDIN_INGEST_SIGNING_KEY", "STANDIN_ADMIN_SECRET", "STANDIN_WEBHOOK_SECRET", "STANDIN_DATABASE_URL", "STANDIN_BOT_TOKEN", "STANDIN_BOT_OLD",
	} {
		t.Setenv(variable, "the service's own")
	}
	t.Setenv("LANGUAGE", "en")
	f := newFixture(t, t.TempDir())
	defer f.Close()
	a := assignment(obedient)
	bot, _ := f.start(t, a)
	if line := read(t, fmt.Sprintf("/proc/%d/cmdline", bot)); strings.Contains(line, secretToken) || strings.Contains(line, "pwd") || !strings.HasSuffix(line, "\x00bot\x00") {
		t.Errorf("the command line is %q", line)
	}
	environment := strings.Split(read(t, f.file(a, environmentFile)), "\x00")
	for _, want := range []string{
		"STANDIN_BOT_TOKEN=" + secretToken, "STANDIN_BOT_JOB=" + a.JobID.String(), "STANDIN_BOT_ATTEMPT=2",
		"STANDIN_BOT_SERVICE_URL=http://127.0.0.1:8080", "STANDIN_BOT_MEETING_URL=" + a.MeetingURL, "STANDIN_BOT_PLATFORM=meet",
		"STANDIN_BOT_NAME=obedient", "STANDIN_ALLOWED_MEETING_HOSTS=a.test,b.test:81", "STANDIN_BOT_LOOPBACK_PEERS=false",
		"STANDIN_BOT_DIR=" + filepath.Dir(f.file(a, "x")), "STANDIN_BROWSER=/usr/bin/browser", "STANDIN_PROFILES=/etc/profiles", "LANGUAGE=en",
		"STANDIN_NO_SANDBOX=false", "STANDIN_ZOOM_SDK_DIR=/opt/zoom", "STANDIN_ZOOM_SDK_KEY=sdk key", "STANDIN_ZOOM_SDK_SECRET=sdk secret", "STANDIN_BOT_ASK_FIRST=false",
	} {
		if !slices.Contains(environment, want) {
			t.Errorf("the bot's environment lacks %s", want)
		}
	}
	for _, variable := range environment {
		if strings.Contains(variable, "the service's own") {
			t.Errorf("the bot inherited %s", variable)
		}
	}
}

// TestLifeOfABot: it runs in a session of its own, is asked to end, and takes
// along what it started.
func TestLifeOfABot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir())
	defer f.Close()
	a := assignment(obedient)
	if state := f.State(a.JobID, a.Attempt); state != launch.NotStarted {
		t.Errorf("before: %s", state)
	}
	bot, child := f.start(t, a)
	if state := f.State(a.JobID, a.Attempt); state != launch.Running {
		t.Errorf("while it runs: %s", state)
	}
	if session, group := sessionOf(t, bot), groupOf(t, child); session != bot || group != bot {
		t.Errorf("the bot %d is in session %d, and its child in group %d", bot, session, group)
	}
	if state := f.State(a.JobID, a.Attempt+1); state != launch.NotStarted {
		t.Errorf("another attempt: %s", state)
	}
	if err := f.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	if state := f.State(a.JobID, a.Attempt); state != launch.Gone {
		t.Errorf("afterwards: %s", state)
	}
	f.exited(t, a)
	eventually(t, "its child has ended", func() bool { return !alive(child) })
	if log := read(t, f.file(a, launch.LogFile)); log != "the bot lives\n" {
		t.Errorf("its log: %q", log)
	}
	if err := f.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Errorf("stopping it again: %v", err)
	}
	if info, err := os.Stat(filepath.Dir(f.file(a, "x"))); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder: %v (%v)", info.Mode(), err)
	}
}

// groupOf is the process group of a process.
func groupOf(t *testing.T, pid int) int {
	t.Helper()
	group, err := syscall.Getpgid(pid)
	if err != nil {
		t.Fatal(err)
	}
	return group
}

// sessionOf is the session of a process.
func sessionOf(t *testing.T, pid int) int {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, fmt.Sprintf("/proc/%d/stat", pid)), ") ")
	session, err := strconv.Atoi(strings.Fields(rest)[3]) // state, parent, group, session
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// TestStubbornBot is killed, with all that it started.
func TestStubbornBot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir(), func(s *launch.ProcessSettings) { s.LeaveTime = 300 * time.Millisecond })
	defer f.Close()
	a := assignment(stubborn)
	bot, child := f.start(t, a)
	if err := f.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	if state := f.State(a.JobID, a.Attempt); state != launch.Gone {
		t.Errorf("afterwards: %s", state)
	}
	eventually(t, "bot and child have ended", func() bool { return !alive(bot) && !alive(child) })
	f.exited(t, a)
}

// TestStopBrokenOff: a service that is told to end while it waits for a bot to
// leave does not kill it.
func TestStopBrokenOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir(), func(s *launch.ProcessSettings) { s.LeaveTime = time.Second })
	defer f.Close()
	a := assignment(stubborn)
	bot, _ := f.start(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Stop(ctx, a.JobID, a.Attempt); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !alive(bot) {
		t.Error("the bot was killed")
	}
}

// TestKilledBot: its end is reported, and what it started goes with it.
func TestKilledBot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir())
	defer f.Close()
	a := assignment(obedient)
	bot, child := f.start(t, a)
	if err := syscall.Kill(bot, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.exited(t, a)
	eventually(t, "its child has ended", func() bool { return !alive(child) })
}

// TestFoundAgain: bots outlive the launcher that started them; the next one on
// the folder finds them, can stop them and reports their end.
func TestFoundAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := newFixture(t, dir)
	a := assignment(obedient)
	bot, child := first.start(t, a)
	first.Close()
	if !alive(bot) {
		t.Fatal("the bot ended with its launcher")
	}

	second := newFixture(t, dir)
	defer second.Close()
	if state := second.State(a.JobID, a.Attempt); state != launch.Running {
		t.Fatalf("it is %s", state)
	}
	if err := syscall.Kill(bot, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second.exited(t, a)
	if state := second.State(a.JobID, a.Attempt); state != launch.Gone {
		t.Errorf("afterwards it is %s", state)
	}
	eventually(t, "its child has ended", func() bool { return !alive(child) })
	select {
	case got := <-first.exits:
		t.Errorf("the closed launcher reported %s", got)
	default:
	}
}

// TestShortLives: however short it was, a bot's end is reported.
func TestShortLives(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]launch.State{shortLife: launch.Gone, stillborn: launch.NotStarted} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, t.TempDir())
			defer f.Close()
			a := assignment(kind)
			if err := f.Launch(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			f.exited(t, a)
			if state := f.State(a.JobID, a.Attempt); state != want {
				t.Errorf("it is %s, want %s", state, want)
			}
		})
	}
}

// TestHold: one bot lives in a folder at a time, and the folder is free when it
// has ended.
func TestHold(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir())
	defer f.Close()
	a := assignment(obedient)
	f.start(t, a)
	dir := filepath.Dir(f.file(a, "x"))
	if _, err := launch.LockDir(dir); !errors.Is(err, launch.ErrLocked) {
		t.Errorf("a second holder got %v", err)
	}
	if state := f.State(a.JobID, a.Attempt); state != launch.Running {
		t.Errorf("after the refusal the first is %s", state)
	}
	if err := f.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	held, err := launch.LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if _, err := launch.LockDir(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

// TestLaunchThatCannotBe: the reason is returned, and nothing was started.
func TestLaunchThatCannotBe(t *testing.T) {
	t.Parallel()
	noBrowser := errors.New("no Chromium here: install it")
	for name, test := range map[string]struct {
		change func(*launch.ProcessSettings)
		want   error
	}{
		"check":         {func(s *launch.ProcessSettings) { s.Check = func() error { return noBrowser } }, noBrowser},
		"no executable": {func(s *launch.ProcessSettings) { s.Executable = filepath.Join(s.Dir, "missing") }, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, t.TempDir(), test.change)
			defer f.Close()
			a := assignment(obedient)
			if err := f.Launch(t.Context(), a); !errors.Is(err, test.want) {
				t.Errorf("got %v", err)
			}
			if state := f.State(a.JobID, a.Attempt); state != launch.NotStarted {
				t.Errorf("the bot is %s", state)
			}
		})
	}
}

// TestOldFolders of bots are removed when a launcher starts; nothing else is.
func TestOldFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, recent, foreign := uuid.NewString()+"-0", uuid.NewString()+"-12", "notes-3"
	for folder, age := range map[string]time.Duration{old: 8 * 24 * time.Hour, recent: 6 * 24 * time.Hour, foreign: 80 * 24 * time.Hour} {
		path := filepath.Join(dir, folder)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	newFixture(t, dir).Close()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range left {
		names = append(names, entry.Name())
	}
	if slices.Contains(names, old) || !slices.Contains(names, recent) || !slices.Contains(names, foreign) {
		t.Errorf("left: %v", names)
	}
}

// TestEnvironment holds the values that need care.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	a := assignment("Ada\x00Lovelace\n=x")
	a.LoopbackPeers = true
	environment, err := a.Environment("/bots/1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"STANDIN_BOT_NAME=AdaLovelace\n=x", "STANDIN_BOT_LOOPBACK_PEERS=true", "STANDIN_BOT_DIR=/bots/1",
		`STANDIN_BOT_AUTO_LEAVE={"afterEntryDelaySeconds":600,"afterSilenceSeconds":1200,"afterSoloSeconds":60,"afterMaxSeconds":14400,"onBotDetected":false}`,
	} {
		if !slices.Contains(environment, want) {
			t.Errorf("it lacks %q: %q", want, environment)
		}
	}
}

// TestManual starts nothing and knows nothing.
func TestManual(t *testing.T) {
	t.Parallel()
	var by launch.Launcher = launch.Manual{}
	a := assignment(obedient)
	if err := errors.Join(by.Launch(t.Context(), a), by.Stop(t.Context(), a.JobID, a.Attempt)); err != nil {
		t.Error(err)
	}
	if state := by.State(a.JobID, a.Attempt); state != launch.Unknown {
		t.Errorf("the bot is %s", state)
	}
}

// TestWhyProcess: of a bot that has ended, the end of its log is told.
func TestWhyProcess(t *testing.T) {
	t.Parallel()
	f, a := newFixture(t, t.TempDir()), assignment(obedient)
	if why := f.Reason(a.JobID, a.Attempt); why != "" {
		t.Errorf("of a bot that never was it is told %q", why)
	}
	f.start(t, a)
	if err := f.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	log := strings.Repeat("level=INFO msg=\"it goes on\"\n", 1000) + "standin: no browser\n"
	if err := os.WriteFile(f.file(a, launch.LogFile), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if why := f.Reason(a.JobID, a.Attempt); !strings.HasPrefix(why, "its log ends: ") || !strings.HasSuffix(why, "| standin: no browser") {
		t.Errorf("it is told %q", why)
	}
}
