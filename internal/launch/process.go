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
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// DefaultLeaveTime is how long a bot has to leave its meeting by itself when
// it is stopped.
const DefaultLeaveTime = 8 * time.Second

// watchEvery is how often a bot that is not this process's child is looked at.
const watchEvery = 500 * time.Millisecond

// keepFolders is how long the folder of an ended bot is kept for its log.
const keepFolders = 7 * 24 * time.Hour

// LogFile is the name of a bot's log in its folder.
const LogFile = "bot.log"

// ProcessSettings are what a Process launcher is made of.
type ProcessSettings struct {
	Dir        string // holds a folder for each bot
	Executable string // the standin binary
	Bot        BotSettings
	Check      func() error // whether a bot could run here at all, such as: is there a browser; may be nil
	OnExit     func(jobID uuid.UUID, attempt int)
	LeaveTime  time.Duration // DefaultLeaveTime when 0
	Log        *slog.Logger
}

// Process starts bots as processes of this machine (Linux), each in a session
// and process group of its own, so that it outlives the service. A bot is
// found again by the lock that it holds on its folder.
type Process struct {
	settings ProcessSettings
	closing  chan struct{}
	watches  sync.WaitGroup
}

// NewProcess returns a launcher and takes up the bots that an earlier one
// left running. Folders of bots that ended long ago are removed.
func NewProcess(settings ProcessSettings) (*Process, error) {
	if settings.LeaveTime == 0 {
		settings.LeaveTime = DefaultLeaveTime
	}
	p := &Process{settings: settings, closing: make(chan struct{})}
	if err := os.MkdirAll(settings.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the bots' folder: %w", err)
	}
	folders, err := os.ReadDir(settings.Dir)
	if err != nil {
		return nil, fmt.Errorf("look for bots: %w", err)
	}
	for _, folder := range folders {
		jobID, attempt, ok := parseFolder(folder.Name())
		if !ok {
			continue
		}
		if p.State(jobID, attempt) == Running {
			settings.Log.Info("found a running bot", "job", jobID, "attempt", attempt)
			p.watchStranger(jobID, attempt)
			continue
		}
		if info, err := folder.Info(); err == nil && time.Since(info.ModTime()) > keepFolders {
			if err := os.RemoveAll(p.folder(jobID, attempt)); err != nil {
				settings.Log.Warn("cannot remove an old bot's folder", "job", jobID, "attempt", attempt, "error", err)
			}
		}
	}
	return p, nil
}

// Close stops watching bots; they run on.
func (p *Process) Close() {
	close(p.closing)
	p.watches.Wait()
}

// Launch implements Launcher.
func (p *Process) Launch(_ context.Context, a Assignment) error {
	if p.settings.Check != nil {
		if err := p.settings.Check(); err != nil {
			return err
		}
	}
	dir := p.folder(a.JobID, a.Attempt)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the bot's folder: %w", err)
	}
	environment, err := a.Environment(dir)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, LogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the bot's log: %w", err)
	}
	defer log.Close() // the bot has its own

	// No context: the bot outlives this call, and the service.
	cmd := exec.CommandContext(context.Background(), p.settings.Executable, "bot")
	cmd.Env = slices.Concat(inherited(os.Environ()), environment, p.settings.Bot.Environment())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the bot: %w", err)
	}
	p.watchChild(a.JobID, a.Attempt, cmd)
	return nil
}

// inherited returns the environment that a bot gets of the service's: all but
// the service's own settings, some of which are secrets. Those few that bots
// read too are passed on.
func inherited(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "STANDIN_") && !logSetting(name)
	})
}

// State implements Launcher.
func (p *Process) State(jobID uuid.UUID, attempt int) State {
	pid, held, err := holder(p.folder(jobID, attempt))
	switch {
	case err != nil:
		p.settings.Log.Error("cannot tell whether a bot runs", "job", jobID, "attempt", attempt, "error", err)
		return Unknown
	case !held:
		return NotStarted
	case pid == 0:
		return Gone
	}
	return Running
}

// Reason implements Launcher: of a bot that has ended, the end of its log.
func (p *Process) Reason(jobID uuid.UUID, attempt int) string {
	if p.State(jobID, attempt) != Gone {
		return ""
	}
	log, err := readEnd(filepath.Join(p.folder(jobID, attempt), LogFile), MaxLogTail)
	if err != nil || len(log) == 0 {
		return "" // it left none
	}
	return "its log ends: " + LogTail(log)
}

// readEnd reads at most so many bytes from the end of a file.
func readEnd(path string, atMost int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	start := max(0, info.Size()-atMost)
	return io.ReadAll(io.NewSectionReader(file, start, atMost))
}

// Stop implements Launcher: the bot is asked to leave its meeting, and killed
// with its whole process group if it has not ended in time.
func (p *Process) Stop(ctx context.Context, jobID uuid.UUID, attempt int) error {
	dir := p.folder(jobID, attempt)
	pid, _, err := holder(dir)
	if err != nil || pid == 0 {
		return err
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		target := pid
		if signal == syscall.SIGKILL {
			target = -pid // the whole group
		}
		if err := syscall.Kill(target, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("end the bot's process %d: %w", pid, err)
		}
		if waitReleased(ctx, dir, p.settings.LeaveTime) {
			// What it started, such as a browser, goes with it.
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for the bot's process %d to end: %w", pid, err)
		}
	}
	return fmt.Errorf("the bot's process %d does not end", pid)
}

// waitReleased waits until nobody holds the folder, at most for the given
// time, and reports whether that came.
func waitReleased(ctx context.Context, dir string, atMost time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if pid, _, err := holder(dir); err == nil && pid == 0 {
			return true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
}

// watchChild reports the exit of a bot that this process started.
func (p *Process) watchChild(jobID uuid.UUID, attempt int, cmd *exec.Cmd) {
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }() // owned by the bot: ends with it, and outlives Close
	p.watches.Go(func() {
		select {
		case err := <-exited:
			p.settings.Log.Info("bot exited", "job", jobID, "attempt", attempt, "error", err)
			// What the bot left in its process group, such as a browser whose
			// parent was killed, goes with it.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			p.settings.OnExit(jobID, attempt)
		case <-p.closing:
		}
	})
}

// watchStranger reports the exit of a bot that an earlier service started.
func (p *Process) watchStranger(jobID uuid.UUID, attempt int) {
	pid, _, err := holder(p.folder(jobID, attempt))
	p.watches.Go(func() {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if p.State(jobID, attempt) != Gone {
					continue
				}
				p.settings.Log.Info("bot exited", "job", jobID, "attempt", attempt)
				if err == nil && pid > 1 {
					_ = syscall.Kill(-pid, syscall.SIGKILL) // as in watchChild
				}
				p.settings.OnExit(jobID, attempt)
				return
			case <-p.closing:
				return
			}
		}
	})
}

// folder is where an attempt's bot keeps its files.
func (p *Process) folder(jobID uuid.UUID, attempt int) string {
	return filepath.Join(p.settings.Dir, jobID.String()+"-"+strconv.Itoa(attempt))
}

// parseFolder is the inverse of folder, for the last element of the path.
func parseFolder(name string) (jobID uuid.UUID, attempt int, ok bool) {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return uuid.UUID{}, 0, false
	}
	jobID, err := uuid.Parse(name[:at])
	if err != nil {
		return uuid.UUID{}, 0, false
	}
	attempt, err = strconv.Atoi(name[at+1:])
	return jobID, attempt, err == nil
}
