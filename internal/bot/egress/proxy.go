// Package egress is the forward proxy of the bot's browser. It listens on the
// loopback interface, and Chromium sends every TCP connection through it
// (package browser). It resolves names itself, refuses every address that is
// not public, and connects to the address that it checked. So a meeting page
// cannot reach this machine, its network or its cloud's metadata service.
// Exceptions are exact: one host and port, or one path prefix.
//
// It does not decide which public hosts a page may load.
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
	// maxConnections limits the connections of the browser. Chromium opens at
	// most 32 to a proxy, and 255 for WebSockets.
	maxConnections = 512

	// maxHeaderBytes limits a request header. Cookies of the platforms reach
	// some tens of kilobytes.
	maxHeaderBytes = 256 << 10

	headerTimeout = 30 * time.Second
	idleTimeout   = 2 * time.Minute

	// dialTimeout includes name resolution and all addresses of a host.
	dialTimeout = 15 * time.Second

	// maxIdlePerHost limits idle connections for plain HTTP, which only local
	// replicas and the recorder tab use.
	maxIdlePerHost = 8
)

// Settings configure a Proxy.
type Settings struct {
	// Allowed lists hosts with ports, such as "127.0.0.1:41234", that may be
	// reached whatever they resolve to.
	Allowed []string
	// Resolver resolves names; default: the system's.
	Resolver *net.Resolver
	// Log receives one line for each refused target; nil disables it.
	Log *slog.Logger
}

// Proxy is a running proxy.
type Proxy struct {
	rules     *rules
	refusals  *refusals
	dialer    dialer
	forward   *httputil.ReverseProxy
	transport *http.Transport

	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
	stop     context.CancelFunc // ends name resolutions and dials

	mutex   sync.Mutex
	closed  bool
	tunnels map[io.Closer]struct{}
	active  sync.WaitGroup // requests in progress, including tunnels
}

// Start starts a proxy on a free port of the loopback interface. It runs until
// Close; ctx only limits the start.
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
		return nil, fmt.Errorf("start the browser's proxy: %w", err)
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
	p.transport = &http.Transport{
		DialContext:         p.dialer.dial,
		DisableCompression:  true, // the browser chooses the encoding
		MaxIdleConnsPerHost: maxIdlePerHost,
		IdleConnTimeout:     idleTimeout,
	}
	p.forward = p.newReverseProxy()
	p.server = &http.Server{
		Handler:           p,
		BaseContext:       func(net.Listener) context.Context { return running },
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(io.Discard, "", 0), // errors of the browser's connections
	}
	p.serving.Go(func() {
		_ = p.server.Serve(limitListener(listener, maxConnections))
	})
	return p, nil
}

// Address returns the host and port of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Allow adds an exception for one host and port. With a path prefix it allows
// only plain HTTP below the prefix, which can be a secret. The returned
// function removes the exception.
func (p *Proxy) Allow(hostPort, pathPrefix string) (remove func(), err error) {
	return p.rules.allow(hostPort, pathPrefix)
}

// Refused returns the refused targets, oldest first.
func (p *Proxy) Refused() []Refusal { return p.refusals.list() }

// ServeHTTP serves a tunnel (TLS and WebSockets) or a plain HTTP request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.beginRequest() {
		panic(http.ErrAbortHandler)
	}
	defer p.active.Done()
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.forwardHTTP(w, r)
	default:
		http.Error(w, "this is a proxy", http.StatusBadRequest)
	}
}

// beginRequest counts a request, unless the proxy is closed.
func (p *Proxy) beginRequest() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return false
	}
	p.active.Add(1)
	return true
}

// Close closes the proxy and all its connections, and waits for them to end.
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
	p.active.Wait()
	p.transport.CloseIdleConnections()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the browser's proxy: %w", err)
	}
	return nil
}
