package webhook

import (
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// MaxTries bounds the tries of a delivery after which it can be sent again, probes
// included.
const MaxTries = 1000

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryWaiting   DeliveryState = "waiting" // a try is due or in progress
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryFailed    DeliveryState = "failed"

	DeliveryEnded DeliveryState = "ended" // in a LogFilter: delivered or failed
)

// DeliveryRecord is the history of a delivery, without its payload.
type DeliveryRecord struct {
	ID        string    // dlv_…
	JobID     uuid.UUID // uuid.Nil for an event of the consumer
	URL       string
	Event     string
	Sequence  int64
	EmittedAt time.Time
	Version   int
	State     DeliveryState
	Attempt   int       // tries started
	NextTryAt time.Time // or when a running try counts as lost; never in the past; zero in a final state
	ProbeAt   time.Time // when its endpoint is tried next if that is dead and the delivery waits for it; zero otherwise
	EndedAt   time.Time // zero while waiting
	EndReason string    // of DeliveryFailed
	Tries     []Try
}

// NextTry returns when a delivery, or any of an endpoint, is tried next: when it is due, the one that blocks it
// is done, the receiver wants it, its dead endpoint is probed, and not before now. If another delivery is due for
// the probe, the oldest is tried in its place, so that it does not matter when that one is due.
func NextTry(dueAt, blockedTo, notBefore, probeAt, now time.Time, otherDue bool) time.Time {
	if otherDue {
		dueAt, blockedTo = time.Time{}, time.Time{}
	}
	return job.Latest(dueAt, blockedTo, notBefore, probeAt, now)
}

// HourTries is what came of the tries of an hour.
type HourTries struct {
	Hour              time.Time
	Delivered, Failed int
	Latency           time.Duration // average
}

// DeliveryCursor is a position in the list of a job's deliveries, which is
// ordered by event. The zero DeliveryCursor is before the first delivery.
type DeliveryCursor struct {
	Sequence int64
	ID       string
}

// FailedFilter selects failed deliveries of a consumer. Zero fields match every
// delivery.
type FailedFilter struct {
	JobID uuid.UUID
	URL   string
	From  time.Time // time of the event, inclusive
	To    time.Time // time of the event, exclusive
}

// LogCursor is a position in the list of a consumer's deliveries, which is ordered by
// event, newest first. The zero LogCursor is before the newest delivery.
type LogCursor struct {
	EmittedAt time.Time
	ID        string
}

// LogFilter selects deliveries of a consumer. Zero fields match every delivery.
type LogFilter struct {
	Event    string        `json:"event"`
	State    DeliveryState `json:"state"`
	Endpoint uuid.UUID     `json:"endpointId"` // EndpointID
	JobID    uuid.UUID     `json:"jobId"`
	From     time.Time     `json:"from"` // time of the event, inclusive
	To       time.Time     `json:"to"`   // time of the event, exclusive
}

// Endpoint is a URL to which webhooks of a consumer are sent: one that it has registered
// with a choice of events, or one that its jobs name.
type Endpoint struct {
	Key        string    // EndpointKey
	ID         uuid.UUID // EndpointID
	ConsumerID uuid.UUID
	Mode       job.Mode // it receives events of jobs of this mode
	URL        string

	Registered bool // by the consumer; otherwise only jobs name the URL
	// Of a registered endpoint:
	Events      []string // what it takes; see Takes
	Description string
	Enabled     bool // events are sent to it
	CreatedAt   time.Time

	Failures        int           // consecutive failed tries
	FailingSince    time.Time     // start of the first of these tries; zero when there is none
	LastTryAt       time.Time     // zero before the first
	Latency         time.Duration // of that try
	LastStatus      int           // of the last failure; 0 when there was no response
	LastError       string        // of the last failure
	LastDeliveredAt time.Time     // exact to a minute; zero before the first success
	Waiting         int64         // deliveries waiting for this endpoint
	NextTryAt       time.Time     // or when a running try counts as lost; never in the past; zero if none is waiting
}
