package job

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Record is a job with the fields that the service stores to run it.
type Record struct {
	Job

	StatusSince time.Time
	Sequence    int64 // of the last webhook event

	WakeAt           time.Time // when the job is processed next; zero when nothing is left to do
	Lease            string    // token of the dispatcher that processes the job now
	AttemptStartedAt time.Time
	Node             string    // that runs the bot of the current attempt; empty before the first attempt
	LaunchedAt       time.Time // when the current attempt's bot was started; zero when it was not
	LaunchFailures   int       // of the current attempt
	LaunchError      string    // of the last failed launch
	Prelaunch        Prelaunch
	HeartbeatAt      time.Time // of the current attempt's bot
	BotLost          string    // why the current attempt's bot ended before its time, as it reported; empty while nothing is known
	Stats            json.RawMessage
	HasCommands      bool // commands for bots are not acknowledged

	BotEvents     int   // that the job's bots have reported, with duplicates
	BotEventBytes int64 // of their data

	ByEvent   bool // events of calendars or invitations have created the job, and it follows them
	Requested bool // a request to the API asks for the job too, so that it stays without its events

	RecordingDeletedAt time.Time // when deletion of the recording was requested; zero when it was not
	RecordingDeletedBy string    // who requested the deletion; empty when unknown
	RecordingErasedAt  time.Time // when storage held no data of the recording any more; zero when unknown
}

// Prelaunch is the state of a bot that is launched before joinAt. Until joinAt it
// shows nowhere: the job stays scheduled and can be changed.
type Prelaunch string

// The states of a prelaunch.
const (
	NotPrelaunched     Prelaunch = ""
	Prelaunched        Prelaunch = "launched"  // Node has launched the bot of Attempt, or is about to
	PrelaunchWithdrawn Prelaunch = "withdrawn" // the job changed: the bot of the attempt before Attempt is to be stopped
	PrelaunchSkipped   Prelaunch = "skipped"   // no bot is launched before joinAt
)

// HasBot reports whether a bot of the current attempt was launched, or is to be.
func (r Record) HasBot() bool { return r.Attempts > 0 || r.Prelaunch == Prelaunched }

// SearchDepth is how many of a consumer's newest jobs a text search examines.
// It bounds the time of a search whatever the number of jobs.
const SearchDepth = 2000

// Filter selects jobs of a consumer. Zero fields match every job.
type Filter struct {
	Statuses    []Status          `json:"status"` // any of them
	Platform    Platform          `json:"platform"`
	ExternalID  string            `json:"externalId"`
	CreatedFrom time.Time         `json:"createdFrom"` // inclusive
	CreatedTo   time.Time         `json:"createdTo"`   // exclusive
	JoinFrom    time.Time         `json:"joinFrom"`    // inclusive
	JoinTo      time.Time         `json:"joinTo"`      // exclusive
	Metadata    map[string]string `json:"metadata"`
}

// MatchesMetadata reports whether the metadata of a job have all values of the
// filter. Values other than strings are compared as JSON.
func (f Filter) MatchesMetadata(metadata json.RawMessage) bool {
	if len(f.Metadata) == 0 {
		return true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(metadata, &fields) != nil {
		return false
	}
	for key, want := range f.Metadata {
		var text string
		if json.Unmarshal(fields[key], &text) != nil {
			text = string(fields[key])
		}
		if _, ok := fields[key]; !ok || text != want {
			return false
		}
	}
	return true
}

// Cursor is a position in a list of jobs, which is ordered by creation, newest
// first. The zero Cursor is before the first job.
type Cursor struct {
	CreatedAt time.Time
	ID        uuid.UUID
}

// Claim describes which jobs a dispatcher leases.
type Claim struct {
	Node  string        // ID of the claiming node; empty when the database is not shared
	Now   time.Time     // by the clock of the claiming node
	Lease time.Duration // how long the lease lasts, and after how long a silent node counts as gone
	Limit int           // of each kind of job

	Capacity    int           // how many live jobs that wait for capacity may be claimed
	PerConsumer int           // how many bots a consumer may run; 0 is no limit
	Prelaunch   time.Duration // live jobs are claimed this long before they are due
}

// ClaimedJob is a job that a claim has leased.
type ClaimedJob struct {
	ID         uuid.UUID
	ConsumerID uuid.UUID
	Lease      string // token of the lease
	Attempt    int    // the current one, or the first one of a job without attempts
	Admitted   bool   // may use capacity
}

// Claimed is the result of a claim.
type Claimed struct {
	Jobs []ClaimedJob // admitted ones first, in the order in which they are served
	// More reports that the claim left jobs that wait for capacity, if there are any:
	// to another node that is admitting jobs or has capacity, or because of
	// Claim.Limit.
	More bool
}
