package tracing

import (
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"standin/internal/jobs/webhook"
	"standin/internal/server/httpmw"
)

const (
	createRoute = "/api/v1/jobs"
	ingestRoute = "/api/v1/ingest/" // heartbeats, uploads and texts of bots, which repeat
)

// Request records a request that has ended. Requests without valid credentials
// and the repeated ones of bots are not recorded. A request with a traceparent
// header belongs to its caller's trace and has a link to the job; another one
// belongs to the trace of the job that it changes, or to a trace of its own.
func (t *Tracer) Request(r *http.Request, ended httpmw.RequestSummary) {
	if t == nil || ended.JobID == uuid.Nil && ended.ConsumerID == uuid.Nil || strings.HasPrefix(ended.Route, ingestRoute) {
		return
	}
	s := span{
		name: ended.Method + " " + ended.Route, kind: trace.SpanKindServer, start: ended.Started, end: ended.Started.Add(ended.Duration),
		failed: ended.Status >= http.StatusInternalServerError,
		attributes: []attribute.KeyValue{
			attribute.String("http.request.method", ended.Method), attribute.String("http.route", ended.Route),
			attribute.Int("http.response.status_code", ended.Status), attribute.String("standin.request_id", ended.ID),
		},
	}
	_, _ = rand.Read(s.id[:]) // it never fails
	ofJob := trace.SpanContext{}
	if ended.JobID != uuid.Nil {
		s.attributes = append(s.attributes, attribute.String("standin.job.id", ended.JobID.String()))
		ofJob = t.jobContext(ended.JobID)
	}
	caller := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header)))
	changes := ended.Method != http.MethodGet && ended.Method != http.MethodHead
	switch {
	case caller.IsValid():
		s.parent, s.link = caller, ofJob
	case ended.JobID != uuid.Nil && changes:
		s.parent = ofJob
	default:
		_, _ = rand.Read(s.trace[:])
		s.link = ofJob
	}
	recorded := t.record(s)
	if caller.IsValid() && ended.Route == createRoute && ended.Status == http.StatusCreated {
		t.record(span{
			id: derivedSpan(ended.JobID, "created"), parent: ofJob, name: "job created", kind: trace.SpanKindInternal,
			start: s.start, end: s.end, attributes: []attribute.KeyValue{attribute.String("standin.job.id", ended.JobID.String())},
			link: recorded,
		})
	}
}

// jobContext returns the context of a job's root span.
func (t *Tracer) jobContext(jobID uuid.UUID) trace.SpanContext {
	return sampledContext(jobID, jobSpan(jobID)).WithTraceFlags(trace.TraceFlags(0).WithSampled(t.sampler.samplesJob(jobID)))
}

// Traceparent implements webhook.Tracer.
func (t *Tracer) Traceparent(delivery webhook.Delivery) string {
	header := make(propagation.MapCarrier)
	of := t.jobContext(delivery.JobID).WithSpanID(attemptSpan(delivery))
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), of), header)
	return header.Get("traceparent")
}

// attemptSpan returns the ID of the span of a delivery's current attempt.
func attemptSpan(delivery webhook.Delivery) trace.SpanID {
	return derivedSpan(delivery.JobID, "webhook", delivery.ID, strconv.Itoa(delivery.Attempt))
}

// TryEnded implements webhook.Tracer.
func (t *Tracer) TryEnded(delivery webhook.Delivery, try webhook.Try, verdict webhook.Verdict) {
	s := span{
		id: attemptSpan(delivery), parent: t.jobContext(delivery.JobID), name: "webhook " + delivery.Event, kind: trace.SpanKindClient,
		start: try.StartedAt, end: try.StartedAt.Add(max(try.Latency, time.Microsecond)), failed: verdict.Outcome != webhook.Delivered,
		attributes: []attribute.KeyValue{
			attribute.String("standin.job.id", delivery.JobID.String()), attribute.String("standin.delivery.id", delivery.ID),
			attribute.String("standin.event", delivery.Event), attribute.Int("standin.try", try.Number),
			attribute.String("standin.outcome", string(verdict.Outcome)), attribute.String("http.request.method", http.MethodPost),
		},
	}
	if try.StatusCode != 0 {
		s.attributes = append(s.attributes, attribute.Int("http.response.status_code", try.StatusCode))
	}
	t.record(s)
}
