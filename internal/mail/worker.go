// Package mail is the mail worker: it receives calendar invitations by SMTP and
// IMAP and asks the service to schedule, move and cancel jobs. It talks to the
// service only through operation intakeInvite of api/openapi.yaml. See
// docs/mail.md.
package mail

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"standin/internal/retry"
)

const (
	// retryTime is how long the worker tries to pass a message to the service.
	retryTime = 3 * 24 * time.Hour
	// readTime is how long the calendars for one message may be read and their jobs scheduled, and
	// maxReadAttempts how often this is tried.
	readTime        = 10 * time.Second
	maxReadAttempts = 3
	// bytesPerStep is how many bytes of a message a step of calendar.Budget reads.
	bytesPerStep = 256
	// turnTime is how long invites of one message are passed to the service before
	// the messages of others have their turn.
	turnTime = time.Second
	// rollInterval is how often further occurrences of series are scheduled.
	rollInterval = 24 * time.Hour
	// pollInterval is how often the worker checks for messages that another
	// process, such as the dashboard's, wants to be processed again.
	pollInterval = 5 * time.Second
	// maxWindow limits Policy.Window.
	maxWindow = 90 * 24 * time.Hour
	// DefaultMaxMessage is the default of Settings.MaxMessage.
	DefaultMaxMessage = 10 << 20
	// DefaultMaxBytes is the default of Settings.MaxBytes.
	DefaultMaxBytes = 1 << 30
)

// Settings configure a Worker.
type Settings struct {
	Dir        string // directory of the worker's database
	MaxMessage int64  // limit of the size of a message in bytes; DefaultMaxMessage when 0
	MaxBytes   int64  // limit of the size of all messages; DefaultMaxBytes when 0
	Service    Scheduler
	Policy     Policy
	SMTP       SMTPSettings  // disabled when Listen is empty
	IMAP       IMAPSettings  // disabled when URL is empty
	Reply      ReplySettings // disabled when URL is empty
	Now        func() time.Time
	Log        *slog.Logger
}

// Check returns an error for settings that cannot work.
func (s Settings) Check() error {
	if s.Reply.OAuth && s.IMAP.OAuth.Provider == "" {
		return errors.New("STANDIN_MAIL_REPLY_OAUTH needs STANDIN_MAIL_IMAP_OAUTH: replies are sent with the permission of the mailbox")
	}
	return errors.Join(s.Policy.check(), s.SMTP.check(), s.IMAP.check(), s.Reply.Check())
}

// Worker receives and processes messages.
type Worker struct {
	settings Settings
	store    *Store
	resolver *resolver
	lock     *os.File
	server   *smtpServer  // nil without SMTP
	wake     retry.Signal // a message is authenticated, or a reply is due
	arrived  retry.Signal // a message is to be authenticated
	turns    turns
	step     func(name string) // called between the steps of receiving; for tests

	signingIn sync.Mutex // requests of access tokens

	mu       sync.Mutex
	inFlight map[int64]bool // messages that are being authenticated
}

// Open opens the worker's directory and the SMTP listener.
func Open(ctx context.Context, settings Settings) (*Worker, error) {
	settings.MaxMessage, settings.MaxBytes = cmp.Or(settings.MaxMessage, DefaultMaxMessage), cmp.Or(settings.MaxBytes, DefaultMaxBytes)
	if settings.Now == nil {
		settings.Now = time.Now
	}
	if err := settings.Check(); err != nil {
		return nil, err
	}
	w := &Worker{
		settings: settings, resolver: newResolver(settings.Policy.LookupTXT, settings.Now), wake: retry.NewSignal(), arrived: retry.NewSignal(),
		step: func(string) {}, inFlight: make(map[int64]bool),
	}
	var err error
	if w.store, err = openStore(ctx, settings.Dir, settings.MaxBytes); err != nil {
		return nil, err
	}
	if w.lock, err = lockDir(settings.Dir); err != nil {
		return nil, errors.Join(err, w.store.Close())
	}
	if settings.SMTP.Listen != "" {
		if w.server, err = newSMTPServer(ctx, w); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	return w, nil
}

// Close closes the worker after Run has returned.
func (w *Worker) Close() error {
	if w.server != nil {
		w.server.close()
	}
	return errors.Join(w.store.Close(), w.lock.Close())
}

// SMTPAddr returns the address that the SMTP server listens on; empty without
// one.
func (w *Worker) SMTPAddr() string {
	if w.server == nil {
		return ""
	}
	return w.server.listener.Addr().String()
}

// Run receives and processes messages until ctx is cancelled.
func (w *Worker) Run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	if w.server != nil {
		parts.Go(func() error { w.server.run(ctx); return nil })
	}
	if w.settings.IMAP.URL != nil {
		parts.Go(func() error { (&mailboxReader{worker: w, settings: w.settings.IMAP}).run(ctx); return nil })
	}
	parts.Go(func() error { return w.repeat(ctx, w.arrived, w.nextArrival, w.authenticateDue) })
	for range authenticators - 1 {
		parts.Go(func() error { return w.authenticateArrivals(ctx) })
	}
	parts.Go(func() error { return w.repeat(ctx, nil, w.store.nextReply, w.sendReplies) })
	parts.Go(func() error { return w.repeat(ctx, w.wake, w.store.nextWork, w.work) })
	parts.Go(func() error { return w.purge(ctx) })
	return parts.Wait()
}

// repeat does work that is due until ctx is cancelled: now, when wake is signaled, when
// the time of next comes, and after pollInterval.
func (w *Worker) repeat(ctx context.Context, wake retry.Signal, next func(context.Context) (time.Time, error),
	work func(context.Context) error) error {
	for ctx.Err() == nil {
		if err := work(ctx); err != nil {
			return ignoreEnd(ctx, err)
		}
		at, err := next(ctx)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		wait := pollInterval
		if !at.IsZero() {
			wait = min(wait, max(0, at.Sub(w.settings.Now())))
		}
		wake.Wait(ctx, wait)
	}
	return nil
}

// purge deletes old messages and meetings every rollInterval.
func (w *Worker) purge(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := w.store.purge(ctx, w.settings.Now()); err != nil {
			return ignoreEnd(ctx, err)
		}
		_ = retry.Sleep(ctx, rollInterval) // the loop checks ctx
	}
	return nil
}

// ignoreEnd returns nil if err is due to the end of the worker.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// receive stores a message that was received, and wakes the worker.
func (w *Worker) receive(ctx context.Context, m received) error {
	w.step("received")
	id, err := w.store.add(ctx, m, w.settings.Now())
	if err != nil {
		return err
	}
	w.step("stored")
	switch {
	case id == 0: // it was received before
	case m.judgment == nil:
		w.arrived.Send()
	case m.judgment.verdict == waiting:
		w.wake.Send()
	default:
		w.logVerdict(id, m.source, m.remote, *m.judgment)
	}
	return nil
}
