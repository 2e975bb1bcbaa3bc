// Package tracetest has an OpenTelemetry collector for tests.
package tracetest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Timeout is how long a test waits for spans on a busy machine.
const Timeout = time.Minute

// Collector is a collector that decodes spans with the types generated from
// OpenTelemetry's descriptions.
type Collector struct {
	*httptest.Server
	arrived chan struct{} // a request has arrived

	mu       sync.Mutex
	requests int
	respond  func(w http.ResponseWriter, nth int) // nil accepts
	header   http.Header
	raw      bytes.Buffer
	spans    []*tracepb.Span
	service  string
}

// New starts a collector that ends with the test. respond may answer a request, or Refuse it.
func New(t testing.TB, respond func(w http.ResponseWriter, nth int)) *Collector {
	t.Helper()
	c := &Collector{arrived: make(chan struct{}, 1000), respond: respond}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(t, w, r) }))
	t.Cleanup(c.Close)
	return c
}

func (c *Collector) serve(t testing.TB, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.arrived <- struct{}{} }()
	c.requests++
	c.header = r.Header
	c.raw.Write(body)
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s %s with content type %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	if c.respond != nil {
		if c.respond(w, c.requests); w.Header().Get("Refused") != "" {
			return
		}
	}
	var request tracepb.TracesData // the same fields as ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		t.Errorf("the body is not an ExportTraceServiceRequest: %v", err)
	}
	for _, resource := range request.ResourceSpans {
		for _, attribute := range resource.Resource.Attributes {
			if attribute.Key == "service.name" {
				c.service = attribute.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// Refuse responds with a status, and the spans are not kept.
func Refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Refused", "yes")
	w.WriteHeader(status)
}

// Await waits for a request.
func (c *Collector) Await(t testing.TB) {
	t.Helper()
	select {
	case <-c.arrived:
	case <-time.After(Timeout):
		t.Fatal("no request arrives at the collector")
	}
}

// Spans returns the spans that were accepted so far.
func (c *Collector) Spans() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans
}

// Last returns the header of the last request and the service that it names.
func (c *Collector) Last() (header http.Header, service string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.header, c.service
}

// Text returns the bytes of all requests.
func (c *Collector) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}
