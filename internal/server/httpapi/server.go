package httpapi

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/cors"
)

// Timeouts bound how long a client may take, and its batches. A field that is 0 has its default.
type Timeouts struct {
	Header    time.Duration // to send the headers of a request; 10 s
	Idle      time.Duration // between two requests of a connection; 2 min
	ReadJSON  time.Duration // to send a JSON body; 30 s
	WriteJSON time.Duration // to read a JSON response; 30 s
	Batch     time.Duration // for the jobs of a batch; 20 s
	Stall     time.Duration // without a byte of media in either direction; 30 s
	Upload    time.Duration // to send a file; 6 h, because a stalled upload ends earlier
}

func (t Timeouts) orDefaults() Timeouts {
	return Timeouts{
		Header:    cmp.Or(t.Header, 10*time.Second),
		Idle:      cmp.Or(t.Idle, 2*time.Minute),
		ReadJSON:  cmp.Or(t.ReadJSON, 30*time.Second),
		WriteJSON: cmp.Or(t.WriteJSON, 30*time.Second),
		Batch:     cmp.Or(t.Batch, 20*time.Second),
		Stall:     cmp.Or(t.Stall, 30*time.Second),
		Upload:    cmp.Or(t.Upload, 6*time.Hour),
	}
}

// maxHeaderBytes is far more than any operation needs.
const maxHeaderBytes = 32 << 10

// NewServer returns a server for an API. It sets no deadlines for bodies and
// responses: the API sets them per request, because held heartbeats and media
// take longer than other requests. Requests that are not valid HTTP get the plain
// text responses of net/http.
func NewServer(a *API) *http.Server {
	server := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: a.Timeouts.Header,
		IdleTimeout:       a.Timeouts.Idle,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.Log.Handler(), slog.LevelWarn),

		DisableGeneralOptionsHandler: true, // so that "OPTIONS *" has a JSON response too
	}
	server.RegisterOnShutdown(a.Drain)
	return server
}

// newCORS returns middleware that lets pages of some origins call an operation from a
// browser, with an API key but without cookies. Without origins it is nil.
func newCORS(origins []string) (func(http.Handler) http.Handler, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	for _, origin := range origins {
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Host == "" || parsed.Scheme+"://"+parsed.Host != origin || parsed.Scheme != "https" && parsed.Scheme != "http" {
			return nil, fmt.Errorf("the CORS origin %q is not a scheme and a host such as https://app.example.com", origin)
		}
		if strings.Contains(origin, "*") {
			return nil, fmt.Errorf("the CORS origin %q has a wildcard; list each origin", origin)
		}
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{
			"Authorization", "Content-Type", idempotencyHeader, "Last-Event-ID", "Range", "If-Range", "If-Match", "If-None-Match",
			"If-Modified-Since", "If-Unmodified-Since",
		},
		ExposedHeaders: []string{
			"X-Request-Id", warningHeader, ignoredFieldsHeader, replayedHeader, "Location", "Retry-After",
			"ETag", "Accept-Ranges", "Content-Range", "Content-Length",
		},
		MaxAge: int((2 * time.Hour).Seconds()),
	}).Handler, nil
}

// forPages adds CORS to the operations that pages of other origins may call: those with
// an API key, and the description.
func forPages(shared func(http.Handler) http.Handler, path, security string, handle http.Handler) http.Handler {
	if shared != nil && (security == "apiKey" || strings.HasPrefix(path, "/openapi.")) {
		return shared(handle)
	}
	return handle
}
