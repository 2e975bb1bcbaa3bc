package rtms

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

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
	Media           [len(media)]bool // that are wanted
	Height          int              // of the video, in pixels
	FramesPerSecond int
	Language        string // of the transcript, if it is known
	Backlog         bool   // packets that arrive before the recording starts belong to it
	Loopback        bool   // connect to servers on this machine
	OwnHosts        []string
	Log             *slog.Logger
}

// Meeting is a stream of a meeting: a meeting.Adapter that uses no page.
type Meeting struct {
	settings Settings
	log      *slog.Logger
	http     *http.Client
	stop     context.CancelFunc
	running  sync.WaitGroup
	joined   chan struct{} // closed when Zoom has accepted the bot

	mu           sync.Mutex
	urls         map[string]string // of the media
	signaling    *websocket.Conn
	lost         string    // why there is no signaling connection
	away         [5]span   // by medium: since the connection was lost, until it was there again
	epoch        time.Time // the time of this machine at Zoom's time 0, by the fastest packet
	people       map[string]*participant
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
}

type span struct{ from, to time.Time }

// New returns a Meeting, which Join connects. The caller must call Close.
func New(settings Settings) (*Meeting, error) {
	client, err := newHTTPClient(settings.Stream.CAFile, settings.Loopback, settings.OwnHosts)
	if err != nil {
		return nil, err
	}
	return &Meeting{
		settings: settings, log: settings.Log, http: client, stop: func() {}, joined: make(chan struct{}), people: make(map[string]*participant),
	}, nil
}

// Close closes the connections.
func (m *Meeting) Close() error {
	m.stop()
	m.running.Wait()
	m.http.CloseIdleConnections()
	return nil
}

// Join implements meeting.Adapter: it connects to the stream.
func (m *Meeting) Join(ctx context.Context, _ meeting.Page, _ meeting.JoinOptions) error {
	var running context.Context
	running, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	failed := make(chan error, 1)
	m.running.Go(func() {
		err := m.keep(running, "signaling", m.signal)
		var refused refusal
		if errors.As(err, &refused) {
			m.end(refused.screen(), refused.Error(), false)
		}
		failed <- err
	})
	select {
	case <-m.joined:
		return nil
	case <-failed:
		m.mu.Lock()
		defer m.mu.Unlock()
		return &meeting.ScreenError{Observation: m.over}
	case <-ctx.Done():
		seen := meeting.Observation{Screen: meeting.CannotConnect, Evidence: "Zoom's server does not respond"}
		return &meeting.ScreenError{Observation: seen, Cause: ctx.Err()}
	}
}

// end sets how the stream ended.
func (m *Meeting) end(screen meeting.Screen, evidence string, revoked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over.Screen == "" {
		m.over = meeting.Observation{Screen: screen, Evidence: evidence, Revoked: revoked}
	}
}

func (m *Meeting) ended() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over.Screen != ""
}

func (m *Meeting) setLost(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = reason
}

// handleEvent updates who is in the meeting.
func (m *Meeting) handleEvent(got message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch event := got.Event; event.Type {
	case eventSpeaker, eventShareStart:
		m.meet(event.person)
	case eventJoined:
		for _, p := range event.Participants {
			m.meet(p)
		}
	case eventLeft:
		for _, p := range event.Participants {
			delete(m.people, cleanID(p.ID))
			if m.recording != nil {
				m.recording.endTracks(func(t *track) bool { return t.PersonID == cleanID(p.ID) })
			}
		}
	case eventShareStop:
		if m.recording != nil {
			m.recording.endTracks(func(t *track) bool { return t.kind == share })
		}
	}
}

// cleanID returns the form in which the report has an ID.
func cleanID(id userID) string { return text.CleanLine(string(id), ingest.MaxAuthorCharacters) }

// meet adds a person whom a message names, and returns him; nil if nobody is named.
func (m *Meeting) meet(p person) *participant {
	id := cleanID(p.ID)
	found := m.people[id]
	if id == "" || found == nil && len(m.people) == maxPeople {
		return nil
	}
	if found == nil {
		found = &participant{Participant: meeting.Participant{ID: id}}
		m.people[id] = found
	}
	found.Name = cmp.Or(p.Name, found.Name)
	return found
}

// addText adds a chat message or a part of the transcript. Its ID is the same when it is sent again.
func (m *Meeting) addText(kind int, c content) {
	if len(m.texts) == maxTexts || c.Data == "" {
		return
	}
	added := ingest.Text{
		Kind: job.ChatText, ParticipantID: cleanID(c.ID), Author: text.CleanLine(c.Name, ingest.MaxAuthorCharacters),
		Text: text.Clean(c.Data, ingest.MaxTextCharacters), StartedAt: m.localTime(cmp.Or(c.StartTime, c.Timestamp)),
	}
	if added.EndedAt = added.StartedAt; c.EndTime > c.StartTime {
		added.EndedAt = m.localTime(c.EndTime)
	}
	if kind == transcript {
		added.Kind, added.Language = job.CaptionText, m.settings.Language
		if c.Language != nil && *c.Language >= 0 && *c.Language < len(languages) {
			added.Language = languages[*c.Language]
		}
	}
	sum := sha256.Sum256([]byte(c.Data + "\x00" + string(c.ID)))
	added.ID = fmt.Sprintf("z-%013d-%x", c.Timestamp, sum[:6])
	m.texts = append(m.texts, added)
}

// localTime converts a time of Zoom to one of this machine.
func (m *Meeting) localTime(timestamp int64) time.Time {
	epoch := time.Now().Add(-unixMilli(timestamp))
	if m.epoch.IsZero() || epoch.Before(m.epoch) && m.recording == nil {
		m.epoch = epoch
	}
	return m.epoch.Add(unixMilli(timestamp))
}

// Observe implements meeting.Adapter.
func (m *Meeting) Observe(context.Context, meeting.Page) (meeting.Observation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := m.over
	switch {
	case seen.Screen != "":
	case m.lost != "":
		seen = meeting.Observation{Screen: meeting.Reconnecting, Evidence: m.lost}
	case !m.away[audio].from.IsZero() && m.away[audio].to.IsZero():
		seen = meeting.Observation{Screen: meeting.Reconnecting, Evidence: "the connection for sound was lost"}
	default:
		seen = meeting.Observation{Screen: meeting.InMeeting, Evidence: "Zoom has accepted the bot's connection", Counted: true}
	}
	seen.Texts, m.texts = m.texts, nil
	seen.ChatOpen, seen.CaptionsOn = true, true
	seen.SpeechSources = []meeting.SpeechSource{meeting.SpeechByAudio}
	for id, p := range m.people {
		p.Speaking = time.Since(p.loudAt) < speakingTime
		seen.Participants = append(seen.Participants, p.Participant)
		seen.TrackOwners = append(seen.TrackOwners, meeting.TrackOwner{Track: id, ParticipantID: id})
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
	if err := wsconn.WriteJSON(ctx, signaling, request{Type: typeClose, StreamID: m.settings.Stream.StreamID}); err != nil {
		return fmt.Errorf("close the stream: %w", err)
	}
	for !m.ended() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("close the stream: %w", ctx.Err())
		}
	}
	return nil
}

// ErrReceivesOnly is why a command is refused.
var ErrReceivesOnly = errors.New("Zoom's media streams can only be received: the bot cannot speak, show, write or pin on the platform zoom-sdk")

// SendChat implements meeting.Adapter.
func (m *Meeting) SendChat(context.Context, meeting.Page, string) error { return ErrReceivesOnly }

// SetDevice implements meeting.Adapter.
func (m *Meeting) SetDevice(context.Context, meeting.Page, meeting.Device, bool) error {
	return ErrReceivesOnly
}

// Pin implements meeting.Adapter.
func (m *Meeting) Pin(context.Context, meeting.Page, meeting.Participant) error {
	return ErrReceivesOnly
}

// AskPermission implements meeting.Adapter. Zoom itself asks the host whether the app may receive the meeting.
func (m *Meeting) AskPermission(context.Context, meeting.Page, string) (meeting.AskMethod, error) {
	return "", ErrReceivesOnly
}

// Address implements meeting.Adapter. A stream has no address for a browser.
func (m *Meeting) Address(string) (meeting.Address, error) { return meeting.Address{}, nil }

// Arrange, HandleNotices, ShowTexts, ReadPeople and ClosePermissionRequest implement meeting.Adapter for what a
// stream does not have.
func (m *Meeting) Arrange(context.Context, meeting.Page, meeting.Observation, job.Layout) error {
	return nil
}

// HandleNotices implements meeting.Adapter.
func (m *Meeting) HandleNotices(context.Context, meeting.Page, meeting.Observation) error { return nil }

// ShowTexts implements meeting.Adapter.
func (m *Meeting) ShowTexts(context.Context, meeting.Page, meeting.TextOptions) error { return nil }

// ReadPeople implements meeting.Adapter.
func (m *Meeting) ReadPeople(context.Context, meeting.Page) error { return nil }

// ClosePermissionRequest implements meeting.Adapter.
func (m *Meeting) ClosePermissionRequest(context.Context, meeting.Page) error { return nil }
