// Package mail is the mail worker: it receives calendar invitations by SMTP and
// IMAP and asks the service to schedule, move and cancel jobs. It talks to the
// service only through operation intakeInvite of api/openapi.yaml. See
// docs/mail.md.
package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// retryTime is how long the worker tries to pass a message to the service.
	retryTime = 3 * 24 * time.Hour
	// rollInterval is how often further occurrences of series are scheduled.
	rollInterval = 24 * time.Hour
	// pollInterval is how often the worker checks for messages that another
	// process, such as the dashboard's, wants to be processed again.
	pollInterval = 5 * time.Second
	// DefaultWindow is how far ahead occurrences of series are scheduled.
	DefaultWindow = 14 * 24 * time.Hour
	// DefaultMaxBytes limits the size of all messages in the mail directory.
	DefaultMaxBytes = 1 << 30
)

// Settings configure a Worker.
type Settings struct {
	Dir      string        // directory of the worker's database
	MaxBytes int64         // limit of the size of all messages; DefaultMaxBytes when 0
	Window   time.Duration // how far ahead series are scheduled; DefaultWindow when 0
	Service  Scheduler
	Policy   Policy
	SMTP     SMTPSettings  // disabled when Listen is empty
	IMAP     IMAPSettings  // disabled when URL is empty
	Reply    ReplySettings // disabled when URL is empty
	Now      func() time.Time
	Log      *slog.Logger
}

// Check returns an error for settings that cannot work.
func (s Settings) Check() error {
	err := errors.Join(s.IMAP.check(), s.Reply.check())
	if s.SMTP.Listen != "" {
		err = errors.Join(s.SMTP.check(), err)
	}
	return err
}

// Worker receives and processes messages.
type Worker struct {
	settings Settings
	store    *Store
	lock     *os.File
	server   *smtpServer // nil without SMTP
	wake     chan struct{}
	step     func(name string) // called between the steps of receiving; for tests
}

// Open opens the worker's directory and the SMTP listener.
func Open(ctx context.Context, settings Settings) (*Worker, error) {
	settings.MaxBytes = cmp.Or(settings.MaxBytes, DefaultMaxBytes)
	settings.Window = cmp.Or(settings.Window, DefaultWindow)
	if settings.Now == nil {
		settings.Now = time.Now
	}
	if err := settings.Check(); err != nil {
		return nil, err
	}
	w := &Worker{settings: settings, wake: make(chan struct{}, 1), step: func(string) {}}
	var err error
	if w.store, err = OpenStore(ctx, settings.Dir, settings.MaxBytes); err != nil {
		return nil, err
	}
	if w.lock, err = lockDir(settings.Dir); err != nil {
		return nil, errors.Join(err, w.store.Close())
	}
	if settings.SMTP.Listen != "" {
		if w.server, err = newSMTPServer(ctx, w, settings.SMTP); err != nil {
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
	var parts sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	defer parts.Wait()
	defer stop()
	if w.server != nil {
		parts.Go(func() { w.server.run(ctx) })
	}
	if w.settings.IMAP.URL != nil {
		parts.Go(func() { (&mailboxReader{worker: w, settings: w.settings.IMAP}).run(ctx) })
	}
	purged := time.Time{}
	for ctx.Err() == nil {
		if now := w.settings.Now(); now.Sub(purged) > rollInterval {
			if err := w.store.purge(ctx, now); err != nil {
				return err
			}
			purged = now
		}
		if err := w.work(ctx); err != nil {
			return ignoreEnd(ctx, err)
		}
		next, err := w.store.nextWork(ctx)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		wait := pollInterval
		if !next.IsZero() {
			wait = min(wait, max(0, next.Sub(w.settings.Now())))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-w.wake:
		case <-ctx.Done():
		}
		timer.Stop()
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
	if err := w.store.add(ctx, m, w.settings.Now()); err != nil {
		return err
	}
	w.step("stored")
	select {
	case w.wake <- struct{}{}:
	default: // it is awake
	}
	return nil
}

// work processes everything that is due. Its errors are those of the database.
func (w *Worker) work(ctx context.Context) error {
	for ctx.Err() == nil {
		p, ok, err := w.store.nextMessage(ctx, w.settings.Now())
		if err != nil {
			return err
		}
		if ok {
			if err := w.process(ctx, p); err != nil {
				return err
			}
			continue
		}
		m, attempts, ok, err := w.store.nextMeeting(ctx, w.settings.Now())
		if err != nil {
			return err
		}
		if ok {
			if err := w.roll(ctx, m, attempts); err != nil {
				return err
			}
			continue
		}
		sent, err := w.sendNextReply(ctx)
		if err != nil || !sent {
			return err
		}
	}
	return nil
}

// process processes a message.
func (w *Worker) process(ctx context.Context, p pending) error {
	c, err := parseMessage(p.raw)
	if err != nil {
		return w.finish(ctx, p, &content{}, ignored, "The message cannot be read: it is malformed.", false)
	}
	if p.auth == "" {
		if p.auth, err = w.settings.Policy.authenticate(ctx, p, c); err != nil {
			if saveErr := w.store.saveEnvelope(ctx, p.id, c, ""); saveErr != nil {
				return saveErr
			}
			return w.postpone(ctx, p, c, refused, err)
		}
		if err := w.store.saveEnvelope(ctx, p.id, c, p.auth); err != nil {
			return err
		}
	}
	plan := w.settings.Policy.filter(c, makePlan(c, w.settings.Now()))
	meetings, err := w.store.apply(ctx, p.id, plan.events, w.settings.Now())
	if err != nil {
		return err
	}
	w.step("applied")
	problems := plan.problems
	for _, m := range meetings {
		err := w.reconcile(ctx, m, p.id)
		var rejected *RejectedError
		switch {
		case errors.As(err, &rejected):
			problems = append(problems, rejected.Error())
		case err != nil:
			return w.postpone(ctx, p, c, failed, err)
		}
	}
	verdict := accepted
	if len(plan.events) == 0 {
		verdict = ignored
		if plan.refused {
			verdict = refused
		}
	}
	return w.finish(ctx, p, c, verdict, strings.Join(problems, "\n"), w.shouldReply(ctx, p, c))
}

// finish saves the verdict of a message and writes its log entry.
func (w *Worker) finish(ctx context.Context, p pending, c *content, verdict, detail string, reply bool) error {
	if err := w.store.finish(ctx, p.id, verdict, detail, reply, w.settings.Now()); err != nil {
		return err
	}
	w.step("finished")
	w.settings.Log.Info("mail processed", "message", p.id, "source", p.source, "remote", p.remote, "from", c.from, "verdict", verdict, "auth", p.auth, "detail", detail)
	return nil
}

// postpone saves that a message is processed again later. It gives up after
// retryTime, and at once if the error is final.
func (w *Worker) postpone(ctx context.Context, p pending, c *content, verdict string, err error) error {
	if ctx.Err() != nil {
		return nil // the message stays due
	}
	var refusal *refusalError
	var temporary *temporaryError
	now := w.settings.Now()
	next := now.Add(backoff(p.attempts))
	switch {
	case errors.As(err, &refusal):
		return w.finish(ctx, p, c, verdict, refusal.reason, false)
	case !errors.As(err, &temporary):
		return err
	case next.After(p.since.Add(retryTime)):
		return w.finish(ctx, p, c, verdict, fmt.Sprintf("Given up after %d attempts: %v", p.attempts+1, err), false)
	}
	w.settings.Log.Warn("mail is retried", "message", p.id, "attempt", p.attempts+1, "next", next.UTC(), "error", err)
	return w.store.retryLater(ctx, p.id, err.Error(), next)
}

// temporaryError is the error of an attempt that may succeed later. Other errors
// are those of the database.
type temporaryError struct{ err error }

func (e *temporaryError) Error() string { return e.err.Error() }

func (e *temporaryError) Unwrap() error { return e.err }

// backoff returns the time until the next attempt: 10 seconds at first, doubled
// each time, at most 30 minutes. It is not random: a message has one worker.
func backoff(attempts int) time.Duration {
	return min(10*time.Second<<min(attempts, 10), 30*time.Minute)
}
