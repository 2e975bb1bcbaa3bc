// Package launch describes launchers, which start bots and report their states,
// and a bot's configuration. Each launcher is a package below it: process, docker,
// kubernetes, manual and simulator. Remote is what those with an engine share.
package launch

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// DefaultLeaveTime is how long a stopped bot has to leave its meeting before it
// is killed.
const DefaultLeaveTime = 8 * time.Second

// Launcher starts bots. Its methods may be called from any goroutine.
type Launcher interface {
	// Launch starts the bot of an attempt. On error no bot runs; the error's
	// text is shown to users.
	Launch(ctx context.Context, assignment Assignment) error
	// State returns the state of an attempt's bot without blocking.
	State(jobID uuid.UUID, attempt int) State
	// Reason explains the state of an attempt's bot to users: what a starting
	// bot waits for, or how a bot ended. It is empty when nothing is known.
	Reason(jobID uuid.UUID, attempt int) string
	// Stop ends an attempt's bot and every process that it started. When it
	// returns nil, no such bot runs.
	Stop(ctx context.Context, jobID uuid.UUID, attempt int) error
}

// RemoteLauncher is a launcher whose bots run in containers.
type RemoteLauncher interface {
	Launcher
	// Check returns why the engine cannot run bots.
	Check(ctx context.Context) error
	// Close ends the connection to the engine. Bots keep running.
	Close()
}

// State is the state of an attempt's bot.
type State string

// The states of a bot.
const (
	NotStarted State = "not started" // this launcher never started it
	Starting   State = "starting"    // the engine accepted it; it does not run yet
	Running    State = "running"
	Gone       State = "gone"    // it was started and has ended
	Unknown    State = "unknown" // the engine cannot be reached
)

// ProxyVariables are the environment variables that name a forward proxy. Bots get those of the service.
var ProxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

// BotStatus is a bot's state and the reason for it.
type BotStatus struct {
	State  State
	Reason string // as Launcher.Reason
}

// Key identifies the bot of an attempt.
type Key struct {
	JobID   uuid.UUID
	Attempt int
}

// String returns the key in the form that ParseKey reads.
func (k Key) String() string { return fmt.Sprintf("%s-%d", k.JobID, k.Attempt) }

// ParseKey is the inverse of Key.String.
func ParseKey(text string) (Key, bool) {
	cut := max(0, strings.LastIndexByte(text, '-'))
	jobID, jobErr := uuid.Parse(text[:cut])
	attempt, attemptErr := strconv.Atoi(strings.TrimPrefix(text[cut:], "-"))
	return Key{jobID, attempt}, jobErr == nil && attemptErr == nil
}
