package job

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// OverviewDays is how many days of failures an Overview counts, today included.
const OverviewDays = 14

// Overview summarizes the state of the service across all consumers.
type Overview struct {
	Active     map[Status]int // jobs that have not ended
	Bots       []RunningBot   // in the order of their last heartbeats, oldest first
	Deliveries Backlog
	Overdue    Backlog         // jobs that are due and not yet processed
	Commands   int             // not acknowledged, of jobs that have not ended
	Failures   []FailureCount  // of one mode
	Reasons    []FailureReason // likewise, the most frequent first
	Recent     []FailedJob     // likewise, the newest first
}

// Backlog is the number of waiting items and the age of the oldest.
type Backlog struct {
	Waiting int
	Since   time.Time // zero when none waits
}

// RunningBot is a job whose bot runs or is about to.
type RunningBot struct {
	JobID       uuid.UUID
	Consumer    string
	Mode        Mode
	Status      Status
	Platform    Platform
	Attempt     int
	StatusSince time.Time
	LaunchedAt  time.Time // zero before the launch
	HeartbeatAt time.Time // zero before the first heartbeat
	LaunchError string
}

// HourCount is how many jobs were created in an hour, and how many of them failed.
type HourCount struct {
	Hour         time.Time
	Jobs, Failed int
}

// FailureCount is how many jobs failed with a code on a day (UTC).
type FailureCount struct {
	Day  time.Time
	Code FailureCode
	Jobs int
}

// FailureReason is how many jobs on a platform failed with a code.
type FailureReason struct {
	Code     FailureCode
	Platform Platform
	Day      int // in the last 24 hours
	Week     int // in the last seven days
}

// FailedJob is a job that has failed.
type FailedJob struct {
	JobID    uuid.UUID
	Consumer string // name
	Platform Platform
	At       time.Time
	Code     FailureCode
	Detail   string
}

// FailureFilter selects failed jobs. Empty fields select all.
type FailureFilter struct {
	Code     FailureCode
	Platform Platform
	Since    time.Time
	After    FailureCursor
}

// FailureCursor is a position among failed jobs, the newest first.
type FailureCursor struct {
	At time.Time
	ID uuid.UUID
}

// UpcomingCount is how many live jobs are scheduled to join in an interval
// that starts at From, and how many bots will run in it.
type UpcomingCount struct {
	From       time.Time
	Jobs, Bots int
}

// Node is one of the services that share a database.
type Node struct {
	ID          string
	Name        string // of the machine
	BaseURL     string // where consumers reach the service; not read by Nodes
	StartedAt   time.Time
	HeartbeatAt time.Time
	Bots        int           // that use capacity
	Capacity    int           // how many bots the node can run
	FullReason  string        // why the node cannot run another bot now; empty when it can
	StartTime   time.Duration // from the launch of a bot until it can join; 0 while unknown
}

// BotStats is the last statistics report of a live bot.
type BotStats struct {
	JobID       uuid.UUID
	Attempt     int
	Node        string
	HeartbeatAt time.Time
	Stats       json.RawMessage
}
