package lifecycle_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/testing/world"
)

// prelaunchModel is a job whose bots are launched before joinAt, with what must be true
// of it.
type prelaunchModel struct {
	*harness
	service *lifecycle.Service
	clock   atomic.Int64 // milliseconds
	id      uuid.UUID
	used    map[int]bool // attempt numbers of all bots so far
	void    map[int]bool // those of stopped bots
	events  int          // sent so far; each has a time of its own
}

func (m *prelaunchModel) now() time.Time { return time.UnixMilli(m.clock.Load()).UTC() }

// change changes the job as a dispatcher does.
func (m *prelaunchModel) change(t world.T, fn func(context.Context, *lifecycle.Change) error) {
	t.Helper()
	ctx := context.Background()
	if _, err := m.service.Change(ctx, m.id, func(ctx context.Context, c *lifecycle.Change) error { return fn(ctx, c) }); err != nil {
		t.Fatalf("change: %v", err)
	}
}

// launched records the bot of the current attempt.
func (m *prelaunchModel) launched(t world.T, attempt int) {
	t.Helper()
	if m.used[attempt] {
		t.Fatalf("two bots have the attempt number %d", attempt)
	}
	m.used[attempt] = true
}

// step makes one random change.
func (m *prelaunchModel) step(t *rapid.T) {
	before := m.Record(t, m.id)
	switch rapid.SampledFrom([]string{"launch", "stop", "fail", "joinAt", "name", "cancel", "event", "time", "start"}).Draw(t, "step") {
	case "launch":
		m.change(t, func(_ context.Context, c *lifecycle.Change) error {
			if c.Now.Before(c.JoinAt) && c.BeginPrelaunch("a") {
				m.launched(t, c.Attempt)
				c.LaunchedAt = c.Now
			}
			return nil
		})
	case "stop":
		m.change(t, func(ctx context.Context, c *lifecycle.Change) error {
			if c.Prelaunch == job.PrelaunchWithdrawn {
				m.void[c.Attempt-1] = true
				return c.EndPrelaunch(ctx)
			}
			return nil
		})
	case "fail":
		m.change(t, func(ctx context.Context, c *lifecycle.Change) error {
			if c.Prelaunch == job.Prelaunched {
				m.void[c.Attempt] = true
				c.WithdrawPrelaunch()
				err := c.EndPrelaunch(ctx)
				c.Prelaunch = job.PrelaunchSkipped
				return err
			}
			return nil
		})
	case "joinAt":
		joinAt := m.now().Add(time.Duration(rapid.IntRange(-5, 20).Draw(t, "seconds")) * time.Second)
		m.patch(t, before, lifecycle.Patch{JoinAt: &joinAt})
	case "name":
		name := uuid.NewString()
		m.patch(t, before, lifecycle.Patch{DisplayName: &name})
	case "cancel":
		if err := m.service.Cancel(context.Background(), m.Caller, m.id); err != nil {
			t.Fatalf("cancel: %v", err)
		}
		if before.Prelaunch == job.Prelaunched && before.Status == job.Scheduled {
			m.void[before.Attempt] = true
		}
	case "event":
		m.sendEvent(t, before)
	case "time":
		m.clock.Add(int64(rapid.IntRange(1, 10_000).Draw(t, "milliseconds")))
	case "start":
		m.start(t)
	}
	m.check(t)
}

// patch changes the job as its consumer does.
func (m *prelaunchModel) patch(t *rapid.T, before job.Record, patch lifecycle.Patch) {
	_, err := m.service.Patch(context.Background(), m.Caller, m.id, patch)
	if waiting := before.Status == job.Scheduled; waiting != (err == nil) {
		t.Fatalf("patch while the job is %s: %v", before.Status, err)
	}
	after := m.Record(t, m.id)
	if before.Prelaunch == job.Prelaunched && after.Prelaunch == job.PrelaunchWithdrawn {
		m.void[before.Attempt] = true
	}
	if err == nil && after.Prelaunch == job.Prelaunched && (after.DisplayName != before.DisplayName || !after.JoinAt.Equal(before.JoinAt)) {
		t.Fatal("a bot that was launched for the old values is still used")
	}
}

// sendEvent sends an event of any bot so far.
func (m *prelaunchModel) sendEvent(t *rapid.T, before job.Record) {
	if len(m.used) == 0 {
		return
	}
	attempt := rapid.IntRange(0, len(m.used)-1).Draw(t, "attempt")
	m.events++
	e := botEvent(m.id, attempt, m.events, rapid.SampledFrom([]job.Trigger{
		job.BotJoined, job.BotInMeeting, job.BotCompetingDetected,
	}).Draw(t, "kind"), "")
	answer, err := m.service.Ingest(context.Background(), ingest.Simulated(m.id, attempt), e)
	early := before.Prelaunch == job.Prelaunched && m.now().Before(before.JoinAt) && attempt >= before.Attempt
	switch {
	case early != job.ErrorIs(err, job.TooEarly) || !early && err != nil:
		t.Fatalf("%s of attempt %d: %v", e.Kind, attempt, err)
	case m.void[attempt] && answer.Applied:
		t.Fatalf("%s of the stopped bot of attempt %d was applied", e.Kind, attempt)
	case m.void[attempt] && !slices.ContainsFunc(answer.Commands, func(c ingest.Command) bool { return c.Kind == ingest.LeaveCall }):
		t.Fatalf("the stopped bot of attempt %d was not told to leave", attempt)
	}
}

// start starts the first attempt at joinAt.
func (m *prelaunchModel) start(t world.T) {
	m.change(t, func(ctx context.Context, c *lifecycle.Change) error {
		if c.Status != job.Scheduled || c.Now.Before(c.JoinAt) || c.Prelaunch == job.PrelaunchWithdrawn {
			return nil
		}
		if started, err := c.StartPrelaunched(ctx); started || err != nil {
			return err
		}
		if _, err := c.StartAttempt(ctx, "a", "a", ""); err != nil {
			return err
		}
		m.launched(t, c.Attempt)
		return nil
	})
}

// check checks what is true after every change.
func (m *prelaunchModel) check(t world.T) {
	t.Helper()
	r := m.Record(t, m.id)
	starts := 0
	for _, e := range m.Entries(t, m.id) {
		if e.Kind == job.AttemptStarted {
			starts++
		}
		if starts == 0 && e.Kind != lifecycle.JobChanged && e.Kind != job.CancelRequested {
			t.Fatalf("%s is on the timeline before the first attempt", e.Kind)
		}
	}
	switch {
	case starts != r.Attempts || starts > 1:
		t.Fatalf("%d attempts and %d starts", r.Attempts, starts)
	case r.Attempts == 0 && r.Status != job.Scheduled && r.Status != job.Cancelled:
		t.Fatalf("the job is %s without an attempt", r.Status)
	case r.Prelaunch == job.Prelaunched && (r.Status != job.Scheduled || !m.used[r.Attempt] || m.void[r.Attempt]):
		t.Fatalf("the job is %s with the prelaunched bot of attempt %d", r.Status, r.Attempt)
	case r.Prelaunch == job.PrelaunchWithdrawn && !m.void[r.Attempt-1]:
		t.Fatalf("the withdrawn bot has attempt %d", r.Attempt-1)
	case r.Prelaunch == job.PrelaunchWithdrawn && r.WakeAt.After(m.now()), r.Prelaunch == job.Prelaunched && r.WakeAt.After(r.JoinAt):
		t.Fatalf("the job is not looked at in time: %+v", r)
	case m.void[r.Attempt] || r.Attempts > 0 && !m.used[r.Attempt]:
		t.Fatalf("the current attempt is %d", r.Attempt)
	}
}

// TestAnyPrelaunch checks every sequence of changes by a dispatcher, a consumer and
// bots around joinAt: before the first attempt nothing shows, no two bots have the same
// attempt number, and stopped bots change nothing.
func TestAnyPrelaunch(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	m := &prelaunchModel{harness: h}
	m.service = h.NewService(t, m.now)
	rapid.Check(t, func(rt *rapid.T) {
		m.clock.Store(middle.UnixMilli())
		m.used, m.void, m.events = map[int]bool{}, map[int]bool{}, 0
		request := world.Request(uuid.NewString())
		request.JoinAt = middle.Add(10 * time.Second)
		j, _, err := m.service.Create(t.Context(), m.Caller, request)
		if err != nil {
			rt.Fatalf("create: %v", err)
		}
		m.id = j.ID
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			m.step(rt)
		}
	})
}
