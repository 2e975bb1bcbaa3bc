// Package egress is the only way out of the bot's browser: a small forward
// proxy on the loopback interface through which Chromium is made to send every
// TCP connection (package browser). It resolves names itself, refuses every
// address that is not on the public internet, connects to the very address
// that it judged, and so keeps a meeting page from this machine, its network
// and its cloud's metadata service, whatever the page names them. Exceptions
// are exact: one host and port, or one path under it.
//
// It must know nothing about meetings. Which public host a page may load from
// is not its business either: a meeting page's own needs decide that.
package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"
)

const (
	// mostConnections is how many connections the browser may hold at once.
	// Chromium itself opens at most 32 to a proxy, and 255 for WebSockets.
	mostConnections = 512

	// largestHeader bounds a request's header. Cookies of the platforms' own
	// domains reach some tens of kilobytes.
	largestHeader = 256 << 10

	headerTimeout = 30 * time.Second
	idleTimeout   = 2 * time.Minute

	// dialTimeout covers the resolution of a name and all its addresses.
	dialTimeout = 15 * time.Second

	// keptIdle is how many idle connections to one host are kept for plain
	// HTTP, which only local replicas and the recorder tab speak.
	keptIdle = 8
)

// Settings say what the proxy may reach beside the public internet.
type Settings struct {
	// Allowed lists exact hosts with ports, such as "127.0.0.1:41234", that may
	// be reached whatever they resolve to.
	Allowed []string
	// Resolver resolves names; the system's own when it is nil.
	Resolver *net.Resolver
	// Log is told once of each target that is refused; nothing is logged when
	// it is nil.
	Log *slog.Logger
}

// Proxy is a running proxy.
type Proxy struct {
	rules    *rules
	refusals *refusals
	dialer   dialer
	forward  *httputil.ReverseProxy
	idle     *http.Transport

	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
	stop     context.CancelFunc // ends name resolutions and dials

	mutex   sync.Mutex
	closed  bool
	tunnels map[io.Closer]struct{}
	busy    sync.WaitGroup // requests in progress, tunnels too
}

// Start opens the proxy on a free port of the loopback interface. ctx bounds
// the start only: the proxy runs until Close.
func Start(ctx context.Context, settings Settings) (*Proxy, error) {
	if settings.Log == nil {
		settings.Log = slog.New(slog.DiscardHandler)
	}
	rules := newRules()
	for _, allowed := range settings.Allowed {
		if _, err := rules.allow(allowed, ""); err != nil {
			return nil, err
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the browser's connections: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &Proxy{
		rules:    rules,
		refusals: newRefusals(settings.Log),
		dialer:   dialer{rules: rules, resolver: settings.Resolver},
		listener: listener,
		stop:     stop,
		tunnels:  make(map[io.Closer]struct{}),
	}
	p.idle = &http.Transport{
		DialContext:         p.dialer.dial,
		DisableCompression:  true, // the browser asks for what it can read
		MaxIdleConnsPerHost: keptIdle,
		IdleConnTimeout:     idleTimeout,
	}
	p.forward = p.forwarder()
	p.server = &http.Server{
		Handler:           p,
		BaseContext:       func(net.Listener) context.Context { return running },
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    largestHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // complaints about the browser's own connections
	}
	p.serving.Go(func() {
		// It ends with ErrServerClosed, by Close.
		_ = p.server.Serve(bounded(listener, mostConnections))
	})
	return p, nil
}

// Address is the proxy's own, as host and port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Allow lets the browser reach one host and port that it could not reach
// otherwise; with a path prefix, only by plain HTTP and only below it, so that
// the prefix can be a secret. The function it returns takes that back.
func (p *Proxy) Allow(hostPort, pathPrefix string) (withdraw func(), err error) {
	return p.rules.allow(hostPort, pathPrefix)
}

// Refused lists what the browser wanted to reach and was not let to, oldest
// first.
func (p *Proxy) Refused() []Refusal { return p.refusals.list() }

// ServeHTTP serves one request of the browser: a tunnel, which is all of TLS
// and every WebSocket, or a plain HTTP exchange.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.begin() {
		panic(http.ErrAbortHandler)
	}
	defer p.busy.Done()
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.exchange(w, r)
	default:
		http.Error(w, "this is a proxy", http.StatusBadRequest)
	}
}

// begin counts a request, unless the proxy is closed.
func (p *Proxy) begin() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return false
	}
	p.busy.Add(1)
	return true
}

// Close ends the proxy and every connection through it, and waits for their
// end. Calling it again does nothing.
func (p *Proxy) Close() error {
	p.mutex.Lock()
	closed := p.closed
	p.closed = true
	for end := range p.tunnels {
		_ = end.Close()
	}
	p.mutex.Unlock()
	if closed {
		return nil
	}
	p.stop()
	err := p.server.Close()
	p.serving.Wait()
	p.busy.Wait()
	p.idle.CloseIdleConnections()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("closing the browser's proxy: %w", err)
	}
	return nil
}
