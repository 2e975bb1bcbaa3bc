package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"standin/internal/base/retry"
)

const (
	// notifyChannel is the PostgreSQL channel on which nodes notify each other.
	notifyChannel = "standin_changes"
	// notifyInterval is the minimum time between two messages of a node.
	// Notifications in between are merged.
	notifyInterval = 10 * time.Millisecond
	// listenIdle is how long a listening connection may be silent before it is
	// pinged.
	listenIdle = 10 * time.Second
	// notifyTimeout bounds each request on a notifier's connection, and the pause before
	// it connects again, which starts with notifyRetry.
	notifyTimeout = 5 * time.Second
	notifyRetry   = 200 * time.Millisecond
	// maxNotifiedJobs bounds the jobs in a message, which PostgreSQL limits to
	// 8000 bytes.
	maxNotifiedJobs = 150
)

// Notification describes what a node has changed.
type Notification struct {
	Jobs       bool        // a job may have become due
	Deliveries bool        // deliveries were added to the outbox
	Commands   []uuid.UUID // jobs with a new command
}

// message is a Notification with its sender.
type message struct {
	Sender string
	Notification
}

// Notifier exchanges notifications between the nodes that share a PostgreSQL
// database, with LISTEN and NOTIFY on two connections of its own. It reconnects
// when a connection is lost. Notifications may be lost, so receivers must poll
// as well. They are sent after the commit, outside of its transaction, because
// PostgreSQL serializes the commits of transactions that notify.
//
// On SQLite a Notifier does nothing.
type Notifier struct {
	config  *pgx.ConnConfig // nil on SQLite
	sender  string          // marks the messages of this node
	receive func(Notification)
	log     *slog.Logger

	mu      sync.Mutex
	pending Notification
	ready   retry.Signal
}

// NewNotifier returns a Notifier. Run calls receive. db is nil on SQLite.
func NewNotifier(db *DB, receive func(Notification), log *slog.Logger) *Notifier {
	n := &Notifier{sender: uuid.NewString(), receive: receive, log: log, ready: retry.NewSignal()}
	if db != nil {
		n.config = db.pool.Config().ConnConfig
	}
	return n
}

// Notify sends a notification to the other nodes. It does not block.
func (n *Notifier) Notify(notification Notification) {
	if n.config == nil {
		return
	}
	n.mu.Lock()
	n.pending.Jobs = n.pending.Jobs || notification.Jobs
	n.pending.Deliveries = n.pending.Deliveries || notification.Deliveries
	if len(n.pending.Commands) < maxNotifiedJobs { // polling finds the others
		n.pending.Commands = append(n.pending.Commands, notification.Commands...)
	}
	n.mu.Unlock()
	n.ready.Send()
}

// Run sends and receives until ctx is cancelled.
func (n *Notifier) Run(ctx context.Context) {
	if n.config == nil {
		return
	}
	var running sync.WaitGroup
	running.Go(func() { n.reconnect(ctx, "notify other nodes", n.send) })
	running.Go(func() { n.reconnect(ctx, "listen to other nodes", n.listen) })
	running.Wait()
}

// reconnect calls fn with a connection, and again with a new one each time it
// returns.
func (n *Notifier) reconnect(ctx context.Context, action string, fn func(context.Context, *pgx.Conn) error) {
	backoff := retry.Backoff{Min: notifyRetry, Max: notifyTimeout}
	for ctx.Err() == nil {
		start := time.Now()
		err := n.connect(ctx, fn)
		if ctx.Err() != nil {
			return
		}
		if time.Since(start) > listenIdle {
			backoff.Reset() // the connection was good for a while
		}
		pause := backoff.Next()
		n.log.Warn("cannot "+action+"; polling covers lost notifications", "error", err, "retry_in", pause)
		_ = retry.Sleep(ctx, pause) // the loop checks ctx
	}
}

func (n *Notifier) connect(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	connectCtx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connectCtx, n.config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closeCtx) // the connection is not used again
	}()
	return fn(ctx, conn)
}

// send sends pending notifications.
func (n *Notifier) send(ctx context.Context, conn *pgx.Conn) error {
	for {
		select {
		case <-n.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		n.mu.Lock()
		notification := n.pending
		n.pending = Notification{}
		n.mu.Unlock()
		sent := notification
		sent.Commands = sent.Commands[:min(len(sent.Commands), maxNotifiedJobs)]
		encoded, err := json.Marshal(message{n.sender, sent})
		if err == nil {
			err = execTimeout(ctx, conn, `SELECT pg_notify($1, $2)`, notifyChannel, string(encoded))
		}
		if err != nil {
			n.Notify(notification)
			return fmt.Errorf("notify: %w", err)
		}
		if err := retry.Sleep(ctx, notifyInterval); err != nil {
			return err
		}
	}
}

// listen receives notifications. It starts with one of jobs and deliveries, because
// nothing was received before.
func (n *Notifier) listen(ctx context.Context, conn *pgx.Conn) error {
	for _, statement := range []string{`LISTEN ` + notifyChannel, `SELECT 1`} {
		if err := execTimeout(ctx, conn, statement); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	n.receive(Notification{Jobs: true, Deliveries: true})
	for {
		waitCtx, cancel := context.WithTimeout(ctx, listenIdle)
		received, err := conn.WaitForNotification(waitCtx)
		idle := waitCtx.Err() != nil
		cancel()
		switch {
		case err == nil:
			var sent message
			if json.Unmarshal([]byte(received.Payload), &sent) == nil && sent.Sender != n.sender {
				n.receive(sent.Notification)
			}
		case ctx.Err() != nil || !idle:
			return fmt.Errorf("wait for notifications: %w", err)
		default:
			if err := execTimeout(ctx, conn, `SELECT 1`); err != nil {
				return fmt.Errorf("ping: %w", err)
			}
		}
	}
}

// execTimeout executes a statement within notifyTimeout.
func execTimeout(ctx context.Context, conn *pgx.Conn, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	_, err := conn.Exec(ctx, statement, args...)
	return err
}
