package lifecycle

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// deleteTimeout bounds how long Close waits for deletions of output.
const deleteTimeout = time.Minute

// maxWaiting is how many commands of a job may wait for its bot before it accepts no more output.
const maxWaiting = 20

// OutputStorage stores what bots play and show.
type OutputStorage interface {
	PutOutput(ctx context.Context, jobID, command uuid.UUID, content []byte) error
	DeleteOutput(ctx context.Context, jobID, command uuid.UUID) error
}

// Output is a sound or a picture for a job's bot. Make makes the content that the bot
// reads; it is called only if the bot may play or show it, and not for
// simulated bots. It is nil where there is none.
type Output struct {
	Kind ingest.CommandKind // PlayAudio, Speak, SetCamera or ShareScreen
	Args any                // ingest.SoundArgs or ingest.PictureArgs
	Make func(context.Context) ([]byte, error)
}

// Output makes the job's bot play a sound, after those that wait, or show a picture. A job
// without the option output is a *job.Error with InvalidState.
func (s *Service) Output(ctx context.Context, caller account.Caller, id uuid.UUID, output Output) (uuid.UUID, error) {
	r, err := s.Store.Job(ctx, id)
	if err != nil {
		return uuid.Nil, err
	}
	if err := checkOutput(ctx, s.Store.Reader, r, caller); err != nil { // before anything is made
		return uuid.Nil, err
	}
	command := job.NewID()
	if output.Make != nil && r.Mode != job.Test {
		content, err := output.Make(ctx)
		if err != nil {
			return uuid.Nil, err
		}
		if err := s.Outputs.PutOutput(ctx, id, command, content); err != nil {
			return uuid.Nil, err
		}
	}
	_, err = s.Change(ctx, id, func(ctx context.Context, c *Change) error {
		if err := checkOutput(ctx, c.tx.Reader, c.Record, caller); err != nil {
			return err
		}
		return c.queueForConsumer(ctx, command, output.Kind, output.Args)
	})
	if err != nil {
		return uuid.Nil, errors.Join(err, s.Outputs.DeleteOutput(context.WithoutCancel(ctx), id, command))
	}
	return command, nil
}

// checkOutput returns an error if the caller cannot make the job's bot play or show anything.
func checkOutput(ctx context.Context, db *store.Reader, r job.Record, caller account.Caller) error {
	if err := checkControllable(r.Job, caller); err != nil {
		return err
	}
	options, err := outputOptions(ctx, db, r)
	if err != nil {
		return err
	}
	if options == nil {
		return job.NewInvalidState("the job does not allow output: create it with output: {}")
	}
	waiting, err := db.PendingCommands(ctx, r.ID)
	if err != nil {
		return err
	}
	if len(waiting) >= maxWaiting {
		return job.NewInvalidState("%d commands wait for the bot", len(waiting))
	}
	return nil
}

// outputOptions returns the output options of a job, or else of its consumer; nil if neither
// has any.
func outputOptions(ctx context.Context, db *store.Reader, r job.Record) (*job.OutputOptions, error) {
	if r.Options.Output != nil {
		return r.Options.Output, nil
	}
	consumer, err := db.Consumer(ctx, r.ConsumerID)
	return consumer.Output, err
}

// deleteOutput deletes what settled commands made the bot play or show. It does not wait for
// the deletion, which goes on when ctx ends.
func (s *Service) deleteOutput(ctx context.Context, jobID uuid.UUID, commands []uuid.UUID) {
	if len(commands) == 0 {
		return
	}
	s.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
		defer cancel()
		for _, command := range commands {
			// Otherwise it is deleted with the uploads of the job.
			_ = s.Outputs.DeleteOutput(ctx, jobID, command)
		}
	})
}
