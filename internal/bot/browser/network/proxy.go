// Package network limits what a bot's browser can reach. A bot opens only
// meetings on hosts of the platforms and on hosts that the operator allows, and
// its browser sends every TCP connection through a Proxy on the loopback
// interface.
//
// The proxy resolves names itself, refuses every address that is not public, and
// connects to the address that it checked. So a meeting page cannot reach this
// machine, its network or its cloud's metadata service. Exceptions are exact: one
// host and port, or one path prefix. The proxy does not decide which public hosts
// a page may load.
package network

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
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"standin/internal/base/dialguard"
)

const (
	// maxRequests limits the requests in progress, which include tunnels. Chromium
	// opens at most 32 connections to a proxy, and 255 for WebSockets.
	maxRequests = 512

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

// ProxySettings configure a Proxy.
type ProxySettings struct {
	// Allowed lists hosts with ports, such as "127.0.0.1:41234", that may be
	// reached whatever they resolve to.
	Allowed []string
	// OwnHosts are names of the service's machine. Their addresses are refused,
	// like those of the bot's machine.
	OwnHosts []string
	// Resolver resolves names; default: the system's.
	Resolver *net.Resolver
	// Upstream returns the forward proxy for a URL, or nil; default: that of the
	// environment (HTTPS_PROXY, NO_PROXY). It resolves names, so only literal
	// addresses are refused here.
	Upstream func(*url.URL) (*url.URL, error)
	// Log receives one line for each refused target; nil disables it.
	Log *slog.Logger
}

// Proxy is a running proxy.
type Proxy struct {
	rules     *rules
	dialer    *dialer
	forward   *httputil.ReverseProxy
	transport *http.Transport

	log      *slog.Logger
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
	stop     context.CancelFunc // ends name resolutions and dials

	mutex    sync.Mutex
	closed   bool
	refused  []string // targets
	tunnels  map[io.Closer]struct{}
	requests int            // in progress
	active   sync.WaitGroup // the same requests
}

// StartProxy starts a proxy on a free port of the loopback interface. It runs until
// Close; ctx only limits the start.
func StartProxy(ctx context.Context, settings ProxySettings) (*Proxy, error) {
	if settings.Log == nil {
		settings.Log = slog.New(slog.DiscardHandler)
	}
	if settings.Upstream == nil {
		settings.Upstream = httpproxy.FromEnvironment().ProxyFunc()
	}
	rules := &rules{exceptions: make(map[string]string)}
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
		rules: rules,
		log:   settings.Log,
		dialer: &dialer{rules: rules, upstream: settings.Upstream, guard: dialguard.Guard{
			OwnHosts: settings.OwnHosts, Resolver: settings.Resolver, Timeout: dialTimeout,
		}},
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
	p.forward = &httputil.ReverseProxy{
		// No connection to an exception outlives it.
		Rewrite:       func(r *httputil.ProxyRequest) { _, r.Out.Close = rules.exception(r.Out.URL.Host) },
		Transport:     p.transport,
		FlushInterval: -1, // forward events and chunks immediately
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			p.recordRefusal(err)
			panic(http.ErrAbortHandler)
		},
	}
	p.server = &http.Server{
		Handler:           p,
		BaseContext:       func(net.Listener) context.Context { return running },
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(io.Discard, "", 0), // errors of the browser's connections
	}
	p.serving.Go(func() {
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			settings.Log.Error("browser proxy ended", "error", err)
		}
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

// Refused returns the first refused targets, each once.
func (p *Proxy) Refused() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.refused)
}

// ServeHTTP serves a tunnel (TLS and WebSockets) or a plain HTTP request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	refused := p.closed || p.requests == maxRequests
	if !refused {
		p.requests++
		p.active.Add(1)
	}
	p.mutex.Unlock()
	if refused {
		panic(http.ErrAbortHandler)
	}
	defer func() {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.requests--
		p.active.Done()
	}()
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		target, err := normalize(withPort(r.URL.Host))
		if err == nil {
			err = p.rules.admit(target, r.URL.EscapedPath())
		}
		if err != nil {
			p.recordRefusal(err)
			panic(http.ErrAbortHandler)
		}
		r.URL.Host = target
		p.forward.ServeHTTP(w, r)
	default:
		http.Error(w, "this is a proxy", http.StatusBadRequest)
	}
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

// tunnel connects the browser with a host and copies bytes in both directions
// until either closes. There is no timeout: connections of a meeting may be
// idle, and TCP keep-alive detects dead peers.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	target, err := normalize(r.Host)
	if err != nil {
		http.Error(w, "not a host and port", http.StatusBadRequest)
		return
	}
	var host net.Conn
	if err = p.rules.admit(target, ""); err == nil {
		host, err = p.dialer.dial(r.Context(), "tcp", target)
	}
	if err != nil {
		p.recordRefusal(err)
		// The browser does not show this response to the page.
		http.Error(w, "not connected", http.StatusBadGateway)
		return
	}
	defer host.Close()
	browser, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the browser has closed the connection
	}
	defer browser.Close()
	if !p.track(browser) || !p.track(host) {
		return
	}
	defer func() {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		delete(p.tunnels, browser)
		delete(p.tunnels, host)
	}()
	if _, err := io.WriteString(browser, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	// A half-close by the browser ends the tunnel. After a half-close by the host, the browser may
	// still send.
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = io.Copy(host, buffered) // any end closes the tunnel
		host.Close()
		browser.Close()
	})
	if _, err := io.Copy(browser, host); err != nil {
		browser.Close()
	} else if half, ok := browser.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the browser may have closed it already
	}
	sending.Wait()
}

// track registers an end of a tunnel for Close. It returns false if the proxy
// is closed.
func (p *Proxy) track(end io.Closer) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return false
	}
	p.tunnels[end] = struct{}{}
	return true
}

// withPort adds the default port of plain HTTP.
func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "80") // an IPv6 address has brackets
}

const (
	// maxRefusals limits the memory and log lines of a page that tries many
	// targets.
	maxRefusals = 100
	// maxTargetLength is the length of the longest host name with a port.
	maxTargetLength = 253 + len(":65535")
)

// recordRefusal records and logs the error if it is the first refusal of a target.
func (p *Proxy) recordRefusal(err error) {
	var refused *RefusedError
	if !errors.As(err, &refused) {
		return
	}
	target := refused.Target[:min(len(refused.Target), maxTargetLength)]
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.refused) < maxRefusals && !slices.Contains(p.refused, target) {
		p.refused = append(p.refused, target)
		p.log.Warn("browser connection refused", "target", target, "reason", refused.Reason)
	}
}
