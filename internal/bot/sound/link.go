// Package sound sends the live sound of a bot's meeting to the service, as far as the
// service wants it, and receives the sound that the bot plays into the meeting.
package sound

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"standin/internal/base/retry"
	"standin/internal/base/wsconn"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/report"
)

const (
	minPause   = 500 * time.Millisecond // before the next connection
	maxPause   = 30 * time.Second
	endTimeout = 2 * time.Second // for what waits when the bot has left
	// maxWaiting limits the sound that waits for the service: two seconds of the mixed
	// sound and some participants. Older frames are discarded.
	maxWaiting = 500
	// maxListening limits the frames that wait for a listener: half a second.
	maxListening = 25
)

// Settings configures a Link.
type Settings struct {
	Dial  func(context.Context) (*websocket.Conn, error) // connects to the service
	Clock func(time.Time) time.Time                      // converts times to those of the report
	Log   *slog.Logger
}

// Link is the connection of a bot for live sound. It implements
// recorder.LiveSoundListener. Its methods are safe for concurrent use.
type Link struct {
	settings Settings

	started, ended chan struct{}
	speeches       chan *Speech
	speech         *Speech // the last one; used by receive only

	mu        sync.Mutex
	startedAt time.Time // of the recording, in the report's clock; zero until then
	wanted    ingest.SoundWanted
	listeners map[chan []byte]bool
	changed   chan struct{}  // closed when wanted or the listeners change
	numbers   map[string]int // of tracks
	owners    []owner        // by number - 1
	speaking  []ingest.SoundSpeaker
	news      []ingest.SoundMessage
	waiting   []ingest.SoundFrame
	sentUntil time.Time // end of the mixed sound that was sent
	wake      retry.Signal
}

// owner is whose audio a track is.
type owner struct {
	report.Owner
	name string
}

// New returns a Link, which needs Run.
func New(settings Settings) *Link {
	return &Link{
		settings: settings, started: make(chan struct{}), ended: make(chan struct{}),
		speeches: make(chan *Speech, 1), listeners: make(map[chan []byte]bool), changed: make(chan struct{}),
		numbers: make(map[string]int), wake: retry.NewSignal(),
	}
}

// Start reports that the recording has started. Only the first call counts.
func (l *Link) Start(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.startedAt.IsZero() {
		l.startedAt = l.settings.Clock(at)
		close(l.started)
	}
}

// End reports that the bot has left the meeting for good, and makes Run return soon.
// It may be called once.
func (l *Link) End() { close(l.ended) }

// Wanted implements recorder.LiveSoundListener.
func (l *Link) Wanted() (ingest.SoundWanted, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted := l.wanted
	wanted.Mixed = wanted.Mixed || len(l.listeners) > 0
	return wanted, l.changed
}

// Listen starts to send the frames of the mixed sound, while it is recorded, to a channel,
// until stop is called. It discards those that would have to wait longer than half a second.
func (l *Link) Listen() (frames <-chan []byte, stop func()) {
	listener := make(chan []byte, maxListening)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listeners[listener] = true
	l.signalChange()
	return listener, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.listeners, listener)
		l.signalChange()
	}
}

// signalChange tells those who hold the channel of Wanted.
func (l *Link) signalChange() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Hear implements recorder.LiveSoundListener.
func (l *Link) Hear(sound []recorder.LiveSound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range sound {
		number := l.numbers[s.TrackID] // 0 for the mixed sound, and for a new track
		switch {
		case s.TrackID == "":
			for listener := range l.listeners {
				select {
				case listener <- s.PCM:
				default: // it is too slow
				}
			}
			if !l.wanted.Mixed {
				continue
			}
		case number == 0 && len(l.owners) == ingest.MaxSoundSources:
			continue
		case number == 0:
			l.owners = append(l.owners, owner{})
			number = len(l.owners)
			l.numbers[s.TrackID] = number
		}
		l.waiting = append(l.waiting, ingest.SoundFrame{Source: number, At: l.settings.Clock(s.At), PCM: s.PCM})
	}
	if extra := len(l.waiting) - maxWaiting; extra > 0 {
		l.waiting = l.waiting[extra:]
	}
	l.wake.Send()
}

// UpdateOwners updates which participants' tiles play which tracks. nameOf returns the
// name of a participant.
func (l *Link) UpdateOwners(tracks []meeting.TrackOwner, nameOf func(id string) string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, track := range tracks {
		number, ok := l.numbers[track.Track]
		if !ok {
			continue // it was not heard yet
		}
		of := &l.owners[number-1]
		before := *of
		of.See(track.ParticipantID)
		if of.name = ""; of.ID != "" {
			of.name = nameOf(of.ID)
		}
		if *of != before {
			l.news = append(l.news, participantMessage(number, *of))
		}
	}
	l.wake.Send()
}

// UpdateSpeaking updates which participants speak. nameOf returns the name of a participant.
func (l *Link) UpdateSpeaking(participants []meeting.Participant, nameOf func(id string) string) {
	var speaking []ingest.SoundSpeaker
	for _, p := range participants {
		if p.Speaking && len(speaking) < ingest.MaxSpeaking {
			speaking = append(speaking, ingest.SoundSpeaker{ID: p.ID, Name: nameOf(p.ID)})
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(speaking, l.speaking) {
		return
	}
	l.speaking = speaking
	if last := len(l.news) - 1; last >= 0 && l.news[last].Type == ingest.SoundSpeaking {
		l.news = l.news[:last] // it was not sent yet
	}
	l.news = append(l.news, ingest.SoundMessage{Type: ingest.SoundSpeaking, Speaking: speaking})
	l.wake.Send()
}

func participantMessage(number int, of owner) ingest.SoundMessage {
	return ingest.SoundMessage{Type: ingest.SoundParticipant, Source: number, ID: of.ID, Name: of.name}
}

// want sets which sound the service wants.
func (l *Link) want(wanted ingest.SoundWanted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted == wanted {
		return
	}
	l.wanted = wanted
	l.signalChange()
}

// Run connects to the service, again whenever the connection is lost, until End is
// called or ctx ends.
func (l *Link) Run(ctx context.Context) {
	select {
	case <-l.started:
	case <-l.ended:
		return
	case <-ctx.Done():
		return
	}
	backoff := retry.Backoff{Min: minPause, Max: maxPause}
	for ctx.Err() == nil {
		conn, err := l.settings.Dial(ctx)
		if err == nil {
			connectedAt := time.Now()
			err = l.serve(ctx, conn)
			l.want(ingest.SoundWanted{})
			if time.Since(connectedAt) > maxPause {
				backoff.Reset()
			}
		}
		if err == nil {
			return
		}
		pause := backoff.Next()
		l.settings.Log.Debug("cannot connect for live sound", "error", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-l.ended:
			return
		case <-ctx.Done():
		}
	}
}

// serve serves a connection. It returns nil after it has sent the end.
func (l *Link) serve(ctx context.Context, conn *websocket.Conn) error {
	defer conn.CloseNow() //nolint:errcheck // it is closed already, or broken
	conn.SetReadLimit(ingest.MaxPlayedBytes)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var receiving sync.WaitGroup
	receiving.Go(func() { cancel(l.receive(ctx, conn)) })
	receiving.Go(func() { cancel(wsconn.KeepAlive(ctx, conn)) })
	err := l.send(ctx, conn)
	if err == nil {
		err = conn.Close(websocket.StatusNormalClosure, "")
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	_ = conn.CloseNow()
	receiving.Wait()
	return err
}

// send sends the start, what changes about participants, and sound. It returns nil after
// it has sent the end.
func (l *Link) send(ctx context.Context, conn *websocket.Conn) error {
	l.mu.Lock()
	l.waiting, l.news = nil, []ingest.SoundMessage{
		{Type: ingest.SoundStart, StartedAt: l.startedAt, SentUntil: l.sentUntil}, {Type: ingest.SoundSpeaking, Speaking: l.speaking},
	}
	for i, of := range l.owners {
		if of.ID != "" {
			l.news = append(l.news, participantMessage(i+1, of))
		}
	}
	l.mu.Unlock()
	for {
		select {
		case <-l.ended:
			ending, cancel := context.WithTimeout(ctx, endTimeout)
			defer cancel()
			if err := l.sendWaiting(ending, conn); err != nil {
				return err
			}
			return wsconn.WriteJSON(ending, conn, ingest.SoundMessage{Type: ingest.SoundEnd})
		default:
		}
		if err := l.sendWaiting(ctx, conn); err != nil {
			return err
		}
		select {
		case <-l.wake:
		case <-l.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sendWaiting sends what waits.
func (l *Link) sendWaiting(ctx context.Context, conn *websocket.Conn) error {
	for {
		l.mu.Lock()
		news := l.news
		l.news = nil
		var frame ingest.SoundFrame
		if len(l.waiting) > 0 {
			frame, l.waiting = l.waiting[0], l.waiting[1:]
			if frame.Source == 0 {
				l.sentUntil = frame.At.Add(ingest.SoundFrameDuration)
			}
		}
		l.mu.Unlock()
		for _, message := range news {
			if err := wsconn.WriteJSON(ctx, conn, message); err != nil {
				return err
			}
		}
		if frame.PCM == nil {
			return nil
		}
		if err := wsconn.Write(ctx, conn, websocket.MessageBinary, ingest.EncodeSound(frame)); err != nil {
			return err
		}
	}
}

// receive handles the messages of the service. It returns why it cannot any longer.
func (l *Link) receive(ctx context.Context, conn *websocket.Conn) error {
	for {
		kind, data, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		if kind == websocket.MessageBinary {
			if l.speech == nil || !l.speech.Add(data) { // it begins one
				l.speech = NewSpeech()
				l.speech.Add(data)
				select {
				case <-l.speeches: // nobody took it
				default:
				}
				l.speeches <- l.speech
			}
			continue
		}
		var message ingest.SoundMessage
		if err := json.Unmarshal(data, &message); err != nil {
			return errors.New("the service sent a text message that is not JSON")
		}
		switch message.Type {
		case ingest.SoundWant:
			l.want(message.SoundWanted)
		case ingest.SoundStopPlaying:
			if l.speech != nil {
				l.speech.Stop()
			}
		}
	}
}

// Speeches returns the channel of what receivers of the job's streams say. A speech that
// nobody takes is replaced by the next one.
func (l *Link) Speeches() <-chan *Speech { return l.speeches }
