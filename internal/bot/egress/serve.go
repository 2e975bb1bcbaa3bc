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

// established is the answer that opens a tunnel.
const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// tunnel connects the browser with a host and carries bytes both ways until
// either end is done. There is no time limit: a meeting's connections may be
// silent for as long as the meeting lasts, and the kernel's keep-alive finds
// those whose other end is gone.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	target, err := normal(r.Host)
	if err != nil {
		http.Error(w, "not a host and port", http.StatusBadRequest)
		return
	}
	var far net.Conn
	if err = p.rules.admitTunnel(target); err == nil {
		far, err = p.dialer.dial(r.Context(), "tcp", target)
	}
	if err != nil {
		p.note(err)
		// The browser shows nothing of this answer to the page.
		http.Error(w, "not connected", http.StatusBadGateway)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the browser has gone away meanwhile
	}
	defer near.Close()
	if !p.track(near) || !p.track(far) {
		return
	}
	defer p.forget(near, far)
	if _, err := io.WriteString(near, established); err != nil {
		return
	}
	carry(near, far, buffered.Reader)
}

// track notes an end of a tunnel for Close; false when that is over already.
func (p *Proxy) track(end io.Closer) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return false
	}
	p.tunnels[end] = struct{}{}
	return true
}

// forget drops the ends of a tunnel that is over.
func (p *Proxy) forget(ends ...io.Closer) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, end := range ends {
		delete(p.tunnels, end)
	}
}

// carry copies bytes both ways. A browser that is done sending is done with the
// connection; a host that is done sending is heard out first.
func carry(near, far net.Conn, fromNear *bufio.Reader) {
	var upward sync.WaitGroup
	upward.Go(func() {
		_, _ = io.Copy(far, fromNear) // whatever ended it, the tunnel is over
		far.Close()
		near.Close()
	})
	if _, err := io.Copy(near, far); err != nil {
		near.Close()
	} else if half, ok := near.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the browser may have closed it by now
	}
	upward.Wait()
}

// exchange passes a plain HTTP request on. A host that is refused or cannot be
// reached is no document: the browser's connection is dropped, which it reports
// as a failed load.
func (p *Proxy) exchange(w http.ResponseWriter, r *http.Request) {
	target, err := normal(withPort(r.URL.Host))
	if err == nil {
		err = p.rules.admitPath(target, r.URL.EscapedPath())
	}
	if err != nil {
		p.note(err)
		panic(http.ErrAbortHandler)
	}
	r.URL.Host = target
	p.forward.ServeHTTP(w, r)
}

// withPort adds the port that a plain HTTP address leaves out.
func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	return net.JoinHostPort(host, "80")
}

// forwarder passes requests on as they are, and answers as they come.
func (p *Proxy) forwarder() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     p.idle,
		FlushInterval: -1, // events and chunks reach the page when they are sent
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			p.note(err)
			panic(http.ErrAbortHandler)
		},
	}
}

// rewrite adds no header of ours. A connection to an exception is not kept, so
// that none outlives the exception.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	_, r.Out.Close = p.rules.exception(r.Out.URL.Host)
}

// note remembers a refusal; other failures are the network's.
func (p *Proxy) note(err error) {
	var refused *RefusedError
	if errors.As(err, &refused) {
		p.refusals.note(refused)
	}
}
