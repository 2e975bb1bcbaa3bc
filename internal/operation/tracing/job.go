package tracing

import (
	"context"
	"crypto/sha256"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"standin/internal/jobs/job"
)

// Limits of a job's spans.
const (
	timelinePage = 100
	maxEntries   = 2000 // of the timeline; later ones are left out, except for the end of the job
)

// JobEnded records the spans of a job that has ended.
func (t *Tracer) JobEnded(ended job.Record) {
	if t == nil || !t.sampler.samplesJob(ended.ID) {
		return
	}
	select {
	case t.jobs <- ended:
	default:
		t.counted.WithLabelValues(resultDropped).Inc()
	}
}

func (t *Tracer) readJob(ctx context.Context, ended job.Record) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var all []job.TimelineEntry
	after := uuid.Nil
	for more := true; more && len(all) < maxEntries; {
		entries, next, err := t.settings.Timeline.ListTimeline(ctx, ended.ID, after, timelinePage)
		if err != nil {
			t.counted.WithLabelValues(resultDropped).Inc()
			t.settings.Log.Warn("cannot export the trace of a job", "job", ended.ID, "error", err)
			return
		}
		all = append(all, entries...)
		if more = next && len(entries) > 0; more {
			after = entries[len(entries)-1].ID
		}
	}
	for _, s := range jobSpans(ended, all) {
		t.record(s)
	}
}

// jobSpans returns the spans of a job that has ended: the job, its attempts and
// its statuses.
func jobSpans(ended job.Record, entries []job.TimelineEntry) []span {
	b := &jobBuilder{job: ended}
	b.root = b.span("job", ended.CreatedAt, jobSpan(ended.ID), trace.SpanID{})
	b.root.attributes = append(b.root.attributes,
		attribute.String("standin.platform", string(ended.Platform)), attribute.String("standin.mode", string(ended.Mode)),
		attribute.String("standin.outcome", string(ended.Status)), attribute.Int("standin.attempts", ended.Attempts))
	if ended.FailureCode != "" {
		b.root.attributes = append(b.root.attributes, attribute.String("standin.failure_code", string(ended.FailureCode)))
		b.root.failed = true
	}
	b.status, b.since = job.Scheduled, ended.CreatedAt
	for _, entry := range entries {
		b.add(entry)
	}
	end := ended.StatusSince
	b.endStatus(end)
	b.endAttempt(end)
	b.root.end = end
	return append(b.spans, b.root)
}

// jobBuilder builds the spans of a job from its timeline.
type jobBuilder struct {
	job     job.Record
	root    span
	attempt *span // current; nil before the first one and after the end of one
	spans   []span

	status job.Status // since
	since  time.Time
	nth    int // of the statuses so far
}

// span returns a span of the job that begins.
func (b *jobBuilder) span(name string, start time.Time, id, parent trace.SpanID) span {
	return span{
		trace: jobTrace(b.job.ID), id: id, parent: sampledContext(b.job.ID, parent), name: name, kind: trace.SpanKindInternal, start: start,
		attributes: []attribute.KeyValue{attribute.String("standin.job.id", b.job.ID.String())},
	}
}

// add adds an entry of the timeline. Those after the end of the job are not part
// of its span.
func (b *jobBuilder) add(entry job.TimelineEntry) {
	if b.status.Terminal() {
		return
	}
	b.root.events = append(b.root.events, spanEvent{at: entry.ReceivedAt, name: string(entry.Kind), attributes: []attribute.KeyValue{
		attribute.Int("standin.attempt", entry.Attempt), attribute.String("standin.source", string(entry.Source)),
		attribute.Bool("standin.applied", entry.Applied),
	}})
	if !entry.Applied || entry.From == entry.To && entry.Kind != job.AttemptStarted {
		return
	}
	at := entry.ReceivedAt
	b.endStatus(at)
	if b.status = entry.To; entry.Kind == job.AttemptStarted || b.attempt == nil && entry.To.Dispatched() && !entry.To.Teardown() {
		b.endAttempt(at)
		number := strconv.Itoa(entry.Attempt)
		started := b.span("attempt", at, derivedSpan(b.job.ID, "attempt", number), b.root.id)
		started.attributes = append(started.attributes, attribute.String("standin.attempt", number))
		b.attempt = &started
	}
	if entry.To.Teardown() || entry.To.Terminal() {
		b.endAttempt(at)
	}
}

// endStatus ends the span of the current status at the time, when the next one
// begins.
func (b *jobBuilder) endStatus(at time.Time) {
	if !b.status.Terminal() {
		parent := b.root.id
		if b.attempt != nil {
			parent = b.attempt.id
		}
		s := b.span("status "+string(b.status), b.since, derivedSpan(b.job.ID, "status", strconv.Itoa(b.nth)), parent)
		s.end = at
		b.spans = append(b.spans, s)
		b.nth++
	}
	b.since = at
}

// endAttempt ends the span of the current attempt.
func (b *jobBuilder) endAttempt(at time.Time) {
	if b.attempt == nil {
		return
	}
	b.attempt.end = at
	b.attempt.failed = b.job.Status == job.Failed && b.status == job.Failed
	b.spans = append(b.spans, *b.attempt)
	b.attempt = nil
}

// jobTrace returns the trace of a job.
func jobTrace(jobID uuid.UUID) trace.TraceID { return trace.TraceID(jobID) }

// jobSpan returns the ID of the root span of a job.
func jobSpan(jobID uuid.UUID) trace.SpanID { return derivedSpan(jobID, "job") }

// derivedSpan returns the ID of a span of a job. The same parts have the same ID
// on every node.
func derivedSpan(jobID uuid.UUID, parts ...string) trace.SpanID {
	sum := sha256.New()
	sum.Write(jobID[:])
	for _, part := range parts {
		sum.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return trace.SpanID(sum.Sum(nil)[:len(trace.SpanID{})])
}

// sampledContext returns the context of a span of a job whose trace is recorded.
func sampledContext(jobID uuid.UUID, id trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: jobTrace(jobID), SpanID: id, TraceFlags: trace.FlagsSampled})
}
