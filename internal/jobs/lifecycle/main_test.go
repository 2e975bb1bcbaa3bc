package lifecycle_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/testing/storetest"
	"standin/internal/testing/world"
)

// cluster is the PostgreSQL server that the tests of this package share. It is nil
// if PostgreSQL is not installed.
var cluster *storetest.Cluster

func TestMain(m *testing.M) {
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

// harness is a world that counts what its services publish.
type harness struct {
	*world.World
	woken atomic.Int64 // how often the dispatcher was woken
	sent  atomic.Int64 // how often the webhook sender was woken
}

// onBoth runs a test on SQLite and on PostgreSQL.
func onBoth(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Helper()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) { test(t, newHarness(t, address)) })
}

// newSQLiteHarness returns a harness for tests that do not depend on the database.
func newSQLiteHarness(t *testing.T) *harness {
	t.Helper()
	return newHarness(t, storetest.FreshSQLite(t))
}

func newHarness(t *testing.T, address string) *harness {
	t.Helper()
	h := &harness{World: world.New(t, address, time.Now)}
	h.Events.Subscribe(func(published event.Event) {
		switch published.(type) {
		case event.JobDue:
			h.woken.Add(1)
		case event.DeliveryDue:
			h.sent.Add(1)
		}
	})
	return h
}

// newJob creates a job.
func (h *harness) newJob(t world.T) uuid.UUID {
	t.Helper()
	return h.NewJob(t).ID
}

// begin starts an attempt, as the dispatcher does.
func (h *harness) begin(t world.T, id uuid.UUID) {
	t.Helper()
	h.Update(t, id, func(ctx context.Context, c *lifecycle.Change) error {
		_, err := c.ApplyFromService(ctx, job.Event{Trigger: job.AttemptStarted}, nil)
		return err
	})
}

// begun creates a job and starts its first attempt.
func (h *harness) begun(t world.T) uuid.UUID {
	t.Helper()
	id := h.newJob(t)
	h.begin(t, id)
	return id
}

// started is the time of the first event of the bots of these tests.
var started = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// botEvent returns the n-th event of an attempt's bot.
func botEvent(id uuid.UUID, attempt, n int, kind job.Trigger, data string) ingest.Event {
	return ingest.Event{
		Kind: kind, JobID: id.String(), Attempt: attempt, EmittedAt: started.Add(time.Duration(n) * time.Second), Data: json.RawMessage(data),
	}
}

// ingest sends an event to the service.
func (h *harness) ingest(t world.T, e ingest.Event) ingest.EventResponse {
	t.Helper()
	answer, err := h.Ingest(context.Background(), ingest.Simulated(uuid.MustParse(e.JobID), e.Attempt), e)
	if err != nil {
		t.Fatalf("%s of attempt %d: %v", e.Kind, e.Attempt, err)
	}
	return answer
}

// walk sends events of attempt 0 in order, all of which must be applied.
func (h *harness) walk(t world.T, id uuid.UUID, kinds ...job.Trigger) {
	t.Helper()
	for n, kind := range kinds {
		if answer := h.ingest(t, botEvent(id, 0, n, kind, "")); !answer.Applied {
			t.Fatalf("%s was not applied: %s", kind, answer.Reason)
		}
	}
}

// deliveredEvent is the decoded event of a delivery.
type deliveredEvent struct {
	Event    string     `json:"event"`
	From     job.Status `json:"from"`
	To       job.Status `json:"to"`
	Sequence int64      `json:"sequence"`
	URL      string     `json:"-"`

	FailureCode   *job.FailureCode `json:"failure_code"`
	FailureDetail *string          `json:"failure_detail"`
	ManifestURI   string           `json:"manifestUri"`
	Revision      int              `json:"manifestRevision"`
	Segments      int              `json:"segments"`
	Granted       *bool            `json:"granted"`
	Detail        *string          `json:"detail"`
	Detected      string           `json:"detectedBotName"`
	Left          *bool            `json:"leftMeeting"`
	CommandID     string           `json:"commandId"`
	Command       string           `json:"command"`
	Outcome       string           `json:"outcome"`
	Reason        string           `json:"reason"`

	Job struct {
		Status   job.Status      `json:"status"`
		Metadata json.RawMessage `json:"metadata"`
	} `json:"job"`
}

// outbox returns the events in a job's outbox, in order.
func (h *harness) outbox(t world.T, id uuid.UUID) []deliveredEvent {
	t.Helper()
	deliveries, err := storetest.Deliveries(context.Background(), h.Store, id)
	if err != nil {
		t.Fatalf("read the outbox: %v", err)
	}
	all := make([]deliveredEvent, len(deliveries))
	for i, d := range deliveries {
		if err := json.Unmarshal(d.Data, &all[i]); err != nil {
			t.Fatalf("delivery %s: %v", d.ID, err)
		}
		if all[i].URL = d.URL; d.Event != all[i].Event || d.Sequence != all[i].Sequence {
			t.Fatalf("delivery %s is %s number %d, but its event is %s number %d", d.ID, d.Event, d.Sequence, all[i].Event, all[i].Sequence)
		}
	}
	return all
}

// eventsNamed returns the events of one kind.
func eventsNamed(all []deliveredEvent, event string) []deliveredEvent {
	var picked []deliveredEvent
	for _, one := range all {
		if one.Event == event {
			picked = append(picked, one)
		}
	}
	return picked
}

// checkHistory checks that a job's timeline agrees with the state machine and with
// the number and bytes of its bots' events, and that its outbox contains each
// transition once.
func (h *harness) checkHistory(t world.T, id uuid.UUID) {
	t.Helper()
	timeline := h.Entries(t, id)
	state := job.New()
	var moves []job.TimelineEntry
	var botEvents int
	var botEventBytes int64
	for i, entry := range timeline {
		if entry.Source == job.SourceBot {
			botEvents++
			botEventBytes += int64(len(entry.Data))
		}
		if entry.Reason == job.Duplicate || !isTrigger(entry.Kind) { // such as a queued command
			if entry.From != state.Status || entry.To != state.Status {
				t.Errorf("entry %d changed the status: %+v", i, entry)
			}
			continue
		}
		next, result := state.Apply(replayed(entry, state))
		if result.Applied != entry.Applied || result.Reason != entry.Reason || result.From != entry.From || result.To != entry.To {
			t.Errorf("entry %d, %s of attempt %d: got %s -> %s (applied %v, %q), want %s -> %s (applied %v, %q)", i, entry.Kind, entry.Attempt,
				entry.From, entry.To, entry.Applied, entry.Reason, result.From, result.To, result.Applied, result.Reason)
		}
		if state = next; result.Changed() {
			moves = append(moves, entry)
		}
	}
	r := h.Record(t, id)
	if r.Status != state.Status || r.Attempt != state.Attempt || r.Attempts != state.Attempts || r.FailureCode != state.FailureCode {
		t.Errorf("job %+v, want %+v by its timeline", r.State, state)
	}
	if r.BotEvents != botEvents || r.BotEventBytes != botEventBytes {
		t.Errorf("%d events with %d bytes are counted, want %d with %d", r.BotEvents, r.BotEventBytes, botEvents, botEventBytes)
	}
	checkOutbox(t, h.outbox(t, id), moves, r.Sequence)
}

// isTrigger reports whether entries of a kind are triggers of the state machine.
func isTrigger(kind job.Trigger) bool {
	return slices.Contains(job.BotTriggers(), kind) ||
		slices.ContainsFunc(job.Transitions(), func(rule job.Transition) bool { return rule.Trigger == kind })
}

// replayed returns the state machine's event of a timeline entry.
func replayed(entry job.TimelineEntry, state job.State) job.Event {
	e := job.Event{Trigger: entry.Kind, Attempt: entry.Attempt, At: entry.ReceivedAt}
	if entry.Source == job.SourceService {
		e.Attempt = state.Attempt
	}
	if entry.Kind == job.BotExited {
		data := ingest.ParseEventData(entry.Data)
		e.FailureCode, e.Lost = job.FailureCode(data.FailureCode), data.EndReason == ingest.EndStopped
	}
	if entry.Kind == job.ManifestFinalized {
		e.ManifestURI = "https://standin.test/manifest"
	}
	return e
}

// checkOutbox checks that the delivered events match the transitions of a job.
func checkOutbox(t world.T, all []deliveredEvent, moves []job.TimelineEntry, last int64) {
	t.Helper()
	changes := eventsNamed(all, webhook.JobStatusChanged)
	if len(changes) != len(moves) {
		t.Fatalf("%d transitions, but %d job.status_changed events", len(moves), len(changes))
	}
	for i, change := range changes {
		if change.From != moves[i].From || change.To != moves[i].To || change.Job.Status != moves[i].To {
			t.Errorf("transition %d, %s -> %s, was delivered as %s -> %s of a job in %s", i, moves[i].From, moves[i].To, change.From, change.To,
				change.Job.Status)
		}
	}
	numbers := make(map[int64]string)
	for _, one := range all {
		if event, known := numbers[one.Sequence]; known && event != one.Event {
			t.Errorf("sequence %d is %s and %s", one.Sequence, event, one.Event)
		}
		numbers[one.Sequence] = one.Event
	}
	ends := make(map[string]int)
	for n := range last {
		event, known := numbers[n+1]
		if !known {
			t.Errorf("sequence %d of %d is missing", n+1, last)
		}
		ends[event]++
	}
	if int64(len(numbers)) != last {
		t.Errorf("%d sequence numbers, want %d", len(numbers), last)
	}
	if ends[webhook.JobFailed]+ends[webhook.JobFinalized] > 1 {
		t.Errorf("%d job.failed and %d job.finalized events", ends[webhook.JobFailed], ends[webhook.JobFinalized])
	}
}

// cancel cancels a job of the harness's consumer.
func (h *harness) cancel(t world.T, id uuid.UUID) {
	t.Helper()
	if err := h.Cancel(context.Background(), h.Caller, id); err != nil {
		t.Fatalf("cancel: %v", err)
	}
}

// asJobError returns the *job.Error in err. There must be one.
func asJobError(err error) *job.Error {
	own, _ := errors.AsType[*job.Error](err)
	return own
}
