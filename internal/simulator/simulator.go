package simulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/recording"
)

// Service receives the reports of simulated bots.
type Service interface {
	Ingest(ctx context.Context, event ingest.Event) (ingest.EventResponse, error)
	IngestTexts(ctx context.Context, texts ingest.Texts) (ingest.TextsResponse, error)
	Heartbeat(ctx context.Context, beat ingest.Heartbeat, wait time.Duration) (ingest.HeartbeatResponse, error)
	// AdmitUpload returns nil if the attempt's media may be stored.
	AdmitUpload(ctx context.Context, jobID uuid.UUID, botKey int) error
}

// Uploads stores the media of simulated bots.
type Uploads interface {
	PutUpload(ctx context.Context, jobID uuid.UUID, botKey int, key string, content io.Reader, sha256Hex string, maxBytes int64) (recording.StoredObject, error)
}

const defaultMaxBots = 1000

// endedRetention is how long ended bots are reported as gone.
const endedRetention = 10 * time.Minute

// Settings configure a Simulator.
type Settings struct {
	Service Service
	Uploads Uploads
	OnExit  func(jobID uuid.UUID, attempt int) // called when a bot has ended, on a goroutine of the simulator
	MaxBots int                                // concurrent; default 1000
	Clock   Clock                              // default: the real time
	Log     *slog.Logger
}

// Simulator launches simulated bots. They end with this process; after a
// restart the dispatcher notices that they are silent and starts another
// attempt.
type Simulator struct {
	settings Settings
	clip     *clip
	running  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	bots     map[botKey]*process
	count    int
	forgotAt time.Time // when ended bots were last removed
}

type botKey struct {
	job    uuid.UUID
	number int
}

// process is the goroutine of a bot.
type process struct {
	end     context.CancelFunc
	ended   chan struct{}
	endedAt time.Time // set under the simulator's lock before ended is closed
}

func (l *process) isDone() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// New returns a simulator, which the caller must close.
func New(settings Settings) (*Simulator, error) {
	if settings.MaxBots == 0 {
		settings.MaxBots = defaultMaxBots
	}
	if settings.Clock == nil {
		settings.Clock = wallClock{}
	}
	clip, err := newClip()
	if err != nil {
		return nil, fmt.Errorf("parse the embedded clip: %w", err)
	}
	return &Simulator{settings: settings, clip: clip, bots: make(map[botKey]*process)}, nil
}

// Launch implements launch.Launcher.
func (s *Simulator) Launch(_ context.Context, a launch.Assignment) error {
	opts, err := parseOptions(a.Metadata)
	if err != nil {
		opts = invalidOptions(err)
	}
	if opts.launchFails {
		return errors.New("the simulated outcome has no bot")
	}
	// The bot outlives this call.
	ctx, end := context.WithCancel(context.Background())
	p := &process{end: end, ended: make(chan struct{})}
	key := botKey{a.JobID, a.Attempt}
	if started, err := s.register(key, p); !started {
		end()
		return err
	}
	go s.run(ctx, a, opts, p)
	return nil
}

// register adds a bot if there is capacity. A bot that is running is not
// started again.
func (s *Simulator) register(key botKey, p *process) (started bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, errors.New("the simulator is closing")
	}
	if p, ok := s.bots[key]; ok && !p.isDone() {
		return false, nil
	}
	if s.count >= s.settings.MaxBots {
		return false, fmt.Errorf("%d simulated bots run already", s.count)
	}
	if now := time.Now(); now.Sub(s.forgotAt) > time.Minute {
		s.forgetEnded(now)
	}
	s.bots[key] = p
	s.count++
	s.running.Add(1)
	return true, nil
}

// run runs a bot.
func (s *Simulator) run(ctx context.Context, a launch.Assignment, opts options, p *process) {
	defer s.running.Done()
	err := newBot(a, opts, s.settings, s.clip).run(ctx)
	p.end()
	s.settings.Log.Info("simulated bot ended", "job", a.JobID, "attempt", a.Attempt, "outcome", opts.name, "error", err)
	s.mu.Lock()
	p.endedAt = time.Now()
	s.count--
	close(p.ended)
	s.mu.Unlock()
	s.settings.OnExit(a.JobID, a.Attempt)
}

// forgetEnded removes bots that ended long ago.
func (s *Simulator) forgetEnded(now time.Time) {
	s.forgotAt = now
	for key, p := range s.bots {
		if p.isDone() && now.Sub(p.endedAt) > endedRetention {
			delete(s.bots, key)
		}
	}
}

// State implements launch.Launcher.
func (s *Simulator) State(jobID uuid.UUID, number int) launch.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p, ok := s.bots[botKey{jobID, number}]; {
	case !ok:
		return launch.NotStarted
	case p.isDone():
		return launch.Gone
	}
	return launch.Running
}

// Reason implements launch.Launcher.
func (s *Simulator) Reason(uuid.UUID, int) string { return "" }

// Stop implements launch.Launcher. The bot ends without further reports.
func (s *Simulator) Stop(ctx context.Context, jobID uuid.UUID, number int) error {
	s.mu.Lock()
	p, ok := s.bots[botKey{jobID, number}]
	s.mu.Unlock()
	if !ok {
		return nil
	}
	p.end()
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop simulated bot: %w", ctx.Err())
	}
}

// Close ends all bots and waits for them.
func (s *Simulator) Close() {
	s.mu.Lock()
	s.closed = true
	for _, p := range s.bots {
		p.end()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Router sends the jobs of test keys to the simulator, and all others to the
// operator's launcher.
type Router struct {
	Test *Simulator
	Live launch.Launcher
}

// Launch implements launch.Launcher.
func (r Router) Launch(ctx context.Context, a launch.Assignment) error {
	if a.Mode == job.Test {
		return r.Test.Launch(ctx, a)
	}
	return r.Live.Launch(ctx, a)
}

// State implements launch.Launcher.
func (r Router) State(jobID uuid.UUID, number int) launch.State {
	if state := r.Test.State(jobID, number); state != launch.NotStarted {
		return state
	}
	return r.Live.State(jobID, number)
}

// Reason implements launch.Launcher.
func (r Router) Reason(jobID uuid.UUID, number int) string {
	if r.Test.State(jobID, number) != launch.NotStarted {
		return r.Test.Reason(jobID, number)
	}
	return r.Live.Reason(jobID, number)
}

// Stop implements launch.Launcher.
func (r Router) Stop(ctx context.Context, jobID uuid.UUID, number int) error {
	if r.Test.State(jobID, number) != launch.NotStarted {
		return r.Test.Stop(ctx, jobID, number)
	}
	return r.Live.Stop(ctx, jobID, number)
}
