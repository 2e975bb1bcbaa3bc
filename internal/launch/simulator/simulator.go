// Package simulator runs the jobs of test keys. It is a launcher whose bots open
// no browser: each is a goroutine that makes the same calls to the service as a
// real bot, so that a test job passes through the real state machine, outbox and
// finalization. The metadata of the job select what happens in the imaginary
// meeting; docs/reference/outcomes.md lists the choices.
package simulator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/recording"
)

// Service receives the reports of simulated bots.
type Service interface {
	Ingest(ctx context.Context, bot ingest.Bot, event ingest.Event) (ingest.EventResponse, error)
	IngestTexts(ctx context.Context, bot ingest.Bot, texts ingest.Texts) (ingest.TextsResponse, error)
	Heartbeat(ctx context.Context, bot ingest.Bot, beat ingest.Heartbeat, wait time.Duration) (ingest.HeartbeatResponse, error)
	SaveScreenshot(ctx context.Context, bot ingest.Bot, image []byte) error
	// AdmitUpload returns no error if media of the bot may be stored.
	AdmitUpload(ctx context.Context, bot ingest.Bot) (recording.UploadQuota, error)
}

// Uploads stores the media of simulated bots.
type Uploads interface {
	PutUpload(ctx context.Context, jobID uuid.UUID, attempt int, key string, content io.Reader, sha256Hex string,
		maxBytes int64) (recording.StoredObject, error)
}

const defaultMaxBots = 1000

// endedRetention is how long ended bots are reported as gone.
const endedRetention = 10 * time.Minute

// Settings configure a Launcher.
type Settings struct {
	Service Service
	Uploads Uploads
	OnExit  func(jobID uuid.UUID, attempt int) // called when a bot has ended, on a goroutine of the simulator
	MaxBots int                                // concurrent; default 1000
	Clock   Clock                              // default: the real time
	Log     *slog.Logger
}

// Launcher launches simulated bots. They end with this process; after a
// restart the dispatcher notices that they are silent and starts another
// attempt.
type Launcher struct {
	Settings
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	bots     map[launch.Key]*process
	count    int
	forgotAt time.Time // when ended bots were last removed
}

// process is the goroutine of a bot.
type process struct {
	end     context.CancelFunc
	ended   chan struct{}
	endedAt time.Time // zero while it runs; set under the simulator's lock before ended is closed
}

// New returns a simulator, which the caller must close.
func New(settings Settings) *Launcher {
	settings.MaxBots, settings.Clock = cmp.Or(settings.MaxBots, defaultMaxBots), cmp.Or[Clock](settings.Clock, wallClock{})
	return &Launcher{Settings: settings, bots: make(map[launch.Key]*process)}
}

// Launch implements launch.Launcher. A bot that is running is not started again.
func (s *Launcher) Launch(_ context.Context, a launch.Assignment) error {
	opts, err := parseOptions(a.Options.Simulate, a.Metadata)
	if err != nil {
		opts = options{scenario: scenario{name: "invalid", failureCode: job.InternalError, detail: err.Error()}, speed: 1}
	}
	if opts.launchFails {
		return errors.New("the simulated outcome has no bot")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the simulator is closing")
	}
	if p, ok := s.bots[a.Key()]; ok && p.endedAt.IsZero() {
		return nil
	}
	if s.count >= s.MaxBots {
		return fmt.Errorf("%d simulated bots run already", s.count)
	}
	if now := time.Now(); now.Sub(s.forgotAt) > time.Minute {
		s.forgotAt = now
		for key, p := range s.bots {
			if !p.endedAt.IsZero() && now.Sub(p.endedAt) > endedRetention {
				delete(s.bots, key)
			}
		}
	}
	ctx, end := context.WithCancel(context.Background()) // the bot outlives this call
	p := &process{end: end, ended: make(chan struct{})}
	s.bots[a.Key()] = p
	s.count++
	s.running.Go(func() {
		err := newBot(a, opts, s.Settings).run(ctx)
		p.end()
		s.Log.Info("simulated bot ended", "job", a.JobID, "attempt", a.Attempt, "outcome", opts.name, "error", err)
		s.mu.Lock()
		p.endedAt = time.Now()
		s.count--
		close(p.ended)
		s.mu.Unlock()
		s.OnExit(a.JobID, a.Attempt)
	})
	return nil
}

// State implements launch.Launcher.
func (s *Launcher) State(jobID uuid.UUID, attempt int) launch.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p, ok := s.bots[launch.Key{JobID: jobID, Attempt: attempt}]; {
	case !ok:
		return launch.NotStarted
	case !p.endedAt.IsZero():
		return launch.Gone
	}
	return launch.Running
}

// Reason implements launch.Launcher.
func (s *Launcher) Reason(uuid.UUID, int) string { return "" }

// Stop implements launch.Launcher. The bot ends without further reports.
func (s *Launcher) Stop(ctx context.Context, jobID uuid.UUID, attempt int) error {
	s.mu.Lock()
	p, ok := s.bots[launch.Key{JobID: jobID, Attempt: attempt}]
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
func (s *Launcher) Close() {
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
	Test *Launcher
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
func (r Router) State(jobID uuid.UUID, attempt int) launch.State {
	return r.of(jobID, attempt).State(jobID, attempt)
}

// Reason implements launch.Launcher.
func (r Router) Reason(jobID uuid.UUID, attempt int) string {
	return r.of(jobID, attempt).Reason(jobID, attempt)
}

// Stop implements launch.Launcher.
func (r Router) Stop(ctx context.Context, jobID uuid.UUID, attempt int) error {
	return r.of(jobID, attempt).Stop(ctx, jobID, attempt)
}

// of returns the launcher that started the bot of an attempt.
func (r Router) of(jobID uuid.UUID, attempt int) launch.Launcher {
	if r.Test.State(jobID, attempt) != launch.NotStarted {
		return r.Test
	}
	return r.Live
}

// Clock is the clock of simulated bots.
type Clock interface {
	Now() time.Time
	// Timer returns a channel that receives after the duration, and a function
	// that stops the timer.
	Timer(length time.Duration) (elapsed <-chan time.Time, stop func() bool)
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Timer(length time.Duration) (<-chan time.Time, func() bool) {
	timer := time.NewTimer(length)
	return timer.C, timer.Stop
}

// botClock is the clock of one bot. It runs ahead of the underlying clock if
// the bot runs faster than real time, so that all times and durations of a bot
// are consistent.
type botClock struct {
	clock Clock
	speed float64
	ahead time.Duration
}

func (p *botClock) now() time.Time { return p.clock.Now().Add(p.ahead) }

// wait waits for the duration, or until wake is ready or ctx is done.
func (p *botClock) wait(ctx context.Context, length time.Duration, wake <-chan struct{}) error {
	started := p.clock.Now()
	end := p.now().Add(length)
	elapsed, stop := p.clock.Timer(time.Duration(float64(length) / p.speed))
	defer stop()
	select {
	case <-elapsed:
		p.ahead = end.Sub(p.clock.Now())
		return nil
	case <-wake:
		p.ahead += time.Duration(float64(p.clock.Now().Sub(started)) * (p.speed - 1))
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
