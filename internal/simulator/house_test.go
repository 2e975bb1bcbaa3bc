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

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/dispatch"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/lifecycle"
	"standin/internal/recording"
	"standin/internal/simulator"
	"standin/internal/store"
	"standin/internal/webhook"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// house is the service without its HTTP surface: real database, storage,
// dispatcher, webhook sender, and the simulator as the only launcher.
type house struct {
	store    *store.Store
	storage  *recording.Storage
	jobs     *lifecycle.Service
	receiver *receiver
	caller   account.Caller
	dir      string
}

// at once is a clock on which every wait is over as soon as it begins.
type atOnce struct{}

func (atOnce) Now() time.Time { return time.Now() }

func (atOnce) Timer(time.Duration) (<-chan time.Time, func() bool) {
	passed := make(chan time.Time, 1)
	passed <- time.Now()
	return passed, func() bool { return true }
}

// timeouts are the dispatcher's: short where an outcome waits for one.
func timeouts() dispatch.Timeouts {
	t := dispatch.DefaultTimeouts()
	t.Launch, t.FirstHeartbeat, t.Heartbeat = 500*time.Millisecond, 10*time.Second, 10*time.Second
	return t
}

// openHouse opens a house with its database and a consumer, in which nothing
// runs yet.
func openHouse(t *testing.T) *house {
	t.Helper()
	h := &house{dir: t.TempDir(), receiver: newReceiver(t)}
	var err error
	if h.store, err = store.Open(t.Context(), filepath.Join(h.dir, "standin.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.store.Close() })
	if h.storage, err = recording.OpenStorage(t.Context(), "file://"+filepath.Join(h.dir, "recordings")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.storage.Close() })
	keys := account.Keys{Store: h.store, Now: time.Now, WebhookSecret: h.receiver.secret}
	_, key, err := keys.Issue(t.Context(), "tests", "", job.Test)
	if err != nil {
		t.Fatal(err)
	}
	if h.caller, err = keys.Authenticate(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	return h
}

// run starts everything and returns what stops it again.
func (h *house) run(t *testing.T, clock simulator.Clock, wrap func(simulator.Service) simulator.Service) (stop func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	sender := webhook.NewSender(h.store, webhook.Settings{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Log: log})
	recordings := &dispatch.Finalizer{
		Store: h.store, Finisher: &recording.Finisher{Storage: h.storage, BaseURL: "http://standin.test", TempDir: h.dir, Log: log},
	}
	var dispatcher *dispatch.Dispatcher
	h.jobs = lifecycle.New(lifecycle.Settings{
		Store: h.store, Finalizer: recordings, BaseURL: "http://standin.test", Now: time.Now,
		WakeJobs: func() { dispatcher.Wake() }, WakeHooks: sender.Wake,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var service simulator.Service = h.jobs
	if wrap != nil {
		service = wrap(service)
	}
	simulated, err := simulator.New(simulator.Settings{
		Service: service, Uploads: h.storage, Clock: clock, Log: log,
		OnExit: func(jobID uuid.UUID, _ int) { dispatcher.BotExited(ctx, jobID) },
	})
	if err != nil {
		t.Fatal(err)
	}
	dispatcher = dispatch.New(dispatch.Settings{
		Store: h.store, Jobs: h.jobs, Launcher: simulator.Router{Test: simulated, Live: noLive{t}}, Recordings: recordings,
		SigningKey: []byte("key"), Timeouts: timeouts(), SingleNode: true, Now: time.Now, Log: log,
	})
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := dispatcher.Run(ctx); err != nil {
			t.Errorf("the dispatcher ended: %v", err)
		}
	})
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

// noLive is the launcher of live jobs; none of the tests' jobs may come to it.
type noLive struct{ t *testing.T }

func (n noLive) Launch(_ context.Context, a launch.Assignment) error {
	n.t.Errorf("job %s of a test key went to the live launcher", a.JobID)
	return nil
}
func (noLive) State(uuid.UUID, int) launch.State          { return launch.NotStarted }
func (noLive) Reason(uuid.UUID, int) string               { return "" }
func (noLive) Stop(context.Context, uuid.UUID, int) error { return nil }

// create makes a job with the given metadata.simulate.
func (h *house) create(t *testing.T, simulate any, change ...func(*lifecycle.NewJob)) job.Job {
	t.Helper()
	metadata, err := json.Marshal(map[string]any{"simulate": simulate, "customer": "of ours"})
	if err != nil {
		t.Fatal(err)
	}
	request := lifecycle.NewJob{
		ExternalID: uuid.NewString(), MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet,
		DisplayName: job.DefaultDisplayName, Metadata: metadata, AutoLeave: job.DefaultAutoLeave(),
		Webhooks: job.Webhooks{OnStatusChange: h.receiver.URL, OnFinalize: h.receiver.URL},
	}
	for _, c := range change {
		c(&request)
	}
	made, _, err := h.jobs.Create(t.Context(), h.caller, request)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// reached waits until the job is in a state.
func (h *house) reached(t *testing.T, id uuid.UUID, status job.Status) job.Job {
	t.Helper()
	var seen job.Job
	eventually(t, fmt.Sprintf("state %s", status), func() bool {
		r, err := h.store.Job(t.Context(), id)
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

// command queues a command as the surface does, and returns when its bot has
// acknowledged it.
func (h *house) command(t *testing.T, id uuid.UUID, kind ingest.CommandKind) {
	t.Helper()
	h.queue(t, id, kind)
	eventually(t, fmt.Sprintf("acknowledgement of %s", kind), func() bool {
		waiting, err := h.store.PendingCommands(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return len(waiting) == 0
	})
}

func (h *house) queue(t *testing.T, id uuid.UUID, kind ingest.CommandKind) {
	t.Helper()
	_, err := h.jobs.Change(t.Context(), id, func(c *lifecycle.Change) error { return c.QueueCommand(t.Context(), kind, nil) })
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatalf("never came: %s", what)
		case <-ticker.C:
		}
	}
}

// receiver is a consumer's server: it verifies and keeps what it is sent.
type receiver struct {
	*httptest.Server
	secret string

	mu       sync.Mutex
	received map[uuid.UUID][]message
}

// message is a webhook as it arrived.
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
		if err := webhook.Verify(request.Header, body, r.secret, time.Now()); err != nil {
			t.Errorf("a webhook does not verify: %v", err)
		}
		var got message
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("a webhook is no JSON: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.received[got.Data.JobID] = append(r.received[got.Data.JobID], got)
	}))
	t.Cleanup(r.Close)
	return r
}

// until waits for a job's webhook of the given event and returns all that came
// until then. A job's webhooks to one address come in order.
func (r *receiver) until(t *testing.T, id uuid.UUID, event string) []message {
	t.Helper()
	var all []message
	eventually(t, "webhook "+event, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		all = append([]message(nil), r.received[id]...)
		return len(all) > 0 && all[len(all)-1].Event == event
	})
	return all
}
