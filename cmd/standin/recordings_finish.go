package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/jobfiles"
	"standin/internal/jobs/lifecycle"
	recordingbuild "standin/internal/recording/build"
	"standin/internal/store"
)

type recordingsFinishCommand struct {
	storageFlags
	BaseURL string `env:"STANDIN_BASE_URL" help:"URL at which programs and browsers reach the service, for the links in the manifest. Default: that of the service that last ran with this database."`
	Job     string `arg:"" help:"ID of the job."`
}

// Run finishes the recording of a job that has ended.
func (c *recordingsFinishCommand) Run(ctx context.Context, to terminal) error {
	id, err := uuid.Parse(c.Job)
	if err != nil {
		return fmt.Errorf("%q is not a job ID", c.Job)
	}
	return c.withRecordings(ctx, func(s *store.Store, files jobfiles.Files) error {
		r, err := s.Job(ctx, id)
		switch {
		case err != nil:
			return fmt.Errorf("job %s: %w", id, err)
		case !r.Status.Terminal() || !r.WakeAt.IsZero():
			return fmt.Errorf("job %s has not ended: it is %s", id, r.Status)
		case r.ManifestURI != "":
			return fmt.Errorf("job %s has a recording: %s", id, r.ManifestURI)
		case !r.RecordingDeletedAt.IsZero():
			return fmt.Errorf("the recording of job %s was deleted at %s", id, r.RecordingDeletedAt.Format(time.RFC3339))
		}
		base, err := baseURL(ctx, s, c.BaseURL)
		if err != nil {
			return err
		}
		finalizer := &dispatch.Finalizer{Store: s, Files: files, Finisher: &recordingbuild.Finisher{
			Storage: files, BaseURL: base, TempDir: files.DataDir, Log: slog.New(slog.DiscardHandler),
		}}
		jobs := lifecycle.New(lifecycle.Settings{
			Store: s, Finalizer: finalizer, Recordings: files, BaseURL: base, Now: time.Now,
		})
		defer jobs.Close()
		err = finalizer.Salvage(ctx, r, "finished by the operator", func(dispatch.Progress) error { return nil })
		if errors.Is(err, dispatch.ErrNoMedia) {
			return fmt.Errorf("job %s: %w", id, err)
		}
		if err != nil {
			return fmt.Errorf("finish the recording of job %s: %w", id, err)
		}
		if r, err = jobs.AttachRecording(ctx, id); err != nil {
			return fmt.Errorf("attach the recording of job %s: %w", id, err)
		}
		if err := finalizer.CleanUp(ctx, r); err != nil {
			return fmt.Errorf("delete the uploads of job %s: %w", id, err)
		}
		return to.printf("finished: %s\n", r.ManifestURI)
	})
}
