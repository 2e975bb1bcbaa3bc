package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pion/webrtc/v4"
)

const (
	usualAddress = "127.0.0.1:0"
	mostMeetings = 256
)

// Options say how a replica is served.
type Options struct {
	// Address to listen on; empty: 127.0.0.1 and any free port. Media flow over
	// loopback whatever the address, so pages open on this machine only.
	Address string
	// Media of the participants, from PrepareMedia; nil: meetings without sound
	// and picture, for tests of pages alone.
	Media *Media
	// Log takes what happens, at level debug but for failures; nil: nowhere.
	Log *slog.Logger
}

// Server is a replica being served.
type Server struct {
	url   string
	media *Media
	api   *webrtc.API
	log   *slog.Logger
	http  *http.Server
	stop  context.CancelFunc
	tasks sync.WaitGroup
	// live is done when the server is being closed; meetings run until then.
	live <-chan struct{}

	mu       sync.Mutex
	meetings []*Meeting
	trap     *trap // nil until a meeting is hostile
	closed   bool
}

// ErrClosed is returned by Open on a server that was closed.
var ErrClosed = errors.New("the replica is closed")

// Start listens and serves until Close, or until ctx is done.
func Start(ctx context.Context, options Options) (*Server, error) {
	api, err := newMediaAPI()
	if err != nil {
		return nil, fmt.Errorf("set up media: %w", err)
	}
	address := options.Address
	if address == "" {
		address = usualAddress
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the replica: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Server{
		url:   "http://" + listener.Addr().String(),
		media: options.Media,
		api:   api,
		log:   options.Log,
		stop:  stop,
		live:  ctx.Done(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.http = &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.tasks.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("replica stopped serving", "error", err)
		}
	})
	s.tasks.Go(func() {
		<-ctx.Done()
		s.shutDown()
	})
	return s, nil
}

// URL is the replica's address, without a path.
func (s *Server) URL() string { return s.url }

// Open makes a meeting. Its code must be free.
func (s *Server) Open(settings Settings) (*Meeting, error) {
	settings, platform, err := settings.complete()
	if err != nil {
		return nil, fmt.Errorf("open a meeting: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case len(s.meetings) >= mostMeetings:
		return nil, fmt.Errorf("open a meeting: %w: %d meetings", ErrFull, len(s.meetings))
	case s.find(settings.Code) != nil:
		return nil, fmt.Errorf("open a meeting: %w: code %s is taken", ErrNotNow, settings.Code)
	}
	m := newMeeting(settings, platform, s.url, s.media, s.api, s.log)
	if settings.Hostile {
		if m.trap, err = s.setTrap(m); err != nil {
			return nil, fmt.Errorf("open a hostile meeting: %w", err)
		}
	}
	s.meetings = append(s.meetings, m)
	s.tasks.Go(func() { m.run(s.live) })
	return m, nil
}

// Meeting returns the open meeting of that code, or nil.
func (s *Server) Meeting(code string) *Meeting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(code)
}

// Meetings returns all meetings, in the order of their opening.
func (s *Server) Meetings() []*Meeting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.meetings)
}

func (s *Server) find(code string) *Meeting {
	for _, m := range s.meetings {
		if m.settings.Code == code {
			return m
		}
	}
	return nil
}

// Close ends every meeting, lets go of the address and waits for all that the
// server started.
func (s *Server) Close() error {
	s.stop()
	s.tasks.Wait()
	return nil
}

func (s *Server) shutDown() {
	s.mu.Lock()
	s.closed = true
	meetings := slices.Clone(s.meetings)
	set := s.trap
	s.mu.Unlock()
	for _, m := range meetings {
		m.close()
	}
	if set != nil {
		if err := set.http.Close(); err != nil {
			s.log.Warn("the trap did not close", "error", err)
		}
	}
	// Every request ends with the context it was given, so this is quick.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.log.Warn("replica cut requests off", "error", errors.Join(err, s.http.Close()))
	}
}
