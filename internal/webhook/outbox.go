package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Delivery is one event on its way to one address.
type Delivery struct {
	ID         string // dlv_…, the same at every try
	JobID      uuid.UUID
	ConsumerID uuid.UUID
	URL        string
	Event      string
	Sequence   int64 // of the event among its job's, the same as in Data
	EmittedAt  time.Time
	Data       json.RawMessage
	Version    int      // payload version: Version1 or Version2
	Secrets    []Secret // the consumer's as of the claim, the current one first

	Attempt  int    // number of the try it is claimed for; the first is 1
	Failures int    // tries recorded as failed so far
	Lease    string // token of the claim
}

// Try is what came of posting a delivery once.
type Try struct {
	DeliveryID string
	Number     int // the delivery's Attempt
	StartedAt  time.Time
	Latency    time.Duration
	StatusCode int    // 0 when there was no answer
	Error      string // why it failed, when the status alone does not say
	Answer     []byte // the first AnswerKept bytes of the answer's body: any bytes, not always text
}

// Verdict is what follows from a try.
type Verdict struct {
	Outcome Outcome
	RetryAt time.Time // of Retry
	Reason  string    // of GaveUp
}

// Outcome is where a try leaves its delivery.
type Outcome string

// The outcomes. Delivered and GaveUp are final.
const (
	Delivered Outcome = "delivered"
	Retry     Outcome = "retry"
	GaveUp    Outcome = "gave_up"
)

// FailuresBeforeOvertaking is the order rule: a delivery waits for every
// earlier one of the same job and address that is neither delivered nor given
// up, unless that one has failed this many times. So order is strict while the
// receiver acknowledges, is kept over one hiccup (the first two tries are five
// seconds apart), and a receiver that is down for longer does not hold back
// all that follows.
const FailuresBeforeOvertaking = 2

// Claim says which deliveries the sender can begin now.
type Claim struct {
	Now     time.Time
	Lease   time.Duration // how long the deliveries belong to the claim
	Limit   int           // at most so many in all
	PerHost int           // at most so many of one host
	Busy    []string      // hosts to leave out
}

// ErrLeaseLost says that a delivery belongs to another claim by now.
var ErrLeaseLost = errors.New("the lease of the delivery was lost")

// Outbox is the sender's side of the stored deliveries. Deliveries get into it
// with the change they tell of, in its transaction.
//
// A delivery is waiting until a verdict makes it final. A waiting one has a
// due time: its EmittedAt at first, then what Retry says, and while it is
// claimed, the end of its lease, so that what a crashed sender held becomes due
// again by itself.
type Outbox interface {
	// ClaimDeliveries takes waiting deliveries whose due time is not after
	// claim.Now, the longest due first, but none
	//   - whose host (HostOf its URL) is in claim.Busy,
	//   - that would be more than claim.PerHost of its host in the answer,
	//   - behind an earlier one: one of the same job and URL, with a lower
	//     Sequence, still waiting (claimed or not), with fewer than
	//     FailuresBeforeOvertaking failures.
	//
	// Each one taken gets a fresh lease token, the due time Now + Lease, and an
	// Attempt one higher than before: the number is counted here, not with the
	// result, so that a try whose result is lost in a crash keeps its number
	// to itself. The answer may hold fewer than there are, but none only if
	// there are none.
	ClaimDeliveries(ctx context.Context, claim Claim) ([]Delivery, error)

	// ReleaseDeliveries undoes the claim of deliveries that were not begun:
	// Attempt goes one down and they are due at once. Those whose lease was
	// lost are left alone, which is no error.
	ReleaseDeliveries(ctx context.Context, deliveries []Delivery) error

	// RecordTry stores the try and applies the verdict, both or neither. Retry
	// sets the due time to verdict.RetryAt and ends the lease; Retry and GaveUp
	// count one more failure. It is ErrLeaseLost, and nothing is stored, when
	// the delivery no longer has the lease token it was claimed with.
	RecordTry(ctx context.Context, delivery Delivery, try Try, verdict Verdict) error

	// NextDelivery returns the earliest due time after the given time of all
	// waiting deliveries, claimed or not; false when there is none.
	NextDelivery(ctx context.Context, after time.Time) (time.Time, bool, error)
}

// HostOf returns the host of an address, with its port if it names one, in
// lower case: what claims are balanced by, and all of an address that may
// stand in a log. It is empty for what is no address.
func HostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(parsed.Host)
}
