package s3test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Fault is what becomes of a request on its way. The zero Fault is none.
type Fault struct {
	// Status answers the request with an error of that status, and the
	// server never sees it.
	Status int
	// CutBody ends the connection in the middle of the request's body, after
	// that many bytes; a body that is shorter comes through.
	CutBody int64
	// CutAnswer does the same in the answer's body.
	CutAnswer int64
	// LoseAnswer lets the server do what it is asked, and ends the connection
	// before it can tell.
	LoseAnswer bool
	// Refuse ends the connection before anything is sent.
	Refuse bool
	// Slow lets that many bytes a second through, each way.
	Slow int64
}

// FaultProxy is a proxy to a Server on a port of this machine, on which faults can
// be laid. What the server sees of a request is what was sent: its signature
// holds.
type FaultProxy struct {
	server   *httptest.Server
	bucket   string
	proxy    *httputil.ReverseProxy
	requests atomic.Int64

	mu     sync.Mutex
	faults func(r *http.Request, nth int64) Fault
}

// FaultProxy starts a proxy to a new bucket, without faults, until the test
// ends. Without a server the test is skipped.
func (s *Server) FaultProxy(t *testing.T) *FaultProxy {
	t.Helper()
	if s == nil {
		t.Skip(ErrMissing)
	}
	bucket, err := s.newBucket()
	if err != nil {
		t.Fatal(err)
	}
	text := &FaultProxy{bucket: bucket, faults: none}
	text.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "server"})
			r.Out.Host = r.In.Host // which is signed
		},
		Transport:    &http.Transport{DialContext: s.dial, DisableCompression: true, DisableKeepAlives: true},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	text.server = httptest.NewServer(http.HandlerFunc(text.serve))
	t.Cleanup(text.server.Close)
	return text
}

// Address is the bucket's, by this line, as gocloud.dev wants it.
func (l *FaultProxy) Address() string { return address(l.bucket, l.server.Listener.Addr().String()) }

// Requests is how many requests came so far.
func (l *FaultProxy) Requests() int64 { return l.requests.Load() }

// Lay has faults decide what becomes of each request from now on; nth counts
// them from 1. It may be called by several requests at once.
func (l *FaultProxy) Lay(faults func(r *http.Request, nth int64) Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = faults
	l.requests.Store(0)
}

// Heal takes the faults away.
func (l *FaultProxy) Heal() { l.Lay(none) }

func none(*http.Request, int64) Fault { return Fault{} }

// serve lets a request through as far as its fault lets it.
func (l *FaultProxy) serve(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	faults := l.faults
	nth := l.requests.Add(1)
	l.mu.Unlock()
	fault := faults(r, nth)
	switch {
	case fault.Refuse:
		panic(http.ErrAbortHandler) // net/http's way to end a connection
	case fault.Status > 0:
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, fault.Status)
		return
	}
	if fault.Slow > 0 {
		r.Body = &slowBody{ReadCloser: r.Body, request: r, rate: fault.Slow}
	}
	if fault.CutBody > 0 {
		r.Body = &cutBody{ReadCloser: r.Body, left: fault.CutBody}
	}
	l.proxy.ServeHTTP(&faultyWriter{ResponseWriter: w, request: r, fault: fault, left: fault.CutAnswer}, r)
}

// answer writes an error response as S3 does.
func answer(w http.ResponseWriter, status int) {
	code := map[int]string{http.StatusServiceUnavailable: "SlowDown", http.StatusInternalServerError: "InternalError"}[status]
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>Please try again.</Message></Error>`, code)
}

// cutBody is a body whose connection breaks after some bytes.
type cutBody struct {
	io.ReadCloser
	left int64
}

func (c *cutBody) Read(buffer []byte) (int, error) {
	if c.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(buffer[:min(int64(len(buffer)), c.left)])
	c.left -= int64(n)
	return n, err
}

// slowBody is a body of which so many bytes come in a second.
type slowBody struct {
	io.ReadCloser
	request *http.Request
	rate    int64
}

func (s *slowBody) Read(buffer []byte) (int, error) {
	n, err := s.ReadCloser.Read(buffer[:min(int64(len(buffer)), slowPiece(s.rate))])
	throttle(s.request, int64(n), s.rate)
	return n, err
}

// slowPiece is how much goes at once over a slow line: a twentieth of a second's.
func slowPiece(rate int64) int64 { return max(1, rate/20) }

// throttle waits as long as a slow connection takes for the bytes.
func throttle(r *http.Request, bytes, rate int64) {
	timer := time.NewTimer(time.Duration(bytes) * time.Second / time.Duration(rate))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// faultyWriter passes an answer on as far as the fault lets it.
type faultyWriter struct {
	http.ResponseWriter
	request *http.Request
	fault   Fault
	left    int64 // before the answer is cut
}

// Unwrap lets the proxy flush.
func (w *faultyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *faultyWriter) WriteHeader(status int) {
	if w.fault.LoseAnswer && status >= http.StatusOK {
		panic(http.ErrAbortHandler)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *faultyWriter) Write(data []byte) (int, error) {
	if w.fault.CutAnswer > 0 && int64(len(data)) >= w.left {
		_, _ = w.ResponseWriter.Write(data[:w.left])
		_ = http.NewResponseController(w.ResponseWriter).Flush() // or what was written so far would be lost
		panic(http.ErrAbortHandler)
	}
	w.left -= int64(len(data))
	if w.fault.Slow == 0 {
		return w.ResponseWriter.Write(data)
	}
	written := 0
	for piece := range slices.Chunk(data, int(slowPiece(w.fault.Slow))) {
		n, err := w.ResponseWriter.Write(piece)
		written += n
		if err != nil {
			return written, err
		}
		throttle(w.request, int64(n), w.fault.Slow)
	}
	return written, nil
}
