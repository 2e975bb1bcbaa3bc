package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// LogFile is the name of a bot's log in its folder.
const LogFile = "bot.log"

const (
	exitPollInterval = 500 * time.Millisecond // for bots that are not children of this process
	lockPollInterval = 50 * time.Millisecond  // while a bot is stopped
	keepFolders      = 7 * 24 * time.Hour     // the folder of an ended bot, for its log
)

// ProcessSettings configure a Process launcher.
type ProcessSettings struct {
	Dir        string // holds a folder for each bot
	Executable string // the standin binary
	Bot        BotSettings
	Check      func() error // reports why no bot can run here, such as a missing browser; may be nil
	OnExit     func(jobID uuid.UUID, attempt int)
	LeaveTime  time.Duration // default DefaultLeaveTime
	Log        *slog.Logger
}

// Process starts bots as processes of this machine. Each bot has a session and
// process group of its own, so that it outlives the service. A restarted service
// recognizes a bot by the lock on the bot's folder.
type Process struct {
	settings ProcessSettings
	closing  chan struct{}
	watchers sync.WaitGroup
}

// NewProcess returns a launcher that also watches the bots that an earlier
// launcher left running. It removes folders of bots that ended long ago.
func NewProcess(settings ProcessSettings) (*Process, error) {
	if settings.LeaveTime == 0 {
		settings.LeaveTime = DefaultLeaveTime
	}
	p := &Process{settings: settings, closing: make(chan struct{})}
	if err := os.MkdirAll(settings.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the bots: %w", err)
	}
	folders, err := os.ReadDir(settings.Dir)
	if err != nil {
		return nil, fmt.Errorf("list the folders of the bots: %w", err)
	}
	for _, folder := range folders {
		key, ok := ParseKey(folder.Name())
		if !ok {
			continue
		}
		if p.State(key.JobID, key.Attempt) == Running {
			settings.Log.Info("found a running bot", "job", key.JobID, "attempt", key.Attempt)
			p.watchOther(key)
			continue
		}
		if info, err := folder.Info(); err == nil && time.Since(info.ModTime()) > keepFolders {
			if err := os.RemoveAll(p.folder(key)); err != nil {
				settings.Log.Warn("cannot remove the folder of an old bot", "job", key.JobID, "attempt", key.Attempt, "error", err)
			}
		}
	}
	return p, nil
}

// Close stops watching. The bots keep running.
func (p *Process) Close() {
	close(p.closing)
	p.watchers.Wait()
}

// Launch implements Launcher.
func (p *Process) Launch(_ context.Context, a Assignment) error {
	if p.settings.Check != nil {
		if err := p.settings.Check(); err != nil {
			return err
		}
	}
	key := Key{a.JobID, a.Attempt}
	dir := p.folder(key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the bot's folder: %w", err)
	}
	config, err := NewBotConfig(a, p.settings.Bot, dir).Encode()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, ConfigFile)
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return fmt.Errorf("write the bot's configuration: %w", err)
	}
	if err := p.start(key, path); err != nil {
		return errors.Join(fmt.Errorf("start the bot: %w", err), os.Remove(path))
	}
	return nil
}

// start starts the bot with the configuration at path.
func (p *Process) start(key Key, path string) error {
	log, err := os.OpenFile(filepath.Join(p.folder(key), LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the bot inherits its own descriptor
	// The bot outlives this call and the service, so it gets no caller's context.
	cmd := exec.CommandContext(context.Background(), p.settings.Executable, "bot", "--config", path)
	cmd.Env = botEnvironment(os.Environ())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.watchChild(key, cmd)
	return nil
}

// State implements Launcher.
func (p *Process) State(jobID uuid.UUID, attempt int) State {
	pid, existed, err := lockOwner(p.folder(Key{jobID, attempt}))
	switch {
	case err != nil:
		p.settings.Log.Error("cannot determine whether a bot runs", "job", jobID, "attempt", attempt, "error", err)
		return Unknown
	case !existed:
		return NotStarted
	case pid == 0:
		return Gone
	}
	return Running
}

// Reason implements Launcher. For a bot that has ended, it is the end of its
// log.
func (p *Process) Reason(jobID uuid.UUID, attempt int) string {
	if p.State(jobID, attempt) != Gone {
		return ""
	}
	log, err := readEnd(filepath.Join(p.folder(Key{jobID, attempt}), LogFile), MaxLogTail)
	if err != nil || len(log) == 0 {
		return ""
	}
	return "its log ends: " + LogTail(log)
}

// readEnd reads at most limit bytes from the end of a file.
func readEnd(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-limit), limit))
}

// Stop implements Launcher: SIGTERM makes the bot leave its meeting; after
// LeaveTime its process group is killed.
func (p *Process) Stop(ctx context.Context, jobID uuid.UUID, attempt int) error {
	dir := p.folder(Key{jobID, attempt})
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
		if waitUnlocked(ctx, dir, p.settings.LeaveTime) {
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
	ticker := time.NewTicker(lockPollInterval)
	defer ticker.Stop()
	for {
		if pid, _, err := lockOwner(dir); err == nil && pid == 0 {
			return true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
}

// LeftoverDirs returns the folders of a job's bots that no longer run, by
// attempt. They may hold media that the bot did not upload.
func (p *Process) LeftoverDirs(jobID uuid.UUID) map[int]string {
	folders, err := os.ReadDir(p.settings.Dir)
	if err != nil {
		p.settings.Log.Warn("cannot list the folders of a job's bots", "job", jobID, "error", err)
		return nil
	}
	leftover := make(map[int]string)
	for _, folder := range folders {
		key, ok := ParseKey(folder.Name())
		if ok && folder.IsDir() && key.JobID == jobID && p.State(jobID, key.Attempt) != Running {
			leftover[key.Attempt] = p.folder(key)
		}
	}
	return leftover
}

// watchChild reports the exit of a bot that this process started.
func (p *Process) watchChild(key Key, cmd *exec.Cmd) {
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }() // ends with the bot, possibly after Close
	p.watchers.Go(func() {
		select {
		case err := <-exited:
			p.exited(key, cmd.Process.Pid, err)
		case <-p.closing:
		}
	})
}

// watchOther reports the exit of a bot that an earlier service started.
func (p *Process) watchOther(key Key) {
	pid, _, _ := lockOwner(p.folder(key)) // 0 on error: nothing is killed then
	p.watchers.Go(func() {
		ticker := time.NewTicker(exitPollInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if p.State(key.JobID, key.Attempt) == Gone {
					p.exited(key, pid, nil)
					return
				}
			case <-p.closing:
				return
			}
		}
	})
}

// exited handles the exit of a bot.
func (p *Process) exited(key Key, pid int, err error) {
	p.settings.Log.Info("bot exited", "job", key.JobID, "attempt", key.Attempt, "error", err)
	killGroup(pid)
	_ = os.Remove(filepath.Join(p.folder(key), ConfigFile)) // left by a bot that ended before reading it
	p.settings.OnExit(key.JobID, key.Attempt)
}

// killGroup kills the processes that a bot left in its group, such as a browser
// whose parent was killed.
func killGroup(pid int) {
	if pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// folder returns the folder of a bot's files.
func (p *Process) folder(key Key) string { return filepath.Join(p.settings.Dir, key.String()) }
