package replica

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// The page API is used by the pages of all platforms.

const (
	// An offer has about 5 kB per track, and a meeting at most 32 tracks.
	maxBodyBytes      = 512 << 10
	keepAliveInterval = 15 * time.Second // of comments in an idle event stream
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stage/{code}", s.meeting(s.handleSettings))
	mux.HandleFunc("POST /stage/{code}/guests", s.meeting(s.handleEnter))
	mux.HandleFunc("GET /stage/{code}/guests/{guest}/events", s.meeting(s.handleEvents))
	mux.HandleFunc("GET /stage/{code}/guests/{guest}/hang", hang)
	mux.HandleFunc("POST /stage/{code}/guests/{guest}/media", s.meeting(s.handleMedia))
	mux.HandleFunc("POST /stage/{code}/guests/{guest}/sfu", s.meeting(s.handleSFU))
	mux.HandleFunc("POST /stage/{code}/guests/{guest}/{action}", s.meeting(s.handleAction))
	s.routePages(mux)
	// Requests of other web pages are rejected.
	return http.NewCrossOriginProtection().Handler(mux)
}

// localNames refuses requests by other names than 127.0.0.1 and localhost.
func localNames(only bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _, err := net.SplitHostPort(r.Host); only && (err != nil || host != "127.0.0.1" && host != "localhost") {
			writeError(w, http.StatusMisdirectedRequest, "open the address that was printed")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// meeting calls next with the meeting of the request.
func (s *Server) meeting(next func(http.ResponseWriter, *http.Request, *Meeting)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
		m := s.Meeting(r.PathValue("code"))
		if m == nil {
			writeError(w, http.StatusNotFound, "unknown meeting")
			return
		}
		next(w, r, m)
	}
}

// handleSettings returns the settings for a launcher page.
func (s *Server) handleSettings(w http.ResponseWriter, r *http.Request, m *Meeting) {
	writeJSON(w, http.StatusOK, m.pageSettings(m.languageFor(browserLanguage(r))))
}

// handleEnter adds a guest for a page that was just loaded.
func (s *Server) handleEnter(w http.ResponseWriter, r *http.Request, m *Meeting) {
	var body struct {
		Passcode string `json:"passcode"`
		HostKey  string `json:"hostKey"`
	}
	if !readJSON(w, r, &body) {
		return
	}
	session, err := r.Cookie("session")
	signedIn := err == nil && session.Value == "signed-in"
	id, err := m.addGuest(arrivingPage{passcode: body.Passcode, signedIn: signedIn, language: browserLanguage(r), hostKey: body.HostKey})
	if err != nil {
		writeMeetingError(w, err)
		return
	}
	writeJSON(w, http.StatusCreated, map[string]string{"guest": id})
}

// browserLanguage returns the first supported language of Accept-Language, or "".
func browserLanguage(r *http.Request) string {
	for language := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		for _, supported := range []string{"en", "de"} {
			if strings.HasPrefix(strings.TrimSpace(language), supported) {
				return supported
			}
		}
	}
	return ""
}

// handleEvents sends a snapshot at every change, as server-sent events.
func (s *Server) handleEvents(w http.ResponseWriter, r *http.Request, m *Meeting) {
	id := r.PathValue("guest")
	if err := m.streamOpened(id); err != nil {
		writeMeetingError(w, err)
		return
	}
	defer m.streamClosed(id)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	keepAlive := time.NewTicker(keepAliveInterval)
	defer keepAlive.Stop()
	for {
		state, changed, err := m.snapshotFor(id)
		if err != nil {
			return
		}
		if err := sendEvent(w, state); err != nil {
			return
		}
		if !waitForChange(w, r, changed, keepAlive.C) {
			return
		}
	}
}

// waitForChange waits for the next change. It returns false if the page is gone.
func waitForChange(w http.ResponseWriter, r *http.Request, changed <-chan struct{}, keepAlive <-chan time.Time) bool {
	for {
		select {
		case <-changed:
			return true
		case <-r.Context().Done():
			return false
		case <-keepAlive:
			if _, err := io.WriteString(w, ":\n\n"); err != nil {
				return false
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return false
			}
		}
	}
}

func sendEvent(w http.ResponseWriter, state snapshot) error {
	encoded, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode the snapshot: %w", err)
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", encoded); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// hang sends no response. A page that waits for it is frozen.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// handleMedia answers an offer for media.
func (s *Server) handleMedia(w http.ResponseWriter, r *http.Request, m *Meeting) {
	var from offer
	if !readJSON(w, r, &from) {
		return
	}
	answer, connection, err := m.connect(r.Context(), r.PathValue("guest"), from)
	if err != nil {
		writeMeetingError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"description": answer, "connection": connection})
}

// handleAction handles an action of a guest.
func (s *Server) handleAction(w http.ResponseWriter, r *http.Request, m *Meeting) {
	var body struct {
		Name        string `json:"name"`
		Passcode    string `json:"passcode"`
		Text        string `json:"text"`
		Notice      Notice `json:"notice"`
		Participant string `json:"participant"`
		Microphone  bool   `json:"microphone"`
		Camera      bool   `json:"camera"`
		Screen      bool   `json:"screen"`
		Guest       string `json:"guest"`
	}
	if !readJSON(w, r, &body) {
		return
	}
	var err error
	switch id := r.PathValue("guest"); r.PathValue("action") {
	case "ask":
		err = m.requestJoin(id, body.Name, body.Passcode)
	case "passcode":
		err = m.givePasscode(id, body.Passcode)
	case "devices":
		err = m.setDevices(id, body.Microphone, body.Camera, body.Screen)
	case "leave":
		err = m.leave(id)
	case "chat":
		err = m.sendChat(id, body.Text)
	case "accept":
		err = m.acceptNotice(id, body.Notice)
	case "pin":
		err = m.pin(id, body.Participant)
	case "admit", "deny", "remove", "end":
		err = m.decide(id, r.PathValue("action"), body.Guest)
	case "permission":
		err = m.requestPermission(id)
	case "probed":
		err = m.probeFinished(id, body.Text)
	default:
		writeError(w, http.StatusNotFound, "unknown action")
		return
	}
	if err != nil {
		writeMeetingError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// readJSON decodes a JSON body; an empty one does not change body. If it fails, it
// writes the response and returns false.
func readJSON(w http.ResponseWriter, r *http.Request, body any) bool {
	err := json.NewDecoder(r.Body).Decode(body)
	if err == nil || errors.Is(err, io.EOF) {
		return true
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		writeError(w, http.StatusRequestEntityTooLarge, "the body is too large")
	} else {
		writeError(w, http.StatusBadRequest, "invalid JSON body: "+err.Error())
	}
	return false
}

// writeMeetingError writes an error of a meeting with its status.
func writeMeetingError(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, ErrNoSuchGuest), errors.Is(err, ErrNoSuchParticipant):
		status = http.StatusNotFound
	case errors.Is(err, ErrNotNow), errors.Is(err, ErrFull), errors.Is(err, errPeerClosed):
		status = http.StatusConflict
	}
	writeError(w, status, err.Error())
}

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]string{"error": message})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error means that the client is gone.
	_ = json.NewEncoder(w).Encode(body)
}
