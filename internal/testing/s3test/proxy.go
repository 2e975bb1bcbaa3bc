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

// Fault is a failure that a FaultProxy injects into a request. The zero Fault is
// no failure.
type Fault struct {
	// Status is the status code of an error response that the proxy sends
	// instead of forwarding the request.
	Status int
	// CutBody is the number of bytes of the request body after which the proxy
	// closes the connection. A shorter body is forwarded completely.
	CutBody int64
	// CutResponse is the same for the response body.
	CutResponse int64
	// DropResponse closes the connection to the client after the server has
	// handled the request, without a response.
	DropResponse bool
	// Refuse closes the connection without forwarding the request.
	Refuse bool
	// Lose answers the request with success without forwarding it.
	Lose bool
	// Slow limits the bodies to this number of bytes per second in each
	// direction.
	Slow int64
}

// FaultProxy is a local proxy to a Server that injects faults. It forwards requests
// unchanged, so that their signatures stay valid.
type FaultProxy struct {
	server   *httptest.Server
	bucket   string
	folder   string
	reverse  *httputil.ReverseProxy
	requests atomic.Int64

	mu     sync.Mutex
	faults func(r *http.Request, nth int64) Fault
}

// FaultProxy starts a proxy to a new bucket, without faults. It stops when the
// test ends. If s is nil, the test is skipped.
func (s *Server) FaultProxy(t *testing.T) *FaultProxy {
	t.Helper()
	if s == nil {
		t.Skip(ErrMissing)
	}
	bucket, err := s.newBucket()
	if err != nil {
		t.Fatal(err)
	}
	proxy := &FaultProxy{bucket: bucket, folder: s.bucketFolder(bucket), faults: noFault}
	proxy.reverse = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "server"})
			r.Out.Host = r.In.Host // the signature includes the host
		},
		Transport:    &http.Transport{DialContext: s.dial, DisableCompression: true, DisableKeepAlives: true},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	proxy.server = httptest.NewServer(http.HandlerFunc(proxy.serve))
	t.Cleanup(proxy.server.Close)
	return proxy
}

// Address returns the URL of the bucket through the proxy, for gocloud.dev.
func (p *FaultProxy) Address() string { return address(p.bucket, p.server.Listener.Addr().String()) }

// Folder returns the folder with the objects of the bucket, whatever a client can list.
func (p *FaultProxy) Folder() string { return p.folder }

// Requests returns the number of requests since the last SetFaults.
func (p *FaultProxy) Requests() int64 { return p.requests.Load() }

// SetFaults sets the function that returns the fault of each further request; nth
// counts the requests from 1. The function is called concurrently.
func (p *FaultProxy) SetFaults(faults func(r *http.Request, nth int64) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = faults
	p.requests.Store(0)
}

// ClearFaults removes the faults and resets the number of requests.
func (p *FaultProxy) ClearFaults() { p.SetFaults(noFault) }

func noFault(*http.Request, int64) Fault { return Fault{} }

// serve forwards a request with its fault.
func (p *FaultProxy) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	faults := p.faults
	nth := p.requests.Add(1)
	p.mu.Unlock()
	fault := faults(r, nth)
	switch {
	case fault.Refuse:
		panic(http.ErrAbortHandler) // closes the connection
	case fault.Lose:
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", `"d41d8cd98f00b204e9800998ecf8427e"`)
		return
	case fault.Status > 0:
		_, _ = io.Copy(io.Discard, r.Body)
		writeError(w, fault.Status)
		return
	}
	if fault.Slow > 0 {
		r.Body = &slowBody{ReadCloser: r.Body, request: r, rate: fault.Slow}
	}
	if fault.CutBody > 0 {
		r.Body = &cutBody{ReadCloser: r.Body, left: fault.CutBody}
	}
	p.reverse.ServeHTTP(&faultyWriter{ResponseWriter: w, request: r, fault: fault, left: fault.CutResponse}, r)
}

// writeError writes an error response in the format of S3.
func writeError(w http.ResponseWriter, status int) {
	code := map[int]string{http.StatusServiceUnavailable: "SlowDown", http.StatusInternalServerError: "InternalError"}[status]
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>Please try again.</Message></Error>`, code)
}

// cutBody is a request body that fails after left bytes.
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

// slowBody is a request body that is read at a rate in bytes per second.
type slowBody struct {
	io.ReadCloser
	request *http.Request
	rate    int64
}

func (s *slowBody) Read(buffer []byte) (int, error) {
	n, err := s.ReadCloser.Read(buffer[:min(int64(len(buffer)), slowChunk(s.rate))])
	throttle(s.request, int64(n), s.rate)
	return n, err
}

// slowChunk returns the size of a read or write at a rate: 1/20 of a second.
func slowChunk(rate int64) int64 { return max(1, rate/20) }

// throttle waits for the transfer time of a number of bytes at a rate.
func throttle(r *http.Request, bytes, rate int64) {
	timer := time.NewTimer(time.Duration(bytes) * time.Second / time.Duration(rate))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// faultyWriter writes a response with a fault.
type faultyWriter struct {
	http.ResponseWriter
	request *http.Request
	fault   Fault
	left    int64 // bytes until the response is cut
}

// Unwrap returns the underlying writer, which http.ResponseController flushes.
func (w *faultyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *faultyWriter) WriteHeader(status int) {
	if w.fault.DropResponse && status >= http.StatusOK {
		panic(http.ErrAbortHandler)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *faultyWriter) Write(data []byte) (int, error) {
	if w.fault.CutResponse > 0 && int64(len(data)) >= w.left {
		_, _ = w.ResponseWriter.Write(data[:w.left])
		_ = http.NewResponseController(w.ResponseWriter).Flush() // send the data written so far
		panic(http.ErrAbortHandler)
	}
	w.left -= int64(len(data))
	if w.fault.Slow == 0 {
		return w.ResponseWriter.Write(data)
	}
	written := 0
	for chunk := range slices.Chunk(data, int(slowChunk(w.fault.Slow))) {
		n, err := w.ResponseWriter.Write(chunk)
		written += n
		if err != nil {
			return written, err
		}
		throttle(w.request, int64(n), w.fault.Slow)
	}
	return written, nil
}

// EveryNth returns fault for every n-th request with a method.
func EveryNth(method string, n int64, fault Fault) func(*http.Request, int64) Fault {
	var mu sync.Mutex
	var count int64
	return func(r *http.Request, _ int64) Fault {
		mu.Lock()
		defer mu.Unlock()
		if r.Method != method {
			return Fault{}
		}
		if count++; count%n == 0 {
			return fault
		}
		return Fault{}
	}
}
