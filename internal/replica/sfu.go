package replica

import (
	"errors"
	"net/http"
	"time"
)

// SFU is a LiveKit server that carries the media of a meeting instead of the replica (see internal/testing/sfu). Its room has the
// meeting's code, and the people in it the IDs of participants.
type SFU struct {
	URL    string // of its WebSocket
	Client string // file with livekit-client as a module
	// Token returns a token with which a guest joins a room.
	Token func(room, guest string) (string, error)
	// Slots is how many participants' video a page receives at a time: those who spoke last. The default is all.
	Slots int
}

// Publication is what a participant sends to an SFU: the ID, and packets of Opus, which repeat since a time.
type Publication struct {
	ID    string
	Sound [][]byte
	Since time.Time
}

// Publication returns what the participant with a name sends.
func (m *Meeting) Publication(name string) (Publication, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, err := m.participant(name)
	if err != nil {
		return Publication{}, err
	}
	return Publication{ID: p.publisher.id, Sound: p.publisher.source.audio.units, Since: m.clock.start}, nil
}

// handleSFU tells a page where the media are.
func (s *Server) handleSFU(w http.ResponseWriter, r *http.Request, m *Meeting) {
	sfu := m.settings.SFU
	if sfu == nil {
		writeMeetingError(w, ErrNotNow)
		return
	}
	token, err := sfu.Token(m.Code(), r.PathValue("guest"))
	if err != nil {
		writeMeetingError(w, errors.Join(ErrNotNow, err))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"url": sfu.URL, "token": token, "slots": sfu.Slots})
}

// serveSFUClient serves the client of the meeting with an SFU.
func (s *Server) serveSFUClient(w http.ResponseWriter, r *http.Request) {
	for _, m := range s.opened() {
		if m.settings.SFU != nil {
			w.Header().Set("Content-Type", "text/javascript")
			http.ServeFile(w, r, m.settings.SFU.Client)
			return
		}
	}
	http.NotFound(w, r)
}
