package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/launch"
	"standin/internal/recording"
	"standin/internal/testing/await"
	"standin/internal/testing/storetest"
	"standin/internal/testing/world"
)

// signingKey signs the ingest tokens of these tests.
var signingKey = []byte("a key for tests")

// bots is a launcher whose bots do nothing. Tests set their states.
type bots struct {
	mu       sync.Mutex
	states   map[string]launch.State
	reason   string // of every bot
	starts   bool   // launched bots stay in the state Starting
	launched []launch.Assignment
	history  []string // calls, in order
	failure  error    // of launches
	blocked  chan struct{}
	entered  chan struct{}
	stopped  func(jobID uuid.UUID, attempt int) // called when a running bot is stopped
}

func newBots() *bots {
	return &bots{states: make(map[string]launch.State), entered: make(chan struct{}, 1000)}
}

func key(jobID uuid.UUID, attempt int) string { return fmt.Sprintf("%s/%d", jobID, attempt) }

// Launch implements launch.Launcher.
func (b *bots) Launch(ctx context.Context, a launch.Assignment) error {
	b.mu.Lock()
	blocked, failure := b.blocked, b.failure
	b.mu.Unlock()
	b.entered <- struct{}{}
	if blocked != nil {
		select {
		case <-blocked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if failure != nil {
		return failure
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.states[key(a.JobID, a.Attempt)] = launch.Running
	if b.starts {
		b.states[key(a.JobID, a.Attempt)] = launch.Starting
	}
	b.launched = append(b.launched, a)
	b.history = append(b.history, fmt.Sprintf("launch %d", a.Attempt))
	return nil
}

// State implements launch.Launcher.
func (b *bots) State(jobID uuid.UUID, attempt int) launch.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	if state, known := b.states[key(jobID, attempt)]; known {
		return state
	}
	return launch.NotStarted
}

// Reason implements launch.Launcher.
func (b *bots) Reason(uuid.UUID, int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reason
}

// Stop implements launch.Launcher.
func (b *bots) Stop(_ context.Context, jobID uuid.UUID, attempt int) error {
	b.mu.Lock()
	b.history = append(b.history, fmt.Sprintf("stop %d", attempt))
	running, stopped := b.states[key(jobID, attempt)] == launch.Running, b.stopped
	if running {
		b.states[key(jobID, attempt)] = launch.Gone
	}
	b.mu.Unlock()
	if running && stopped != nil {
		stopped(jobID, attempt)
	}
	return nil
}

// reportStops makes every bot that is stopped report that it exits, with the result
// that a real bot may report then.
func (h *harness) reportStops(t *testing.T) {
	t.Helper()
	h.bots.stopped = func(id uuid.UUID, attempt int) {
		_, err := h.Ingest(context.WithoutCancel(t.Context()), ingest.Simulated(id, attempt), ingest.Event{
			Kind: job.BotExited, EmittedAt: h.clock.Now(),
			Data: json.RawMessage(`{"endReason":"bot_stopped","detail":"The bot's process was asked to stop."}`),
		})
		if err != nil {
			t.Logf("the stopped bot %d cannot report: %v", attempt, err)
		}
	}
}

// setState sets the state that the engine reports for a bot.
func (b *bots) setState(jobID uuid.UUID, attempt int, state launch.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.states[key(jobID, attempt)] = state
}

func (b *bots) fail(failure error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = failure
}

// block blocks launches until the returned channel is closed.
func (b *bots) block() chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blocked = make(chan struct{})
	return b.blocked
}

// launches returns the assignments of a job's bots so far.
func (b *bots) launches(jobID uuid.UUID) []launch.Assignment {
	b.mu.Lock()
	defer b.mu.Unlock()
	var of []launch.Assignment
	for _, a := range b.launched {
		if a.JobID == jobID {
			of = append(of, a)
		}
	}
	return of
}

func (b *bots) done() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.history)
}

// harness is a world with a launcher for dispatchers.
type harness struct {
	*world.World
	address string // of the database
	clock   *world.Clock
	bots    *bots

	mu          sync.Mutex
	dispatchers []*dispatch.Dispatcher
}

// cluster is the PostgreSQL server that the tests of this package share. It is nil
// if PostgreSQL is not installed.
var cluster *storetest.Cluster

func TestMain(m *testing.M) {
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

// onBoth runs a test on SQLite and on PostgreSQL.
func onBoth(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Helper()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) { test(t, newHarnessOn(t, address)) })
}

// newHarness returns a harness on a real database and real storage.
func newHarness(t *testing.T) *harness {
	t.Helper()
	return newHarnessOn(t, storetest.FreshSQLite(t))
}

// newHarnessOn returns a harness on the test's own database.
func newHarnessOn(t *testing.T, address string) *harness {
	t.Helper()
	clock := world.NewClock()
	h := &harness{World: world.New(t, address, clock.Now), address: address, clock: clock, bots: newBots()}
	h.Events.Subscribe(func(e event.Event) {
		if _, ok := e.(event.JobDue); ok {
			h.wake()
		}
	})
	return h
}

// wake wakes all dispatchers.
func (h *harness) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.dispatchers {
		d.Wake()
	}
}

// at sets the clock and wakes all dispatchers.
func (h *harness) at(now time.Time) {
	h.clock.Set(now)
	h.wake()
}

// run starts a dispatcher and returns it with a function that stops it.
func (h *harness) run(t *testing.T, change ...func(*dispatch.Settings)) (d *dispatch.Dispatcher, stop func()) {
	t.Helper()
	settings := dispatch.Settings{
		Store: h.Store, Jobs: h.Service, Launcher: h.bots, Recordings: h.Finalizer, SigningKey: signingKey,
		ServiceURL: "http://127.0.0.1:1", Options: dispatch.Options{
			AllowedMeetingHosts: []string{"meet.test"},
		}, Timeouts: dispatch.DefaultTimeouts(),
		Now: h.clock.Now, Log: slog.New(slog.DiscardHandler),
	}
	for _, fn := range change {
		fn(&settings)
	}
	d = dispatch.New(settings)
	h.mu.Lock()
	h.dispatchers = append(h.dispatchers, d)
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return d, stop
}

// create creates a job with the given joinAt. The zero time means now.
func (h *harness) create(t *testing.T, joinAt time.Time) uuid.UUID {
	t.Helper()
	return h.NewJob(t, func(r *lifecycle.NewJob) { r.JoinAt = joinAt }).ID
}

// until waits until wanted returns true for the job and the job is not leased, and
// returns it.
func (h *harness) until(t *testing.T, id uuid.UUID, what string, wanted func(job.Record) bool) (r job.Record) {
	t.Helper()
	await.Until(t, what, func() bool { r = h.Record(t, id); return r.Lease == "" && wanted(r) })
	return r
}

// launched creates a job and waits for its first bot.
func (h *harness) launched(t *testing.T) uuid.UUID {
	t.Helper()
	id := h.create(t, time.Time{})
	h.untilLaunched(t, id, 0)
	return id
}

// lose ends a bot, which a dispatcher learns.
func (h *harness) lose(t *testing.T, d *dispatch.Dispatcher, id uuid.UUID, attempt int) {
	h.bots.setState(id, attempt, launch.Gone)
	d.BotStateChanged(t.Context(), id)
}

// cancel cancels a job.
func (h *harness) cancel(t *testing.T, id uuid.UUID) {
	t.Helper()
	if err := h.Cancel(t.Context(), h.Caller, id); err != nil {
		t.Fatal(err)
	}
}

// untilLaunched waits until the bot of an attempt was launched.
func (h *harness) untilLaunched(t *testing.T, id uuid.UUID, attempt int) job.Record {
	t.Helper()
	return h.until(t, id, fmt.Sprintf("launched, attempt %d", attempt), func(r job.Record) bool {
		return r.Attempt == attempt && !r.LaunchedAt.IsZero()
	})
}

// untilCleanedUp waits until the job has no further wake time.
func (h *harness) untilCleanedUp(t *testing.T, id uuid.UUID) job.Record {
	t.Helper()
	return h.until(t, id, "cleaned up", func(r job.Record) bool { return r.WakeAt.IsZero() })
}

// sendEvent sends an event as an attempt's bot.
func (h *harness) sendEvent(t *testing.T, id uuid.UUID, attempt int, kind job.Trigger, data string) {
	t.Helper()
	answer, err := h.Ingest(t.Context(), ingest.Simulated(id, attempt), ingest.Event{
		Kind: kind, EmittedAt: h.clock.Now(), Data: json.RawMessage(data),
	})
	if err != nil || !answer.Applied {
		t.Fatalf("%s: %+v (%v)", kind, answer, err)
	}
}

// uploads returns the number of stored files that the bots of a job uploaded.
func (h *harness) uploads(t *testing.T, id uuid.UUID) int {
	t.Helper()
	attempts, err := h.Storage.Uploads(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, attempt := range attempts {
		files += len(attempt.Files)
	}
	return files
}

// manifest returns the stored manifest of the job.
func (h *harness) manifest(t *testing.T, id uuid.UUID) recording.Manifest {
	t.Helper()
	text, err := h.Storage.Manifest(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var m recording.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// eventNames lists the status changes and the final event in the job's webhooks.
func (h *harness) eventNames(t *testing.T, id uuid.UUID) []string {
	t.Helper()
	deliveries, err := storetest.Deliveries(t.Context(), h.Store, id)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, d := range deliveries {
		var data struct{ To string }
		if err := json.Unmarshal(d.Data, &data); err != nil {
			t.Fatal(err)
		}
		if data.To == "" {
			data.To = d.Event
		}
		all = append(all, data.To)
	}
	return all
}

// recorded returns a recording of one second, in the format of a bot's browser. All tests
// share it.
func recorded(t *testing.T) []byte {
	t.Helper()
	content, err := recordedOnce()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") == "" {
		t.Skip("ffmpeg is not installed")
	}
	if err != nil {
		t.Fatalf("make a recording: %v", err)
	}
	return content
}

var recordedOnce = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=160x90:rate=15", "-f", "lavfi", "-i", "sine",
		"-t", "1", "-c:v", "libx264", "-preset", "ultrafast", "-g", "5", "-c:a", "aac", "-movflags",
		"frag_keyframe+empty_moov+default_base_moof", "-f", "mp4", "pipe:1").Output()
})
