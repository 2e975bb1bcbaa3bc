package httpapi

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// Timeouts bound how long a client may take. A field that is 0 has its default.
type Timeouts struct {
	Header    time.Duration // to send the headers of a request; 10 s
	Idle      time.Duration // between two requests of a connection; 2 min
	ReadJSON  time.Duration // to send a JSON body; 30 s
	WriteJSON time.Duration // to read a JSON response; 30 s
	Stall     time.Duration // without a byte of media in either direction; 30 s
	Upload    time.Duration // to send a file; 10 min
}

func (t Timeouts) orDefaults() Timeouts {
	return Timeouts{
		Header:    cmp.Or(t.Header, 10*time.Second),
		Idle:      cmp.Or(t.Idle, 2*time.Minute),
		ReadJSON:  cmp.Or(t.ReadJSON, 30*time.Second),
		WriteJSON: cmp.Or(t.WriteJSON, 30*time.Second),
		Stall:     cmp.Or(t.Stall, 30*time.Second),
		Upload:    cmp.Or(t.Upload, 10*time.Minute),
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
		ReadHeaderTimeout: a.settings.Timeouts.Header,
		IdleTimeout:       a.settings.Timeouts.Idle,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.settings.Log.Handler(), slog.LevelWarn),

		DisableGeneralOptionsHandler: true, // so that "OPTIONS *" has a JSON response too
	}
	server.RegisterOnShutdown(a.Drain)
	return server
}
