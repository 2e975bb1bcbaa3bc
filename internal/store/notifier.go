package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

const (
	// channel is the name under which nodes tell each other of changes.
	channel = "standin_changes"
	// gathering is how long news are gathered before they are told: a busy
	// node tells at most so often.
	gathering = 10 * time.Millisecond
	// quiet is how long a listening connection may bring nothing before it is
	// asked whether it still stands.
	quiet = 10 * time.Second
	// answerTime bounds each exchange on a line's connection.
	answerTime = 5 * time.Second
	// maxTold bounds the jobs of one message; PostgreSQL takes 8000 bytes.
	maxTold = 150
)

// Notification are what a node tells the others after it has changed something.
type Notification struct {
	Jobs       bool        // a job may have become due
	Deliveries bool        // the outbox has something new
	Commands   []uuid.UUID // jobs with a new command
	Missed     bool        // something may have been told and not heard
}

// Notifier tells the other nodes of the database what this one has changed, and
// hears what they tell (PostgreSQL: LISTEN and NOTIFY, each on a connection of
// its own that is made anew when it is lost). Notification may be lost, so whoever
// waits for them looks by himself from time to time. They are told after the
// commit and outside of it: PostgreSQL lets transactions that notify commit
// only one after the other.
//
// On SQLite there is nobody to talk to.
type Notifier struct {
	config *pgx.ConnConfig // nil on SQLite
	self   string          // marks this node's own messages
	heard  func(Notification)
	log    *slog.Logger

	mu    sync.Mutex
	news  Notification
	ready chan struct{}
}

// Notifier returns a line to the other nodes. heard is called from Run.
func (s *Store) NewNotifier(heard func(Notification), log *slog.Logger) *Notifier {
	return &Notifier{config: s.engine.lineConfig(), self: uuid.NewString(), heard: heard, log: log, ready: make(chan struct{}, 1)}
}

// Notify has the others told; it waits for nothing.
func (l *Notifier) Notify(news Notification) {
	if l.config == nil {
		return
	}
	l.mu.Lock()
	l.news.Jobs = l.news.Jobs || news.Jobs
	l.news.Deliveries = l.news.Deliveries || news.Deliveries
	if len(l.news.Commands) < maxTold { // the poll finds the others
		l.news.Commands = append(l.news.Commands, news.Commands...)
	}
	l.mu.Unlock()
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// Run talks and listens until ctx ends.
func (l *Notifier) Run(ctx context.Context) {
	if l.config == nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.keep(ctx, "tell other nodes of changes", l.talk) })
	both.Go(func() { l.keep(ctx, "listen to other nodes", l.listen) })
	both.Wait()
}

// keep does something on a connection of its own, and again on another one
// when that is lost.
func (l *Notifier) keep(ctx context.Context, what string, do func(context.Context, *pgx.Conn) error) {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		began := time.Now()
		err := l.connected(ctx, do)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > quiet {
			pause = 0 // it went well for a while
		}
		pause = min(max(2*pause, 100*time.Millisecond), answerTime)
		l.log.Warn("cannot "+what+"; they look for themselves meanwhile", "error", err, "again_in", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (l *Notifier) connected(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	connecting, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, l.config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // it is done with
	}()
	return do(ctx, conn)
}

// talk tells what is to be told.
func (l *Notifier) talk(ctx context.Context, conn *pgx.Conn) error {
	for {
		select {
		case <-l.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		l.mu.Lock()
		news := l.news
		l.news = Notification{}
		l.mu.Unlock()
		telling, cancel := context.WithTimeout(ctx, answerTime)
		_, err := conn.Exec(telling, `SELECT pg_notify($1, $2)`, channel, encodeNews(l.self, news))
		cancel()
		if err != nil {
			l.Notify(news)
			return fmt.Errorf("notify: %w", err)
		}
		timer := time.NewTimer(gathering)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// listen hears what others tell. What was told while nobody listened is
// missed.
func (l *Notifier) listen(ctx context.Context, conn *pgx.Conn) error {
	for _, statement := range []string{`LISTEN ` + channel, `SELECT 1`} {
		asking, cancel := context.WithTimeout(ctx, answerTime)
		_, err := conn.Exec(asking, statement)
		cancel()
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	l.heard(Notification{Jobs: true, Deliveries: true, Missed: true})
	for {
		waiting, cancel := context.WithTimeout(ctx, quiet)
		note, err := conn.WaitForNotification(waiting)
		overdue := waiting.Err() != nil
		cancel()
		switch {
		case err == nil:
			if news, from, ok := decodeNews(note.Payload); ok && from != l.self {
				l.heard(news)
			}
		case ctx.Err() != nil || !overdue:
			return fmt.Errorf("wait for news: %w", err)
		default:
			asking, cancel := context.WithTimeout(ctx, answerTime)
			err := conn.Ping(asking)
			cancel()
			if err != nil {
				return fmt.Errorf("ask whether the connection stands: %w", err)
			}
		}
	}
}

// encodeNews writes news as words: the sender, what changed, jobs with
// commands.
func encodeNews(from string, news Notification) string {
	words := []string{from}
	if news.Jobs {
		words = append(words, "jobs")
	}
	if news.Deliveries {
		words = append(words, "hooks")
	}
	for _, id := range news.Commands[:min(len(news.Commands), maxTold)] {
		words = append(words, id.String())
	}
	return strings.Join(words, " ")
}

// decodeNews is the inverse of encodeNews. Words that a newer version may say
// are passed over.
func decodeNews(text string) (news Notification, from string, ok bool) {
	from, rest, ok := strings.Cut(text, " ")
	for word := range strings.FieldsSeq(rest) {
		switch id, err := uuid.Parse(word); {
		case err == nil:
			news.Commands = append(news.Commands, id)
		case word == "jobs":
			news.Jobs = true
		case word == "hooks":
			news.Deliveries = true
		}
	}
	return news, from, ok
}
