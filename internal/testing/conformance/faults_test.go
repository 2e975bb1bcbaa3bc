package conformance_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
)

// faults is a proxy of a service that breaks requests. The first segment of a path
// names the fault, the second one is a text of the test, so that each test has its own
// count.
type faults struct {
	service *url.URL

	mu     sync.Mutex
	counts map[string]int // by fault and text
}

// newFaults returns the URL of a new proxy.
func newFaults(t *testing.T, service string) string {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&faults{service: target, counts: map[string]int{}})
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

const (
	cutStream = 3000  // bytes of a live stream before it is cut; larger than an event
	cutFile   = 20000 // bytes of a file before it is cut
	failures  = 2     // requests that fail before one succeeds
)

func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3)
	if len(parts) < 3 {
		http.NotFound(w, r)
		return
	}
	fault, text, path := parts[0], parts[1], "/"+parts[2]
	if fault == "count" { // of requests with the fault in the path
		f.mu.Lock()
		defer f.mu.Unlock()
		fmt.Fprint(w, f.counts[parts[2]+"/"+text])
		return
	}
	f.mu.Lock()
	f.counts[fault+"/"+text]++
	number := f.counts[fault+"/"+text]
	f.mu.Unlock()
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Path, p.Out.URL.RawPath = path, ""
			p.SetURL(f.service)
			p.Out.Header.Set("Accept-Encoding", "identity")
		},
		ModifyResponse: func(response *http.Response) error {
			return alter(fault, response)
		},
		FlushInterval: -1,
	}
	respond := func(status int, body string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
	switch {
	case (fault == "busy" || fault == "dated") && number <= failures:
		w.Header().Set("Retry-After", "1")
		if fault == "dated" { // a date has no fractions of a second
			w.Header().Set("Retry-After", time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat))
		}
		respond(http.StatusTooManyRequests, `{"error":"rate_limited","message":"Too many requests."}`)
	case fault == "agent":
		respond(http.StatusTeapot, fmt.Sprintf(`{"error":"agent","message":%q}`, r.UserAgent()))
	case fault == "conflict":
		respond(http.StatusConflict, `{"error":"in_use","message":"It is in use."}`)
	case fault == "broken":
		respond(http.StatusOK, `{"id":"0192f5c8-`)
	case fault == "page":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<h1>Sign in to the network</h1>")
	case fault == "closed":
		panic(http.ErrAbortHandler)
	case fault == "lost" && number <= failures:
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		fallthrough
	case fault == "unavailable" && number <= failures:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<h1>Bad gateway</h1>")
	case fault == "silent":
		<-r.Context().Done()
	default:
		proxy.ServeHTTP(w, r)
	}
}

// laterValues puts values and an event into responses that only later versions of the service know.
var laterValues = strings.NewReplacer(
	`"status":"scheduled"`, `"status":"levitating"`, `"platform":"meet"`, `"platform":"holodeck"`,
	`"failureCode":"meeting_not_found"`, `"failureCode":"swallowed"`, "event: chat\n", "event: applause\n",
)

// alter breaks a live stream or a file. A body that is cut ends with an error, so that the
// proxy ends the connection.
func alter(fault string, response *http.Response) error {
	isStream, isVideo := strings.HasPrefix(response.Header.Get("Content-Type"),
		"text/event-stream"), strings.HasPrefix(response.Header.Get("Content-Type"), "video/")
	body := response.Body
	switch {
	case fault == "cut" && isStream:
		response.Body = cut(body, cutStream)
	case fault == "cut" && isVideo:
		response.Body = cut(body, cutFile)
	case fault == "damaged" && isVideo:
		response.Body = &damaged{body}
	case fault == "later":
		content, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		text := laterValues.Replace(string(content))
		response.Body, response.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		response.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return body.Close()
	}
	return nil
}

func cut(body io.ReadCloser, bytes int64) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(body, bytes), iotest.ErrReader(io.ErrUnexpectedEOF)), body}
}

// damaged is a body with other bytes.
type damaged struct{ io.ReadCloser }

func (d *damaged) Read(into []byte) (int, error) {
	n, err := d.ReadCloser.Read(into)
	if n > 0 {
		into[n-1] ^= 1
	}
	return n, err
}
