package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/ingest"
	"standin/internal/job"
)

// MaxSpokenText is the maximum length of a spoken text, in characters.
const MaxSpokenText = 4000

// maxWaitingSounds is how many sounds of a job may wait for its bot.
const maxWaitingSounds = 20

// Sounds stores the sounds that bots play.
type Sounds interface {
	PutSound(ctx context.Context, jobID, command uuid.UUID, pcm []byte) error
	DeleteSound(ctx context.Context, jobID, command uuid.UUID) error
}

// Sound is a sound for a job's bot. Make makes its PCM; it is called only if the bot may
// play it.
type Sound struct {
	Kind      ingest.CommandKind // PlayAudio or Speak
	Interrupt bool               // stop what is being played, and what waits
	Make      func(context.Context) ([]byte, error)
}

// PlaySound makes the job's bot play a sound on its microphone, after those that wait. A
// job without the option output is a *job.Error with InvalidState.
func (s *Service) PlaySound(ctx context.Context, caller account.Caller, id uuid.UUID, sound Sound) (uuid.UUID, error) {
	checking := func(ctx context.Context, c *Change) error { return checkOutput(ctx, c, caller) }
	if _, err := s.Change(ctx, id, checking); err != nil {
		return uuid.Nil, err
	}
	pcm, err := sound.Make(ctx)
	if err != nil {
		return uuid.Nil, err
	}
	command := uuid.Must(uuid.NewV7())
	if err := s.Sounds.PutSound(ctx, id, command, pcm); err != nil {
		return uuid.Nil, fmt.Errorf("store a sound: %w", err)
	}
	_, err = s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if err := checkOutput(ctx, c, caller); err != nil {
			return err
		}
		return c.queueAs(ctx, command, sound.Kind, ingest.SoundArgs{Interrupt: sound.Interrupt})
	})
	if err != nil {
		return uuid.Nil, errors.Join(err, s.Sounds.DeleteSound(context.WithoutCancel(ctx), id, command))
	}
	return command, nil
}

// StopOutput makes the job's bot stop what it plays, and what waits.
func (s *Service) StopOutput(ctx context.Context, caller account.Caller, id uuid.UUID) (uuid.UUID, error) {
	var command uuid.UUID
	_, err := s.Change(ctx, id, func(ctx context.Context, c *Change) (err error) {
		if err := checkOutput(ctx, c, caller); err != nil {
			return err
		}
		command, err = c.queueForConsumer(ctx, ingest.StopOutput, nil)
		return err
	})
	return command, err
}

// checkOutput returns an error if the caller cannot make the job's bot play anything.
func checkOutput(ctx context.Context, c *Change, caller account.Caller) error {
	if err := checkControllable(c, caller); err != nil {
		return err
	}
	if c.Options.Output == nil {
		return &job.Error{Code: job.InvalidState, Message: "the job does not allow output: create it with output: {}"}
	}
	waiting, err := c.tx.PendingCommands(ctx, c.ID)
	if err != nil {
		return err
	}
	if len(waiting) >= maxWaitingSounds {
		return &job.Error{Code: job.InvalidState, Message: fmt.Sprintf("%d commands wait for the bot", len(waiting))}
	}
	return nil
}

// AdmitOutput returns nil when a bot of the job may read what it plays.
func (s *Service) AdmitOutput(ctx context.Context, id uuid.UUID) error {
	r, err := s.Store.Job(ctx, id)
	switch {
	case err != nil:
		return ingestError(err)
	case s.tokenExpired(r.Status, r.StatusSince):
		return errTokenExpired()
	}
	return nil
}

// deleteSounds deletes the sounds of commands that were settled.
func (s *Service) deleteSounds(jobID uuid.UUID, commands []uuid.UUID) {
	if len(commands) == 0 {
		return
	}
	s.background.Go(func() {
		for _, command := range commands {
			// Otherwise it is deleted with the uploads of the job.
			_ = s.Sounds.DeleteSound(context.Background(), jobID, command)
		}
	})
}
