package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/server/httpapi"
)

// withoutLog discards the log, which would fill the memory during fuzzing.
func withoutLog(settings *httpapi.Settings) { settings.Log = slog.New(slog.DiscardHandler) }

// fuzzRequest is a request of a fuzz test.
type fuzzRequest struct {
	method, route string // path template
	path          string // default is the route
	query         string
	bearer        string
	header        map[string]string
	body          string
}

// serve serves a request without the network. It checks that the response matches
// the description and is not an internal error. Each request has another client
// address.
func (s *surface) serve(t *testing.T, f fuzzRequest) int {
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
	if err := s.checker.Response(f.method, f.route, got.Code, got.Body.Bytes()); err != nil {
		t.Errorf("%+v: %v\n%s", f, err, got.Body)
	}
	return got.Code
}

// post posts a body to an operation without path parameters.
func (s *surface) post(t *testing.T, path, query, bearer, body string) int {
	t.Helper()
	return s.serve(t, fuzzRequest{method: http.MethodPost, route: path, query: strings.TrimPrefix(query, "?"), bearer: bearer, body: body})
}

// fuzzBodies fuzzes what an operation makes of a body.
func fuzzBodies(f *testing.F, send func(s *surface, t *testing.T, body string), seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add(seed)
	}
	s := newSurface(f, withoutLog)
	f.Fuzz(func(t *testing.T, body string) { send(s, t, body) })
}

// fuzzIngest fuzzes bodies with a bot's token and with another.
func fuzzIngest(f *testing.F, path string, seeds ...string) {
	f.Helper()
	fuzzBodies(f, func(s *surface, t *testing.T, body string) {
		s.post(t, path, "", token(newAdaJob, 0), body)
		if status := s.post(t, path, "", "no token", body); status != 400 && status != 401 && status != 413 {
			t.Errorf("%q: %d without a token", body, status)
		}
	}, seeds...)
}

func FuzzCreateJob(f *testing.F) {
	fuzzBodies(f, func(s *surface, t *testing.T, body string) {
		s.post(t, jobsPath, "", adasKey, body)
	},
		minimalJob,
		padded(200),
		`{"externalId":"é\u0000\ud800","meetingUrl":"HTTP://[::1]:65535/%20?x#y","joinAt":"1998-12-31T23:59:60.999999999999Z"}`,
		`{"externalId":"x","meetingUrl":"https://a.example","joinAt":"9999-12-31T23:59:59-23:59"}`,
		`{"externalId":"x","meetingUrl":"https://us02web.zoom.us./j/1","platform":"zoom-sdk","displayName":"\u202e","webhooks":{"onStatusChange":"https://a.example","onFinalize":"https://b.example"},"metadata":{"a":[1e300,-0.0,{"b":null}]},"autoLeave":{"afterEntryDelaySeconds":1e0,"afterSilenceSeconds":60.0,"afterSoloSeconds":86400,"afterMaxSeconds":864e2,"onBotDetected":true}}`,
		`{"externalId":null,"meetingUrl":[],"autoLeave":{"afterSoloSeconds":1e-300}}`,
		`{"externalId":"x","externalId":"y","meetingUrl":"https://a.example/\\"}`,
		`[[[[[[[[`, `null`, `0`, `"`, "\xff", "\x00", "",
	)
}

func FuzzIngestEvent(f *testing.F) {
	identity := `{"jobId":"` + newAdaJob.String() + `","attempt":0`
	fuzzIngest(f, ingest.EventPath,
		identity+`,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`,
		identity+`,"kind":"lifecycle.exited","emittedAt":"2026-11-20T14:00:00.5+01:00","data":{"failureCode":7,"failureDetail":"\u0000","granted":"yes"}}`,
		identity+`.0,"kind":"manifest.finalized","emittedAt":"0000-01-01T00:00:00Z","data":{}}`,
		identity+`,"kind":"x","emittedAt":7,"data":[]}`,
		identity+`}`,
		`{"jobId":"`+strings.ToUpper(newAdaJob.String())+
			`","attempt":2147483647,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`,
		`{"jobId":"urn:uuid:x","attempt":-1}`, `{"attempt":1e400}`, `[]`, ``,
	)
}

func FuzzIngestTexts(f *testing.F) {
	identity := `{"jobId":"` + newAdaJob.String() + `","attempt":0`
	fuzzIngest(f, ingest.TextPath,
		identity+`,"texts":[{"id":"m-1","kind":"chat","text":"\u0000<b>","startedAt":"0000-01-01T00:00:00Z","endedAt":"9999-12-31T23:59:60Z"}]}`,
		identity+`,"texts":[{"id":"c:1","kind":"caption","author":null,"language":"en-US"}]}`,
		identity+`,"texts":[null,{},[]]}`, identity+`}`, `{`,
	)
}

func FuzzHeartbeat(f *testing.F) {
	identity := `{"jobId":"` + newAdaJob.String() + `","attempt":0`
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
	s := newSurface(f, withoutLog)
	s.api.Drain() // heartbeats do not wait
	f.Fuzz(func(t *testing.T, body, wait string) {
		s.post(t, ingest.HeartbeatPath, "?wait="+url.QueryEscape(wait), token(newAdaJob, 0), body)
	})
}
