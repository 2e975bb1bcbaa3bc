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
	defaultAddress = "127.0.0.1:0"
	maxMeetings    = 256
)

// Options configures a Server.
type Options struct {
	// Address is the listen address. The default is a free port of 127.0.0.1. Media
	// always uses loopback, so pages work only on this machine.
	Address string
	// Media is the result of PrepareMedia. Without it, meetings have no audio and
	// video.
	Media *Media
	// LocalNames refuses requests by other names than 127.0.0.1 and localhost, which pages of other
	// sites could make their own.
	LocalNames bool
	// Log receives events at level debug and errors. The default discards them.
	Log *slog.Logger
}

// Server is a running replica.
type Server struct {
	url   string
	media *Media
	api   *webrtc.API
	udp   *network
	log   *slog.Logger
	http  *http.Server
	stop  context.CancelFunc
	tasks sync.WaitGroup
	done  <-chan struct{} // closed when the server is being closed

	mu       sync.Mutex
	meetings []*Meeting
	trap     *trap // nil until there is a hostile meeting
	closed   bool
}

// ErrClosed is returned by Open on a server that was closed.
var ErrClosed = errors.New("the replica is closed")

// Start starts a server, which runs until Close or until ctx ends.
func Start(ctx context.Context, options Options) (*Server, error) {
	socket, err := new(net.ListenConfig).ListenPacket(ctx, "udp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for media: %w", err)
	}
	udp := &network{PacketConn: socket}
	api, err := newMediaAPI(udp)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up media: %w", err), socket.Close())
	}
	address := options.Address
	if address == "" {
		address = defaultAddress
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for the replica: %w", err), socket.Close())
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Server{
		url:   "http://" + listener.Addr().String(),
		media: options.Media,
		api:   api,
		udp:   udp,
		log:   options.Log,
		stop:  stop,
		done:  ctx.Done(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.http = &http.Server{
		Handler:           localNames(options.LocalNames, s.routes()),
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

// URL returns the address without a path.
func (s *Server) URL() string { return s.url }

// CutNetwork stops all media and checks of its connections, or lets them pass again.
func (s *Server) CutNetwork(cut bool) { s.udp.cut.Store(cut) }

// Open opens a meeting. Its code must not be in use.
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
	case len(s.meetings) >= maxMeetings:
		return nil, fmt.Errorf("open a meeting: %w: %d meetings", ErrFull, len(s.meetings))
	case s.find(settings.Code) != nil:
		return nil, fmt.Errorf("open a meeting: %w: code %s is in use", ErrNotNow, settings.Code)
	}
	films, err := loadFilms(settings.Participants)
	if err != nil {
		return nil, fmt.Errorf("open a meeting: %w", err)
	}
	m := newMeeting(settings, platform, s.url, s.media, films, s.api, s.log)
	if settings.Hostile {
		if m.trap, err = s.trapURLs(m); err != nil {
			return nil, fmt.Errorf("open a hostile meeting: %w", err)
		}
	}
	s.meetings = append(s.meetings, m)
	if settings.Recognize != nil {
		s.tasks.Go(func() { m.recognizeAll(s.done) })
	}
	if settings.AdmitAfter > 0 {
		s.tasks.Go(func() { m.run(s.done) })
	}
	return m, nil
}

// Meeting returns the meeting with the code, or nil.
func (s *Server) Meeting(code string) *Meeting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(code)
}

// opened returns all meetings in order.
func (s *Server) opened() []*Meeting {
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

// Close ends all meetings, stops the server and waits for its goroutines.
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
			s.log.Warn("cannot close the trap server", "error", err)
		}
	}
	// Requests end with their context, so this is fast.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.log.Warn("replica cut requests off", "error", errors.Join(err, s.http.Close()))
	}
	_ = s.udp.Close()
}
