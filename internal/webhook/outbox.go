package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

	Attempt  int       // number of the try it is claimed for; the first is 1
	Failures int       // tries recorded as failed so far
	Lease    string    // token of the claim
	LeasedTo time.Time // when the claim ends
}

// Try is what came of posting a delivery once.
type Try struct {
	DeliveryID   string
	Number       int // the delivery's Attempt
	StartedAt    time.Time
	Latency      time.Duration
	StatusCode   int    // 0 when there was no answer
	Error        string // why it failed, when the status alone does not say
	ResponseBody []byte // the first MaxResponseBody bytes of the response body: any bytes, not always text
}

// Verdict is what follows from a try.
type Verdict struct {
	Outcome   Outcome
	RetryAt   time.Time // of Retry
	NotBefore time.Time // of Retry, when the receiver asked to be left alone until then
	Reason    string    // of GaveUp
}

// Outcome is where a try leaves its delivery.
type Outcome string

// The outcomes. Delivered and GaveUp are final.
const (
	Delivered Outcome = "delivered"
	Retry     Outcome = "retry"
	GaveUp    Outcome = "gave_up"
)

// ReorderAfterFailures is the order rule: a delivery waits for every
// earlier one of the same job and address that is neither delivered nor given
// up, unless that one has failed this many times. So order is strict while the
// receiver acknowledges, is kept over one hiccup (the first two tries are five
// seconds apart), and a receiver that is down for longer does not hold back
// all that follows.
const ReorderAfterFailures = 2

// Claim says which deliveries the sender can take now.
type Claim struct {
	Now   time.Time
	Lease time.Duration // how long the deliveries belong to the claim
	Limit int           // how many due ones are looked at, and so the most that are taken

	// Admit returns what judges the deliveries of one claim, in the order in
	// which they are looked at. It is called again, and what was judged before is
	// void, when the claim's transaction is run again. Nil admits all.
	Admit func() AdmitFunc
}

// AdmitFunc tells whether a delivery may be taken, and if not, when it is
// worth looking at again. It is given what identifies the delivery and its
// receiver, and must not block.
type AdmitFunc func(Delivery) (admitted bool, wait time.Duration)

// The waits of deliveries that are looked at and not taken.
const (
	// MinDefer is from when on a wait is worth a write.
	MinDefer = time.Second
	// BacklogDefer is the least wait while a claim sees more than it may look
	// at: what cannot be taken must not hide what can.
	BacklogDefer = 500 * time.Millisecond
)

// DeferFor returns by how much the due time of a delivery moves that was looked
// at and not taken; 0 leaves it where it is. more says that there are due
// deliveries that were not looked at.
func DeferFor(wait time.Duration, more bool) time.Duration {
	switch {
	case more:
		return max(wait, BacklogDefer)
	case wait >= MinDefer:
		return wait
	}
	return 0
}

// Result is a try and what follows from it.
type Result struct {
	Delivery       Delivery
	Try            Try
	Verdict        Verdict
	UpdateEndpoint bool // store the success with the endpoint too
	Resume         bool // its endpoint answers again: what was put off for it is due
}

// DeadAfterFailures is how many tries in a row, of whatever deliveries, an
// endpoint may fail before it counts as dead: it is tried gently then, and what
// waits for it is sent as soon as it is back.
const DeadAfterFailures = 5

// EndpointKey names the endpoint of a consumer's deliveries to an address. It is
// printable ASCII and not long, so that indexes and cursors can hold it; an
// address need be neither.
func EndpointKey(consumer uuid.UUID, address string) string {
	const longest = 512
	if len(address) > longest || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }) {
		sum := sha256.Sum256([]byte(address))
		address = "sha256:" + hex.EncodeToString(sum[:])
	}
	return consumer.String() + " " + address
}

// Outbox is the sender's side of the stored deliveries. Deliveries get into it
// with the change they tell of, in its transaction.
//
// A delivery is waiting until a verdict makes it final. A waiting one has a
// due time: its EmittedAt at first, then what Retry says, and while it is
// claimed, the end of its lease, so that what a crashed sender held becomes due
// again by itself.
type Outbox interface {
	// ClaimDeliveries looks at claim.Limit waiting deliveries whose due time is
	// not after claim.Now, the longest due first, and takes those that
	// claim.Admit admits, but none behind an earlier one: one of the same job
	// and URL, with a lower Sequence, still waiting (claimed or not), with fewer
	// than ReorderAfterFailures failures. Those are not shown to Admit.
	//
	// Each one taken gets a lease token that no other claim has, the due time
	// Now + Lease, and an Attempt one higher than before: the number is counted
	// here, not with the result, so that a try whose result is lost in a crash
	// keeps its number to itself. Of each one not taken, the due time moves as
	// DeferFor says. more tells that there may be due ones that were not looked
	// at.
	ClaimDeliveries(ctx context.Context, claim Claim) (taken []Delivery, more bool, err error)

	// ReleaseDeliveries undoes the claim of deliveries that were not begun:
	// Attempt goes one down and they are due at once. Those whose lease was
	// lost are left alone, which is no error.
	ReleaseDeliveries(ctx context.Context, deliveries []Delivery) error

	// RecordTries stores tries and applies their verdicts, all or none of them.
	// Retry sets the due time to verdict.RetryAt and ends the lease; Retry and
	// GaveUp count one more failure. A delivery that no longer has the lease
	// token it was claimed with is passed over, and its id returned.
	//
	// Failures, and successes with Note, are kept of the endpoint too. When one
	// that was dead (DeadAfterFailures) acknowledges, all that waits for it is
	// due at once, or when the receiver wished (Verdict.NotBefore). Resume does
	// that for what has not failed yet.
	RecordTries(ctx context.Context, results []Result) (lost []string, err error)

	// NextDelivery returns the earliest due time after the given time of all
	// waiting deliveries, claimed or not; false when there is none.
	NextDelivery(ctx context.Context, after time.Time) (time.Time, bool, error)

	// Backlog returns how many deliveries wait, claimed or not, and when the
	// event of the oldest of them happened; the zero time when there is none.
	Backlog(ctx context.Context) (waiting int64, oldest time.Time, err error)
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
