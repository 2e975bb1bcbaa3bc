// Package mail is the mail worker: it receives calendar invitations by SMTP and
// IMAP, and keeps the jobs of their events by lifecycle.EventScheduler. See
// docs/mail.md.
package mail

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/runner"
	"standin/internal/store"
)

const (
	// retryTime is how long the worker tries to process a message, or to send a reply.
	retryTime = 3 * 24 * time.Hour
	// readTime is how long the calendars for one message may be read and their jobs scheduled, and
	// maxReadAttempts how often this is tried.
	readTime        = 20 * time.Second
	maxReadAttempts = 3
	// bytesPerStep is how many bytes of a message a step of calendar.Budget reads.
	bytesPerStep = 256
	// lease is how long a message or meeting stays with a worker that has crashed, and
	// itemTime the longest that it is processed at a time.
	lease    = time.Minute
	itemTime = 10 * time.Minute
	// rollInterval is how often further occurrences of series are scheduled.
	rollInterval = 24 * time.Hour
	// pollInterval is how often the worker checks for messages that others want to be processed again.
	pollInterval = 5 * time.Second
	// window is how far ahead occurrences of series are scheduled.
	window = 14 * 24 * time.Hour
	// requestTime is how long a request to a provider of OAuth may last.
	requestTime = 30 * time.Second
	// DefaultMaxMessage is the default of Settings.MaxMessage.
	DefaultMaxMessage = 10 << 20
	// DefaultMaxBytes is the default of Settings.MaxBytes.
	DefaultMaxBytes = 1 << 30
)

// RejectedError is the error for a message, a meeting, or an occurrence of one, that is never
// accepted.
type RejectedError struct{ Reason string }

func (e *RejectedError) Error() string { return e.Reason }

// Settings configure a Worker.
type Settings struct {
	Store      *store.Store
	Jobs       *lifecycle.EventScheduler
	Sealer     calendarsync.Key
	MaxMessage int64 // limit of the size of a message in bytes; DefaultMaxMessage when 0
	MaxBytes   int64 // limit of the size of all messages; DefaultMaxBytes when 0
	Policy     Policy
	SMTP       SMTPSettings  // disabled when Listen is empty
	IMAP       IMAPSettings  // disabled when URL is empty
	Reply      ReplySettings // disabled when URL is empty
	Now        func() time.Time
	Log        *slog.Logger
}

// Check returns an error for settings that cannot work.
func (s Settings) Check() error {
	return errors.Join(s.Policy.check(), s.SMTP.check(), s.IMAP.check(), s.Reply.Check())
}

// Worker receives and processes messages.
type Worker struct {
	Settings
	store    *Store
	resolver *resolver
	server   *smtpServer       // nil without SMTP
	step     func(name string) // called between the steps of receiving; for tests

	arrivals, messages, meetings, replies *runner.Runner[uuid.UUID]

	signingIn sync.Mutex // requests of access tokens
}

// Open opens the SMTP listener.
func Open(ctx context.Context, settings Settings) (*Worker, error) {
	settings.MaxMessage, settings.MaxBytes = cmp.Or(settings.MaxMessage, DefaultMaxMessage), cmp.Or(settings.MaxBytes, DefaultMaxBytes)
	if settings.Now == nil {
		settings.Now = time.Now
	}
	if err := settings.Check(); err != nil {
		return nil, err
	}
	w := &Worker{
		Settings: settings, resolver: newResolver(settings.Policy.LookupTXT, settings.Now), step: func(string) {},
		store: &Store{DB: settings.Store, Sealer: settings.Sealer, maxBytes: settings.MaxBytes},
	}
	w.arrivals = w.newRunner(queue{"arrived message", "mail_messages", "next_at", "auth = ''"}, authenticators, authenticators, w.authenticate)
	w.messages = w.newRunner(queue{"message", "mail_messages", "next_at", "auth <> ''"}, 1, 1, w.process)
	w.meetings = w.newRunner(queue{"meeting", "mail_meetings", "next_at", "id <> ''"}, 1, 1, w.roll)
	w.replies = w.newRunner(queue{"reply", "mail_messages", "reply_at", "id <> ''"}, 2, 1, w.sendReply)
	if settings.SMTP.Listen != "" {
		var err error
		if w.server, err = newSMTPServer(ctx, w); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Close closes the worker after Run has returned.
func (w *Worker) Close() {
	if w.server != nil {
		w.server.close()
	}
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
func (w *Worker) Run(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	if w.server != nil {
		parts.Go(func() { w.server.run(ctx) })
	}
	if w.IMAP.URL != nil {
		parts.Go(func() { w.readMailbox(ctx) })
	}
	for _, r := range []*runner.Runner[uuid.UUID]{w.arrivals, w.messages, w.meetings, w.replies} {
		parts.Go(func() { r.Work(ctx) })
	}
	runner.Repeat(ctx, w.Now, w.Log, runner.Task{
		Name: "delete old mail", Every: rollInterval, Run: func(ctx context.Context) error {
			before := w.Now().Add(-keepTime) // of meetings that are over and messages that were processed
			return w.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				if err := exec(ctx, tx, `DELETE FROM mail_meetings WHERE next_at IS NULL AND updated_at < $1`, before); err != nil {
					return err
				}
				return exec(ctx, tx, `DELETE FROM mail_messages WHERE received_at < $1 AND `+unused, before)
			})
		},
	})
}
