// Package serviceclient connects a bot to the service through the ingest
// operations of api/openapi.yaml: it sends the spool's events and files, sends
// heartbeats, and receives commands.
//
// The client retries for as long as the service is away. Client.Done is closed
// when the service no longer wants the bot.
package serviceclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"standin/internal/base/dialguard"
	"standin/internal/bot/ingest"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/operation/host"
)

// Settings configures a Client. The fields up to Spool are required; the others
// have defaults.
type Settings struct {
	ServiceURL string // base URL of the service, without credentials
	JobID      string // a UUID
	Attempt    int
	Token      string // bearer of this attempt
	Spool      *spool.Spool

	Log       *slog.Logger    // nil: slog.Default()
	Transport *http.Transport // nil: http.DefaultTransport
	Timeout   time.Duration   // limit for a response, or for progress of an upload; 0: 30 s
	RetryMin  time.Duration   // pause after the first failure; 0: 100 ms
	RetryMax  time.Duration   // longest pause; 0: 10 s
}

const (
	uploadWorkers = 3                // concurrent uploads
	maxWait       = 25 * time.Second // how long the service may hold a heartbeat
)

// Client connects one attempt to the service.
type Client struct {
	settings Settings
	spool    *spool.Spool
	log      *slog.Logger
	http     *http.Client
	base     *url.URL
	own      string // part of the attempt's paths: job ID and attempt

	delivering atomic.Bool  // set by FlushMedia
	watched    atomic.Bool  // the service wants pictures of the page
	recorded   atomic.Int64 // milliseconds
	usage      atomic.Pointer[host.ProcessUsage]
	roster     atomic.Pointer[ingest.LiveRoster]
	commands   commandQueue
	acks       acks
	uploads    uploads
	end        end
}

// New checks the settings and binds the spool to the attempt. It sends nothing;
// Run does.
func New(settings Settings) (*Client, error) {
	base, err := url.Parse(settings.ServiceURL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("the service URL is not an absolute http or https URL")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("the service URL has credentials, a query or a fragment")
	case uuid.Validate(settings.JobID) != nil:
		return nil, errors.New("the job ID is not a UUID")
	case settings.Token == "" || strings.ContainsFunc(settings.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the token is missing or not valid in a header")
	}
	own := fmt.Sprintf("%s/%d", settings.JobID, settings.Attempt)
	if err := settings.Spool.Bind(own); err != nil {
		return nil, err
	}
	settings.Log = cmp.Or(settings.Log, slog.Default())
	settings.Timeout = cmp.Or(settings.Timeout, 30*time.Second)
	settings.RetryMin = cmp.Or(settings.RetryMin, 100*time.Millisecond)
	settings.RetryMax = cmp.Or(settings.RetryMax, 10*time.Second)
	if settings.Transport == nil {
		settings.Transport = http.DefaultTransport.(*http.Transport) //nolint:forcetypeassert // documented by net/http
	}
	transport := settings.Transport.Clone()
	transport.MaxIdleConnsPerHost = 8 // uploads, events and heartbeats keep their connections
	c := &Client{
		settings: settings,
		spool:    settings.Spool,
		log:      settings.Log.With("job_id", settings.JobID, "attempt", settings.Attempt),
		// It follows no redirect, since the token is for the service alone, and has no timeout,
		// since each request has its own.
		http:     &http.Client{Transport: transport, CheckRedirect: dialguard.NoRedirects},
		base:     base,
		own:      own,
		commands: commandQueue{seen: map[string]bool{}, out: make(chan ingest.Command, maxQueuedCommands)},
		acks:     acks{failures: map[string]string{}, interrupt: func() {}},
		uploads:  uploads{active: map[string]bool{}, sent: map[string]int64{}, failing: map[string]*failingUpload{}},
		end:      end{done: make(chan struct{}), refused: make(chan struct{})},
	}
	if damaged := settings.Spool.DamagedLines(); damaged > 0 {
		c.log.Error("the spool's journal is damaged; the records of these lines are lost", "lines", damaged)
	}
	return c, nil
}

// Run sends events, files and heartbeats and receives commands until ctx ends;
// then it returns nil. It returns a *RefusedError if the service permanently
// refuses the bot. Run may be called once.
func (c *Client) Run(ctx context.Context) error {
	defer c.http.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return sendQueue(ctx, c, &c.spool.Events, func(e spool.Event) bool {
			return e.Kind != job.ManifestFinalized || c.mediaSent() // which requires all files and texts
		}, c.sendEvent)
	})
	group.Go(func() error {
		return sendQueue(ctx, c, &c.spool.Texts, func(spool.Texts) bool { return true }, c.sendTexts)
	})
	group.Go(func() error { return c.sendHeartbeats(ctx) })
	for range uploadWorkers {
		group.Go(func() error { return c.uploadFiles(ctx) })
	}
	return group.Wait()
}

// Emit writes an event to the spool. If it returns nil the event will be sent,
// even if this process ends. It does not wait for the service.
func (c *Client) Emit(kind job.Trigger, data any) error {
	_, err := c.spool.AppendEvent(kind, data)
	return err
}

// Commands returns the channel of commands. A process receives each command once,
// even if the service repeats it, and none that it acknowledged before a restart.
// The channel is never closed.
func (c *Client) Commands() <-chan ingest.Command { return c.commands.out }

// Ack acknowledges a command that was executed, or could not be for the reason in
// failure, which is empty for an executed one. Until then heartbeats list it, and the
// service sends it to the next process. A heartbeat is sent at once, and the
// acknowledgment is repeated until the service has responded to it.
func (c *Client) Ack(commandID, failure string) {
	if err := c.spool.MarkCommandSeen(commandID); err != nil {
		c.log.Error("cannot store an acknowledgment; the command may be repeated after a restart", "command_id", commandID, "error", err)
	}
	c.commands.mutex.Lock()
	c.commands.executing = slices.DeleteFunc(c.commands.executing, func(id string) bool { return id == commandID })
	c.commands.mutex.Unlock()
	c.acks.add(commandID, failure)
}

// Done is closed when the service no longer wants the bot.
func (c *Client) Done() <-chan struct{} { return c.end.done }

// Termination returns why Done is closed; before that it is empty.
func (c *Client) Termination() Termination {
	c.end.mutex.Lock()
	defer c.end.mutex.Unlock()
	return c.end.termination
}

// SetRecordedDuration sets the length of the recording for heartbeats.
func (c *Client) SetRecordedDuration(length time.Duration) { c.recorded.Store(length.Milliseconds()) }

// SetRoster sets who is in the meeting, for heartbeats. The caller must not change
// the roster afterwards.
func (c *Client) SetRoster(roster *ingest.LiveRoster) { c.roster.Store(roster) }

// Watched reports whether the service wants pictures of the page, as of the last heartbeat.
func (c *Client) Watched() bool { return c.watched.Load() }

// SetUsage sets how much of its machine the bot uses, for heartbeats.
func (c *Client) SetUsage(usage host.ProcessUsage) { c.usage.Store(&usage) }

// Flush waits until every event, file and text in the spool was acknowledged or
// rejected. It fails if ctx ends, or with a *RefusedError if the service refuses
// the bot.
func (c *Client) Flush(ctx context.Context) error {
	return c.waitFor(ctx, func() bool { return c.spool.Events.Waiting() == 0 && c.mediaSent() })
}

// FlushMedia is Flush for files and texts. The bot calls it before it emits
// manifest.finalized, which requires them. From then on heartbeats are
// frequent and report the progress.
func (c *Client) FlushMedia(ctx context.Context) error {
	c.delivering.Store(true)
	c.acks.mutex.Lock()
	c.acks.interrupt() // the heartbeat that waits
	c.acks.mutex.Unlock()
	return c.waitFor(ctx, c.mediaSent)
}

// mediaSent reports whether every file and text was acknowledged or rejected.
func (c *Client) mediaSent() bool { return c.spool.PendingFiles() == 0 && c.spool.Texts.Waiting() == 0 }

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
			return fmt.Errorf("flush the spool: %d events and %d files are waiting: %w",
				c.spool.Events.Waiting(), c.spool.PendingFiles(), context.Cause(ctx))
		}
	}
}
