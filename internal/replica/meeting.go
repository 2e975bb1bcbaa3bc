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

// Meeting is a meeting of the replica. It is safe for concurrent use.
type Meeting struct {
	settings Settings
	platform traits
	base     string   // the server's address
	trap     []string // URLs of the trap server, for a hostile page
	media    *Media
	films    map[string]*source

	utterances chan utterance // to be recognized

	api   *webrtc.API
	clock clock
	log   *slog.Logger

	mu           sync.Mutex
	participants []*participant
	guests       []*guest
	messages     []Message
	captions     []Caption
	events       []Event
	eventCount   int
	idCount      int
	hostAbsent   bool
	silent       bool // all participants send silence
	ended        bool
	dropped      []*peer       // to be closed after the lock is released
	changed      chan struct{} // closed and replaced at every change
}

// participant is a Participant with its media.
type participant struct {
	Participant
	publisher *publisher
}

// Message is a chat message.
type Message struct {
	Number int
	From   string
	Text   string
	Guest  string // ID of the author if a guest wrote it
}

const (
	maxGuests   = 256
	maxMessages = 1000
)

// Errors of requests by guests and of the methods that control a meeting.
var (
	ErrNoSuchGuest       = errors.New("no such guest")
	ErrNoSuchParticipant = errors.New("no such participant")
	ErrNotNow            = errors.New("not possible in the current state")
	ErrFull              = errors.New("the meeting is full")
	ErrTooLong           = errors.New("text is empty or too long")
)

func newMeeting(
	settings Settings, platform traits, base string, media *Media, films map[string]*source, api *webrtc.API, log *slog.Logger,
) *Meeting {
	m := &Meeting{
		settings:   settings,
		platform:   platform,
		base:       base,
		media:      media,
		films:      films,
		utterances: make(chan utterance, 8),
		api:        api,
		clock:      clock{start: time.Now()},
		log:        log,
		hostAbsent: settings.HostAbsent,
		changed:    make(chan struct{}),
	}
	for _, one := range settings.Participants {
		m.addParticipant(one)
	}
	return m
}

// URL returns the address that guests open.
func (m *Meeting) URL() string {
	return m.base + m.platform.path(m.settings.Code, m.settings.Passcode)
}

// Code returns the meeting's code, which is part of its URL.
func (m *Meeting) Code() string { return m.settings.Code }

// Position returns the time of the meeting's clock; beeps are at full seconds.
func (m *Meeting) Position() time.Duration { return m.clock.now() }

// Guests returns all pages that opened the meeting, in order.
func (m *Meeting) Guests() []Guest {
	m.mu.Lock()
	defer m.mu.Unlock()
	guests := make([]Guest, 0, len(m.guests))
	for _, g := range m.guests {
		guests = append(guests, g.Guest)
	}
	return guests
}

// Messages returns the chat messages, oldest first.
func (m *Meeting) Messages() []Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.messages)
}

// change calls apply with the lock and notifies waiters. Dropped connections are
// closed after the lock is released, because closing one waits for goroutines that
// may need the lock.
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

// run admits guests when their time in the lobby has passed.
func (m *Meeting) run(done <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, changed := m.admitWaiting(time.Now())
		timer.Reset(next)
		select {
		case <-done:
			return
		case <-changed:
		case <-timer.C:
		}
	}
}

// admitWaiting admits the guests whose time has passed and returns the time until the
// next one's.
func (m *Meeting) admitWaiting(now time.Time) (next time.Duration, changed <-chan struct{}) {
	next = time.Hour
	var admit []string
	m.mu.Lock()
	hostIsThere := slices.ContainsFunc(m.guests, func(g *guest) bool { return g.host && g.State == StateAdmitted && !g.Vanished })
	for _, g := range m.guests {
		if g.State != StateLobby || hostIsThere {
			continue
		}
		if left := m.settings.AdmitAfter - now.Sub(g.Since); left > 0 {
			next = min(next, left)
		} else {
			admit = append(admit, g.ID)
		}
	}
	changed = m.changed
	m.mu.Unlock()
	if len(admit) > 0 {
		m.Admit(admit...)
	}
	return next, changed
}

// close ends the meeting and closes all media connections.
func (m *Meeting) close() {
	_ = m.change(func() error {
		m.ended = true
		for _, g := range m.guests {
			m.dropPeer(g)
		}
		return nil
	})
}

// addParticipant adds a participant with one of the sources. The caller holds the
// lock or has not published the meeting yet.
func (m *Meeting) addParticipant(settings Participant) {
	m.idCount++
	p := &participant{Participant: settings, publisher: &publisher{
		id: fmt.Sprintf("p%d", m.idCount), soundOn: !settings.Muted, pictureOn: !settings.CameraOff,
	}}
	switch {
	case settings.Film != "":
		p.publisher.source = m.films[settings.Film]
	case m.media != nil:
		p.publisher.source = m.media.sourceFor(settings.Beeps, m.idCount)
	}
	p.publisher.silent.Store(m.silent)
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
