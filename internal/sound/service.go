package sound

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// Recordings knows when recordings started.
type Recordings interface {
	// RecordingStart returns when the recording of a job started, given when that of an
	// attempt started.
	RecordingStart(ctx context.Context, jobID uuid.UUID, attempt int, startedAt time.Time) (time.Time, error)
}

// Service serves the bots that connect to this node.
type Service struct {
	*Hub
	Recordings Recordings
	Jobs       Jobs
	Client     *http.Client // connects to the receivers of streams
	// Connected is called when the bot of an attempt has connected, with the start of the
	// recording. It may be nil, and must not block.
	Connected func(jobID uuid.UUID, attempt int, start time.Time)
	Log       *slog.Logger
}

// ServeBot serves the connection of a bot, until it has left the meeting, the connection
// ends, or ctx ends.
func (s *Service) ServeBot(ctx context.Context, conn *websocket.Conn, jobID uuid.UUID, attempt int) {
	var start time.Time
	origin := func(ctx context.Context, startedAt time.Time) (_ time.Time, err error) {
		start, err = s.Recordings.RecordingStart(ctx, jobID, attempt, startedAt)
		return start, err
	}
	err := s.Hub.ServeBot(ctx, conn, jobID, origin, func(ctx context.Context) {
		if s.Connected != nil {
			s.Connected(jobID, attempt, start)
		}
		s.runStreams(ctx, jobID)
	})
	s.Log.Debug("the connection of a bot for live sound has ended", "job", jobID, "attempt", attempt, "error", err)
}
