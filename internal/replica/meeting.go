package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pion/webrtc/v4"
)

// Meeting is one meeting of the replica. Its methods may be called from any
// goroutine.
type Meeting struct {
	settings Settings
	platform traits
	base     string   // the server's address
	trap     []string // what a hostile page tries to reach
	media    *Media
	api      *webrtc.API
	clock    clock
	log      *slog.Logger

	mu           sync.Mutex
	participants []*participant
	guests       []*guest
	messages     []Message
	events       []Event
	eventCount   int
	idCount      int
	hostAbsent   bool
	silent       bool // nobody's sound is more than silence
	ended        bool
	dropped      []*peer       // to be closed once the lock is free
	changed      chan struct{} // closed, and made anew, at every change
}

// participant is somebody in the meeting, with what he sends.
type participant struct {
	Participant
	publisher *publisher
}

// Message is a line of the chat.
type Message struct {
	Number int    `json:"number"`
	From   string `json:"from"`
	Text   string `json:"text"`
	Guest  string `json:"guest,omitempty"` // who wrote it, when a guest did
}

const (
	mostGuests   = 256
	mostMessages = 1000
)

// What a request of a guest or of the control surface may fail with.
var (
	ErrNoSuchGuest       = errors.New("no such guest")
	ErrNoSuchParticipant = errors.New("no such participant")
	ErrNotNow            = errors.New("not possible in the present state")
	ErrFull              = errors.New("the meeting is full")
	ErrTooLong           = errors.New("text is empty or too long")
)

func newMeeting(settings Settings, platform traits, base string, media *Media, api *webrtc.API, log *slog.Logger) *Meeting {
	m := &Meeting{
		settings:   settings,
		platform:   platform,
		base:       base,
		media:      media,
		api:        api,
		clock:      newClock(),
		log:        log,
		hostAbsent: settings.HostAbsent,
		changed:    make(chan struct{}),
	}
	for _, one := range settings.Participants {
		m.addParticipant(one)
	}
	return m
}

// URL is what a guest opens.
func (m *Meeting) URL() string {
	return m.base + m.platform.path(m.settings.Code, m.settings.Passcode)
}

// Code is the meeting's code, as in its URL.
func (m *Meeting) Code() string { return m.settings.Code }

// Guests returns every page that visited, in the order of their coming.
func (m *Meeting) Guests() []Guest {
	m.mu.Lock()
	defer m.mu.Unlock()
	guests := make([]Guest, 0, len(m.guests))
	for _, g := range m.guests {
		guests = append(guests, g.Guest)
	}
	return guests
}

// Messages returns the chat, oldest first.
func (m *Meeting) Messages() []Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.messages)
}

// change applies a change under the lock and tells everybody who waits for one.
// Connections that the change dropped are closed afterwards, for closing one
// waits for goroutines that may want the lock.
func (m *Meeting) change(apply func() error) error {
	m.mu.Lock()
	err := apply()
	close(m.changed)
	m.changed = make(chan struct{})
	dropped := m.dropped
	m.dropped = nil
	m.mu.Unlock()
	for _, p := range dropped {
		p.close()
	}
	return err
}

// run lets guests in, or sends them away, when their time in the lobby is over.
func (m *Meeting) run(live <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, changed := m.lobbyTimes(time.Now())
		timer.Reset(next)
		select {
		case <-live:
			return
		case <-changed:
		case <-timer.C:
		}
	}
}

// lobbyTimes acts on what is due and returns how long nothing else is.
func (m *Meeting) lobbyTimes(now time.Time) (next time.Duration, changed <-chan struct{}) {
	next = time.Hour
	var admit, giveUp []string
	m.mu.Lock()
	for _, g := range m.guests {
		if g.State != StateLobby {
			continue
		}
		waited := now.Sub(g.lobbySince)
		admitIn, giveUpIn := m.settings.AdmitAfter-waited, m.settings.LobbyLimit-waited
		switch {
		case m.settings.AdmitAfter > 0 && admitIn <= 0:
			admit = append(admit, g.ID)
		case giveUpIn <= 0:
			giveUp = append(giveUp, g.ID)
		case m.settings.AdmitAfter > 0:
			next = min(next, admitIn, giveUpIn)
		default:
			next = min(next, giveUpIn)
		}
	}
	changed = m.changed
	m.mu.Unlock()
	if len(admit) > 0 {
		m.Admit(admit...)
	}
	if len(giveUp) > 0 {
		m.LobbyTimeout(giveUp...)
	}
	return next, changed
}

// close takes everybody's media away.
func (m *Meeting) close() {
	_ = m.change(func() error {
		m.ended = true
		for _, g := range m.guests {
			m.dropPeer(g)
		}
		return nil
	})
}

// addParticipant gives a participant one of the sources; the caller holds the
// lock or is the only one to know the meeting.
func (m *Meeting) addParticipant(settings Participant) {
	m.idCount++
	p := &participant{Participant: settings, publisher: &publisher{id: fmt.Sprintf("p%d", m.idCount)}}
	if m.media != nil {
		p.publisher.source = m.media.sourceFor(settings.Beeps, m.idCount)
	}
	p.publisher.soundOn.Store(!settings.Muted)
	p.publisher.silent.Store(m.silent)
	p.publisher.pictureOn.Store(!settings.CameraOff)
	m.participants = append(m.participants, p)
}

func (m *Meeting) guest(id string) (*guest, error) {
	for _, g := range m.guests {
		if g.ID == id {
			return g, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrNoSuchGuest, id)
}

func (m *Meeting) participant(name string) (*participant, error) {
	for _, p := range m.participants {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrNoSuchParticipant, name)
}
