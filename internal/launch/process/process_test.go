package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/confine"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/launch/process"
	"standin/internal/testing/await"
	"standin/internal/testing/launchtest"
)

const secretToken = "5ec2e7"

// fixture is a launcher under test.
type fixture struct {
	*process.Launcher
	dir   string
	exits chan string
}

func newFixture(t *testing.T, dir string, change ...func(*process.Settings)) *fixture {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{dir: dir, exits: make(chan string, 10)}
	settings := process.Settings{
		Dir: dir, Executable: executable, Bot: launchtest.BotSettings(), LeaveTime: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
		OnExit: func(jobID uuid.UUID, attempt int) { f.exits <- name(jobID, attempt) },
	}
	for _, fn := range change {
		fn(&settings)
	}
	if f.Launcher, err = process.New(settings); err != nil {
		t.Fatal(err)
	}
	return f
}

func name(jobID uuid.UUID, attempt int) string { return fmt.Sprintf("%s-%d", jobID, attempt) }

// assignment returns an assignment for a bot with the behavior.
func assignment(behavior string) launch.Assignment {
	return launch.Assignment{
		JobID: uuid.New(), Attempt: 2, Token: secretToken, ServiceURL: "http://127.0.0.1:8080",
		MeetingURL: "https://meet.google.com/abc-defg-hij?pwd=1", Platform: job.Meet, DisplayName: behavior,
		AutoLeave: job.DefaultAutoLeave(), AllowedHosts: []string{"a.test", "b.test:81"},
	}
}

// start launches a bot and returns its process id and that of its child.
func (f *fixture) start(t *testing.T, a launch.Assignment) (bot, child int) {
	t.Helper()
	if err := f.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Stop(context.Background(), a.JobID, a.Attempt); err != nil {
			t.Error(err)
		}
	})
	path := f.file(a, processFile)
	await.Until(t, "the bot writes its files", func() bool { _, err := os.Stat(path); return err == nil })
	if _, err := fmt.Sscan(read(t, path), &bot, &child); err != nil {
		t.Fatal(err)
	}
	return bot, child
}

// file returns the path of a file in a bot's folder.
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

// exited waits for the call of OnExit.
func (f *fixture) exited(t *testing.T, a launch.Assignment) {
	t.Helper()
	select {
	case got := <-f.exits:
		if got != name(a.JobID, a.Attempt) {
			t.Errorf("OnExit was called for %s", got)
		}
	case <-time.After(2 * time.Minute):
		t.Error("OnExit was not called")
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// TestConfigHoldsTheSecrets: a bot gets its token and the SDK's secret in a file of
// mode 0600 that is removed when the bot has read it, and nowhere else.
func TestConfigHoldsTheSecrets(t *testing.T) {
	f := newFixture(t, t.TempDir())
	defer f.Close()
	a := assignment(obedient)
	bot, _ := f.start(t, a)
	shown := read(t, fmt.Sprintf("/proc/%d/cmdline", bot)) + read(t, f.file(a, environmentFile))
	for _, secret := range []string{secretToken, "pwd=1", "sdk secret"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q shows in the arguments or environment: %q", secret, shown)
		}
	}
	if want := "\x00bot\x00--config\x00" + f.file(a, launch.ConfigFile) + "\x00"; !strings.Contains(shown, want) {
		t.Errorf("the arguments are %q, want %q", shown, want)
	}
	if _, err := os.Stat(f.file(a, launch.ConfigFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the configuration was not removed: %v", err)
	}
	var got launch.BotConfig
	if err := json.Unmarshal([]byte(read(t, f.file(a, configCopy))), &got); err != nil {
		t.Fatal(err)
	}
	if want := launch.NewBotConfig(a, launchtest.BotSettings(), filepath.Dir(f.file(a, "x"))); !reflect.DeepEqual(got, want) {
		t.Errorf("the configuration is %+v, want %+v", got, want)
	}
}

// TestServiceSecretsStayOutOfBots: of the service's environment, a bot inherits
// only an allow-list.
func TestServiceSecretsStayOutOfBots(t *testing.T) {
	for _, variable := range []string{
		"STANDIN_INGEST_SIGNING_KEY", "STANDIN_ADMIN_SECRET", "STANDIN_DATABASE_URL", "STANDIN_ZOOM_SDK_SECRET",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD", "PGHOST", "KUBECONFIG", "GITHUB_TOKEN",
		"DOCKER_AUTH_CONFIG",
	} {
		t.Setenv(variable, "the service's own")
	}
	t.Setenv("LANGUAGE", "en")
	t.Setenv("LC_TIME", "C")
	f := newFixture(t, t.TempDir())
	defer f.Close()
	a := assignment(obedient)
	f.start(t, a)
	environment := strings.Split(read(t, f.file(a, environmentFile)), "\x00")
	for _, variable := range environment {
		if strings.Contains(variable, "the service's own") {
			t.Errorf("the bot inherited %s", variable)
		}
	}
	for _, want := range []string{"LANGUAGE=en", "LC_TIME=C", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(environment, want) {
			t.Errorf("the bot's environment lacks %s", want)
		}
	}
}

// TestLaunchAndStop: a bot runs in a session of its own, and Stop ends it and its
// children.
func TestLaunchAndStop(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir())
	defer f.Close()
	a := assignment(obedient)
	if state := f.State(a.JobID, a.Attempt); state != launch.NotStarted {
		t.Errorf("before the launch: %s", state)
	}
	bot, child := f.start(t, a)
	if state := f.State(a.JobID, a.Attempt); state != launch.Running {
		t.Errorf("after the launch: %s", state)
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
		t.Errorf("after Stop: %s", state)
	}
	f.exited(t, a)
	await.Until(t, "its child has ended", func() bool { return !alive(child) })
	if log := read(t, f.file(a, process.LogFile)); log != "the bot runs\n" {
		t.Errorf("the log is %q", log)
	}
	if err := f.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Errorf("stop again: %v", err)
	}
	if info, err := os.Stat(filepath.Dir(f.file(a, "x"))); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v (%v)", info.Mode(), err)
	}
}

// groupOf returns the process group of a process.
func groupOf(t *testing.T, pid int) int {
	t.Helper()
	group, err := syscall.Getpgid(pid)
	if err != nil {
		t.Fatal(err)
	}
	return group
}

// sessionOf returns the session of a process.
func sessionOf(t *testing.T, pid int) int {
	t.Helper()
	_, rest, _ := strings.Cut(read(t, fmt.Sprintf("/proc/%d/stat", pid)), ") ")
	session, err := strconv.Atoi(strings.Fields(rest)[3]) // state, parent, group, session
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// TestStopKillsStubbornBot: a bot that ignores SIGTERM is killed with its children.
func TestStopKillsStubbornBot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir(), func(s *process.Settings) { s.LeaveTime = 300 * time.Millisecond })
	defer f.Close()
	a := assignment(stubborn)
	bot, child := f.start(t, a)
	if err := f.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	if state := f.State(a.JobID, a.Attempt); state != launch.Gone {
		t.Errorf("after Stop: %s", state)
	}
	await.Until(t, "bot and child have ended", func() bool { return !alive(bot) && !alive(child) })
	f.exited(t, a)
}

// TestCanceledStopDoesNotKill: when Stop is canceled before the leave time is
// over, the bot lives.
func TestCanceledStopDoesNotKill(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir(), func(s *process.Settings) { s.LeaveTime = time.Second })
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

// TestKilledBot: the exit of a killed bot is reported, and its children are killed.
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
	await.Until(t, "its child has ended", func() bool { return !alive(child) })
}

// TestRestartRecognizesBots: bots outlive their launcher, and the next launcher on
// the folder reports their exit.
func TestRestartRecognizesBots(t *testing.T) {
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
		t.Fatalf("after the restart it is %s", state)
	}
	if err := syscall.Kill(bot, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second.exited(t, a)
	if state := second.State(a.JobID, a.Attempt); state != launch.Gone {
		t.Errorf("afterwards it is %s", state)
	}
	await.Until(t, "its child has ended", func() bool { return !alive(child) })
	select {
	case got := <-first.exits:
		t.Errorf("the closed launcher reported %s", got)
	default:
	}
}

// TestEarlyExit: the exit of a bot that ends at once is reported.
func TestEarlyExit(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]launch.State{exitsEarly: launch.Gone, failsEarly: launch.NotStarted} {
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

// TestLockDir: a folder is locked until its bot has ended.
func TestLockDir(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir())
	defer f.Close()
	a := assignment(obedient)
	f.start(t, a)
	dir := filepath.Dir(f.file(a, "x"))
	if _, err := process.LockDir(dir); !errors.Is(err, process.ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	if state := f.State(a.JobID, a.Attempt); state != launch.Running {
		t.Errorf("after the refused lock the bot is %s", state)
	}
	if err := f.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	lock, err := process.LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	if _, err := process.LockDir(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

// TestFailedLaunch: the error is returned, and no bot runs.
func TestFailedLaunch(t *testing.T) {
	t.Parallel()
	noBrowser := errors.New("no Chromium here: install it")
	for name, test := range map[string]struct {
		change func(*process.Settings)
		want   error
	}{
		"check":         {func(s *process.Settings) { s.Check = func() error { return noBrowser } }, noBrowser},
		"no executable": {func(s *process.Settings) { s.Executable = filepath.Join(s.Dir, "missing") }, fs.ErrNotExist},
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

// TestLaunchWithoutBrowser: a bot of zoom-sdk is started where no browser can run.
func TestLaunchWithoutBrowser(t *testing.T) {
	t.Parallel()
	f := newFixture(t, t.TempDir(), func(s *process.Settings) { s.Check = func() error { return errors.New("no Chromium here") } })
	defer f.Close()
	a := assignment(obedient)
	a.Platform = job.ZoomSDK
	f.start(t, a)
	if err := f.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Error(err)
	}
}

// TestReasonIsTheEndOfTheLog: the reason of an ended bot is the end of its log.
func TestReasonIsTheEndOfTheLog(t *testing.T) {
	t.Parallel()
	f, a := newFixture(t, t.TempDir()), assignment(obedient)
	if reason := f.Reason(a.JobID, a.Attempt); reason != "" {
		t.Errorf("of a bot that never was it is told %q", reason)
	}
	f.start(t, a)
	if err := f.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
		t.Fatal(err)
	}
	log := strings.Repeat("level=INFO msg=\"it goes on\"\n", 1000) + "standin: no browser\n"
	if err := os.WriteFile(f.file(a, process.LogFile), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if cause := f.Reason(a.JobID, a.Attempt); !strings.HasPrefix(cause, "its log ends: ") ||
		!strings.HasSuffix(cause, "| standin: no browser") {
		t.Errorf("it is told %q", cause)
	}
}

// TestBotThatReadsTheServicesFiles starts a bot that reads the service's signing key
// and the configuration of another bot.
func TestBotThatReadsTheServicesFiles(t *testing.T) {
	t.Parallel()
	if confine.Version() == 0 {
		t.Skip("this kernel has no Landlock")
	}
	data, err := os.MkdirTemp("/var/tmp", "standin-test-") // bots may use /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	bots := filepath.Join(data, "bots")
	for _, file := range []string{filepath.Join(data, "ingest.key"), filepath.Join(bots, "other", launch.ConfigFile)} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(secretToken), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t, bots)
	t.Cleanup(f.Close)
	a := assignment(curious)
	if err := f.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	<-f.exits
	folder := filepath.Join(bots, a.Key().String())
	read, err := os.ReadFile(filepath.Join(folder, filesRead))
	if err != nil || len(read) > 0 {
		log, _ := os.ReadFile(filepath.Join(folder, process.LogFile))
		t.Errorf("the bot read %q, %v; its log: %s", read, err, log)
	}
}
