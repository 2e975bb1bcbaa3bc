// Package device implements the sign-in of the command line. The command line
// starts a flow and gets a nonce, the user opens a page with that nonce, the
// page creates an API key and completes the flow, and the command line, which
// polls, gets the key.
//
// The package contains no HTTP, no SQL and no authentication of users. A key is
// any text.
//
// Only the holder of the nonce can get the key: the database stores the hash of
// the nonce, and the key encrypted with the nonce. Neither the database nor its
// logs, backups and free pages reveal a key.
package device

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// Lifetime is the lifetime of every flow, complete or not.
const Lifetime = 10 * time.Minute

// Defaults of Settings.
const (
	defaultMaxOpen          = 10_000
	defaultMaxOpenPerClient = 100
)

// Long keys share maxLongTotal bytes, so that they cannot fill the disk. Ordinary
// keys are not limited. A key is long if its Record's Sealed is longer than
// LongSealed, which is a key of about 3000 bytes.
const (
	LongSealed   = 4 << 10
	maxLongTotal = 64 << 20
)

// ErrExpired is the error for a nonce that has expired, that is unknown, or whose
// flow was completed with another key. Callers cannot tell them apart.
var ErrExpired = errors.New("the nonce has expired or is unknown")

// FullError is the error for too many open flows, of one client or in total, and
// for too many long keys.
type FullError struct {
	RetryAfter time.Duration // until the next of these flows expires
}

func (e *FullError) Error() string {
	return "too many open device flows; the next one expires in " + e.RetryAfter.String()
}

// Flow is what the client that started a flow gets.
type Flow struct {
	Nonce     string
	Code      string // shown on the page and by the command line
	VerifyURL string
	ExpiresAt time.Time
}

// Status is the status of a flow.
type Status string

// The statuses of a flow.
const (
	Pending  Status = "pending"
	Complete Status = "complete"
	Expired  Status = "expired"
)

// PollResult is the result of a poll.
type PollResult struct {
	Status Status
	APIKey string // only when complete
	Email  string // only when complete; may be empty
}

// Record is a stored flow.
type Record struct {
	NonceHash     string
	ClientAddress string
	Agent         string // User-Agent of the client; untrusted text
	CreatedAt     time.Time
	ExpiresAt     time.Time
	Sealed        string // the encrypted key and e-mail; empty while pending
}

// Limits bound the stored flows.
type Limits struct {
	Open          int
	OpenPerClient int
	LongTotal     int64 // total bytes of the Sealed that are longer than LongSealed
}

// Store is the part of the database that Flows uses.
type Store interface {
	// InsertDeviceFlow inserts a flow, or returns a *FullError when it would
	// exceed the limits. It deletes the flows that expired before the new one
	// was created; they do not count.
	InsertDeviceFlow(ctx context.Context, flow Record, limits Limits) error
	// DeviceFlow returns the flow with that hash that expires after now; false
	// when there is none.
	DeviceFlow(ctx context.Context, nonceHash string, now time.Time) (Record, bool, error)
	// CompleteDeviceFlow completes a pending flow that expires after now; false
	// when there is none. It returns a *FullError when a long key would exceed
	// the limits.
	CompleteDeviceFlow(ctx context.Context, nonceHash, sealed string, now time.Time, limits Limits) (bool, error)
}

// Settings configure Flows.
type Settings struct {
	Store            Store
	BaseURL          string // public URL of the service, without a trailing slash
	MaxOpen          int    // open flows in total; 10,000 when 0
	MaxOpenPerClient int    // open flows per client address; 100 when 0
	Now              func() time.Time
}

// Flows runs device flows. Its methods are safe for concurrent use.
type Flows struct {
	Settings
	limits Limits
}

// New returns Flows. Expired flows are deleted while Run runs.
func New(settings Settings) *Flows {
	limits := Limits{
		Open:          cmp.Or(settings.MaxOpen, defaultMaxOpen),
		OpenPerClient: cmp.Or(settings.MaxOpenPerClient, defaultMaxOpenPerClient),
		LongTotal:     maxLongTotal,
	}
	return &Flows{settings, limits}
}

// Init starts a flow. Flows are counted by clientAddress, which may stand for a
// group of addresses. agent is the client's User-Agent, which the page shows.
// It returns a *FullError when too many flows are open.
func (f *Flows) Init(ctx context.Context, clientAddress, agent string) (Flow, error) {
	printable := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, agent)
	nonce := account.NewToken()
	now := job.AsStored(f.Now()) // the precision of the database
	record := Record{
		NonceHash: account.Hash(nonce), ClientAddress: clientAddress, Agent: strings.TrimSpace(printable[:min(len(printable), maxAgent)]),
		CreatedAt: now, ExpiresAt: now.Add(Lifetime),
	}
	if err := f.Store.InsertDeviceFlow(ctx, record, f.limits); err != nil {
		return Flow{}, err
	}
	return Flow{
		Nonce:     nonce,
		Code:      Code(nonce),
		VerifyURL: f.BaseURL + "/cli?nonce=" + url.QueryEscape(nonce),
		ExpiresAt: record.ExpiresAt,
	}, nil
}

// maxAgent is the maximum length of a stored User-Agent, in bytes.
const maxAgent = 200

// find returns the nonce's flow; false if there is none.
func (f *Flows) find(ctx context.Context, nonce string) (record Record, ok bool, err error) {
	if len(nonce) != account.TokenLength {
		return record, false, nil
	}
	return f.Store.DeviceFlow(ctx, account.Hash(nonce), f.Now())
}

// Poll returns the status of the nonce's flow. A complete flow stays complete
// until it expires, however often it is polled, because an answer may get lost.
func (f *Flows) Poll(ctx context.Context, nonce string) (PollResult, error) {
	record, ok, err := f.find(ctx, nonce)
	switch {
	case err != nil:
		return PollResult{}, err
	case !ok:
		return PollResult{Status: Expired}, nil
	case record.Sealed == "":
		return PollResult{Status: Pending}, nil
	}
	kept, err := open(nonce, record.Sealed)
	if err != nil {
		return PollResult{}, err
	}
	return PollResult{Status: Complete, APIKey: kept.apiKey, Email: kept.email}, nil
}

// Complete completes a flow with a key, which must not be empty, and the user's
// e-mail, which may be. Completing it again with the same key has no effect;
// with another key the error is ErrExpired, as for a nonce that is expired or
// unknown. A long key may exceed the limits: a *FullError.
func (f *Flows) Complete(ctx context.Context, nonce, apiKey, email string) error {
	if apiKey == "" {
		return job.NewInvalidInput("the API key must not be empty", "apiKey")
	}
	// A guessed nonce costs a read, not a write.
	record, ok, err := f.find(ctx, nonce)
	if err == nil && ok && record.Sealed == "" {
		if record.Sealed, err = seal(nonce, credentials{apiKey, email}); err == nil {
			ok, err = f.Store.CompleteDeviceFlow(ctx, account.Hash(nonce), record.Sealed, f.Now(), f.limits)
		}
		if err == nil && !ok { // a concurrent call may have completed it first
			record, ok, err = f.find(ctx, nonce)
		}
	}
	if err == nil && !ok {
		err = ErrExpired
	}
	if err != nil {
		return err
	}
	kept, err := open(nonce, record.Sealed)
	if err == nil && !account.SameSecret(kept.apiKey, apiKey) {
		err = ErrExpired
	}
	return err
}

// PendingFlow is what the page shows of a flow before the user approves it.
type PendingFlow struct {
	Code          string // also shown by the command line
	ClientAddress string
	Agent         string // User-Agent of the client; untrusted text
	CreatedAt     time.Time
	ExpiresAt     time.Time
}

// Pending returns a flow that waits to be completed; false for one that is
// complete, expired or unknown.
func (f *Flows) Pending(ctx context.Context, nonce string) (PendingFlow, bool, error) {
	record, ok, err := f.find(ctx, nonce)
	if err != nil || !ok || record.Sealed != "" {
		return PendingFlow{}, false, err
	}
	return PendingFlow{
		Code: Code(nonce), ClientAddress: record.ClientAddress, Agent: record.Agent, CreatedAt: record.CreatedAt, ExpiresAt: record.ExpiresAt,
	}, true, nil
}
