package rtms

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"standin/internal/base/dialguard"
	"standin/internal/base/text"
	"standin/internal/base/wsconn"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
	"standin/internal/launch"
)

const (
	// maxPeople limits who is remembered, maxTexts the texts that wait, and maxBacklog the bytes of the packets that
	// wait for the recording to start: Zoom keeps the sound of the last minute for a client that connects.
	maxPeople  = 5000
	maxTexts   = 1000
	maxBacklog = 64 << 20
	// speakingTime is how long a participant counts as speaking after loud sound.
	speakingTime = 300 * time.Millisecond
)

// Settings configure a Meeting.
type Settings struct {
	Stream          launch.ZoomStream
	Chat, Captions  bool // they are wanted
	Height          int  // of the video, in pixels
	FramesPerSecond int
	Language        string // of the transcript, if it is known
	Backlog         bool   // packets that arrive before the recording starts belong to it
	Loopback        bool   // connect to servers on this machine
	OwnHosts        []string
	Log             *slog.Logger
}

// Meeting is a stream of a meeting: a meeting.Adapter that joins, observes and leaves without a page.
type Meeting struct {
	meeting.Adapter // nil: nothing else is done without a page

	settings Settings
	log      *slog.Logger
	http     *http.Client
	stop     context.CancelFunc
	running  sync.WaitGroup
	joined   chan struct{} // closed when the bot receives the media

	mu           sync.Mutex
	mediaURL     string
	signaling    *websocket.Conn
	away         span      // since the media were lost, until they were there again
	epoch        time.Time // the time of this machine at Zoom's time 0, by the fastest message; zero if unknown
	people       map[userID]*participant
	texts        []ingest.Text
	over         meeting.Observation // how the stream ended
	recording    *Recording
	backlog      []packet
	backlogBytes int
}

// participant is somebody in the meeting.
type participant struct {
	meeting.Participant
	loudAt time.Time
	leftAt int64 // a time of Zoom; 0: is there
}

type span struct{ from, to time.Time }

// New returns a Meeting, which Join connects. The caller must call Close.
func New(settings Settings) *Meeting {
	guard := &dialguard.Guard{OwnHosts: settings.OwnHosts, Timeout: connectTimeout}
	if settings.Loopback {
		guard.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	transport := guard.Transport(nil)
	transport.ForceAttemptHTTP2 = false // a WebSocket needs HTTP/1.1
	return &Meeting{
		settings: settings, log: settings.Log, http: &http.Client{Transport: transport, CheckRedirect: dialguard.NoRedirects},
		stop: func() {}, joined: make(chan struct{}), people: make(map[userID]*participant),
	}
}

// Close closes the connections, and ends a recording.
func (m *Meeting) Close() error {
	m.mu.Lock()
	r := m.recording
	m.mu.Unlock()
	if r != nil {
		r.Close()
	}
	m.stop()
	m.running.Wait()
	m.http.CloseIdleConnections()
	return nil
}

// Join implements meeting.Adapter: it connects to the stream.
func (m *Meeting) Join(ctx context.Context, _ meeting.Page, _ meeting.JoinOptions) error {
	var running context.Context
	running, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	failed := make(chan struct{})
	m.running.Go(func() {
		m.end(m.keep(running, m.signal))
		close(failed)
	})
	select {
	case <-m.joined:
		return nil
	case <-failed:
		return &meeting.ScreenError{Observation: m.over}
	case <-ctx.Done():
		seen := meeting.Observation{Screen: meeting.CannotConnect, Evidence: "Zoom's server does not respond"}
		return &meeting.ScreenError{Observation: seen, Cause: ctx.Err()}
	}
}

// end sets how the stream ended, unless that is known or the meeting may go on.
func (m *Meeting) end(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	screen := screenOf(err)
	if screen == "" || m.over.Screen != "" {
		return
	}
	m.over = meeting.Observation{Screen: screen, Evidence: err.Error(), Revoked: errors.Is(err, revoked)}
	switch refused := errors.As(err, new(refusal)) && screen != meeting.Ended; {
	case refused && m.admitted():
		m.over.Screen = meeting.Removed
	case refused:
		m.over.Refusal = err.Error() + "."
	}
}

// admitted reports whether the bot has received the media.
func (m *Meeting) admitted() bool { return m.away != span{} }

func (m *Meeting) ended() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over.Screen != ""
}

// handleEvent updates who is in the meeting.
func (m *Meeting) handleEvent(got message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch event := got.Event; event.Type {
	case eventSpeaker, eventShareStart:
		m.meet(event.person, event.Timestamp)
	case eventJoined:
		for _, p := range event.Participants {
			m.meet(p, event.Timestamp)
		}
	case eventLeft:
		for _, p := range event.Participants {
			if who := m.people[p.ID]; who != nil {
				who.leftAt = max(event.Timestamp, 1)
			}
			m.recording.endTracks(func(k source) bool { return k.user == string(p.ID) })
		}
	case eventShareStop:
		m.recording.endTracks(func(k source) bool { return k.kind == share })
	}
}

// meet adds a person whom a message names. Packets may arrive after the news that their sender has left.
func (m *Meeting) meet(p person, timestamp int64) {
	found := m.people[p.ID]
	if p.ID == "" || found == nil && len(m.people) == maxPeople {
		return
	}
	if found == nil {
		found = &participant{Participant: meeting.Participant{ID: string(p.ID)}}
		m.people[p.ID] = found
	}
	if found.Name = cmp.Or(p.Name, found.Name); timestamp > found.leftAt {
		found.leftAt = 0
	}
}

// addText adds a chat message or a part of the transcript. Its ID is the same when it is sent again.
func (m *Meeting) addText(kind int, c content) {
	wanted := m.settings.Chat
	if kind == transcript {
		wanted = m.settings.Captions
	}
	if !wanted || m.recording != nil && m.recording.paused || len(m.texts) == maxTexts || c.Data == "" {
		return
	}
	m.setClock(c.Timestamp)
	sentAt := m.localTime(c.Timestamp)
	added := ingest.Text{
		Kind: job.ChatText, ParticipantID: string(c.ID), Author: text.CleanLine(c.Name, ingest.MaxAuthorCharacters),
		Text: text.Clean(c.Data, ingest.MaxTextCharacters), StartedAt: sentAt, EndedAt: sentAt,
	}
	if kind == transcript {
		if c.StartTime > 0 && c.EndTime >= c.StartTime {
			added.StartedAt, added.EndedAt = m.localTime(c.StartTime), m.localTime(c.EndTime)
		}
		added.Kind, added.Language = job.CaptionText, m.settings.Language
		if c.Language != nil && *c.Language >= 0 && *c.Language < len(languages) {
			added.Language = languages[*c.Language]
		}
	}
	sum := sha256.Sum256([]byte(c.Data + "\x00" + string(c.ID)))
	added.ID = fmt.Sprintf("z-%013d-%x", c.Timestamp, sum[:6])
	m.texts = append(m.texts, added)
}

// setClock compares Zoom's clock with that of this machine, by a message that was just sent. While something is
// recorded, nothing is changed.
func (m *Meeting) setClock(timestamp int64) {
	epoch := time.Now().Add(-milliseconds(timestamp))
	if timestamp > 0 && m.recording == nil && (m.epoch.IsZero() || epoch.Before(m.epoch)) {
		m.epoch = epoch
	}
}

// localTime converts a time of Zoom to one of this machine.
func (m *Meeting) localTime(timestamp int64) time.Time {
	now := time.Now()
	return cmp.Or(m.epoch, now.Add(-milliseconds(now.UnixMilli()))).Add(milliseconds(timestamp))
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Observe implements meeting.Adapter.
func (m *Meeting) Observe(context.Context, meeting.Page) (meeting.Observation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.over
	switch {
	case seen.Screen != "":
	case !m.away.from.IsZero() && m.away.to.IsZero():
		seen = meeting.Observation{Screen: meeting.Reconnecting, Evidence: "the connection to Zoom was lost"}
	default:
		seen = meeting.Observation{Screen: meeting.InMeeting, Evidence: "Zoom has accepted the bot's connection", Counted: true}
	}
	seen.Texts, m.texts = m.texts, nil
	seen.ChatOpen, seen.CaptionsOn, seen.SpeechSources = true, true, []meeting.SpeechSource{meeting.SpeechByAudio}
	for id, p := range m.people {
		if p.leftAt != 0 {
			continue
		}
		p.Speaking = time.Since(p.loudAt) < speakingTime
		seen.Participants = append(seen.Participants, p.Participant)
		seen.TrackOwners = append(seen.TrackOwners, meeting.TrackOwner{Track: string(id), ParticipantID: string(id)})
	}
	slices.SortFunc(seen.Participants, func(a, b meeting.Participant) int { return cmp.Compare(a.ID, b.ID) })
	seen.Others = len(seen.Participants)
	seen.Clean()
	return seen, nil
}

// Leave implements meeting.Adapter: it asks Zoom to close the stream.
func (m *Meeting) Leave(ctx context.Context, _ meeting.Page) error {
	m.mu.Lock()
	signaling := m.signaling
	m.mu.Unlock()
	if signaling == nil {
		return nil
	}
	return wsconn.WriteJSON(ctx, signaling, request{Type: typeClose, StreamID: m.settings.Stream.StreamID})
}

// ErrReceivesOnly is why a command is refused.
var ErrReceivesOnly = errors.New("media streams of Zoom can only be received: the bot cannot speak, show, write, pin or ask")

// AskPermission implements meeting.Adapter. Zoom itself asks the host whether the app may receive the meeting.
func (m *Meeting) AskPermission(context.Context, meeting.Page, string) (meeting.AskMethod, error) {
	return "", ErrReceivesOnly
}
