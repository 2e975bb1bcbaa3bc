package tracing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"standin/internal/jobs/job"
	"standin/internal/testing/tracetest"
)

// entries returns timeline entries, one a second, each with the attempt, the
// trigger and the status after it.
func entries(created time.Time, steps ...string) (all []job.TimelineEntry) {
	status := job.Scheduled
	for i, step := range steps {
		attempt, rest, _ := strings.Cut(step, " ")
		kind, to, _ := strings.Cut(rest, " -> ")
		entry := job.TimelineEntry{
			ID: uuid.Must(uuid.NewV7()), Kind: job.Trigger(kind), Source: job.SourceService, Applied: true, From: status, To: job.Status(to),
			ReceivedAt: created.Add(time.Duration(i+1) * time.Second),
		}
		fmt.Sscan(attempt, &entry.Attempt)
		if to == "" {
			entry.To = status
		}
		status = entry.To
		all = append(all, entry)
	}
	return all
}

// outline returns each span as parent/name and its seconds since the creation of
// the job.
func outline(ended job.Record, spans []*tracepb.Span) (lines []string) {
	names := map[string]string{}
	for _, s := range spans {
		names[string(s.SpanId)] = s.Name
	}
	since := func(at uint64) time.Duration { return time.Unix(0, int64(at)).Sub(ended.CreatedAt) }
	for _, s := range spans {
		described := fmt.Sprintf("%s/%s %v-%v", names[string(s.ParentSpanId)], s.Name, since(s.StartTimeUnixNano), since(s.EndTimeUnixNano))
		if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			described += " failed"
		}
		lines = append(lines, described)
	}
	slices.Sort(lines)
	return lines
}

func TestJobSpans(t *testing.T) {
	t.Parallel()
	created := time.Unix(1_800_000_000, 0)
	for name, test := range map[string]struct {
		status job.Status
		code   job.FailureCode
		steps  []string
		want   []string
	}{
		"completed at the second attempt": {
			status: job.Completed,
			steps: []string{
				"0 no capacity -> pending", "0 attempt_started -> dispatching", "0 bot launched", "1 attempt_started -> dispatching",
				"1 lifecycle.joined -> joining", "1 lifecycle.recording_started -> recording_started", "1 lifecycle.exited -> finalizing",
				"1 manifest.finalized -> completed", "1 transcript attached",
			},
			want: []string{
				"/job 0s-8s", "attempt/status dispatching 2s-4s", "attempt/status dispatching 4s-5s", "attempt/status joining 5s-6s",
				"attempt/status recording_started 6s-7s", "job/attempt 2s-4s", "job/attempt 4s-7s", "job/status finalizing 7s-8s",
				"job/status pending 1s-2s", "job/status scheduled 0s-1s",
			},
		},
		"failed": {
			status: job.Failed, code: job.LobbyTimeout,
			steps: []string{"0 attempt_started -> dispatching", "0 lifecycle.entering_lobby -> entering_lobby", "0 lifecycle.exited -> failed"},
			want: []string{
				"/job 0s-3s failed", "attempt/status dispatching 1s-2s", "attempt/status entering_lobby 2s-3s", "job/attempt 1s-3s failed",
				"job/status scheduled 0s-1s",
			},
		},
		"a bot that the operator started": {
			status: job.Cancelled,
			steps:  []string{"0 lifecycle.joined -> joining", "0 cancel -> cancelled"},
			want:   []string{"/job 0s-2s", "attempt/status joining 1s-2s", "job/attempt 1s-2s", "job/status scheduled 0s-1s"},
		},
		"canceled before it began": {
			status: job.Cancelled, steps: []string{"0 cancel -> cancelled"}, want: []string{"/job 0s-1s", "job/status scheduled 0s-1s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := job.Record{Job: job.Job{
				ID: uuid.Must(uuid.NewV7()), CreatedAt: created, State: job.State{Status: test.status, FailureCode: test.code},
			}}
			all := entries(created, test.steps...)
			for _, entry := range all {
				if entry.To.Terminal() && entry.From != entry.To {
					ended.StatusSince = entry.ReceivedAt
				}
			}
			c := tracetest.New(t, nil)
			tracer := newTracer(t, c, defaultLimits(), func(s *Settings) { s.Timeline = timeline{entries: all} })
			tracer.JobEnded(ended)
			tracer.Close()
			spans := c.Spans()
			if got := outline(ended, spans); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			ids := map[string]bool{}
			for _, s := range spans {
				if ids[string(s.SpanId)] {
					t.Errorf("two spans have the ID of %s", s.Name)
				}
				ids[string(s.SpanId)] = true
			}
		})
	}
}

// timeline is a Timeline with a page size of its own.
type timeline struct {
	entries []job.TimelineEntry
	err     error
}

func (f timeline) ListTimeline(_ context.Context, _, after uuid.UUID, limit int) ([]job.TimelineEntry, bool, error) {
	from := slices.IndexFunc(f.entries, func(e job.TimelineEntry) bool { return e.ID == after }) + 1
	to := min(from+limit, len(f.entries))
	return f.entries[from:to], to < len(f.entries), f.err
}

// TestLongTimeline checks that the spans of a job are bounded, and that the
// timeline is read at Close.
func TestLongTimeline(t *testing.T) {
	t.Parallel()
	steps := []string{"0 attempt_started -> dispatching"}
	for range maxEntries {
		steps = append(steps, "0 lifecycle.recording_paused -> recording_paused", "0 lifecycle.recording_started -> recording_started")
	}
	c := tracetest.New(t, nil)
	created := time.Unix(1_800_000_000, 0)
	tracer := newTracer(t, c, defaultLimits(), func(s *Settings) { s.Timeline = timeline{entries: entries(created, steps...)} })
	ended := job.Record{
		Job:         job.Job{ID: uuid.Must(uuid.NewV7()), CreatedAt: created, State: job.State{Status: job.Completed}},
		StatusSince: created.Add(5000 * time.Second),
	}
	tracer.JobEnded(ended)
	tracer.Close()
	spans := c.Spans()
	if len(spans) != maxEntries+3 { // a status for each entry, the first status, the attempt, the job
		t.Errorf("%d spans", len(spans))
	}
	for _, s := range spans {
		if uuid.UUID(s.TraceId) != ended.ID {
			t.Fatalf("the trace of %s is not the job", s.Name)
		}
		if s.Name == "job" && (len(s.Events) != 128 || s.EndTimeUnixNano-s.StartTimeUnixNano != 5000e9) {
			t.Errorf("the job has %d events and ends at %d", len(s.Events), s.EndTimeUnixNano)
		}
	}

	tracer = newTracer(t, c, defaultLimits(), func(s *Settings) { s.Timeline = timeline{err: errors.New("no database")} })
	tracer.JobEnded(ended)
	tracer.Close()
	if tracer.count(resultDropped) != 1 || tracer.count(resultExported) != 0 {
		t.Errorf("without a database %v dropped, %v exported", tracer.count(resultDropped), tracer.count(resultExported))
	}
}
