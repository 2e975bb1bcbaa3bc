// Package process runs bots as processes of this machine.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/confine"
	"standin/internal/base/retry"
	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// LogFile is the name of a bot's log in its folder.
const LogFile = "bot.log"

// pollInterval is the time between checks whether a bot has ended.
const pollInterval = 100 * time.Millisecond

// Settings configure a Launcher.
type Settings struct {
	Dir        string // holds a folder for each bot
	Executable string // the standin binary
	Bot        launch.BotSettings
	Check      func() error // reports why no browser can run here; may be nil
	OnExit     func(jobID uuid.UUID, attempt int)
	LeaveTime  time.Duration // default launch.DefaultLeaveTime
	Log        *slog.Logger
}

// Launcher starts bots as processes of this machine. Each bot has a session and
// process group of its own, so that it outlives the service. A restarted service
// recognizes a bot by the lock on the bot's folder.
type Launcher struct {
	Settings
	confined bool // bots have no access to files of others
	closing  chan struct{}
	watchers sync.WaitGroup
}

// New returns a launcher that also watches the bots that an earlier launcher left
// running.
func New(settings Settings) (*Launcher, error) {
	settings.LeaveTime = cmp.Or(settings.LeaveTime, launch.DefaultLeaveTime)
	l := &Launcher{Settings: settings, closing: make(chan struct{})}
	// Confined programs cannot use setuid programs, so Chromium's sandbox needs user namespaces then.
	switch {
	case confine.Version() == 0:
		l.Log.Warn("bots can read the service's files, because this system has no Landlock; see " +
			"/docs/guide/security.html#who-can-do-what of the service")
	case os.Geteuid() != 0 && !l.Bot.NoSandbox && !confine.UserNamespaces():
		l.Log.Warn("bots can read the service's files, because Chromium's sandbox needs a setuid program on this system; see " +
			"/docs/guide/security.html#who-can-do-what of the service")
	default:
		l.confined = true
	}
	if err := os.MkdirAll(settings.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the bots: %w", err)
	}
	folders, err := os.ReadDir(settings.Dir)
	if err != nil {
		return nil, fmt.Errorf("list the folders of the bots: %w", err)
	}
	for _, folder := range folders {
		key, ok := launch.ParseKey(folder.Name())
		if !ok {
			continue
		}
		log := settings.Log.With("job", key.JobID, "attempt", key.Attempt)
		switch pid, _, err := lockOwner(l.folder(key)); {
		case err != nil:
			log.Error("cannot determine whether a bot runs", "error", err)
		case pid != 0:
			log.Info("found a running bot")
			l.watch(key, pid, func() (string, bool) { return "", l.State(key.JobID, key.Attempt) == launch.Gone })
		}
	}
	return l, nil
}

// access returns the files that a bot may use besides the system's. Temporary
// files of Chromium and of its virtual display are in the folder for those; as root,
// the display keeps keyboards in /var/lib/xkb.
func (l *Launcher) access(key launch.Key) confine.Access {
	access := confine.Access{
		Read:  []string{l.Executable, l.Bot.Profiles},
		Write: []string{l.folder(key), os.TempDir(), "/tmp", "/var/lib/xkb"},
	}
	if browser, err := exec.LookPath(l.Bot.Browser); err == nil {
		access.Read = append(access.Read, filepath.Dir(browser))
		if target, err := filepath.EvalSymlinks(browser); err == nil {
			access.Read = append(access.Read, filepath.Dir(target))
		}
	}
	return access
}

// Close stops watching. The bots keep running.
func (l *Launcher) Close() {
	close(l.closing)
	l.watchers.Wait()
}

// Launch implements launch.Launcher.
func (l *Launcher) Launch(_ context.Context, a launch.Assignment) error {
	if l.Check != nil && a.Platform != job.ZoomSDK { // which needs none
		if err := l.Check(); err != nil {
			return err
		}
	}
	key := a.Key()
	dir := l.folder(key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the bot's folder: %w", err)
	}
	config, err := launch.NewBotConfig(a, l.Bot, dir).Encode()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, launch.ConfigFile)
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return fmt.Errorf("write the bot's configuration: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		defer log.Close() // the bot inherits its own descriptor
		// The bot outlives this call and the service, so it gets no caller's context.
		cmd := exec.CommandContext(context.Background(), l.Executable, "bot", "--config", path)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
			name, _, _ := strings.Cut(variable, "=")
			return !slices.Contains(inherited, name) && !strings.HasPrefix(name, "LC_")
		})
		cmd.Stdout, cmd.Stderr = log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if l.confined {
			err = confine.Start(cmd, l.access(key))
		} else {
			err = cmd.Start()
		}
		if err == nil {
			pid := cmd.Process.Pid
			l.watch(key, pid, hasExited(pid))
			err = cmd.Process.Release() // hasExited waits for the process
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start the bot: %w", err), os.Remove(path))
	}
	return nil
}

// State implements launch.Launcher.
func (l *Launcher) State(jobID uuid.UUID, attempt int) launch.State {
	pid, existed, err := lockOwner(l.folder(launch.Key{JobID: jobID, Attempt: attempt}))
	switch {
	case err != nil:
		l.Log.Error("cannot determine whether a bot runs", "job", jobID, "attempt", attempt, "error", err)
		return launch.Unknown
	case !existed:
		return launch.NotStarted
	case pid == 0:
		return launch.Gone
	}
	return launch.Running
}

// Reason implements launch.Launcher. For a bot that has ended, it is the end of its
// log.
func (l *Launcher) Reason(jobID uuid.UUID, attempt int) string {
	if l.State(jobID, attempt) != launch.Gone {
		return ""
	}
	file, err := os.Open(filepath.Join(l.folder(launch.Key{JobID: jobID, Attempt: attempt}), LogFile))
	if err != nil {
		return ""
	}
	defer file.Close()
	_, _ = file.Seek(-launch.MaxLogTail, io.SeekEnd) // a shorter log is read from its beginning
	log, err := io.ReadAll(io.LimitReader(file, launch.MaxLogTail))
	if err != nil || len(log) == 0 {
		return ""
	}
	return "its log ends: " + launch.LogTail(log)
}

// Stop implements launch.Launcher: SIGTERM makes the bot leave its meeting; after
// LeaveTime its process group is killed.
func (l *Launcher) Stop(ctx context.Context, jobID uuid.UUID, attempt int) error {
	dir := l.folder(launch.Key{JobID: jobID, Attempt: attempt})
	pid, _, err := lockOwner(dir)
	if err != nil || pid == 0 {
		return err
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		target := pid
		if signal == syscall.SIGKILL {
			target = -pid // the whole group
		}
		if err := syscall.Kill(target, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal the bot's process %d: %w", pid, err)
		}
		if waitUnlocked(ctx, dir, l.LeaveTime) {
			killGroup(pid)
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for the bot's process %d to end: %w", pid, err)
		}
	}
	return fmt.Errorf("the bot's process %d did not end after SIGKILL", pid)
}

// waitUnlocked waits until the folder is not locked, at most for timeout, and
// reports whether it is.
func waitUnlocked(ctx context.Context, dir string, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		if pid, _, err := lockOwner(dir); err == nil && pid == 0 {
			return true
		}
		if retry.Sleep(ctx, pollInterval) != nil {
			return false
		}
	}
}

// hasExited returns what watch checks of a child of this process.
func hasExited(pid int) func() (status string, ended bool) {
	return func() (string, bool) {
		var status syscall.WaitStatus
		switch found, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); {
		case err != nil && !errors.Is(err, syscall.EINTR):
			return err.Error(), true
		case found != pid:
			return "", false
		case status.Signaled():
			return "signal: " + status.Signal().String(), true
		}
		return fmt.Sprintf("exit status %d", status.ExitStatus()), true
	}
}

// watch reports the exit of a bot. check reports without blocking whether the bot has ended, and
// its exit status if it is known.
func (l *Launcher) watch(key launch.Key, pid int, check func() (status string, ended bool)) {
	l.watchers.Go(func() {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if status, ended := check(); ended {
					l.exited(key, pid, status)
					return
				}
			case <-l.closing:
				return
			}
		}
	})
}

// exited handles the exit of a bot.
func (l *Launcher) exited(key launch.Key, pid int, status string) {
	log := l.Log.With("job", key.JobID, "attempt", key.Attempt)
	log.Info("bot exited", "status", status)
	killGroup(pid)
	// A bot that ended before it read its configuration has left it.
	if err := os.RemoveAll(filepath.Join(l.folder(key), launch.ConfigFile)); err != nil {
		log.Error("cannot remove the bot's configuration, which contains secrets", "error", err)
	}
	l.OnExit(key.JobID, key.Attempt)
}

// killGroup kills the processes that a bot left in its group, such as a browser
// whose parent was killed.
func killGroup(pid int) {
	if pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// folder returns the folder of a bot's files.
func (l *Launcher) folder(key launch.Key) string { return filepath.Join(l.Dir, key.String()) }

// inherited are the environment variables that a bot gets from the service, beside those of the locale.
var inherited = append([]string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS",
	"FONTCONFIG_FILE", "FONTCONFIG_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "LD_LIBRARY_PATH",
}, launch.ProxyVariables...)
