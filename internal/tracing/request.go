package tracing

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"standin/internal/httpmw"
	"standin/internal/webhook"

	"github.com/google/uuid"
)

const (
	traceparentHeader = "Traceparent"
	createRoute       = "/api/v1/jobs"
	ingestRoute       = "/api/v1/ingest/" // heartbeats, uploads and texts of bots, which repeat
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
		id: newSpanID(), name: ended.Method + " " + ended.Route, kind: kindServer, start: ended.Started, end: ended.Started.Add(ended.Duration),
		failed: ended.Status >= http.StatusInternalServerError,
		attributes: []attribute{
			text("http.request.method", ended.Method), text("http.route", ended.Route),
			number("http.response.status_code", int64(ended.Status)), text("standin.request_id", ended.ID),
		},
	}
	ofJob := spanContext{}
	if ended.JobID != uuid.Nil {
		s.attributes = append(s.attributes, text("standin.job.id", ended.JobID.String()))
		ofJob = t.jobContext(ended.JobID)
	}
	parent, fromCaller := parseTraceparent(r.Header.Get(traceparentHeader))
	changes := ended.Method != http.MethodGet && ended.Method != http.MethodHead
	var sampled bool
	switch {
	case fromCaller:
		s.trace, s.parent, s.remote, s.link = parent.trace, parent.span, true, ofJob
		sampled = t.settings.Sampler.samplesRequest(parent)
	case ended.JobID != uuid.Nil && changes:
		s.trace, s.parent = ofJob.trace, ofJob.span
		sampled = ofJob.sampled
	default:
		s.trace, s.link = newTraceID(), ofJob
		sampled = t.settings.Sampler.samples(s.trace)
	}
	if sampled {
		t.record(s)
	}
	if fromCaller && ofJob.sampled && ended.Route == createRoute && ended.Status == http.StatusCreated {
		t.record(span{
			trace: ofJob.trace, id: derivedSpan(ended.JobID, "created"), parent: ofJob.span, name: "job created", kind: kindInternal,
			start: s.start, end: s.end, attributes: []attribute{text("standin.job.id", ended.JobID.String())},
			link: spanContext{trace: s.trace, span: s.id, sampled: sampled},
		})
	}
}

// jobContext returns the context of a job's root span.
func (t *Tracer) jobContext(jobID uuid.UUID) spanContext {
	return spanContext{trace: jobTrace(jobID), span: jobSpan(jobID), sampled: t.settings.Sampler.samples(jobTrace(jobID))}
}

// Traceparent implements webhook.Tracer.
func (t *Tracer) Traceparent(delivery webhook.Delivery) string {
	return t.tryContext(delivery).traceparent()
}

// tryContext returns the context of the span of a delivery's current try.
func (t *Tracer) tryContext(delivery webhook.Delivery) spanContext {
	c := t.jobContext(delivery.JobID)
	c.span = derivedSpan(delivery.JobID, "webhook", delivery.ID, strconv.Itoa(delivery.Attempt))
	return c
}

// TryEnded implements webhook.Tracer.
func (t *Tracer) TryEnded(delivery webhook.Delivery, try webhook.Try, verdict webhook.Verdict) {
	c := t.tryContext(delivery)
	if !c.sampled {
		return
	}
	s := span{
		trace: c.trace, id: c.span, parent: jobSpan(delivery.JobID), name: "webhook " + delivery.Event, kind: kindClient,
		start: try.StartedAt, end: try.StartedAt.Add(max(try.Latency, time.Microsecond)), failed: verdict.Outcome != webhook.Delivered,
		attributes: []attribute{
			text("standin.job.id", delivery.JobID.String()), text("standin.delivery.id", delivery.ID), text("standin.event", delivery.Event),
			number("standin.try", int64(try.Number)), text("standin.outcome", string(verdict.Outcome)), text("http.request.method", http.MethodPost),
		},
	}
	if try.StatusCode != 0 {
		s.attributes = append(s.attributes, number("http.response.status_code", int64(try.StatusCode)))
	}
	t.record(s)
}
