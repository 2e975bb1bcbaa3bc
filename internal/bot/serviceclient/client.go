// Package serviceclient is the bot's side of the ingest surface (contract, Bot
// channel): it tells the service what is in the spool, says that the bot
// lives, and hears the service's commands.
//
// Nothing here decides what a bot does. The channel outlasts any absence of
// the service by trying again for ever, and says through Done when the service
// wants no more of this bot. It knows HTTP and the spool, and neither the
// browser nor the meeting.
package serviceclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/job"
)

// Settings say who talks to whom. Those up to Spool are needed; the others
// have defaults.
type Settings struct {
	ServiceURL string // base URL of the service, without credentials
	JobID      string // a UUID
	Attempt    int
	Token      string // bearer of this attempt
	Spool      *spool.Spool

	HTTPClient    *http.Client  // its Timeout and CheckRedirect are not used; nil: one of the channel's own
	Log           *slog.Logger  // nil: slog.Default()
	UploadWorkers int           // files uploaded at a time; 0: 3
	MaxWait       time.Duration // how long a heartbeat may be held, in whole seconds; 0: 25 s
	Timeout       time.Duration // for an answer, or for the next step of an upload; 0: 30 s
	RetryMin      time.Duration // pause after a first failure; 0: 100 ms
	RetryMax      time.Duration // longest pause after failures; 0: 10 s
}

// Channel is the connection of one attempt to the service.
type Client struct {
	settings Settings
	spool    *spool.Spool
	log      *slog.Logger
	http     *http.Client
	base     *url.URL

	running   atomic.Bool
	recorded  atomic.Int64 // milliseconds, told with heartbeats
	taken     atomic.Pointer[taken]
	handingIn atomic.Bool // see FlushMedia
	commands  commands
	acks      acks
	claims    claims
	end       end
}

// New checks the settings and ties the spool to the attempt. It sends nothing;
// Run does.
func New(settings Settings) (*Client, error) {
	base, err := settings.check()
	if err != nil {
		return nil, fmt.Errorf("bot channel: %w", err)
	}
	if err := settings.Spool.Bind(fmt.Sprintf("%s/%d", settings.JobID, settings.Attempt)); err != nil {
		return nil, fmt.Errorf("bot channel: %w", err)
	}
	settings.fillIn()
	c := &Client{
		settings: settings,
		spool:    settings.Spool,
		log:      settings.Log.With("job_id", settings.JobID, "attempt", settings.Attempt),
		http:     ownClient(settings.HTTPClient),
		base:     base,
		commands: newCommands(),
		claims:   newClaims(),
		end:      newEnd(),
	}
	if damaged := settings.Spool.DamagedLines(); damaged > 0 {
		c.log.Error("the spool's journal was damaged; what these lines said is lost", "lines", damaged)
	}
	return c, nil
}

func (s *Settings) check() (*url.URL, error) {
	base, err := url.Parse(s.ServiceURL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("the service's URL is no absolute http or https URL")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("the service's URL may hold no credentials, query or fragment")
	case uuid.Validate(s.JobID) != nil:
		return nil, errors.New("the job's id is no UUID")
	case s.Attempt < 0:
		return nil, fmt.Errorf("the attempt is %d, less than 0", s.Attempt)
	case s.Token == "" || strings.ContainsFunc(s.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the token is missing or cannot stand in a header")
	case s.Spool == nil:
		return nil, errors.New("the spool is missing")
	}
	return base, nil
}

func (s *Settings) fillIn() {
	if s.Log == nil {
		s.Log = slog.Default()
	}
	if s.UploadWorkers <= 0 {
		s.UploadWorkers = 3
	}
	for _, d := range []struct {
		setting *time.Duration
		value   time.Duration
	}{
		{&s.MaxWait, 25 * time.Second},
		{&s.Timeout, 30 * time.Second},
		{&s.RetryMin, 100 * time.Millisecond},
		{&s.RetryMax, 10 * time.Second},
	} {
		if *d.setting <= 0 {
			*d.setting = d.value
		}
	}
}

// ownClient returns a client that follows no redirect, since the token is for
// the service alone, and leaves timeouts to each request.
func ownClient(given *http.Client) *http.Client {
	own := http.Client{}
	if given != nil {
		own = *given
	} else if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		transport := standard.Clone()
		transport.MaxIdleConnsPerHost = 8 // uploads, events and heartbeats keep their connections
		own.Transport = transport
	}
	own.Timeout = 0
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// Run sends events in their order, uploads files, beats and hears commands
// until ctx ends, and then returns nil; or until the service refuses the bot
// for good, and then returns a *RefusedError. It may be called once.
func (c *Client) Run(ctx context.Context) error {
	if !c.running.CompareAndSwap(false, true) {
		return errors.New("bot channel: it was run already")
	}
	defer c.http.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.sendEvents(ctx) })
	group.Go(func() error { return c.beat(ctx) })
	group.Go(func() error { return c.deliverCommands(ctx) })
	for range c.settings.UploadWorkers {
		group.Go(func() error { return c.uploadFiles(ctx) })
	}
	return group.Wait()
}

// Emit writes the event to the spool; when it returns nil the event will be
// told, whatever happens to this process. It does not wait for the service.
func (c *Client) Emit(kind job.Trigger, data any) error {
	_, err := c.spool.AppendEvent(kind, data)
	return err
}

// SetRecorded sets the length of the recording that heartbeats tell.
func (c *Client) SetRecordedDuration(length time.Duration) { c.recorded.Store(length.Milliseconds()) }

// taken is what the bot takes of its machine.
type taken struct {
	cores  float64
	memory int64
}

// SetTaken sets what the bot takes of its machine, which heartbeats tell:
// processors over the last seconds, and bytes of memory.
func (c *Client) SetUsage(cores float64, memory int64) {
	c.taken.Store(&taken{cores: cores, memory: memory})
}

// Stats is what heartbeats tell of the bot.
func (c *Client) Stats() ingest.Stats {
	recorded, uploaded := c.spool.SegmentBytes()
	stats := ingest.Stats{
		BytesRecorded:  recorded,
		BytesUploaded:  uploaded,
		EventsWaiting:  c.spool.WaitingEvents(),
		RecordedMillis: c.recorded.Load(),
	}
	if taken := c.taken.Load(); taken != nil {
		stats.CoresUsed, stats.MemoryBytes = taken.cores, taken.memory
	}
	if c.handingIn.Load() {
		total, settled := c.spool.FinalBytes()
		stats.FinalBytes = total
		stats.FinalBytesSent = min(total, settled+c.claims.sent())
	}
	return stats
}

// Flush waits until every event and every file in the spool was acknowledged
// or set aside. It ends early with ctx, or with a *RefusedError when the
// service refuses the bot.
func (c *Client) Flush(ctx context.Context) error {
	return c.waitFor(ctx, func() bool { return c.spool.WaitingEvents() == 0 && c.spool.PendingFiles() == 0 })
}

// FlushMedia is Flush for files alone. The bot calls it before it emits
// manifest.finalized, which tells that the media are there. From then on
// heartbeats are not held: they tell how far the handing in is.
func (c *Client) FlushMedia(ctx context.Context) error {
	c.handingIn.Store(true)
	c.acks.hurry()
	return c.waitFor(ctx, func() bool { return c.spool.PendingFiles() == 0 })
}

func (c *Client) waitFor(ctx context.Context, done func() bool) error {
	for {
		changed := c.spool.Changed()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-c.end.refused:
			return c.end.refusal
		case <-ctx.Done():
			return fmt.Errorf("flush the bot's spool, %d events and %d files still waiting: %w",
				c.spool.WaitingEvents(), c.spool.PendingFiles(), context.Cause(ctx))
		}
	}
}
