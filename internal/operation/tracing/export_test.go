package tracing

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"

	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/server/httpmw"
	"standin/internal/testing/tracetest"
)

// quick exports every span at once.
func quick() limits {
	return limits{
		queued: 4, batch: 1, interval: time.Hour, flush: tracetest.Timeout,
		retry: otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Millisecond, MaxInterval: time.Millisecond, MaxElapsedTime: tracetest.Timeout,
		},
	}
}

func newTracer(t *testing.T, c *tracetest.Collector, l limits, change func(*Settings)) *Tracer {
	t.Helper()
	settings := Settings{
		Endpoint: c.URL, Headers: "Api-Key=a%20secret", Service: "standin-test", Version: "1", Node: "node-1",
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&settings)
	}
	tracer, err := start(settings, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracer.Close)
	return tracer
}

// count returns the value of the metric for a result.
func (t *Tracer) count(result string) float64 {
	registry := prometheus.NewRegistry()
	registry.MustRegister(t.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, metric := range families[0].Metric {
		if metric.Label[0].GetValue() == result {
			return metric.Counter.GetValue()
		}
	}
	return -1
}

// listRequest is a request that belongs to no job.
func listRequest() httpmw.RequestSummary {
	return httpmw.RequestSummary{
		ID: "req_1", Method: http.MethodGet, Route: "/api/v1/jobs", Status: 200, Started: time.Unix(1_800_000_000,
			5), Duration: time.Second, ConsumerID: uuid.Max,
	}
}

func httpRequest(traceparent string) *http.Request {
	r, _ := http.NewRequest(http.MethodGet, "http://localhost/api/v1/jobs", nil)
	if traceparent != "" {
		r.Header.Set("traceparent", traceparent)
	}
	return r
}

func TestExport(t *testing.T) {
	t.Parallel()
	c := tracetest.New(t, nil)
	tracer := newTracer(t, c, defaultLimits(), nil)
	tracer.Request(httpRequest("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), listRequest())
	tracer.Close()
	spans := c.Spans()
	if header, service := c.Last(); len(spans) != 1 || service != "standin-test" || header.Get("Api-Key") != "a secret" {
		t.Fatalf("got %v of service %q with headers %v", spans, service, header)
	}
	s := spans[0]
	if got := fmt.Sprintf("%x-%x", s.TraceId, s.ParentSpanId); got != "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331" {
		t.Errorf("the parent is %s", got)
	}
	if s.Name != "GET /api/v1/jobs" || s.Kind.String() != "SPAN_KIND_SERVER" || s.StartTimeUnixNano != 1_800_000_000_000_000_005 ||
		s.EndTimeUnixNano-s.StartTimeUnixNano != 1e9 || s.Flags != 0x301 || s.Status.GetCode() != 0 || len(s.Links) != 0 {
		t.Errorf("got %v", s)
	}
	attributes := map[string]string{}
	for _, one := range s.Attributes {
		attributes[one.Key] = one.Value.String()
	}
	if len(attributes) != 4 || attributes["http.response.status_code"] != "int_value:200" ||
		attributes["standin.request_id"] != `string_value:"req_1"` {
		t.Errorf("attributes %v", attributes)
	}
	if tracer.count(resultExported) != 1 || tracer.count(resultDropped) != 0 {
		t.Errorf("%v exported, %v dropped", tracer.count(resultExported), tracer.count(resultDropped))
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	c := tracetest.New(t, func(w http.ResponseWriter, nth int) {
		if nth < 3 {
			tracetest.Refuse(w, http.StatusServiceUnavailable)
		}
	})
	tracer := newTracer(t, c, quick(), nil)
	tracer.Request(httpRequest(""), listRequest())
	for range 3 {
		c.Await(t)
	}
	tracer.Close()
	if len(c.Spans()) != 1 || tracer.count(resultExported) != 1 {
		t.Errorf("%d spans received, %v exported", len(c.Spans()), tracer.count(resultExported))
	}
}

// TestSlowCollector checks that spans are dropped and counted, and not waited for,
// while the collector does not respond, and that Close ends within its bound.
func TestSlowCollector(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	reached := make(chan struct{}, 10)
	c := tracetest.New(t, func(http.ResponseWriter, int) { reached <- struct{}{}; <-release })
	t.Cleanup(func() { close(release) })
	short := quick()
	short.flush = 50 * time.Millisecond
	tracer := newTracer(t, c, short, nil)
	tracer.Request(httpRequest(""), listRequest())
	<-reached // the first span is being sent; three more may wait
	for range 10 {
		tracer.Request(httpRequest(""), listRequest())
	}
	if dropped := tracer.count(resultDropped); dropped != 7 {
		t.Errorf("%v spans dropped, want 7", dropped)
	}
	tracer.Close()
	if exported, dropped := tracer.count(resultExported), tracer.count(resultDropped); exported != 0 || dropped != 11 {
		t.Errorf("after Close %v spans exported and %v dropped, want 0 and 11", exported, dropped)
	}
}

// TestCollectorErrors checks that errors are logged once, without headers.
func TestCollectorErrors(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	logged := func(s *Settings) { s.Log = slog.New(slog.NewTextHandler(&log, nil)) }
	c := tracetest.New(t, func(w http.ResponseWriter, _ int) { tracetest.Refuse(w, http.StatusUnauthorized) })
	tracer := newTracer(t, c, quick(), logged)
	for range 2 {
		tracer.Request(httpRequest(""), listRequest())
		c.Await(t) // it is not retried
	}
	tracer.Close()
	if tracer.count(resultDropped) != 2 || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "401 Unauthorized") ||
		strings.Contains(log.String(), "a secret") {
		t.Errorf("%v dropped, log: %s", tracer.count(resultDropped), &log)
	}
	c.Close()
	log.Reset()
	tracer = newTracer(t, c, quick(), logged)
	tracer.Request(httpRequest(""), listRequest())
	tracer.Close()
	if tracer.count(resultDropped) != 1 || !strings.Contains(log.String(), "connection refused") {
		t.Errorf("without a collector %v dropped, log: %s", tracer.count(resultDropped), &log)
	}
}

func TestNotTraced(t *testing.T) {
	t.Parallel()
	var none *Tracer
	none.Request(httpRequest(""), listRequest())
	none.JobEnded(job.Record{})
	none.Close()
	if none.Collectors() != nil {
		t.Error("a nil Tracer has metrics")
	}
	c := tracetest.New(t, nil)
	tracer := newTracer(t, c, quick(), nil)
	unauthenticated, heartbeat := listRequest(), listRequest()
	unauthenticated.ConsumerID = uuid.Nil
	heartbeat.JobID, heartbeat.Route = uuid.Max, "/api/v1/ingest/heartbeat"
	tracer.Request(httpRequest(""), unauthenticated)
	tracer.Request(httpRequest(""), heartbeat)
	tracer.Request(httpRequest("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"), listRequest()) // not sampled by the caller
	tracer.Close()
	tracer = newTracer(t, c, quick(), func(s *Settings) { s.Sampler = "always_off" })
	// the sampler is not based on parents
	tracer.Request(httpRequest("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), listRequest())
	tracer.Request(httpRequest(""), listRequest())
	tracer.JobEnded(job.Record{Job: job.Job{ID: uuid.Max}})
	tracer.TryEnded(webhook.Delivery{JobID: uuid.Max}, webhook.Try{}, webhook.Verdict{})
	if parent := tracer.Traceparent(webhook.Delivery{JobID: uuid.Max}); !strings.HasSuffix(parent, "-00") {
		t.Errorf("the traceparent of a job that is not sampled is %s", parent)
	}
	tracer.Close()
	if spans := c.Spans(); len(spans) != 0 {
		t.Errorf("got %v", spans)
	}
}
