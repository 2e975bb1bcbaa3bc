package tracing

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// testTimeout is how long a test waits for spans on a busy machine.
const testTimeout = time.Minute

// collector is a collector that decodes spans with the types generated from
// OpenTelemetry's descriptions.
type collector struct {
	*httptest.Server
	arrived chan struct{} // a request has arrived

	mu       sync.Mutex
	requests int
	respond  func(w http.ResponseWriter, nth int) // nil accepts
	headers  http.Header
	service  string
	spans    []*tracepb.Span
}

func newCollector(t *testing.T, respond func(w http.ResponseWriter, nth int)) *collector {
	t.Helper()
	c := &collector{arrived: make(chan struct{}, 1000), respond: respond}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(t, w, r) }))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) serve(t *testing.T, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.arrived <- struct{}{} }()
	c.requests++
	c.headers = r.Header
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%s %s with content type %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	if c.respond != nil {
		if c.respond(w, c.requests); c.requests > 0 && w.Header().Get("Refused") != "" {
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

// refuse responds with a status, and the spans are not kept.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Refused", "yes")
	w.WriteHeader(status)
}

// await waits for a request.
func (c *collector) await(t *testing.T) {
	t.Helper()
	select {
	case <-c.arrived:
	case <-time.After(testTimeout):
		t.Fatal("no request arrives at the collector")
	}
}

// received returns the spans that were accepted so far.
func (c *collector) received() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans
}
