package replica

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// This file is the HTTP surface that pages use, and what it shares with the
// control surface. It is the same for every platform.

const (
	// An offer has about 5 kB for each track, and a roster at most 32 tracks.
	largestBody   = 512 << 10
	streamComfort = 15 * time.Second // between the comments that keep a quiet stream alive
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stage/{code}", s.meeting(s.look))
	mux.HandleFunc("POST /stage/{code}/guests", s.meeting(s.visit))
	mux.HandleFunc("GET /stage/{code}/guests/{guest}/events", s.meeting(s.follow))
	mux.HandleFunc("POST /stage/{code}/guests/{guest}/media", s.meeting(s.negotiate))
	mux.HandleFunc("POST /stage/{code}/guests/{guest}/{action}", s.meeting(s.act))
	s.routeControl(mux)
	s.routePages(mux)
	// Only the replica's own pages, and programs that are no browser, may change
	// anything: a web page that happens to be open elsewhere may not.
	return http.NewCrossOriginProtection().Handler(mux)
}

// meeting finds the meeting that a request is about.
func (s *Server) meeting(next func(http.ResponseWriter, *http.Request, *Meeting)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, largestBody)
		m := s.Meeting(r.PathValue("code"))
		if m == nil {
			fail(w, http.StatusNotFound, "no such meeting")
			return
		}
		next(w, r, m)
	}
}

// look tells a page that comes before the meeting's own what the meeting is like.
func (s *Server) look(w http.ResponseWriter, r *http.Request, m *Meeting) {
	reply(w, http.StatusOK, m.pageSettings(m.languageFor(browsersLanguage(r))))
}

// visit registers a page that was just loaded.
func (s *Server) visit(w http.ResponseWriter, r *http.Request, m *Meeting) {
	var body struct {
		Passcode string `json:"passcode"`
	}
	if !read(w, r, &body) {
		return
	}
	session, err := r.Cookie("session")
	signedIn := err == nil && session.Value == "signed-in"
	id, err := m.open(arrival{passcode: body.Passcode, signedIn: signedIn, language: browsersLanguage(r)})
	if err != nil {
		refuse(w, err)
		return
	}
	reply(w, http.StatusCreated, map[string]string{"guest": id})
}

// browsersLanguage is the first language of the browser's wishes that pages
// speak, or empty.
func browsersLanguage(r *http.Request) string {
	for wish := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		for _, known := range []string{"en", "de"} {
			if strings.HasPrefix(strings.TrimSpace(wish), known) {
				return known
			}
		}
	}
	return ""
}

// follow sends the page a snapshot at every change, as server-sent events.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, m *Meeting) {
	id := r.PathValue("guest")
	if err := m.attach(id); err != nil {
		refuse(w, err)
		return
	}
	defer m.detach(id)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	comfort := time.NewTicker(streamComfort)
	defer comfort.Stop()
	for {
		state, changed, err := m.snapshotFor(id)
		if err != nil {
			return
		}
		if err := sendEvent(w, state); err != nil {
			return
		}
		if !s.stillFollowing(w, r, changed, comfort.C) {
			return
		}
	}
}

// stillFollowing waits for the next change; false when the page is gone.
func (s *Server) stillFollowing(w http.ResponseWriter, r *http.Request, changed <-chan struct{}, comfort <-chan time.Time) bool {
	for {
		select {
		case <-changed:
			return true
		case <-r.Context().Done():
			return false
		case <-comfort:
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
		return fmt.Errorf("encode the state of a page: %w", err)
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", encoded); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// negotiate answers a page's offer to receive media.
func (s *Server) negotiate(w http.ResponseWriter, r *http.Request, m *Meeting) {
	var from offer
	if !read(w, r, &from) {
		return
	}
	answer, connection, err := m.connect(r.Context(), r.PathValue("guest"), from)
	if err != nil {
		refuse(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]any{"description": answer, "connection": connection})
}

// act takes what a guest does with the page.
func (s *Server) act(w http.ResponseWriter, r *http.Request, m *Meeting) {
	var body struct {
		Name        string `json:"name"`
		Passcode    string `json:"passcode"`
		Text        string `json:"text"`
		Notice      Notice `json:"notice"`
		Participant string `json:"participant"`
		Microphone  bool   `json:"microphone"`
		Camera      bool   `json:"camera"`
	}
	if !read(w, r, &body) {
		return
	}
	var err error
	switch id := r.PathValue("guest"); r.PathValue("action") {
	case "ask":
		err = m.ask(id, body.Name, body.Passcode)
	case "passcode":
		err = m.givePasscode(id, body.Passcode)
	case "devices":
		err = m.setDevices(id, body.Microphone, body.Camera)
	case "leave":
		err = m.leave(id)
	case "chat":
		err = m.write(id, body.Text)
	case "accept":
		err = m.accept(id, body.Notice)
	case "pin":
		err = m.pin(id, body.Participant)
	case "permission":
		err = m.requestPermission(id)
	case "probed":
		err = m.probed(id, body.Text)
	default:
		fail(w, http.StatusNotFound, "no such action")
		return
	}
	if err != nil {
		refuse(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// read decodes a JSON body; an empty one leaves body as it is. It answers the
// request itself when it fails.
func read(w http.ResponseWriter, r *http.Request, body any) bool {
	err := json.NewDecoder(r.Body).Decode(body)
	if err == nil || errors.Is(err, io.EOF) {
		return true
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		fail(w, http.StatusRequestEntityTooLarge, "the body is too large")
	} else {
		fail(w, http.StatusBadRequest, "the body is not the JSON expected here: "+err.Error())
	}
	return false
}

// refuse answers with the status that an error of the meeting stands for.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, ErrNoSuchGuest), errors.Is(err, ErrNoSuchParticipant):
		status = http.StatusNotFound
	case errors.Is(err, ErrNotNow), errors.Is(err, ErrFull), errors.Is(err, errPeerClosed):
		status = http.StatusConflict
	}
	fail(w, status, err.Error())
}

func fail(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]string{"error": message})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The caller may be gone; there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(body)
}
