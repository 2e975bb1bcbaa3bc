package sound

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"standin/internal/live"
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
	// Follow calls handle with the events of a job from now on, and with who is in the meeting
	// and who speaks, until ctx ends.
	Follow(ctx context.Context, jobID uuid.UUID, handle func(live.Event) error) error
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

// ServeBot serves the connection of a bot, until it has left the meeting, the connection
// ends, or ctx ends.
func (s *Service) ServeBot(ctx context.Context, conn *websocket.Conn, jobID uuid.UUID, attempt int) {
	var start time.Time
	origin := func(ctx context.Context, startedAt time.Time) (_ time.Time, err error) {
		start, err = s.Recordings.RecordingStart(ctx, jobID, attempt, startedAt)
		return start, err
	}
	err := s.Hub.ServeBot(ctx, conn, jobID, origin, func(ctx context.Context) {
		s.setNode(ctx, jobID, s.NodeURL)
		if s.Connected != nil {
			s.Connected(jobID, attempt, start)
		}
		s.runStreams(ctx, jobID, start)
	})
	if !s.Hub.Connected(jobID) {
		s.setNode(ctx, jobID, "")
	}
	s.Log.Debug("live sound connection of a bot ended", "job", jobID, "attempt", attempt, "error", err)
}

// setNode tells the other nodes that the bot of a job is connected to this one, or no
// longer.
func (s *Service) setNode(ctx context.Context, jobID uuid.UUID, url string) {
	if s.NodeURL == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := s.Nodes.SetSoundNode(ctx, jobID, url, s.NodeURL); err != nil {
		s.Log.Error("cannot announce the live sound of a job to the other nodes", "job", jobID, "error", err)
	}
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
