// Package tracing exports traces to an OpenTelemetry collector, with OTLP over
// HTTP (https://opentelemetry.io/docs/specs/otlp/).
//
// Each job has a trace, whose ID is the ID of the job. Its root span is the job
// from its creation to its end; the spans below are its attempts, its statuses,
// the requests that changed it and the tries of its webhooks. All span IDs that
// others refer to are derived from the job, so that the nodes of a service and
// its processes before and after a restart agree on them without storing
// anything. The spans of a job are read from its timeline when it ends.
//
// Spans carry identifiers, statuses and times. They never carry URLs, names,
// texts or secrets.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"standin/internal/job"
)

const (
	tracesPath = "/v1/traces" // appended to the endpoint

	maxQueuedSpans = 8192 // spans that wait for their export
	maxQueuedJobs  = 1024 // ended jobs whose timelines are not read yet
	readTimeout    = 10 * time.Second
	flushTimeout   = 5 * time.Second
)

// Settings configure a Tracer.
type Settings struct {
	Endpoint string            // base URL of the collector; no traces when empty
	Headers  map[string]string // of each request to the collector, such as its credentials
	Service  string            // name of the service in the traces
	Version  string            // of the service
	Node     string            // ID of this node
	Sampler  Sampler

	Timeline Timeline
	Log      *slog.Logger
}

// Timeline reads the timelines of jobs.
type Timeline interface {
	ListTimeline(ctx context.Context, jobID, after uuid.UUID, limit int) (entries []job.TimelineEntry, more bool, err error)
}

// Tracer records spans and exports them. Its methods may be called from any
// goroutine, never block, and do nothing on a nil Tracer. Spans that the
// collector does not accept in time are dropped and counted.
type Tracer struct {
	settings Settings
	url      string
	client   *http.Client
	resource []byte // encoded
	batching batching

	jobs  chan job.Record
	spans chan span

	ctx       context.Context // of reads and requests; ends at the latest flushTimeout after Close begins
	cancel    context.CancelFunc
	stopJobs  chan struct{}
	stopSpans chan struct{}
	reading   sync.WaitGroup
	exporting sync.WaitGroup
	closing   sync.Once

	counted *prometheus.CounterVec
}

// New returns a Tracer, and starts its goroutines; nil when there is no
// endpoint.
func New(settings Settings) (*Tracer, error) {
	if settings.Endpoint == "" {
		return nil, nil
	}
	return start(settings, defaultBatching())
}

func start(settings Settings, batching batching) (*Tracer, error) {
	address, err := collectorURL(settings.Endpoint)
	if err != nil {
		return nil, err
	}
	t := &Tracer{
		settings: settings, url: address, client: newClient(), batching: batching,
		resource: encodeResource(
			text("service.name", settings.Service), text("service.version", settings.Version), text("service.instance.id", settings.Node)),
		jobs: make(chan job.Record, maxQueuedJobs), spans: make(chan span, batching.queued),
		stopJobs: make(chan struct{}), stopSpans: make(chan struct{}),
		counted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "standin_trace_spans_total",
			Help: "Spans by result: exported to the collector, or dropped because it did not accept them in time.",
		}, []string{"result"}),
	}
	for _, result := range []string{resultExported, resultDropped} {
		t.counted.WithLabelValues(result) // there from the start, so that rates have a beginning
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.reading.Go(t.readJobs)
	t.exporting.Go(t.exportSpans)
	return t, nil
}

// The values of the label result of the metric.
const (
	resultExported = "exported"
	resultDropped  = "dropped"
)

// collectorURL returns the URL that spans are posted to.
func collectorURL(endpoint string) (string, error) {
	address, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", errors.New("the OTLP endpoint is not a URL") // the parse error quotes it
	case address.User != nil:
		return "", errors.New("the OTLP endpoint must not contain credentials; set them with OTEL_EXPORTER_OTLP_HEADERS")
	case address.Scheme != "http" && address.Scheme != "https" || address.Host == "":
		return "", fmt.Errorf("the OTLP endpoint %s://%s is not of the form http://host:4318", address.Scheme, address.Host)
	}
	address.Path = strings.TrimRight(address.Path, "/") + tracesPath
	return address.String(), nil
}

// ParseHeaders parses headers of the form name=value,name=value, whose values are
// percent-encoded, as in OTEL_EXPORTER_OTLP_HEADERS. Errors do not quote values.
func ParseHeaders(list string) (map[string]string, error) {
	headers := make(map[string]string)
	for field := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(field) == "" {
			continue
		}
		name, value, found := strings.Cut(field, "=")
		name = strings.TrimSpace(name)
		if !found || !validHeaderName(name) {
			return nil, errors.New("the OTLP headers are not of the form name=value,name=value")
		}
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil || strings.ContainsFunc(decoded, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, fmt.Errorf("the value of the OTLP header %s is not percent-encoded text", name)
		}
		headers[name] = decoded
	}
	return headers, nil
}

// validHeaderName reports whether name is a token (RFC 9110).
func validHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// Collectors returns the metrics of the Tracer, for registration.
func (t *Tracer) Collectors() []prometheus.Collector {
	if t == nil {
		return nil
	}
	return []prometheus.Collector{t.counted}
}

// Close exports the spans that are recorded, for at most five seconds. Spans
// recorded afterwards are dropped.
func (t *Tracer) Close() {
	if t != nil {
		t.closing.Do(t.flush)
	}
}

// flush exports the spans that are recorded, and stops the goroutines.
func (t *Tracer) flush() {
	defer t.cancel()
	defer time.AfterFunc(flushTimeout, t.cancel).Stop()
	close(t.stopJobs)
	t.reading.Wait()
	close(t.stopSpans)
	t.exporting.Wait()
	t.client.CloseIdleConnections()
}

// record queues a span for export.
func (t *Tracer) record(s span) {
	select {
	case t.spans <- s:
	default:
		t.drop(1)
	}
}

func (t *Tracer) drop(spans int) { t.counted.WithLabelValues(resultDropped).Add(float64(spans)) }
