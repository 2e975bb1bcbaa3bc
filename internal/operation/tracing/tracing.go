// Package tracing exports traces to an OpenTelemetry collector, with OTLP over
// HTTP (https://opentelemetry.io/docs/specs/otlp/).
//
// Each job has a trace, whose ID is the ID of the job. Its root span is the job
// from its creation to its end; the spans below are its attempts, its statuses,
// the requests that changed it and the attempts of its webhooks. All span IDs
// that others refer to are derived from the job, so that the nodes of a service
// and its processes before and after a restart agree on them without storing
// anything. The spans of a job are read from its timeline when it ends.
//
// Spans carry identifiers, statuses and times. They never carry URLs, names,
// texts or secrets.
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"standin/internal/base/counter"
	"standin/internal/jobs/job"
)

const (
	tracesPath    = "/v1/traces" // appended to the endpoint
	maxQueuedJobs = 1024         // ended jobs whose timelines are not read yet
	readTimeout   = 10 * time.Second
)

// limits bound the export.
type limits struct {
	queued   int           // spans that are not exported yet
	batch    int           // spans in a request
	interval time.Duration // an incomplete batch is exported after it
	flush    time.Duration // of Close
	retry    otlptracehttp.RetryConfig
}

func defaultLimits() limits {
	return limits{
		queued: 8192, batch: 512, interval: 5 * time.Second, flush: 5 * time.Second,
		retry: otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 15 * time.Second, MaxElapsedTime: time.Minute},
	}
}

// Tracer records spans and exports them. Its methods may be called from any
// goroutine, never block, and do nothing on a nil Tracer. Spans that the
// collector does not accept in time are dropped and counted.
type Tracer struct {
	settings Settings
	sampler  Sampler
	limits   limits

	jobs        chan job.Record
	stopJobs    chan struct{}
	cancelReads context.CancelFunc
	reading     sync.WaitGroup
	closing     sync.Once

	provider *sdktrace.TracerProvider
	spans    trace.Tracer // of provider
	exporter *exporter
	counted  *prometheus.CounterVec
}

// New returns a Tracer, and starts its goroutines; nil when there is no
// endpoint.
func New(settings Settings) (*Tracer, error) {
	if settings.Endpoint == "" {
		return nil, nil
	}
	return start(settings, defaultLimits())
}

func start(settings Settings, limits limits) (*Tracer, error) {
	t := &Tracer{
		settings: settings, limits: limits, jobs: make(chan job.Record, maxQueuedJobs), stopJobs: make(chan struct{}),
		counted: counter.New("standin_trace_spans_total",
			"Spans by result: exported to the collector, or dropped because it did not accept them in time.",
			"result", resultExported, resultDropped),
	}
	var err error
	if t.sampler, err = parseSampler(cmp.Or(settings.Sampler, "parentbased_always_on"), settings.SamplerArg); err != nil {
		return nil, err
	}
	address, err := collectorURL(settings.Endpoint)
	if err != nil {
		return nil, err
	}
	headers, err := parseHeaders(settings.Headers)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(), Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // which would pass the headers on
	}
	otlp, err := otlptracehttp.New(context.Background(), // of the start, which does nothing
		otlptracehttp.WithEndpointURL(address), otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithHTTPClient(client), otlptracehttp.WithRetry(limits.retry))
	if err != nil {
		return nil, fmt.Errorf("configure the export of traces: %w", err)
	}
	t.exporter = &exporter{SpanExporter: otlp, log: settings.Log, counted: t.counted, stopped: make(chan struct{})}
	sampler := sdktrace.Sampler(ratioSampler(t.sampler.Ratio))
	if t.sampler.ParentBased {
		sampler = sdktrace.ParentBased(sampler)
	}
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(&processor{exporter: t.exporter, limit: int64(limits.queued), SpanProcessor: sdktrace.NewBatchSpanProcessor(
			t.exporter, sdktrace.WithMaxQueueSize(limits.queued), sdktrace.WithMaxExportBatchSize(limits.batch),
			sdktrace.WithBatchTimeout(limits.interval))}),
		sdktrace.WithSampler(sampler),
		sdktrace.WithIDGenerator(givenIDs{}),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", settings.Service), attribute.String("service.version", settings.Version),
			attribute.String("service.instance.id", settings.Node))),
	)
	t.spans = t.provider.Tracer("standin", trace.WithInstrumentationVersion(settings.Version))
	reads, cancel := context.WithCancel(context.Background())
	t.cancelReads = cancel
	t.reading.Go(func() { // reads the timelines of ended jobs until Close, and then those of the rest of the queue
		for {
			select {
			case ended := <-t.jobs:
				t.readJob(reads, ended)
			case <-t.stopJobs:
				if len(t.jobs) == 0 {
					return
				}
			}
		}
	})
	return t, nil
}

// The values of the label result of the metric.
const (
	resultExported = "exported"
	resultDropped  = "dropped"
)

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
	ctx, cancel := context.WithTimeout(context.Background(), t.limits.flush)
	defer cancel()
	defer t.cancelReads()
	defer context.AfterFunc(ctx, t.cancelReads)()
	close(t.stopJobs)
	t.reading.Wait()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.settings.Log.Warn("not all traces exported at shutdown", "error", err)
		_ = t.exporter.SpanExporter.Shutdown(context.Background()) // it only cancels requests
		<-t.exporter.stopped
	}
}
