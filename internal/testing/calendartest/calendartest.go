// Package calendartest has doubles of the calendar APIs of Google and of Microsoft Graph,
// and of their OAuth 2.0 servers, for tests. They behave as the public documentation of
// the providers says, and as users of the APIs have reported where it is silent: they
// have never been compared with the live services.
package calendartest

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/calendar/calendarapi"
)

// The OAuth clients of the operator.
const (
	ClientID     = "operators-client"
	ClientSecret = "operators-secret"
)

// Owner is the mail address of the owner of all calendars.
const Owner = "ann@example.test"

// Main is the ID of the main calendar.
const Main = ""

// Event is an event of a calendar, or an occurrence of a series.
type Event struct {
	ID          string // replaces the event that has it
	UID         string // the ID if empty
	Sequence    int
	Title       string
	Description string
	Location    string
	Conference  string // link of the meeting
	Organizer   string
	Attendees   map[string]string // response by mail address: accepted, declined, tentative or needsAction
	Start       time.Time
	End         time.Time // an hour later if zero
	AllDay      bool
	Zone        string    // IANA name; Europe/Berlin if empty
	Series      string    // ID of the series, of an occurrence
	Original    time.Time // of an occurrence
	Cancelled   bool
	Private     bool
	Alias       string // the attendee or organizer who is the owner, at Google; Owner if empty
}

// stored is an event with the version of the calendar that has changed it.
type stored struct {
	Event
	version int
	deleted bool
}

// Server is a double of both providers. Its methods may be called from any goroutine.
type Server struct {
	URL string

	mu        sync.Mutex
	calendars map[string]map[string]stored // by the ID of the calendar and of the event
	version   int
	oldest    int // version that changes are known since
	changed   time.Time
	pageSize  int
	rotates   bool
	readOnly  bool
	tokens    map[string]bool   // valid refresh tokens
	access    map[string]bool   // valid access tokens
	codes     map[string]string // code challenges by authorization code
	faults    []fault
	requests  []string // method and path
	watches   map[string]string
	issued    int
}

// fault is a response to one request of the API.
type fault struct {
	status     int
	body       string
	retryAfter string
}

// New returns a server that runs until the test ends.
func New(t testing.TB) *Server {
	s := &Server{
		calendars: map[string]map[string]stored{Main: {}}, pageSize: 250, tokens: make(map[string]bool), access: make(map[string]bool),
		codes: make(map[string]string), watches: make(map[string]string), changed: time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC),
	}
	server := httptest.NewServer(s.handler())
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/o/oauth2/v2/auth", "/common/oauth2/v2.0/authorize"} {
		mux.HandleFunc("GET "+path, s.authorizePage)
		mux.HandleFunc("POST "+path, s.authorize)
	}
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /{tenant}/oauth2/v2.0/token", s.token)
	s.routeGoogle(mux)
	s.routeMicrosoft(mux)
	return mux
}

// Settings returns those of a service that uses the doubles.
func (s *Server) Settings() calendarapi.Settings {
	return calendarapi.Settings{
		GoogleClientID: ClientID, GoogleClientSecret: ClientSecret, MicrosoftClientID: ClientID, MicrosoftClientSecret: ClientSecret,
		MicrosoftURLs: calendarapi.MicrosoftURLs{Login: s.URL, Graph: s.URL + "/graph"},
		GoogleURL:     s.URL + "/",
	}
}

// RefreshToken returns a new refresh token.
func (s *Server) RefreshToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newRefreshToken()
}

func (s *Server) newRefreshToken() string {
	s.issued++
	token := fmt.Sprintf("refresh-%d-%s", s.issued, rand.Text())
	s.tokens[token] = true
	return token
}

// Set adds or replaces events of a calendar.
func (s *Server) Set(calendar string, events ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calendars[calendar] == nil {
		s.calendars[calendar] = make(map[string]stored)
	}
	s.version++
	s.changed = s.changed.Add(time.Second)
	for _, e := range events {
		if e.UID == "" {
			e.UID = e.ID
		}
		if e.End.IsZero() {
			e.End = e.Start.Add(time.Hour)
		}
		if e.Zone == "" {
			e.Zone = "Europe/Berlin"
		}
		s.calendars[calendar][e.ID] = stored{Event: e, version: s.version}
	}
}

// Delete deletes events of a calendar.
func (s *Server) Delete(calendar string, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	for _, id := range ids {
		e := s.calendars[calendar][id]
		e.version, e.deleted = s.version, true
		s.calendars[calendar][id] = e
	}
}

// patch changes an event of the main calendar: the guests are replaced. Rooms are kept.
func (s *Server) patch(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Attendees []struct {
			Email          string
			ResponseStatus string
			Resource       bool
			Type           string
			EmailAddress   struct{ Address string }
		}
	}
	if s.readOnly {
		respond(w, http.StatusForbidden, map[string]any{"error": map[string]any{"code": http.StatusForbidden, "message": "insufficientPermissions"}})
		return
	}
	e, ok := s.calendars[Main][r.PathValue("event")]
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !ok {
		respond(w, http.StatusNotFound, map[string]any{"error": map[string]any{"code": "ErrorItemNotFound"}})
		return
	}
	known := e.Attendees
	e.Attendees = make(map[string]string)
	for _, a := range body.Attendees {
		if address := cmp.Or(a.Email, a.EmailAddress.Address); !a.Resource && a.Type != "resource" {
			e.Attendees[address] = cmp.Or(known[address], "needsAction")
		}
	}
	s.version++
	e.version = s.version
	s.calendars[Main][e.ID] = e
	respond(w, http.StatusOK, map[string]any{})
}

// FailPatch takes away the permission to change events.
func (s *Server) FailPatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readOnly = true
}

// Guests returns the addresses of the guests of an event of the main calendar, sorted.
func (s *Server) Guests(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.calendars[Main][id].Attendees))
}

// Vanish deletes events of a calendar without reporting it, as users of Microsoft Graph have seen
// (https://github.com/microsoftgraph/microsoft-graph-docs/issues/4501).
func (s *Server) Vanish(calendar string, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.calendars[calendar], id)
	}
}

// Forget makes the service lose all positions: it responds with 410 to them.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.oldest = s.version
}

// SetPageSize sets the number of events of a page.
func (s *Server) SetPageSize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize = n
}

// Rotate has each use of a refresh token replace it.
func (s *Server) Rotate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rotates = true
}

// ExpireAccess ends all access tokens.
func (s *Server) ExpireAccess() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// Revoke ends all tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
	clear(s.tokens)
}

// Fail makes the next n requests of the API fail.
func (s *Server) Fail(n, status int, body, retryAfter string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.faults = append(s.faults, fault{status, body, retryAfter})
	}
}

// Requests returns and forgets the requests so far: method and path.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.requests = nil }()
	return s.requests
}

// Watches returns the addresses of subscriptions to changes by their IDs.
func (s *Server) Watches() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.watches)
}

// api guards the handler of an API request.
func (s *Server) api(handle func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		if len(s.faults) > 0 {
			f := s.faults[0]
			s.faults = s.faults[1:]
			if f.retryAfter != "" {
				w.Header().Set("Retry-After", f.retryAfter)
			}
			w.WriteHeader(f.status)
			fmt.Fprint(w, f.body)
			return
		}
		if token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !s.access[token] {
			respond(w, http.StatusUnauthorized, map[string]any{"error": map[string]any{"code": 401, "message": "Invalid Credentials"}})
			return
		}
		handle(w, r)
	}
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// page cuts a list of events, by their start, and returns where the next page begins; 0
// if there is none.
func (s *Server) page(events []stored, offset int) (page []stored, next int) {
	slices.SortFunc(events, func(a, b stored) int {
		if order := a.Start.Compare(b.Start); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	end := min(offset+s.pageSize, len(events))
	if end < len(events) {
		next = end
	}
	return events[min(offset, end):end], next
}

// within returns the events of a calendar between two times.
func (s *Server) within(calendar string, from, to time.Time) (found []stored) {
	for _, e := range s.calendars[calendar] {
		if !e.deleted && e.End.After(from) && e.Start.Before(to) {
			found = append(found, e)
		}
	}
	return found
}

// since returns the events of a calendar that have changed since a version.
func (s *Server) since(calendar string, version int) (found []stored) {
	for _, e := range s.calendars[calendar] {
		if e.version > version {
			found = append(found, e)
		}
	}
	return found
}

var consentPage = template.Must(template.New("").Parse(`<!doctype html><title>Sign in (double)</title>
<h1>A double of the provider</h1><p>{{.client_id}} wants to read the calendars of ` + Owner + `: {{.scope}}</p>
<form method="post">{{range $name, $value := .}}<input type="hidden" name="{{$name}}" value="{{$value}}">{{end}}
<button name="answer" value="allow">Allow</button> <button name="answer" value="deny">Deny</button></form>`))

// authorizePage is the consent page.
func (s *Server) authorizePage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	lasting := query.Get("access_type") == "offline" && query.Get("prompt") == "consent" ||
		strings.Contains(query.Get("scope"), "offline_access")
	if query.Get("response_type") != "code" || query.Get("client_id") != ClientID || query.Get("state") == "" ||
		query.Get("code_challenge_method") != "S256" || !lasting {
		http.Error(w, "invalid_request", http.StatusBadRequest)
		return
	}
	parameters := make(map[string]string)
	for name := range query {
		parameters[name] = query.Get(name)
	}
	_ = consentPage.Execute(w, parameters)
}

// authorize redirects with a code.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	answer := url.Values{"state": {r.FormValue("state")}}
	if r.FormValue("answer") == "allow" {
		code := rand.Text()
		s.mu.Lock()
		s.codes[code] = r.FormValue("code_challenge")
		s.mu.Unlock()
		answer.Set("code", code)
	} else {
		answer.Set("error", "access_denied")
	}
	http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+answer.Encode(), http.StatusFound)
}

// token exchanges a code or a refresh token.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	refuse := func(code string) {
		respond(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": "refused by the double"})
	}
	if r.FormValue("client_id") != ClientID || r.FormValue("client_secret") != ClientSecret {
		refuse("invalid_client")
		return
	}
	refreshed := r.FormValue("refresh_token")
	if r.FormValue("grant_type") == "authorization_code" {
		challenge, known := s.codes[r.FormValue("code")]
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if delete(s.codes, r.FormValue("code")); !known || base64.RawURLEncoding.EncodeToString(sum[:]) != challenge {
			refuse("invalid_grant")
			return
		}
		refreshed = s.newRefreshToken()
	} else if !s.tokens[refreshed] {
		refuse("invalid_grant")
		return
	}
	body := map[string]any{"access_token": "access-" + rand.Text(), "token_type": "Bearer", "expires_in": 3600}
	s.access[body["access_token"].(string)] = true
	if r.FormValue("grant_type") == "authorization_code" {
		body["refresh_token"] = refreshed
	} else if s.rotates {
		delete(s.tokens, refreshed)
		body["refresh_token"] = s.newRefreshToken()
	}
	respond(w, http.StatusOK, body)
}
