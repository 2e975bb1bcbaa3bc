// Package sound distributes the live sound of meetings. The bot of a job sends it over
// one connection, while somebody in the service wants it, to the hub of the node, and the
// hub to its subscribers: streams to the URLs of the job, listeners of the API, and other
// parts of the service. Sound of subscribers goes back to the bot, which plays it.
package sound

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// The format of a Frame.
const (
	Rate          = ingest.SoundRate
	frameDuration = ingest.SoundFrameDuration
)

// maxBehind is how much sound waits for a subscriber. Older frames are discarded.
const maxBehind = 2 * time.Second

// maxQueued limits the frames that wait for a subscriber, in addition to maxBehind.
const maxQueued = 2000

// Frame is sound of ingest.SoundFrameDuration: signed 16-bit little-endian, mono, at Rate. All
// subscribers share it, so nobody may change it.
type Frame struct {
	Source      int           // 0: the mixed sound of the meeting, otherwise a track of one participant
	Participant *Participant  // of a track; nil if it is not known
	Speaker     *Participant  // who is seen to speak in the mixed sound; nil if nobody is, or several are
	Start       time.Duration // since the start of the recording, as in the manifest
	At          time.Time     // of the first sample
	PCM         []byte
}

// Participant is whose audio a track is.
type Participant struct{ ID, Name string }

// Gap is sound that a subscriber has missed because it was too slow.
type Gap struct {
	From, To time.Duration // since the start of the recording
	Frames   int           // in that time
}

// Wanted is which sound a subscriber wants.
type Wanted = ingest.SoundWanted

// WantedBy returns what a stream wants.
func WantedBy(audio job.StreamAudio) Wanted {
	return Wanted{Mixed: audio != job.StreamParticipants, Participants: audio != job.StreamMixed}
}

// Hub distributes the sound of the jobs whose bots are connected to this node. Its
// methods are safe for concurrent use.
type Hub struct {
	metrics *metrics

	mu          sync.Mutex
	connections map[uuid.UUID]*connections // by job
}

// NewHub returns a Hub.
func NewHub() *Hub { return &Hub{metrics: newMetrics(), connections: make(map[uuid.UUID]*connections)} }

// connections are those of one job. Hub.mu protects them.
type connections struct {
	subscribers map[*Subscription]struct{}
	bot         *bot // nil while none is connected
	last        *bot // that was connected last; nil when it is served
}

// connectionsOf returns the connections of a job, and adds the job if it has none yet.
func (h *Hub) connectionsOf(job uuid.UUID) *connections {
	c := h.connections[job]
	if c == nil {
		c = &connections{subscribers: make(map[*Subscription]struct{})}
		h.connections[job] = c
	}
	return c
}

// removeUnused removes a job that has no connections any more.
func (h *Hub) removeUnused(job uuid.UUID) {
	if c := h.connections[job]; c != nil && c.last == nil && len(c.subscribers) == 0 {
		delete(h.connections, job)
	}
}

// wanted returns what the subscribers want together.
func (c *connections) wanted() (all Wanted) {
	for s := range c.subscribers {
		all.Mixed = all.Mixed || s.wanted.Mixed
		all.Participants = all.Participants || s.wanted.Participants
	}
	return all
}

// Connected reports whether the bot of a job is connected to this node.
func (h *Hub) Connected(job uuid.UUID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.connections[job]
	return c != nil && c.bot != nil
}

// Subscribe returns the sound of a job from now on, also that of a bot that connects
// later. The caller must close the subscription.
func (h *Hub) Subscribe(job uuid.UUID, wanted Wanted) *Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Subscription{hub: h, job: job, wanted: wanted, ready: retry.NewSignal()}
	c := h.connectionsOf(job)
	c.subscribers[s] = struct{}{}
	if c.bot != nil {
		c.bot.want(c.wanted())
	}
	return s
}

// Subscription is the sound of one job for one subscriber.
type Subscription struct {
	hub    *Hub
	job    uuid.UUID
	wanted Wanted
	ready  retry.Signal // has a value when something was added

	mu    sync.Mutex
	queue []Frame
	gap   *Gap // before the queue
	ended bool
}

// Next waits for the next frame and returns it, with the gap before it, if there is one.
// It returns io.EOF when the bot has left the meeting, and the error of ctx.
func (s *Subscription) Next(ctx context.Context) (Frame, *Gap, error) {
	for {
		if frame, gap, ok := s.take(); ok {
			return frame, gap, nil
		} else if s.over() {
			return Frame{}, nil, io.EOF
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return Frame{}, nil, ctx.Err()
		}
	}
}

// take returns the next frame, with the gap before it. It reports false if none waits.
func (s *Subscription) take() (frame Frame, gap *Gap, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return Frame{}, nil, false
	}
	frame, gap = s.queue[0], s.gap
	s.queue, s.gap = s.queue[1:], nil
	return frame, gap, true
}

// over reports whether there is no more sound.
func (s *Subscription) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended && len(s.queue) == 0
}

// Play makes the bot play samples into the meeting: signed 16-bit little-endian, mono,
// 48 kHz. It reports false if no bot is connected, or too much waits for it.
func (s *Subscription) Play(pcm []byte) bool {
	return s.withBot(func(b *bot) bool {
		if len(b.playing) >= maxPlaying {
			return false
		}
		b.playing = append(b.playing, pcm)
		return true
	})
}

// StopPlaying makes the bot forget the samples that it has not played yet.
func (s *Subscription) StopPlaying() {
	s.withBot(func(b *bot) bool {
		b.playing, b.stop = nil, true
		return true
	})
}

// withBot changes what waits for the bot. It reports false if no bot is connected, and what do reports
// otherwise.
func (s *Subscription) withBot(do func(*bot) bool) bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	c := s.hub.connections[s.job]
	if c == nil || c.bot == nil {
		return false
	}
	c.bot.mu.Lock()
	defer c.bot.mu.Unlock()
	defer c.bot.wake.Send()
	return do(c.bot)
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	c := s.hub.connections[s.job]
	if c == nil {
		return
	}
	delete(c.subscribers, s)
	if c.bot != nil {
		c.bot.want(c.wanted())
	}
	s.hub.removeUnused(s.job)
}

// add queues a frame, and discards those that wait for too long.
func (s *Subscription) add(frame Frame) {
	if frame.Source == 0 && !s.wanted.Mixed || frame.Source != 0 && !s.wanted.Participants {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, frame)
	for len(s.queue) > maxQueued || frame.Start-s.queue[0].Start > maxBehind {
		lost := s.queue[0]
		s.queue = s.queue[1:]
		if s.gap == nil {
			s.gap = &Gap{From: lost.Start}
		}
		s.gap.To = max(s.gap.To, lost.Start+frameDuration)
		s.gap.Frames++
	}
	s.ready.Send()
}

// connect makes a bot the one of its job, and ends the connection of the one before. It
// returns the bot that must be served to its end first; nil if there is none.
func (h *Hub) connect(job uuid.UUID, b *bot) (previous *bot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.connectionsOf(job)
	if c.bot != nil {
		c.bot.cancel(errReplaced)
	}
	previous = c.last
	c.bot, c.last = b, b
	b.want(c.wanted())
	return previous
}

// disconnect removes a bot, and ends the sound if the bot has left the meeting.
func (h *Hub) disconnect(job uuid.UUID, b *bot, left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.connections[job]
	if c == nil || c.bot != b {
		return
	}
	c.bot = nil
	if left {
		for s := range c.subscribers { // after what is queued
			s.mu.Lock()
			s.ended = true
			s.mu.Unlock()
			s.ready.Send()
		}
	}
}
