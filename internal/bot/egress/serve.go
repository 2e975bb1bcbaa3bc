package egress

import (
	"bufio"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
)

// tunnelEstablished is the response to CONNECT.
const tunnelEstablished = "HTTP/1.1 200 Connection established\r\n\r\n"

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
	if err = p.rules.admitTunnel(target); err == nil {
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
	defer p.untrack(browser, host)
	if _, err := io.WriteString(browser, tunnelEstablished); err != nil {
		return
	}
	copyBoth(browser, host, buffered.Reader)
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

func (p *Proxy) untrack(ends ...io.Closer) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, end := range ends {
		delete(p.tunnels, end)
	}
}

// copyBoth copies bytes in both directions. A half-close by the browser ends
// the tunnel; after a half-close by the host, the browser may still send.
func copyBoth(browser, host net.Conn, fromNear *bufio.Reader) {
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = io.Copy(host, fromNear) // any end closes the tunnel
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

// forwardHTTP forwards a plain HTTP request. If the host is refused or
// unreachable, it drops the connection, which the browser reports as a failed
// load.
func (p *Proxy) forwardHTTP(w http.ResponseWriter, r *http.Request) {
	target, err := normalize(withPort(r.URL.Host))
	if err == nil {
		err = p.rules.admitPath(target, r.URL.EscapedPath())
	}
	if err != nil {
		p.recordRefusal(err)
		panic(http.ErrAbortHandler)
	}
	r.URL.Host = target
	p.forward.ServeHTTP(w, r)
}

// withPort adds the default port of plain HTTP.
func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	return net.JoinHostPort(host, "80")
}

// newReverseProxy returns the handler that forwards requests unchanged.
func (p *Proxy) newReverseProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     p.transport,
		FlushInterval: -1, // forward events and chunks immediately
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			p.recordRefusal(err)
			panic(http.ErrAbortHandler)
		},
	}
}

// rewrite closes connections to exceptions after the request, so that none
// outlives its exception.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	_, r.Out.Close = p.rules.exception(r.Out.URL.Host)
}

// recordRefusal records the error if it is a refusal.
func (p *Proxy) recordRefusal(err error) {
	var refused *RefusedError
	if errors.As(err, &refused) {
		p.refusals.add(refused)
	}
}
