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
	"strconv"
	"sync"
	"time"

	"standin/internal/jobs/runner"
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
	// lease is how long a message or meeting stays with a worker that has crashed, and
	// itemTime the longest that it is processed at a time.
	lease    = time.Minute
	itemTime = 10 * time.Minute
	// rollInterval is how often further occurrences of series are scheduled.
	rollInterval = 24 * time.Hour
	// pollInterval is how often the worker checks for messages that another
	// process, such as the dashboard's, wants to be processed again.
	pollInterval = 5 * time.Second
	// window is how far ahead occurrences of series are scheduled.
	window = 14 * 24 * time.Hour
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
	server   *smtpServer       // nil without SMTP
	step     func(name string) // called between the steps of receiving; for tests

	arrivals, messages, meetings, replies *runner.Runner[int64] // of row IDs

	reconciling sync.Mutex // a message and a meeting may be about the same jobs
	signingIn   sync.Mutex // requests of access tokens
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
		settings: settings, resolver: newResolver(settings.Policy.LookupTXT, settings.Now), step: func(string) {},
	}
	w.arrivals = w.newRunner(queue{"arrived message", "messages", "next_at", "auth = ''"}, authenticators, authenticators, w.authenticate)
	w.messages = w.newRunner(queue{"message", "messages", "next_at", "auth <> ''"}, 1, 1, w.process)
	w.meetings = w.newRunner(queue{"meeting", "meetings", "next_at", "TRUE"}, 1, 1, w.roll)
	w.replies = w.newRunner(queue{"reply", "messages", "reply_at", "TRUE"}, 2, 1, w.sendReply)
	var err error
	if w.store, err = openStore(ctx, settings.Dir, settings.MaxBytes); err != nil {
		return nil, err
	}
	if w.lock, err = lockDir(settings.Dir); err != nil {
		return nil, errors.Join(err, w.store.Close())
	}
	if err := w.store.exec(ctx, `UPDATE messages SET next_at = MIN(next_at, $1), reply_at = MIN(reply_at, $1)
		WHERE next_at > $1 OR reply_at > $1`, settings.Now().UnixMilli()); err != nil { // leases of a worker that has ended
		return nil, errors.Join(err, w.Close())
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

// newRunner returns the runner of a queue, in which sender domains take turns.
func (w *Worker) newRunner(q queue, slots, share int, run func(ctx context.Context, id int64) error) *runner.Runner[int64] {
	now := w.settings.Now
	return &runner.Runner[int64]{
		Name: q.name, Slots: slots, Share: share, Poll: pollInterval, Lease: lease, Limit: itemTime, Now: now, Log: w.settings.Log,
		Teams: func(ctx context.Context) ([]string, error) { return w.store.dueDomains(ctx, q, now()) },
		ClaimOf: func(ctx context.Context, domain string) (int64, bool, error) {
			return w.store.claim(ctx, q, domain, now(), now().Add(lease))
		},
		Extend: func(ctx context.Context, id int64, until time.Time) error { return w.store.extend(ctx, q, id, until) },
		Run:    func(ctx context.Context, id int64, _ *runner.Lease) error { return run(ctx, id) },
		ID:     func(id int64) string { return strconv.FormatInt(id, 10) },
	}
}

// Run receives and processes messages until ctx is cancelled.
func (w *Worker) Run(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	if w.server != nil {
		parts.Go(func() { w.server.run(ctx) })
	}
	if w.settings.IMAP.URL != nil {
		parts.Go(func() { (&mailboxReader{worker: w, settings: w.settings.IMAP}).run(ctx) })
	}
	for _, r := range []*runner.Runner[int64]{w.arrivals, w.messages, w.meetings, w.replies} {
		parts.Go(func() { r.Work(ctx) })
	}
	runner.Repeat(ctx, w.settings.Now, w.settings.Log, runner.Task{
		Name: "delete old mail", Every: rollInterval, Run: w.purge,
	})
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
		w.arrivals.Wake()
	case m.judgment.verdict == waiting:
		w.messages.Wake()
	default:
		w.logVerdict(id, m.source, m.remote, *m.judgment)
	}
	return nil
}
