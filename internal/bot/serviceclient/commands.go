package serviceclient

import (
	"context"
	"slices"
	"sync"

	"standin/internal/ingest"
)

const (
	maxQueued    = 1000 // commands waiting for the bot; the service sends the others again
	maxCommandID = 200
)

// commands is the way of a command from an answer to the bot, once.
type commands struct {
	mutex sync.Mutex
	seen  map[string]bool
	queue []ingest.Command
	wake  chan struct{} // holds one when the queue may have grown
	out   chan ingest.Command
}

func newCommands() commands {
	return commands{seen: map[string]bool{}, wake: make(chan struct{}, 1), out: make(chan ingest.Command)}
}

// Commands gives each command once, however often the service sends it; one
// that was acknowledged is not given again after a restart either. The channel
// is never closed.
func (c *Client) Commands() <-chan ingest.Command { return c.commands.out }

// Ack says that the bot has taken the command. It is told with a heartbeat
// sent at once, and again until the service has answered one.
func (c *Client) Ack(commandID string) {
	if commandID == "" || len(commandID) > maxCommandID {
		return // no command that was given out
	}
	if err := c.spool.MarkCommandSeen(commandID); err != nil {
		c.log.Error("a command may be carried out again after a restart", "command_id", commandID, "error", err)
	}
	c.acks.add(commandID)
}

// hear takes in the commands of an answer.
func (c *Client) hear(heard []ingest.Command) {
	for _, command := range heard {
		switch {
		case command.ID == "" || len(command.ID) > maxCommandID:
			c.log.Error("a command without a proper id is ignored", "kind", string(command.Kind))
		case c.spool.CommandSeen(command.ID):
			c.acks.repeat(command.ID) // the service has not heard of it, or had not when it answered
		default:
			c.commands.add(command)
		}
	}
}

func (q *commands) add(command ingest.Command) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.seen[command.ID] || len(q.queue) >= maxQueued {
		return
	}
	q.seen[command.ID] = true
	q.queue = append(q.queue, command)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *commands) first() (ingest.Command, bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.queue) == 0 {
		return ingest.Command{}, false
	}
	command := q.queue[0]
	q.queue = q.queue[1:]
	return command, true
}

// deliverCommands hands the queue on at the bot's pace, so that a busy bot
// holds up neither heartbeats nor events.
func (c *Client) deliverCommands(ctx context.Context) error {
	for {
		command, ok := c.commands.first()
		if !ok {
			select {
			case <-c.commands.wake:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		select {
		case c.commands.out <- command:
		case <-ctx.Done():
			return nil
		}
	}
}

// acks are the command ids that the service has still to be told.
type acks struct {
	mutex     sync.Mutex
	fresh     []string // acknowledged by the bot and never told
	repeated  []string // told, but the service has sent the command again
	interrupt context.CancelFunc
}

// maxAcks is how many ids go into one heartbeat.
const maxAcks = 100

func (a *acks) add(id string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !slices.Contains(a.fresh, id) {
		a.fresh = append(a.fresh, id)
	}
	if a.interrupt != nil {
		a.interrupt()
	}
}

// hurry ends the holding of the heartbeat that is on its way.
func (a *acks) hurry() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.interrupt != nil {
		a.interrupt()
	}
}

func (a *acks) repeat(id string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !slices.Contains(a.fresh, id) && !slices.Contains(a.repeated, id) {
		a.repeated = append(a.repeated, id)
	}
}

// list returns ids to tell, the fresh ones first, and whether there are fresh
// ones, which should not wait.
func (a *acks) list() (ids []string, urgent bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	ids = slices.Concat(a.fresh, a.repeated)
	return ids[:min(len(ids), maxAcks)], len(a.fresh) > 0
}

// told takes ids off: the service has answered a heartbeat that named them.
func (a *acks) told(ids []string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	named := func(id string) bool { return slices.Contains(ids, id) }
	a.fresh = slices.DeleteFunc(a.fresh, named)
	a.repeated = slices.DeleteFunc(a.repeated, named)
}

// interruptible returns a context that ends with the next acknowledgement, or
// at once if there is a fresh one. The caller ends it with done.
func (a *acks) interruptible(parent context.Context) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(parent)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.interrupt = cancel
	if len(a.fresh) > 0 {
		cancel()
	}
	return ctx, func() {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.interrupt = nil
		cancel()
	}
}
