package sound

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/server/live"
)

// Recordings knows when recordings started.
type Recordings interface {
	// RecordingStart returns when the recording of a job started, given when that of an
	// attempt started.
	RecordingStart(ctx context.Context, jobID uuid.UUID, attempt int, startedAt time.Time) (time.Time, error)
}

// Nodes knows to which node the bot of a job sends its sound. It is implemented by
// store.Store.
type Nodes interface {
	// SetSoundNode sets the URL of the node; with an empty one, it removes that of from.
	SetSoundNode(ctx context.Context, jobID uuid.UUID, url, from string) error
	// SoundNode returns the URL of the node; empty if there is none.
	SoundNode(ctx context.Context, jobID uuid.UUID) (string, error)
}

// Live follows jobs. It is implemented by live.Hub.
type Live interface {
	// Follow calls begun, and handle with the events of a job from then on, and with who is in
	// the meeting and who speaks, until ctx ends.
	Follow(ctx context.Context, jobID uuid.UUID, begun func(), handle func(live.Event) error) error
	// FollowStatus calls handle with the status of a job, now and whenever it changes, until
	// ctx ends.
	FollowStatus(ctx context.Context, jobID uuid.UUID, handle func(job.Status))
}

// Service serves the bots that connect to this node.
type Service struct {
	*Hub
	Recordings Recordings
	Jobs       Jobs
	Live       Live
	Client     *http.Client // connects to the receivers of streams
	NodeURL    string       // of this node; empty if there are no others
	Nodes      Nodes
	// Connected is called when the bot of an attempt has connected, with the start of the
	// recording. It may be nil, and must not block.
	Connected func(jobID uuid.UUID, attempt int, start time.Time)
	Log       *slog.Logger
}

// beginTimeout is how long the first sound of a bot waits until the service knows that it records.
const beginTimeout = 2 * time.Second

// ServeBot serves the connection of a bot, until it has left the meeting, the connection
// ends, or ctx ends. Sound that arrives while the job's recording is not running, by what the
// service knows, is discarded: nobody hears what was said before consent or in a pause.
func (s *Service) ServeBot(ctx context.Context, conn *websocket.Conn, from ingest.Bot) {
	jobID, attempt := from.JobID(), from.Attempt()
	gate := &gate{live: s.Live, job: jobID}
	defer func() {
		if gate.stop != nil {
			gate.stop()
		}
		gate.following.Wait()
	}()
	var start time.Time
	err := s.Hub.ServeBot(ctx, conn, jobID, Callbacks{
		Origin: func(ctx context.Context, startedAt time.Time) (_ time.Time, err error) {
			start, err = s.Recordings.RecordingStart(ctx, jobID, attempt, startedAt)
			return start, err
		},
		Silent: func(ctx context.Context) bool { return !gate.open(ctx) },
		Connected: func(ctx context.Context, until time.Duration) {
			if s.Connected != nil {
				s.Connected(jobID, attempt, start)
			}
			s.runStreams(ctx, jobID, start, until)
		},
		Announce: func(connected bool) { // to the other nodes
			if s.NodeURL == "" {
				return
			}
			url := s.NodeURL
			if !connected {
				url = ""
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
			defer cancel()
			if err := s.Nodes.SetSoundNode(ctx, jobID, url, s.NodeURL); err != nil {
				s.Log.Error("cannot announce the live sound of a job to the other nodes", "job", jobID, "error", err)
			}
		},
	})
	s.Log.Debug("live sound connection of a bot ended", "job", jobID, "attempt", attempt, "error", err)
}

// gate knows whether the recording of a job is running. It follows the job from the first
// sound on.
type gate struct {
	live      Live
	job       uuid.UUID
	recording atomic.Bool
	stop      context.CancelFunc // nil before the first sound
	following sync.WaitGroup
}

// open reports whether the recording is running. Only the receiver of the sound may call it.
func (g *gate) open(ctx context.Context) bool {
	if g.stop == nil {
		ctx, g.stop = context.WithCancel(ctx)
		begun := retry.NewSignal()
		g.following.Go(func() {
			g.live.FollowStatus(ctx, g.job, func(status job.Status) {
				g.recording.Store(status == job.RecordingStarted)
				if status == job.RecordingStarted {
					begun.Send()
				}
			})
		})
		select {
		case <-begun:
		case <-time.After(beginTimeout):
		case <-ctx.Done():
		}
	}
	return g.recording.Load()
}

// OtherNode returns the URL of the node to which the bot of a job is connected; empty if it
// is this one, or none.
func (s *Service) OtherNode(ctx context.Context, jobID uuid.UUID) (string, error) {
	if s.NodeURL == "" || s.Hub.Connected(jobID) {
		return "", nil
	}
	url, err := s.Nodes.SoundNode(ctx, jobID)
	if err != nil || url == s.NodeURL {
		return "", err
	}
	return url, nil
}
