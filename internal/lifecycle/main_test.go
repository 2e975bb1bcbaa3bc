package lifecycle_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/dispatch"
	"standin/internal/event"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/jobfiles"
	"standin/internal/lifecycle"
	"standin/internal/recording/build"
	"standin/internal/recording/storage"
	"standin/internal/store"
	"standin/internal/testing/storetest"
	"standin/internal/webhook"
)

// cluster is the PostgreSQL server that the tests of this package share. It is nil
// if PostgreSQL is not installed.
var cluster *storetest.Cluster

func TestMain(m *testing.M) {
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

const (
	statusURL   = "https://hooks.test/status"
	finalizeURL = "https://hooks.test/final"
	baseURL     = "https://standin.test"
)

// harness is a lifecycle.Service on a real database and storage, with a consumer.
type harness struct {
	*lifecycle.Service
	store   *store.Store
	storage *storage.Recordings
	caller  account.Caller
	woken   atomic.Int64 // how often the dispatcher was woken
	sent    atomic.Int64 // how often the webhook sender was woken
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
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := storage.Open(t.Context(), (&url.URL{Scheme: "file", Path: filepath.Join(t.TempDir(), "kept")}).String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(recordings.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	h := &harness{store: s, storage: recordings}
	h.Service = h.serviceOn(t, s)
	h.caller = h.newCaller(t)
	return h
}

// serviceOn returns another service on a database, such as that of another node or
// after a restart. It is closed at the end of the test, before a database that was
// opened earlier.
func (h *harness) serviceOn(t *testing.T, s *store.Store) *lifecycle.Service {
	t.Helper()
	return newService(t, lifecycle.Settings{
		Store: s,
		Finalizer: &dispatch.Finalizer{Store: s, Files: jobfiles.Files{Recordings: h.storage, DataDir: t.TempDir()}, Finisher: &build.Finisher{
			Storage: h.storage, BaseURL: baseURL, TempDir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
		}},
		BaseURL: baseURL, Options: lifecycle.Options{ManifestPrefixes: []string{"https://files.test/manifests"}},
		Now:    time.Now,
		Events: h.events(),
	})
}

// newService returns a service that is closed at the end of the test.
func newService(t *testing.T, settings lifecycle.Settings) *lifecycle.Service {
	t.Helper()
	s := lifecycle.New(settings)
	t.Cleanup(s.Close)
	return s
}

// events returns a publisher that counts what the service publishes.
func (h *harness) events() *event.Publisher {
	events := new(event.Publisher)
	events.Subscribe(func(published event.Event) {
		switch published.(type) {
		case event.JobDue:
			h.woken.Add(1)
		case event.DeliveryDue:
			h.sent.Add(1)
		}
	})
	return events
}

// newCaller creates a consumer.
func (h *harness) newCaller(t *testing.T) account.Caller {
	t.Helper()
	c, err := h.store.EnsureConsumer(t.Context(), account.Consumer{
		ID: uuid.New(), Name: uuid.NewString(), WebhookSecret: "whsec_c2VjcmV0", WebhookVersion: 2, CreatedAt: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return account.Caller{KeyID: uuid.New(), ConsumerID: c.ID, Mode: job.Live}
}

// request returns a valid request for a new job.
func request(externalID string) lifecycle.NewJob {
	return lifecycle.NewJob{
		ExternalID:  externalID,
		MeetingURL:  "https://meet.google.com/abc-defg-hij",
		Platform:    job.Meet,
		DisplayName: job.DefaultDisplayName,
		Webhooks:    job.Webhooks{OnStatusChange: statusURL, OnFinalize: finalizeURL},
		Metadata:    json.RawMessage(`{"ticket":7}`),
		AutoLeave:   job.DefaultAutoLeave(),
	}
}

// newJob creates a job.
func (h *harness) newJob(t testing.TB) uuid.UUID {
	t.Helper()
	j, replayed, err := h.Create(t.Context(), h.caller, request(uuid.NewString()))
	if err != nil || replayed {
		t.Fatalf("create: %v (replayed %v)", err, replayed)
	}
	return j.ID
}

// begin starts an attempt, as the dispatcher does.
func (h *harness) begin(t failer, id uuid.UUID) {
	t.Helper()
	_, err := h.Change(context.Background(), id, func(ctx context.Context, c *lifecycle.Change) error {
		_, err := c.ApplyFromService(ctx, job.Event{Trigger: job.AttemptStarted}, nil)
		return err
	})
	if err != nil {
		t.Fatalf("start an attempt: %v", err)
	}
}

// failer has the methods that *testing.T and *rapid.T share.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
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
func (h *harness) ingest(t failer, e ingest.Event) ingest.EventResponse {
	t.Helper()
	answer, err := h.Ingest(context.Background(), e)
	if err != nil {
		t.Fatalf("%s of attempt %d: %v", e.Kind, e.Attempt, err)
	}
	return answer
}

// walk sends events of attempt 0 in order, all of which must be applied.
func (h *harness) walk(t failer, id uuid.UUID, kinds ...job.Trigger) {
	t.Helper()
	for n, kind := range kinds {
		if answer := h.ingest(t, botEvent(id, 0, n, kind, "")); !answer.Applied {
			t.Fatalf("%s was not applied: %s", kind, answer.Reason)
		}
	}
}

// record returns the stored job.
func (h *harness) record(t failer, id uuid.UUID) job.Record {
	t.Helper()
	r, err := h.store.Job(context.Background(), id)
	if err != nil {
		t.Fatalf("read the job: %v", err)
	}
	return r
}

// upload stores the first segment of a recording, as its bot would.
func (h *harness) upload(t *testing.T, id uuid.UUID, attempt int) {
	t.Helper()
	media := []byte("media")
	sum := sha256.Sum256(media)
	_, err := h.storage.PutUpload(t.Context(), id, attempt, ingest.SegmentName(0, 0), bytes.NewReader(media), hex.EncodeToString(sum[:]), 1<<20)
	if err != nil {
		t.Fatal(err)
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
func (h *harness) outbox(t failer, id uuid.UUID) []deliveredEvent {
	t.Helper()
	deliveries, err := storetest.Deliveries(context.Background(), h.store, id)
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
func (h *harness) checkHistory(t failer, id uuid.UUID) {
	t.Helper()
	timeline, err := h.store.Timeline(context.Background(), id)
	if err != nil {
		t.Fatalf("read the timeline: %v", err)
	}
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
	r := h.record(t, id)
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
func checkOutbox(t failer, all []deliveredEvent, moves []job.TimelineEntry, last int64) {
	t.Helper()
	changes := eventsNamed(all, webhook.JobStatusChanged)
	if len(changes) != len(moves) {
		t.Fatalf("%d transitions, but %d job.status_changed events", len(moves), len(changes))
	}
	for i, change := range changes {
		if change.From != moves[i].From || change.To != moves[i].To || change.Job.Status != moves[i].To {
			t.Errorf("transition %d, %s -> %s, was delivered as %s -> %s of a job in %s", i, moves[i].From, moves[i].To, change.From, change.To, change.Job.Status)
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
func (h *harness) cancel(id uuid.UUID) error {
	return h.Cancel(context.Background(), h.caller, id)
}

// asJobError returns the *job.Error in err. There must be one.
func asJobError(err error) *job.Error {
	own, _ := errors.AsType[*job.Error](err)
	return own
}
