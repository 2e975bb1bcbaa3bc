package serviceclient

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
)

const (
	maxQueuedCommands = 1000 // that are not acknowledged; the service repeats further ones
	maxCommandID      = 200
	maxAcks           = 100 // maximum in one heartbeat

	maxTurn = 2 * time.Minute // that output waits for its turn
)

// receiveCommands queues the commands of a response. It reports whether it had to leave
// some of them to a later response.
func (c *Client) receiveCommands(commands []ingest.Command) (someLeft bool) {
	for _, command := range commands {
		switch {
		case command.ID == "" || len(command.ID) > maxCommandID:
			c.log.Error("command without a valid ID ignored", "kind", command.Kind)
			someLeft = true
		case c.spool.CommandSeen(command.ID):
			c.acks.repeat(command.ID) // the service has not received the acknowledgment yet
		default:
			someLeft = !c.commands.add(command) || someLeft
		}
	}
	return someLeft
}

// Output returns what a command makes the bot play or show, in the form of ingest.OutputPath.
// It waits for its turn while too much is made for the bot's team.
func (c *Client) Output(ctx context.Context, commandID string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTurn)
	defer cancel()
	for backoff := c.newBackoff(); ; {
		content, err := c.output(ctx, commandID)
		failed, ok := errors.AsType[*unavailableError](err)
		if !ok || !failed.busy || retry.Sleep(ctx, pauseAfter(err, &backoff)) != nil {
			return content, err
		}
	}
}

func (c *Client) output(ctx context.Context, commandID string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	target := c.base.JoinPath(ingest.OutputPath, c.own, commandID)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	return c.do(request, ingest.MaxOutputBytes)
}

// commandQueue passes commands to the bot, each once. It never blocks heartbeats
// and events, even if the bot is busy.
type commandQueue struct {
	mutex     sync.Mutex
	seen      map[string]bool
	executing []string // not acknowledged yet
	out       chan ingest.Command
}

// add queues a command unless it was queued before. It returns false when the queue is full.
func (q *commandQueue) add(command ingest.Command) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	switch {
	case q.seen[command.ID]:
		return true
	case len(q.executing) == maxQueuedCommands:
		return false
	}
	select {
	case q.out <- command:
	default:
		return false
	}
	q.seen[command.ID] = true
	q.executing = append(q.executing, command.ID)
	return true
}

// executingIDs returns the IDs of commands for a heartbeat.
func (q *commandQueue) executingIDs() []string {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return slices.Clone(q.executing)
}

// acks holds the acknowledgments that heartbeats have still to carry.
type acks struct {
	mutex     sync.Mutex
	fresh     []string           // never sent
	repeated  []string           // sent, but the service repeated the command
	failures  map[string]string  // why commands of this process failed, by ID
	interrupt context.CancelFunc // ends the last interruptible context
}

// add adds an acknowledgment and interrupts the current heartbeat.
func (a *acks) add(id, failure string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if failure != "" {
		a.failures[id] = failure
	}
	if !slices.Contains(a.fresh, id) {
		a.fresh = append(a.fresh, id)
	}
	a.interrupt()
}

// repeat adds an acknowledgment that was sent before.
func (a *acks) repeat(id string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !slices.Contains(a.fresh, id) && !slices.Contains(a.repeated, id) {
		a.repeated = append(a.repeated, id)
	}
}

// next returns the IDs for a heartbeat, and whether any was never sent and so
// must not wait.
func (a *acks) next() (ids []string, urgent bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	ids = slices.Concat(a.fresh, a.repeated)
	return ids[:min(len(ids), maxAcks)], len(a.fresh) > 0
}

// failed returns why some of the commands failed, by ID.
func (a *acks) failed(ids []string) map[string]string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	failed := maps.Clone(a.failures)
	maps.DeleteFunc(failed, func(id, _ string) bool { return !slices.Contains(ids, id) })
	return failed
}

// remove removes IDs that a heartbeat carried.
func (a *acks) remove(ids []string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	sent := func(id string) bool { return slices.Contains(ids, id) }
	a.fresh = slices.DeleteFunc(a.fresh, sent)
	a.repeated = slices.DeleteFunc(a.repeated, sent)
}

// interruptible returns a context that ends with the next acknowledgment, or at
// once if one was never sent.
func (a *acks) interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.interrupt = cancel
	if len(a.fresh) > 0 {
		cancel()
	}
	return ctx, cancel
}
