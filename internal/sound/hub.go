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

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/retry"
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

	mu    sync.Mutex
	rooms map[uuid.UUID]*room
}

// NewHub returns a Hub.
func NewHub() *Hub { return &Hub{metrics: newMetrics(), rooms: make(map[uuid.UUID]*room)} }

// room is the sound of one job. Hub.mu protects it.
type room struct {
	subscribers map[*Subscription]struct{}
	bot         *bot // nil while none is connected
}

// enter returns the room of a job.
func (h *Hub) enter(job uuid.UUID) *room {
	r := h.rooms[job]
	if r == nil {
		r = &room{subscribers: make(map[*Subscription]struct{})}
		h.rooms[job] = r
	}
	return r
}

// leave deletes an empty room.
func (h *Hub) leave(job uuid.UUID) {
	if r := h.rooms[job]; r != nil && r.bot == nil && len(r.subscribers) == 0 {
		delete(h.rooms, job)
	}
}

// wanted returns what the subscribers want together.
func (r *room) wanted() (all Wanted) {
	for s := range r.subscribers {
		all.Mixed = all.Mixed || s.wanted.Mixed
		all.Participants = all.Participants || s.wanted.Participants
	}
	return all
}

// Connected reports whether the bot of a job is connected to this node.
func (h *Hub) Connected(job uuid.UUID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[job]
	return r != nil && r.bot != nil
}

// Subscribe returns the sound of a job from now on, also that of a bot that connects
// later. The caller must close the subscription.
func (h *Hub) Subscribe(job uuid.UUID, wanted Wanted) *Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Subscription{hub: h, job: job, wanted: wanted, ready: retry.NewSignal()}
	r := h.enter(job)
	r.subscribers[s] = struct{}{}
	if r.bot != nil {
		r.bot.want(r.wanted())
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
	return s.tellBot(func(b *bot) bool { return b.play(pcm) })
}

// StopPlaying makes the bot forget the samples that it has not played yet.
func (s *Subscription) StopPlaying() {
	s.tellBot(func(b *bot) bool { b.stopPlaying(); return true })
}

func (s *Subscription) tellBot(tell func(*bot) bool) bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	r := s.hub.rooms[s.job]
	return r != nil && r.bot != nil && tell(r.bot)
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	r := s.hub.rooms[s.job]
	if r == nil {
		return
	}
	delete(r.subscribers, s)
	if r.bot != nil {
		r.bot.want(r.wanted())
	}
	s.hub.leave(s.job)
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

// end ends the sound after what is queued.
func (s *Subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.ready.Send()
}

// publish distributes a frame of a bot, unless another bot has replaced it.
func (h *Hub) publish(job uuid.UUID, from *bot, frame Frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.rooms[job]; r != nil && r.bot == from {
		for s := range r.subscribers {
			s.add(frame)
		}
	}
}

// connect makes a bot the one of its job.
func (h *Hub) connect(job uuid.UUID, b *bot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.enter(job)
	if r.bot != nil {
		r.bot.cancel(errReplaced)
	}
	r.bot = b
	b.want(r.wanted())
}

// disconnect removes a bot, and ends the sound if the bot has left the meeting.
func (h *Hub) disconnect(job uuid.UUID, b *bot, left bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[job]
	if r == nil || r.bot != b {
		return
	}
	r.bot = nil
	if left {
		for s := range r.subscribers {
			s.end()
		}
	}
	h.leave(job)
}
