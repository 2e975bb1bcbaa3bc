package replica

import (
	"net/http"
	"strconv"
	"time"
)

// The control API offers the methods of Meeting over HTTP, for people and for tests
// in other processes.
//
//	POST /control/meetings                 open a meeting: 201 and its Report
//	GET  /control/meetings                 Reports of all meetings
//	GET  /control/meetings/{code}          Report of a meeting
//	GET  /control/meetings/{code}/events   events; ?after=N only later ones,
//	                                       ?wait=S waits for one up to S seconds
//	                                       (at most 60)
//	POST /control/meetings/{code}/{verb}   200 and {"moved": number of guests}
func (s *Server) routeControl(mux *http.ServeMux) {
	mux.HandleFunc("POST /control/meetings", s.controlOpen)
	mux.HandleFunc("GET /control/meetings", s.controlList)
	mux.HandleFunc("GET /control/meetings/{code}", s.meeting(s.controlReport))
	mux.HandleFunc("GET /control/meetings/{code}/events", s.meeting(s.controlEvents))
	mux.HandleFunc("POST /control/meetings/{code}/{verb}", s.meeting(s.controlVerb))
}

// openRequest is the JSON form of Settings, with durations in seconds.
type openRequest struct {
	Settings
	AdmitAfterSeconds float64 `json:"admitAfterSeconds"`
	LobbyLimitSeconds float64 `json:"lobbyLimitSeconds"`
	PageDelaySeconds  float64 `json:"pageDelaySeconds"`
}

func (r openRequest) settings() Settings {
	r.AdmitAfter, r.LobbyLimit, r.PageDelay = seconds(r.AdmitAfterSeconds), seconds(r.LobbyLimitSeconds), seconds(r.PageDelaySeconds)
	return r.Settings
}

func (s *Server) controlOpen(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
	var request openRequest
	if !readJSON(w, r, &request) {
		return
	}
	m, err := s.Open(request.settings())
	if err != nil {
		writeMeetingError(w, err)
		return
	}
	writeJSON(w, http.StatusCreated, m.Report())
}

func (s *Server) controlList(w http.ResponseWriter, _ *http.Request) {
	reports := []Report{}
	for _, m := range s.Meetings() {
		reports = append(reports, m.Report())
	}
	writeJSON(w, http.StatusOK, map[string]any{"meetings": reports})
}

func (s *Server) controlReport(w http.ResponseWriter, _ *http.Request, m *Meeting) {
	writeJSON(w, http.StatusOK, m.Report())
}

func (s *Server) controlEvents(w http.ResponseWriter, r *http.Request, m *Meeting) {
	const maxWait = 60
	after, err := queryNumber(r, "after")
	if err != nil {
		writeError(w, http.StatusBadRequest, "after is not a number")
		return
	}
	wait, err := queryNumber(r, "wait")
	if err != nil {
		writeError(w, http.StatusBadRequest, "wait is not a number")
		return
	}
	deadline := time.NewTimer(time.Duration(min(max(wait, 0), maxWait)) * time.Second)
	defer deadline.Stop()
	for {
		events, changed := m.eventsAfter(after)
		if len(events) > 0 || wait <= 0 {
			writeJSON(w, http.StatusOK, map[string]any{"events": append([]Event{}, events...)})
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			wait = 0
		case <-r.Context().Done():
			return
		}
	}
}

func queryNumber(r *http.Request, name string) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	return strconv.Atoi(text)
}

// verbRequest is the body of a verb. Verbs ignore fields that they do not use. Guests
// are IDs; an empty list means all guests.
type verbRequest struct {
	Guests      []string    `json:"guests"`
	Participant Participant `json:"participant"` // join
	Name        string      `json:"name"`        // leave, mute, unmute, camera-off, camera-on, present, stop-present, say
	Text        string      `json:"text"`        // say
	Notice      Notice      `json:"notice"`      // notify
	URL         string      `json:"url"`         // wander
	Granted     bool        `json:"granted"`     // answer-permission
}

func (s *Server) controlVerb(w http.ResponseWriter, r *http.Request, m *Meeting) {
	var body verbRequest
	if !readJSON(w, r, &body) {
		return
	}
	verb, known := verbs()[r.PathValue("verb")]
	if !known {
		writeError(w, http.StatusNotFound, "unknown verb")
		return
	}
	moved, err := verb(m, body)
	if err != nil {
		writeMeetingError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"moved": moved})
}

// verbs returns the control verbs by name.
func verbs() map[string]func(*Meeting, verbRequest) (int, error) {
	moves := func(verb func(*Meeting, ...string) int) func(*Meeting, verbRequest) (int, error) {
		return func(m *Meeting, body verbRequest) (int, error) { return verb(m, body.Guests...), nil }
	}
	return map[string]func(*Meeting, verbRequest) (int, error){
		"admit":         moves((*Meeting).Admit),
		"deny":          moves((*Meeting).Deny),
		"lobby-timeout": moves((*Meeting).LobbyTimeout),
		"remove":        moves((*Meeting).Remove),
		"block":         moves((*Meeting).Block),
		"drop-media":    moves((*Meeting).DropMedia),
		"disconnect":    moves((*Meeting).Disconnect),
		"reconnect":     moves((*Meeting).Reconnect),
		"reload":        moves((*Meeting).Reload),
		"freeze":        moves((*Meeting).Freeze),
		"wander":        func(m *Meeting, body verbRequest) (int, error) { return m.NavigateAway(body.URL, body.Guests...) },
		"mute-all":      func(m *Meeting, _ verbRequest) (int, error) { return m.MuteAll(), nil },
		"silence":       func(m *Meeting, _ verbRequest) (int, error) { m.SetSilent(true); return 0, nil },
		"sound":         func(m *Meeting, _ verbRequest) (int, error) { m.SetSilent(false); return 0, nil },
		"answer-permission": func(m *Meeting, body verbRequest) (int, error) {
			return m.AnswerPermission(body.Granted), nil
		},
		"end":          func(m *Meeting, _ verbRequest) (int, error) { return m.End(), nil },
		"host-arrives": func(m *Meeting, _ verbRequest) (int, error) { return m.HostArrives(), nil },
		"join":         func(m *Meeting, body verbRequest) (int, error) { return 0, m.Join(body.Participant) },
		"leave":        func(m *Meeting, body verbRequest) (int, error) { return 0, m.Leave(body.Name) },
		"mute":         func(m *Meeting, body verbRequest) (int, error) { return 0, m.SetMuted(body.Name, true) },
		"unmute":       func(m *Meeting, body verbRequest) (int, error) { return 0, m.SetMuted(body.Name, false) },
		"camera-off":   func(m *Meeting, body verbRequest) (int, error) { return 0, m.SetCameraOff(body.Name, true) },
		"camera-on":    func(m *Meeting, body verbRequest) (int, error) { return 0, m.SetCameraOff(body.Name, false) },
		"present":      func(m *Meeting, body verbRequest) (int, error) { return 0, m.SetPresenting(body.Name, true) },
		"stop-present": func(m *Meeting, body verbRequest) (int, error) { return 0, m.SetPresenting(body.Name, false) },
		"say":          func(m *Meeting, body verbRequest) (int, error) { return 0, m.Say(body.Name, body.Text) },
		"notify":       func(m *Meeting, body verbRequest) (int, error) { return 0, m.Notify(body.Notice) },
	}
}
