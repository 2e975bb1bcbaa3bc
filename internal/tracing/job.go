package tracing

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
)

// Limits of a job's spans.
const (
	timelinePage = 100
	maxEntries   = 2000 // of the timeline; later ones are left out, except for the end of the job
	maxEvents    = 128  // of the job's span
)

// JobEnded records the spans of a job that has ended.
func (t *Tracer) JobEnded(ended job.Record) {
	if t == nil || !t.settings.Sampler.samples(jobTrace(ended.ID)) {
		return
	}
	select {
	case t.jobs <- ended:
	default:
		t.drop(1)
	}
}

// readJobs reads the timelines of ended jobs until Close, and then those of the
// rest of the queue.
func (t *Tracer) readJobs() {
	for {
		select {
		case ended := <-t.jobs:
			t.readJob(ended)
		case <-t.stopJobs:
			for {
				select {
				case ended := <-t.jobs:
					t.readJob(ended)
				default:
					return
				}
			}
		}
	}
}

func (t *Tracer) readJob(ended job.Record) {
	ctx, cancel := context.WithTimeout(t.ctx, readTimeout)
	defer cancel()
	var all []job.TimelineEntry
	after := uuid.Nil
	for more := true; more && len(all) < maxEntries; {
		entries, next, err := t.settings.Timeline.ListTimeline(ctx, ended.ID, after, timelinePage)
		if err != nil {
			t.drop(1)
			t.settings.Log.Warn("the trace of a job is not exported", "job", ended.ID, "error", err)
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
	b.root = b.span("job", ended.CreatedAt, jobSpan(ended.ID), spanID{})
	b.root.attributes = append(b.root.attributes,
		text("standin.platform", string(ended.Platform)), text("standin.mode", string(ended.Mode)),
		text("standin.outcome", string(ended.Status)), number("standin.attempts", int64(ended.Attempts)))
	if ended.FailureCode != "" {
		b.root.attributes = append(b.root.attributes, text("standin.failure_code", string(ended.FailureCode)))
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
func (b *jobBuilder) span(name string, start time.Time, id, parent spanID) span {
	return span{
		trace: jobTrace(b.job.ID), id: id, parent: parent, name: name, kind: kindInternal, start: start,
		attributes: []attribute{text("standin.job.id", b.job.ID.String())},
	}
}

// add adds an entry of the timeline. Those after the end of the job are not part
// of its span.
func (b *jobBuilder) add(entry job.TimelineEntry) {
	if b.status.Terminal() {
		return
	}
	if len(b.root.events) < maxEvents {
		b.root.events = append(b.root.events, spanEvent{at: entry.ReceivedAt, name: string(entry.Kind), attributes: []attribute{
			number("standin.attempt", int64(entry.Attempt)), text("standin.source", string(entry.Source)),
			text("standin.applied", strconv.FormatBool(entry.Applied)),
		}})
	}
	if !entry.Applied || entry.From == entry.To && entry.Kind != job.AttemptStarted {
		return
	}
	at := entry.ReceivedAt
	b.endStatus(at)
	if b.status = entry.To; entry.Kind == job.AttemptStarted || b.attempt == nil && entry.To.Dispatched() && !entry.To.Teardown() {
		b.endAttempt(at)
		number := strconv.Itoa(entry.Attempt)
		started := b.span("attempt", at, derivedSpan(b.job.ID, "attempt", number), b.root.id)
		started.attributes = append(started.attributes, text("standin.attempt", number))
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
		s.end = later(b.since, at)
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
	b.attempt.end = later(b.attempt.start, at)
	b.attempt.failed = b.job.Status == job.Failed && b.status == job.Failed
	b.spans = append(b.spans, *b.attempt)
	b.attempt = nil
}

// later returns the later of two times: the clocks of nodes differ.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
