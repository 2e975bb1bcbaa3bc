package sound

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"standin/internal/base/retry"
	"standin/internal/base/text"
	"standin/internal/base/wsconn"
	"standin/internal/bot/ingest"
)

const (
	// maxBotMessage limits a message of a bot.
	maxBotMessage = 16 << 10
	// maxPlaying limits the messages with sound that wait for a bot: 20 ms each, usually.
	maxPlaying = 500
)

// errReplaced means that another bot of the job has connected.
var errReplaced = errors.New("another bot of the job has connected")

// bot is the connection of a bot.
type bot struct {
	conn   *websocket.Conn
	cancel context.CancelCauseFunc
	wake   retry.Signal
	served chan struct{} // closed when the connection and what it caused have ended

	mu      sync.Mutex
	wanted  *Wanted  // not sent yet
	playing [][]byte // not sent yet
	stop    bool     // StopPlaying was called before playing
}

// Callbacks are what a Hub asks and tells about the connection of a bot.
type Callbacks struct {
	// Origin returns the start of the job's recording, given the start that the bot reports.
	Origin func(ctx context.Context, startedAt time.Time) (time.Time, error)
	// Silent reports whether sound that arrives now is discarded. Nil discards none.
	Silent func(context.Context) bool
	// Connected is called once sound may arrive, with a context that ends with the connection, and with
	// the time of the recording until which another connection had the mixed sound; 0 if none had.
	// ServeBot waits until it has returned.
	Connected func(ctx context.Context, until time.Duration)
	// Announce is called before Connected, and with false once no bot of the job is connected
	// any more. It may be nil.
	Announce func(connected bool)
}

// ServeBot serves the connection of a bot, until it has left the meeting or the connection
// ends. The connection of the job's previous bot, with what it has caused, ends before
// anything is announced.
func (h *Hub) ServeBot(ctx context.Context, conn *websocket.Conn, job uuid.UUID, on Callbacks) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn.SetReadLimit(maxBotMessage)
	begin, err := readStart(ctx, conn)
	if err != nil {
		return err
	}
	startedAt, err := on.Origin(ctx, begin.StartedAt)
	if err != nil {
		return err
	}
	until := time.Duration(0)
	if !begin.SentUntil.IsZero() {
		until = max(0, begin.SentUntil.Sub(startedAt))
	}
	b := &bot{conn: conn, cancel: cancel, wake: retry.NewSignal(), served: make(chan struct{})}
	if previous := h.connect(job, b); previous != nil {
		<-previous.served
	}
	defer func() { // lets the next bot of the job be served
		h.mu.Lock()
		defer h.mu.Unlock()
		if c := h.connections[job]; c.last == b {
			c.last = nil
			h.removeUnused(job)
		}
		close(b.served)
	}()
	if on.Announce != nil {
		on.Announce(true)
		defer func() {
			if !h.Connected(job) { // a bot that connects from now on waits for this one
				on.Announce(false)
			}
		}()
	}
	var running sync.WaitGroup
	running.Go(func() { cancel(b.send(ctx)) })
	running.Go(func() { cancel(wsconn.KeepAlive(ctx, conn)) })
	streaming, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var streams sync.WaitGroup
	streams.Go(func() { on.Connected(streaming, until) })
	left, err := h.receive(ctx, job, b, startedAt, on.Silent)
	h.disconnect(job, b, left)
	if cause := context.Cause(ctx); cause != nil && !left {
		err = cause
	}
	if left {
		_ = conn.Close(websocket.StatusNormalClosure, "")
		late := time.AfterFunc(endTimeout, func() { stop(context.DeadlineExceeded) })
		defer late.Stop()
	} else {
		stop(errBotLost)
	}
	cancel(nil)
	_ = conn.CloseNow()
	running.Wait()
	streams.Wait()
	stop(nil)
	return err
}

// readStart reads the first message.
func readStart(ctx context.Context, conn *websocket.Conn) (message ingest.SoundMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, wsconn.PingTimeout)
	defer cancel()
	kind, data, err := conn.Read(ctx)
	if err != nil {
		return message, err
	}
	if kind != websocket.MessageText || json.Unmarshal(data, &message) != nil || message.Type != ingest.SoundStart ||
		message.StartedAt.IsZero() {
		_ = conn.Close(websocket.StatusPolicyViolation, "the first message must be start")
		return message, errors.New("a bot did not begin with the message start")
	}
	return message, nil
}

// receive distributes the sound of a bot. It reports whether the bot has left the
// meeting.
func (h *Hub) receive(
	ctx context.Context, job uuid.UUID, b *bot, origin time.Time, silent func(context.Context) bool,
) (left bool, err error) {
	participants := make(map[int]*Participant)
	var speaker *Participant
	for {
		kind, data, err := b.conn.Read(ctx)
		if err != nil {
			return false, err
		}
		if kind == websocket.MessageBinary {
			frame, err := ingest.DecodeSound(data)
			if err != nil {
				return false, err
			}
			if start := frame.At.Sub(origin); start >= 0 && (silent == nil || !silent(ctx)) {
				published := Frame{Source: frame.Source, Participant: participants[frame.Source], Start: start, At: frame.At, PCM: frame.PCM}
				if frame.Source == 0 {
					published.Speaker = speaker
				}
				h.mu.Lock()
				if c := h.connections[job]; c != nil && c.bot == b { // no other bot has replaced it
					for s := range c.subscribers {
						s.add(published)
					}
				}
				h.mu.Unlock()
			}
			continue
		}
		var message ingest.SoundMessage
		if err := json.Unmarshal(data, &message); err != nil {
			return false, errors.New("a bot sent a text message that is not JSON")
		}
		switch {
		case message.Type == ingest.SoundEnd:
			return true, nil
		case message.Type == ingest.SoundParticipant && message.Source > 0 && message.Source <= ingest.MaxSoundSources:
			participants[message.Source] = nil
			if message.ID != "" {
				participants[message.Source] = newParticipant(message.ID, message.Name)
			}
		case message.Type == ingest.SoundSpeaking:
			speaker = nil
			if len(message.Speaking) == 1 {
				speaker = newParticipant(message.Speaking[0].ID, message.Speaking[0].Name)
			}
		}
	}
}

func newParticipant(id, name string) *Participant {
	return &Participant{ID: text.CleanLine(id, ingest.MaxSoundText), Name: text.CleanLine(name, ingest.MaxSoundText)}
}

// want sends which sound the service wants.
func (b *bot) want(wanted Wanted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = &wanted
	b.wake.Send()
}

// send sends what waits until ctx ends.
func (b *bot) send(ctx context.Context) error {
	for {
		select {
		case <-b.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
		b.mu.Lock()
		wanted, stop, playing := b.wanted, b.stop, b.playing
		b.wanted, b.stop, b.playing = nil, false, nil
		b.mu.Unlock()
		if wanted != nil {
			if err := wsconn.WriteJSON(ctx, b.conn, ingest.SoundMessage{Type: ingest.SoundWant, SoundWanted: *wanted}); err != nil {
				return err
			}
		}
		if stop {
			if err := wsconn.WriteJSON(ctx, b.conn, ingest.SoundMessage{Type: ingest.SoundStopPlaying}); err != nil {
				return err
			}
		}
		for _, pcm := range playing {
			if err := wsconn.Write(ctx, b.conn, websocket.MessageBinary, pcm); err != nil {
				return err
			}
		}
	}
}
