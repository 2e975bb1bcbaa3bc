package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"standin/internal/httpapi"
	"standin/internal/ingest"
)

// silently keeps no log: fuzzing would fill the memory with it.
func silently(settings *httpapi.Settings) { settings.Log = slog.New(slog.DiscardHandler) }

// fed is a request that fuzzing makes.
type fed struct {
	method, route string // the path's template
	path          string // the route when empty
	query         string
	bearer        string
	header        map[string]string
	body          string
}

// give sends a request past the network and checks that the answer is one the
// description knows and no internal error. Each comes from a client of its own.
func (s *surface) give(t *testing.T, f fed) int {
	t.Helper()
	if f.path == "" {
		f.path = f.route
	}
	sent := httptest.NewRequest(f.method, "/", strings.NewReader(f.body))
	sent.URL.Path, sent.URL.RawQuery = f.path, f.query
	n := s.clients.Add(1)
	sent.RemoteAddr = fmt.Sprintf("[2001:db8:%x:%x::1]:4242", n>>16&0xffff, n&0xffff)
	if f.bearer != "" {
		sent.Header.Set("Authorization", "Bearer "+f.bearer)
	}
	for name, value := range f.header {
		sent.Header.Set(name, value)
	}
	got := httptest.NewRecorder()
	s.api.ServeHTTP(got, sent)
	if got.Code >= 500 {
		t.Errorf("%+v: %d %s", f, got.Code, got.Body)
	}
	if err := s.description.CheckResponse(f.method, f.route, got.Code, got.Body.Bytes()); err != nil {
		t.Errorf("%+v: %v\n%s", f, err, got.Body)
	}
	return got.Code
}

// feed gives a body to an operation with no parameters in its path.
func (s *surface) feed(t *testing.T, path, query, bearer, body string) int {
	t.Helper()
	return s.give(t, fed{method: http.MethodPost, route: path, query: strings.TrimPrefix(query, "?"), bearer: bearer, body: body})
}

func FuzzCreateJob(f *testing.F) {
	for _, seed := range []string{
		leastJob,
		padded(200),
		`{"externalId":"é\u0000\ud800","meetingUrl":"HTTP://[::1]:65535/%20?x#y","joinAt":"1998-12-31T23:59:60.999999999999Z"}`,
		`{"externalId":"x","meetingUrl":"https://a.example","joinAt":"9999-12-31T23:59:59-23:59"}`,
		`{"externalId":"x","meetingUrl":"https://us02web.zoom.us./j/1","platform":"zoom-sdk","displayName":"\u202e","webhooks":{"onStatusChange":"https://a.example","onFinalize":"https://b.example"},"metadata":{"a":[1e300,-0.0,{"b":null}]},"autoLeave":{"afterEntryDelaySeconds":1e0,"afterSilenceSeconds":60.0,"afterSoloSeconds":86400,"afterMaxSeconds":864e2,"onBotDetected":true}}`,
		`{"externalId":null,"meetingUrl":[],"autoLeave":{"afterSoloSeconds":1e-300}}`,
		`{"externalId":"x","externalId":"y","meetingUrl":"https://a.example/\\"}`,
		`[[[[[[[[`, `null`, `0`, `"`, "\xff", "\x00", "",
	} {
		f.Add(seed)
	}
	s := newSurface(f, silently)
	f.Fuzz(func(t *testing.T, body string) {
		s.feed(t, jobsPath, "", adasKey, body)
		s.shelf.mu.Lock()
		defer s.shelf.mu.Unlock()
		for id, j := range s.shelf.jobs {
			if j.ExternalID == s.shelf.last.ExternalID && id != adasJob {
				delete(s.shelf.jobs, id)
			}
		}
	})
}

func FuzzIngestEvent(f *testing.F) {
	identity := `{"jobId":"` + adasJob.String() + `","attempt":0`
	for _, seed := range []string{
		identity + `,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`,
		identity + `,"kind":"lifecycle.exited","emittedAt":"2026-11-20T14:00:00.5+01:00","data":{"failureCode":7,"failureDetail":"\u0000","granted":"yes"}}`,
		identity + `.0,"kind":"manifest.finalized","emittedAt":"0000-01-01T00:00:00Z","data":{}}`,
		identity + `,"kind":"x","emittedAt":7,"data":[]}`,
		identity + `}`,
		`{"jobId":"` + strings.ToUpper(adasJob.String()) + `","attempt":2147483647,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`,
		`{"jobId":"urn:uuid:x","attempt":-1}`, `{"attempt":1e400}`, `[]`, ``,
	} {
		f.Add(seed)
	}
	s := newSurface(f, silently)
	f.Fuzz(func(t *testing.T, body string) {
		s.feed(t, ingest.EventPath, "", token(adasJob, 0), body)
		if status := s.feed(t, ingest.EventPath, "", "no token", body); status != 400 && status != 401 && status != 413 {
			t.Errorf("%q: %d without a token", body, status)
		}
		s.shelf.events = nil
	})
}

func FuzzHeartbeat(f *testing.F) {
	identity := `{"jobId":"` + adasJob.String() + `","attempt":0`
	for _, seed := range [][2]string{
		{identity + `}`, "0"},
		{identity + `,"acked":["` + bobsJob.String() + `"],"stats":{"bytesRecorded":9007199254740991,"eventsWaiting":1e3}}`, ""},
		{identity + `,"acked":[null,1,"x",[]],"stats":{"recordedMillis":-1,"coresUsed":1e-400}}`, "-1"},
		{identity + `}`, "NaN"},
		{identity + `}`, "-Inf"},
		{identity + `}`, "soon"},
		{`{`, "0"},
	} {
		f.Add(seed[0], seed[1])
	}
	s := newSurface(f, silently)
	close(s.shelf.command) // nothing is held
	f.Fuzz(func(t *testing.T, body, wait string) {
		s.feed(t, ingest.HeartbeatPath, "?wait="+url.QueryEscape(wait), token(adasJob, 0), body)
		s.shelf.beats = nil
	})
}
