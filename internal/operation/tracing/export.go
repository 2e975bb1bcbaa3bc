package tracing

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// exporter exports spans with OTLP. It counts the spans that the collector
// accepted and those that are lost, and logs when that changes.
type exporter struct {
	sdktrace.SpanExporter

	log     *slog.Logger
	counted *prometheus.CounterVec
	waiting atomic.Int64 // spans that are not exported yet
	failing bool         // used by ExportSpans, which the SDK does not call concurrently
	stopped chan struct{}
}

// ExportSpans implements sdktrace.SpanExporter. It returns no error, because it
// logs and counts failures itself.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	e.waiting.Add(-int64(len(spans)))
	result := resultExported
	if err != nil {
		result = resultDropped
	}
	e.counted.WithLabelValues(result).Add(float64(len(spans)))
	switch {
	case err != nil && !e.failing:
		e.log.Warn("traces not exported; spans are dropped until the collector accepts them", "error", err)
	case err == nil && e.failing:
		e.log.Info("traces are exported again")
	}
	e.failing = err != nil
	return nil
}

// Shutdown implements sdktrace.SpanExporter. The batch processor calls it after
// the last export.
func (e *exporter) Shutdown(ctx context.Context) error {
	defer close(e.stopped)
	return e.SpanExporter.Shutdown(ctx)
}

// processor is a batch processor that counts the spans that it drops because too
// many are waiting.
type processor struct {
	sdktrace.SpanProcessor
	exporter *exporter
	limit    int64
}

// OnEnd implements sdktrace.SpanProcessor.
func (p *processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.exporter.waiting.Add(1) > p.limit {
		p.exporter.waiting.Add(-1)
		p.exporter.counted.WithLabelValues(resultDropped).Inc()
		return
	}
	p.SpanProcessor.OnEnd(s)
}

// span is a span that has ended.
type span struct {
	trace      trace.TraceID
	id         trace.SpanID
	parent     trace.SpanContext // zero for the root of a trace
	name       string
	kind       trace.SpanKind
	start, end time.Time // an end before the start, by the clock of another node, counts as the start
	attributes []attribute.KeyValue
	events     []spanEvent
	link       trace.SpanContext // zero for none
	failed     bool
}

// spanEvent is an event at a point in time during a span.
type spanEvent struct {
	at         time.Time
	name       string
	attributes []attribute.KeyValue
}

// record exports a span if it is sampled, and returns its context.
func (t *Tracer) record(s span) trace.SpanContext {
	ctx := context.WithValue(context.Background(), givenIDs{}, s)
	if s.parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, s.parent)
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(s.start), trace.WithSpanKind(s.kind), trace.WithAttributes(s.attributes...)}
	if s.link.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: s.link}))
	}
	_, recorded := t.spans.Start(ctx, s.name, options...)
	for _, event := range s.events {
		recorded.AddEvent(event.name, trace.WithTimestamp(event.at), trace.WithAttributes(event.attributes...))
	}
	if s.failed {
		recorded.SetStatus(codes.Error, "")
	}
	end := s.end
	if end.Before(s.start) {
		end = s.start
	}
	recorded.End(trace.WithTimestamp(end))
	return recorded.SpanContext()
}

// givenIDs is the ID generator of record: it returns the IDs of the span in the
// context.
type givenIDs struct{}

// NewIDs implements sdktrace.IDGenerator.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	s := ctx.Value(givenIDs{}).(span)
	return s.trace, s.id
}

// NewSpanID implements sdktrace.IDGenerator.
func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return ctx.Value(givenIDs{}).(span).id
}
