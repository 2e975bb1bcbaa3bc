// Package device is the login of the command line (specification, cli-auth):
// the command line gets a nonce, the user opens a page that carries it, the
// page mints an API key and hands it in, and the command line, which has been
// asking meanwhile, gets the key.
//
// It knows how a key waits safely for the one who may have it. It must not
// know HTTP, SQL, how the page lets users in, nor what a key means: a key is
// any text.
//
// Whoever knows the nonce gets the key, and nobody else: the database holds
// the nonce's hash and the key encrypted under the nonce, so that neither the
// database nor what it leaves in logs, backups and free pages tells a key.
package device

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"standin/internal/job"
)

// Lifetime is how long a flow lives, complete or not (contract, Accounts). It
// is the same for all: Run relies on it.
const Lifetime = 10 * time.Minute

// Defaults of Settings.
const (
	DefaultMaxOpen          = 10_000
	DefaultMaxOpenPerClient = 100
)

// What is kept of a long key shares maxLongTotal with all others of that kind:
// an ordinary key always finds room, and nobody fills the disk with long ones.
// LongSealed is the length beyond which a Record's Sealed is long; that is a
// key of about 3000 bytes.
const (
	LongSealed   = 4 << 10
	maxLongTotal = 64 << 20
)

// ErrExpired says that a nonce's lifetime is over, that it never was one, or
// that its flow is complete with another key: all alike to the caller.
var ErrExpired = errors.New("the nonce has expired or is unknown")

// FullError says that there are as many flows as there may be, of one opener
// or in all, or no room for a long key.
type FullError struct {
	RetryAfter time.Duration // until the next of those in the way ends
}

func (e *FullError) Error() string {
	return "there are too many open device flows; the next one ends in " + e.RetryAfter.String()
}

// Flow is a flow as the one who opened it sees it.
type Flow struct {
	Nonce     string
	Code      string // what the page and the command line both show
	VerifyURL string
	ExpiresAt time.Time
}

// Status is what polling tells of a flow.
type Status string

// The statuses (specification, Device-flow records).
const (
	Pending  Status = "pending"
	Complete Status = "complete"
	Expired  Status = "expired"
)

// Answer is the answer to a poll.
type Answer struct {
	Status Status
	APIKey string // only when complete
	Email  string // only when complete, and empty when none was handed in
}

// Record is a flow as it is kept.
type Record struct {
	NonceHash     string
	ClientAddress string
	Agent         string // what the command line calls itself; anybody's text
	CreatedAt     time.Time
	ExpiresAt     time.Time
	Sealed        string // the key and the e-mail, encrypted; empty while pending
}

// Limits bound how many flows there are.
type Limits struct {
	Open          int
	OpenPerClient int
	LongTotal     int64 // bytes of all Sealed that are longer than LongSealed
}

// Store is what Flows needs of the database.
type Store interface {
	// InsertDeviceFlow keeps a new flow. When that would be more than the limits
	// allow it keeps nothing and returns a *FullError. Flows that had ended by
	// the time the new one was created are erased and do not count.
	InsertDeviceFlow(ctx context.Context, flow Record, limits Limits) error
	// DeviceFlow returns the flow of that hash; false when there is none that
	// lives beyond now.
	DeviceFlow(ctx context.Context, nonceHash string, now time.Time) (Record, bool, error)
	// CompleteDeviceFlow completes a flow that is pending beyond now. It reports
	// false when there is none. Without room it returns a *FullError.
	CompleteDeviceFlow(ctx context.Context, nonceHash, sealed string, now time.Time, limits Limits) (bool, error)
	// DeleteExpiredDeviceFlows erases the flows that have ended by now and returns
	// when the next one ends; false when there is none.
	DeleteExpiredDeviceFlows(ctx context.Context, now time.Time) (next time.Time, ok bool, err error)
}

// Settings are what Flows are made of.
type Settings struct {
	Store            Store
	BaseURL          string // where users reach the service; no slash at its end
	MaxOpen          int    // flows at a time; DefaultMaxOpen when 0
	MaxOpenPerClient int    // flows at a time that one opener has; DefaultMaxOpenPerClient when 0
	Now              func() time.Time
	Log              *slog.Logger
}

// Flows runs device flows. Its methods may be called from any goroutine.
type Flows struct {
	store   Store
	baseURL string
	limits  Limits
	now     func() time.Time
	log     *slog.Logger
}

// New returns Flows. What has ended is erased only while Run runs.
func New(settings Settings) *Flows {
	limits := Limits{Open: settings.MaxOpen, OpenPerClient: settings.MaxOpenPerClient, LongTotal: maxLongTotal}
	if limits.Open == 0 {
		limits.Open = DefaultMaxOpen
	}
	if limits.OpenPerClient == 0 {
		limits.OpenPerClient = DefaultMaxOpenPerClient
	}
	return &Flows{store: settings.Store, baseURL: settings.BaseURL, limits: limits, now: settings.Now, log: settings.Log}
}

// Init opens a flow. opener is what flows are counted by: the client's
// address, however the caller groups addresses. agent is what the client calls
// itself, for the page to show. With too many flows open it returns a
// *FullError.
func (f *Flows) Init(ctx context.Context, opener, agent string) (Flow, error) {
	nonce := newNonce()
	now := f.now().UTC().Truncate(time.Millisecond) // as times are kept and told
	record := Record{NonceHash: hash(nonce), ClientAddress: opener, Agent: plainAgent(agent), CreatedAt: now, ExpiresAt: now.Add(Lifetime)}
	if err := f.store.InsertDeviceFlow(ctx, record, f.limits); err != nil {
		return Flow{}, fmt.Errorf("open a device flow: %w", err)
	}
	return Flow{
		Nonce:     nonce,
		Code:      Code(nonce),
		VerifyURL: f.baseURL + "/cli?nonce=" + url.QueryEscape(nonce),
		ExpiresAt: record.ExpiresAt,
	}, nil
}

// longestAgent is how much of a client's name is kept, in bytes.
const longestAgent = 200

// plainAgent keeps of a client's name what can stand in a line: printable ASCII.
func plainAgent(agent string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, agent)
	return strings.TrimSpace(plain[:min(len(plain), longestAgent)])
}

// Poll tells how the nonce's flow stands. Once complete it stays so until it
// expires, however often it is asked: an answer may get lost.
func (f *Flows) Poll(ctx context.Context, nonce string) (Answer, error) {
	if !plausible(nonce) {
		return Answer{Status: Expired}, nil
	}
	record, ok, err := f.store.DeviceFlow(ctx, hash(nonce), f.now())
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("poll a device flow: %w", err)
	case !ok:
		return Answer{Status: Expired}, nil
	case record.Sealed == "":
		return Answer{Status: Pending}, nil
	}
	kept, err := open(nonce, record.Sealed)
	if err != nil {
		return Answer{}, fmt.Errorf("poll a device flow: %w", err)
	}
	return Answer{Status: Complete, APIKey: kept.apiKey, Email: kept.email}, nil
}

// Complete hands in the key, which may be any text but an empty one, and the
// user's e-mail, which may be empty. Doing it again with the same key is
// harmless and changes nothing; with another key it is ErrExpired, as for a
// nonce that is over or unknown. A long key may find no room: a *FullError.
func (f *Flows) Complete(ctx context.Context, nonce, apiKey, email string) error {
	if apiKey == "" {
		return &job.Error{Code: job.InvalidInput, Message: "an API key must not be empty", Path: []any{"apiKey"}}
	}
	if !plausible(nonce) {
		return ErrExpired
	}
	// Whoever hands in nonces at random costs a look-up and not a write.
	record, ok, err := f.store.DeviceFlow(ctx, hash(nonce), f.now())
	if err == nil && ok && record.Sealed == "" {
		record, ok, err = f.completePending(ctx, nonce, credentials{apiKey, email})
	}
	if err != nil {
		return fmt.Errorf("complete a device flow: %w", err)
	}
	if !ok {
		return ErrExpired
	}
	kept, err := open(nonce, record.Sealed)
	if err != nil {
		return fmt.Errorf("complete a device flow: %w", err)
	}
	if !sameKey(kept.apiKey, apiKey) {
		return ErrExpired
	}
	return nil
}

// completePending completes a flow and returns what is kept then, which is
// another's when another was first.
func (f *Flows) completePending(ctx context.Context, nonce string, given credentials) (Record, bool, error) {
	sealed, err := seal(nonce, given)
	if err != nil {
		return Record{}, false, err
	}
	done, err := f.store.CompleteDeviceFlow(ctx, hash(nonce), sealed, f.now(), f.limits)
	if err != nil || done {
		return Record{Sealed: sealed}, done, err
	}
	return f.store.DeviceFlow(ctx, hash(nonce), f.now())
}
