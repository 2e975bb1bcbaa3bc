package simulator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"standin/client"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/jobfiles"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/launch/manual"
	"standin/internal/launch/simulator"
	"standin/internal/recording/build"
	"standin/internal/recording/storage"
	"standin/internal/store"
	"standin/internal/testing/await"
	"standin/internal/testing/storetest"
)

// testEnv is the service without HTTP: real database, storage, dispatcher and
// webhook sender, with the simulator as the only launcher.
type testEnv struct {
	store    *store.Store
	storage  *storage.Recordings
	jobs     *lifecycle.Service
	receiver *receiver
	caller   account.Caller
	timeouts dispatch.Timeouts // of run
	dir      string
}

// instantClock is a clock whose timers expire at once.
type instantClock struct{}

func (instantClock) Now() time.Time { return time.Now() }

func (instantClock) Timer(time.Duration) (<-chan time.Time, func() bool) {
	passed := make(chan time.Time, 1)
	passed <- time.Now()
	return passed, func() bool { return true }
}

// newTestEnv returns an environment with a database and a consumer. Nothing
// runs in it.
func newTestEnv(t *testing.T) *testEnv {
	t.Helper()
	e := &testEnv{dir: t.TempDir(), receiver: newReceiver(t), timeouts: dispatch.DefaultTimeouts()}
	e.timeouts.Launch, e.timeouts.FirstHeartbeat, e.timeouts.Heartbeat = 500*time.Millisecond, 10*time.Second, 10*time.Second
	var err error
	if e.store, err = store.Open(t.Context(), storetest.FreshSQLite(t)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.store.Close() })
	if e.storage, err = storage.Open(t.Context(), "file://"+filepath.Join(e.dir, "recordings"), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.storage.Close() })
	keys := account.Keys{Store: e.store, Now: time.Now, WebhookSecret: e.receiver.secret}
	_, key, err := keys.Issue(t.Context(), "tests", "", job.Test)
	if err != nil {
		t.Fatal(err)
	}
	if e.caller, err = keys.Authenticate(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	return e
}

// run starts everything and returns a function that stops it.
func (e *testEnv) run(t *testing.T, clock simulator.Clock, wrap func(simulator.Service) simulator.Service) (stop func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	sender := webhook.NewSender(e.store, webhook.Settings{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Log: log})
	recordings := &dispatch.Finalizer{
		Store: e.store, Files: jobfiles.Files{Recordings: e.storage, DataDir: e.dir}, Finisher: &build.Finisher{
			Storage: e.storage, BaseURL: "http://standin.test", TempDir: e.dir, Log: log,
		},
	}
	events := new(event.Publisher)
	e.jobs = lifecycle.New(lifecycle.Settings{
		Store: e.store, Finalizer: recordings, Outputs: e.storage, BaseURL: "http://standin.test", Events: events, Now: time.Now,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var service simulator.Service = e.jobs
	if wrap != nil {
		service = wrap(service)
	}
	simulated := simulator.New(simulator.Settings{
		Service: service, Uploads: e.storage, Clock: clock, Log: log,
		OnExit: func(jobID uuid.UUID, _ int) { events.Publish(event.BotChanged{JobID: jobID}) },
	})
	dispatcher := dispatch.New(dispatch.Settings{
		Store: e.store, Jobs: e.jobs, Launcher: simulator.Router{Test: simulated, Live: manual.Launcher{}}, Recordings: recordings,
		SigningKey: []byte("key"), Timeouts: e.timeouts, SingleNode: true, Now: time.Now, Log: log,
	})
	events.Subscribe(func(e event.Event) {
		switch e := e.(type) {
		case event.JobDue:
			dispatcher.Wake()
		case event.DeliveryDue:
			sender.Wake()
		case event.BotChanged:
			dispatcher.BotStateChanged(ctx, e.JobID)
		}
	})
	var parts sync.WaitGroup
	parts.Go(func() { dispatcher.Run(ctx) })
	parts.Go(func() { sender.Run(ctx) })
	var once sync.Once
	stop = func() {
		once.Do(func() {
			simulated.Close()
			cancel()
			parts.Wait()
		})
	}
	t.Cleanup(stop)
	return stop
}

// create creates a job with the given metadata.simulate.
func (e *testEnv) create(t *testing.T, simulate any, change ...func(*lifecycle.NewJob)) job.Job {
	t.Helper()
	metadata, err := json.Marshal(map[string]any{"simulate": simulate, "customer": "of ours"})
	if err != nil {
		t.Fatal(err)
	}
	request := lifecycle.NewJob{
		ExternalID: uuid.NewString(), MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet,
		DisplayName: job.DefaultDisplayName, Metadata: metadata, AutoLeave: job.DefaultAutoLeave(),
		Webhooks: job.Webhooks{OnStatusChange: e.receiver.URL, OnFinalize: e.receiver.URL},
	}
	for _, c := range change {
		c(&request)
	}
	created, _, err := e.jobs.Create(t.Context(), e.caller, request)
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// waitForStatus waits until the job has the status.
func (e *testEnv) waitForStatus(t *testing.T, id uuid.UUID, status job.Status) job.Job {
	t.Helper()
	var seen job.Job
	await.Until(t, fmt.Sprintf("state %s", status), func() bool {
		r, err := e.store.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		seen = r.Job
		if seen.Status.Terminal() && seen.Status != status {
			t.Fatalf("the job is %s (%s: %s), not %s", seen.Status, seen.FailureCode, seen.FailureDetail, status)
		}
		return seen.Status == status
	})
	return seen
}

// command queues a command and waits until the bot has acknowledged it.
func (e *testEnv) command(t *testing.T, id uuid.UUID, kind ingest.CommandKind) {
	t.Helper()
	e.queue(t, id, kind)
	await.Until(t, fmt.Sprintf("acknowledgement of %s", kind), func() bool {
		waiting, err := e.store.PendingCommands(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return len(waiting) == 0
	})
}

func (e *testEnv) queue(t *testing.T, id uuid.UUID, kind ingest.CommandKind) {
	t.Helper()
	_, err := e.jobs.Change(t.Context(), id, func(ctx context.Context, c *lifecycle.Change) error {
		_, err := c.QueueCommand(ctx, kind, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// receiver is a consumer's server. It verifies and keeps webhooks.
type receiver struct {
	*httptest.Server
	secret string

	mu       sync.Mutex
	received map[uuid.UUID][]message
}

// message is a received webhook.
type message struct {
	DeliveryID string
	Event      string
	Data       struct {
		Sequence        int
		JobID           uuid.UUID
		From, To        job.Status
		FailureCode     job.FailureCode `json:"failure_code"`
		FailureDetail   string          `json:"failure_detail"`
		ManifestURI     string
		Granted         *bool
		Detail          string
		DetectedBotName string
		LeftMeeting     *bool
	}
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{secret: webhook.NewSecret(), received: make(map[uuid.UUID][]message)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Errorf("read a webhook: %v", err)
			return
		}
		if err := client.VerifyWebhook(request.Header, body, r.secret, time.Now()); err != nil {
			t.Errorf("verify webhook: %v", err)
		}
		var got message
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("decode webhook: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.received[got.Data.JobID] = append(r.received[got.Data.JobID], got)
	}))
	t.Cleanup(r.Close)
	return r
}

// waitForEvent waits for a webhook with the event and returns all webhooks of
// the job up to it.
func (r *receiver) waitForEvent(t *testing.T, id uuid.UUID, event string) []message {
	t.Helper()
	var all []message
	await.Until(t, "webhook "+event, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		all = append([]message(nil), r.received[id]...)
		return len(all) > 0 && all[len(all)-1].Event == event
	})
	return all
}
