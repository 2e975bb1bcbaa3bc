package httpapi

import (
	"log/slog"
	"net/http"
	"time"
)

// Timeouts bound how long a client may keep the service waiting. A field that
// is 0 has its default.
type Timeouts struct {
	Header time.Duration // for all headers of a request; 10 s
	Idle   time.Duration // between two requests of one connection; 2 min
	Body   time.Duration // for all of a JSON body; 30 s
	Answer time.Duration // to take a JSON answer; 30 s
	Stall  time.Duration // without a byte of media in either direction; 30 s
	Upload time.Duration // for all of an uploaded piece of media; 10 min
}

func (t Timeouts) orDefaults() Timeouts {
	for _, one := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Header, 10 * time.Second},
		{&t.Idle, 2 * time.Minute},
		{&t.Body, 30 * time.Second},
		{&t.Answer, 30 * time.Second},
		{&t.Stall, 30 * time.Second},
		{&t.Upload, 10 * time.Minute},
	} {
		if *one.field == 0 {
			*one.field = one.value
		}
	}
	return t
}

// maxHeaderBytes is far more than any request of the description needs.
const maxHeaderBytes = 32 << 10

// NewServer returns a server for the surface. Bodies and answers have
// deadlines of their own, set for each request, because held answers and media
// take longer than others.
func NewServer(a *API) *http.Server {
	server := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: a.settings.Timeouts.Header,
		IdleTimeout:       a.settings.Timeouts.Idle,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(a.settings.Log.Handler(), slog.LevelWarn),

		DisableGeneralOptionsHandler: true, // "OPTIONS *" is answered like any other
	}
	server.RegisterOnShutdown(a.Drain)
	return server
}
