// Package launch starts bots where the operator wants them to run and tells
// whether they still do. It knows nothing of jobs but what a bot must be
// told.
package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// State is what a launcher knows of an attempt's bot.
type State string

// The states of a bot.
const (
	NotStarted State = "not started" // this launcher never started it
	Starting   State = "starting"    // the engine has taken it on; it does not run yet
	Running    State = "running"
	Gone       State = "gone"    // it was started and has ended
	Unknown    State = "unknown" // the launcher cannot tell
)

// Launcher starts bots. Its methods may be called from any goroutine.
type Launcher interface {
	// Launch starts the bot of an attempt. An error means that no bot runs;
	// its text is shown to people.
	Launch(ctx context.Context, assignment Assignment) error
	// State tells what became of an attempt's bot. It answers at once: what
	// is not on this machine is watched, not asked after.
	State(jobID uuid.UUID, attempt int) State
	// Why tells people what is known of an attempt's bot beyond its state:
	// what it waits for while it starts, and how it ended. It is empty when
	// nothing is.
	Reason(jobID uuid.UUID, attempt int) string
	// Stop ends an attempt's bot with everything it started. When it returns
	// nil, no such bot runs.
	Stop(ctx context.Context, jobID uuid.UUID, attempt int) error
}

// Names of the environment variables that tell a bot its task. The token is
// never an argument: arguments are seen by everybody on the machine.
const (
	EnvToken         = "STANDIN_BOT_TOKEN"
	EnvJob           = "STANDIN_BOT_JOB"
	EnvAttempt       = "STANDIN_BOT_ATTEMPT"
	EnvService       = "STANDIN_BOT_SERVICE_URL"
	EnvMeeting       = "STANDIN_BOT_MEETING_URL"
	EnvPlatform      = "STANDIN_BOT_PLATFORM"
	EnvName          = "STANDIN_BOT_NAME"
	EnvJoinAt        = "STANDIN_BOT_JOIN_AT"
	EnvAutoLeave     = "STANDIN_BOT_AUTO_LEAVE"
	EnvAllowedHosts  = "STANDIN_ALLOWED_MEETING_HOSTS"
	EnvDir           = "STANDIN_BOT_DIR"
	EnvLoopbackPeers = "STANDIN_BOT_LOOPBACK_PEERS"
	EnvAskFirst      = "STANDIN_BOT_ASK_FIRST"
	EnvTask          = "STANDIN_BOT_TASK" // a file with all of these; see Task
)

// Assignment is all that a bot must be told.
type Assignment struct {
	JobID             uuid.UUID
	Attempt           int
	Token             string // of the ingest surface
	ServiceURL        string
	MeetingURL        string
	Platform          job.Platform
	DisplayName       string
	JoinAt            time.Time // not before then; a bot may be launched early so that it is ready
	AutoLeave         job.AutoLeave
	Mode              job.Mode
	Metadata          json.RawMessage // the consumer's own, a JSON object; real bots are told its Wishes alone
	AllowedHosts      []string        // besides the platforms' own
	LoopbackPeers     bool            // the meeting's media comes from this machine: replicas only
	RequirePermission bool            // nothing is recorded without the host's permission
}

// Environment returns the assignment as environment variables, for a bot that
// keeps its files in dir.
func (a Assignment) Environment(dir string) ([]string, error) {
	autoLeave, err := json.Marshal(a.AutoLeave)
	if err != nil {
		return nil, fmt.Errorf("encode autoLeave: %w", err)
	}
	var env []string
	for name, value := range map[string]string{
		EnvToken:         a.Token,
		EnvJob:           a.JobID.String(),
		EnvAttempt:       strconv.Itoa(a.Attempt),
		EnvService:       a.ServiceURL,
		EnvMeeting:       a.MeetingURL,
		EnvPlatform:      string(a.Platform),
		EnvName:          strings.ReplaceAll(a.DisplayName, "\x00", ""), // the environment cannot hold it
		EnvJoinAt:        a.JoinAt.UTC().Format(time.RFC3339Nano),
		EnvAutoLeave:     string(autoLeave),
		EnvAllowedHosts:  strings.Join(a.AllowedHosts, ","),
		EnvDir:           dir,
		EnvLoopbackPeers: strconv.FormatBool(a.LoopbackPeers),
		EnvAskFirst:      strconv.FormatBool(a.RequirePermission),
	} {
		env = append(env, name+"="+value)
	}
	return append(env, ReadWishes(a.Metadata).environment()...), nil
}

// Manual launches nothing: the operator runs bots himself.
type Manual struct{}

// Launch implements Launcher.
func (Manual) Launch(context.Context, Assignment) error { return nil }

// State implements Launcher: nobody can tell.
func (Manual) State(uuid.UUID, int) State { return Unknown }

// Reason implements Launcher.
func (Manual) Reason(uuid.UUID, int) string { return "" }

// Stop implements Launcher. The bot learns from its next heartbeat that it
// has to leave.
func (Manual) Stop(context.Context, uuid.UUID, int) error { return nil }
