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

// Service is what simulated bots talk to: what is behind the ingest surface.
type Service interface {
	Ingest(ctx context.Context, event ingest.Event) (ingest.EventResponse, error)
	Heartbeat(ctx context.Context, beat ingest.Heartbeat, wait time.Duration) (ingest.HeartbeatResponse, error)
	// AdmitUpload returns nil when the attempt's media may be stored.
	AdmitUpload(ctx context.Context, jobID uuid.UUID, attempt int) error
}

// Uploads is where simulated bots put their media.
type Uploads interface {
	PutUpload(ctx context.Context, jobID uuid.UUID, attempt int, name string, content io.Reader, sha256Hex string, maxBytes int64) (recording.StoredObject, error)
}

// defaultMaxBots bounds the bots at once: each is heard every few seconds.
const defaultMaxBots = 1000

// remember is how long a bot that has ended is known to be gone.
const remember = 10 * time.Minute

// Settings are what a Simulator is made of.
type Settings struct {
	Service Service
	Uploads Uploads
	OnExit  func(jobID uuid.UUID, attempt int) // a bot has ended; called from a goroutine of the simulator
	MaxBots int                                // at once; default 1000
	Clock   Clock                              // default: the machine's
	Log     *slog.Logger
}

// Simulator launches simulated bots. They live in this process and end with
// it; after a restart the dispatcher finds their jobs silent and begins another
// attempt.
type Simulator struct {
	settings Settings
	clip     *clip
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	bots   map[attempt]*life
	alive  int
	swept  time.Time // when the memory of ended bots was last tidied
}

// attempt names a bot.
type attempt struct {
	job    uuid.UUID
	number int
}

// life is the course of one bot's goroutine.
type life struct {
	end     context.CancelFunc
	ended   chan struct{}
	endedAt time.Time // set before ended is closed, under the simulator's lock
}

func (l *life) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// New returns a simulator. It is to be closed.
func New(settings Settings) (*Simulator, error) {
	if settings.MaxBots == 0 {
		settings.MaxBots = defaultMaxBots
	}
	if settings.Clock == nil {
		settings.Clock = wallClock{}
	}
	clip, err := newClip()
	if err != nil {
		return nil, fmt.Errorf("prepare the simulator's recording: %w", err)
	}
	return &Simulator{settings: settings, clip: clip, bots: make(map[attempt]*life)}, nil
}

// Launch implements launch.Launcher.
func (s *Simulator) Launch(_ context.Context, a launch.Assignment) error {
	wished, err := readWish(a.Metadata)
	if err != nil {
		wished = unfulfillable(err)
	}
	if wished.unlaunchable {
		return errors.New("the simulator starts no bot for this outcome")
	}
	// No caller's context: the bot outlives this call.
	ctx, end := context.WithCancel(context.Background())
	own := &life{end: end, ended: make(chan struct{})}
	name := attempt{a.JobID, a.Attempt}
	if started, err := s.admit(name, own); !started {
		end()
		return err
	}
	go s.run(ctx, a, wished, own)
	return nil
}

// admit takes a new bot in, if there is room; one that runs already is not
// started again.
func (s *Simulator) admit(name attempt, own *life) (started bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, errors.New("the simulator is closing")
	}
	if known, ok := s.bots[name]; ok && !known.over() {
		return false, nil
	}
	if s.alive >= s.settings.MaxBots {
		return false, fmt.Errorf("%d simulated bots run already", s.alive)
	}
	if now := time.Now(); now.Sub(s.swept) > time.Minute {
		s.sweep(now)
	}
	s.bots[name] = own
	s.alive++
	s.running.Add(1)
	return true, nil
}

// run takes a bot from its first word to its last.
func (s *Simulator) run(ctx context.Context, a launch.Assignment, wished wish, own *life) {
	defer s.running.Done()
	err := newBot(a, wished, s.settings, s.clip).run(ctx)
	own.end()
	s.settings.Log.Info("simulated bot ended", "job", a.JobID, "attempt", a.Attempt, "outcome", wished.name, "error", err)
	s.mu.Lock()
	own.endedAt = time.Now()
	s.alive--
	close(own.ended)
	s.mu.Unlock()
	s.settings.OnExit(a.JobID, a.Attempt)
}

// sweep forgets bots that ended long ago.
func (s *Simulator) sweep(now time.Time) {
	s.swept = now
	for name, known := range s.bots {
		if known.over() && now.Sub(known.endedAt) > remember {
			delete(s.bots, name)
		}
	}
}

// State implements launch.Launcher.
func (s *Simulator) State(jobID uuid.UUID, number int) launch.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch known, ok := s.bots[attempt{jobID, number}]; {
	case !ok:
		return launch.NotStarted
	case known.over():
		return launch.Gone
	}
	return launch.Running
}

// Reason implements launch.Launcher. What a simulated bot does is what its job
// asked for.
func (s *Simulator) Reason(uuid.UUID, int) string { return "" }

// Stop implements launch.Launcher. The bot ends without a further word.
func (s *Simulator) Stop(ctx context.Context, jobID uuid.UUID, number int) error {
	s.mu.Lock()
	known, ok := s.bots[attempt{jobID, number}]
	s.mu.Unlock()
	if !ok {
		return nil
	}
	known.end()
	select {
	case <-known.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end a simulated bot: %w", ctx.Err())
	}
}

// Close ends all bots and waits for them.
func (s *Simulator) Close() {
	s.mu.Lock()
	s.closed = true
	for _, known := range s.bots {
		known.end()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Router sends the jobs of test keys to the simulator, and all others to the
// launcher that the operator has chosen.
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

// State implements launch.Launcher. The simulator knows its own bots; of
// those that it does not know the other launcher tells.
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
