package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/store"
)

// knownBot is a bot whose token works, with its job when the message was handled. What takes
// a knownBot is open to all bots of a job, even to those of earlier attempts and after the job
// has ended: to upload what was recorded, to have an event on the timeline, to be answered.
type knownBot struct {
	ingest.Bot
	job store.BotJob
}

// currentBot is the bot of the current attempt of a job that has not ended. Only what it says
// has an effect on the job and causes webhooks.
type currentBot struct{ knownBot }

// admit returns the bot that has sent a message about a job. The error is a *job.Error with
// Unauthorized when the job ended so long ago that the token has expired.
func (s *Service) admit(bot ingest.Bot, j store.BotJob) (knownBot, error) {
	if j.Status.Terminal() && s.Now().Sub(j.StatusSince) > botTokenLifetime {
		return knownBot{}, job.NewError(job.Unauthorized, "The token has expired: the job ended too long ago.")
	}
	return knownBot{bot, j}, nil
}

// current returns the bot as the current one of its job, or a *job.Error with InvalidState
// that says why it is not.
func (b knownBot) current() (currentBot, error) {
	switch {
	case b.Attempt() < b.job.Attempt:
		return currentBot{}, job.NewError(job.InvalidState, "a later attempt of this job has been started")
	case b.job.Status.Terminal():
		return currentBot{}, job.NewError(job.InvalidState, "the job has ended: it is "+string(b.job.Status))
	}
	return currentBot{b}, nil
}

// attending returns nil if the bot may be in the meeting: it is a currentBot, and has not reported
// that it has left. Otherwise, it returns a *job.Error with InvalidState.
func (b knownBot) attending() error {
	_, err := b.current()
	if err == nil && !hasPage(b.job.Status) {
		err = job.NewError(job.InvalidState, "the bot is not in the meeting: the job is "+string(b.job.Status))
	}
	return err
}

// readBot reads the job of a bot's message. A job that does not exist is a *job.Error with
// InvalidInput and the path jobId.
func (s *Service) readBot(ctx context.Context, bot ingest.Bot) (knownBot, job.Record, error) {
	r, err := s.Store.Job(ctx, bot.JobID())
	if err != nil {
		return knownBot{}, job.Record{}, ingestError(err)
	}
	b, err := s.admit(bot, store.BotJobOf(r))
	return b, r, err
}

// AdmitUpload returns what the bots of a job may upload in all, if media of this bot may be
// stored: while the recording is neither finalized nor deleted. For each attempt that is four
// times the recording of the job's maximum duration and an hour: enough for segments and
// finished files at twice the bit rate.
func (s *Service) AdmitUpload(ctx context.Context, bot ingest.Bot) (recording.UploadQuota, error) {
	_, r, err := s.readBot(ctx, bot)
	switch {
	case err != nil:
		return recording.UploadQuota{}, err
	case r.Status == job.Completed || r.ManifestURI != "":
		return recording.UploadQuota{}, job.NewError(job.InvalidState, "the recording of this job is finished")
	case !r.RecordingDeletedAt.IsZero():
		return recording.UploadQuota{}, job.NewError(job.InvalidState, "the recording of this job was deleted")
	}
	attempts, seconds := int64(r.Attempt)+1, int64(r.AutoLeave.AfterMaxSeconds)+3600
	bytes := attempts * (4*seconds*cmp.Or(s.RecordingBitRate, defaultRecordingBitRate)/8 + 1<<30)
	return recording.UploadQuota{Files: int(attempts * (4*seconds + 10_000)), Bytes: bytes, Live: !r.Status.Terminal()}, nil
}

// AdmitSound returns nil when a bot may send live sound.
func (s *Service) AdmitSound(ctx context.Context, bot ingest.Bot) error {
	b, _, err := s.readBot(ctx, bot)
	if err == nil {
		err = b.attending()
	}
	return err
}

// AdmitOutput returns the job's consumer, and the job's or the consumer's options of output,
// which may be nil, when a bot may read what it plays and shows.
func (s *Service) AdmitOutput(ctx context.Context, bot ingest.Bot) (consumer uuid.UUID, options *job.OutputOptions, err error) {
	b, r, err := s.readBot(ctx, bot)
	if err == nil {
		_, err = b.current()
	}
	if err == nil {
		options, err = outputOptions(ctx, s.Store.Reader, r)
	}
	return r.ConsumerID, options, err
}

// SaveScreenshot replaces the picture of the meeting page of a job's bot.
func (s *Service) SaveScreenshot(ctx context.Context, bot ingest.Bot, image []byte) error {
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.LockJob(ctx, bot.JobID())
		if err != nil {
			return err
		}
		b, err := s.admit(bot, store.BotJobOf(r))
		if err == nil {
			err = b.attending()
		}
		switch {
		case err != nil:
			return err
		case s.NoScreenshots:
			return job.NewError(job.InvalidState, "no picture of the page is wanted")
		}
		return tx.SaveScreenshot(ctx, r.ID, s.Now(), image)
	})
	return ingestError(err)
}

// ingestError converts the error for a job that does not exist: the ingest
// operations answer it with 400 and the path of the field.
func ingestError(err error) error {
	if job.ErrorIs(err, job.NotFound) {
		return job.NewError(job.InvalidInput, "no such job", "jobId")
	}
	return err
}

// botTokenLifetime is how long a bot's token works after its job has
// ended: as long as a bot tries to upload its recording.
const botTokenLifetime = 24 * time.Hour

// defaultRecordingBitRate is the bit rate of a recording with the default
// settings: video, audio and the audio of 16 participants.
const defaultRecordingBitRate = 1_200_000 + 17*64_000

// Quota of the events of a job's bots. A bot reports about a hundred in a
// meeting, and two for each sound that it plays. The events that end an attempt may exceed it twice.
const (
	maxEvents     = 20_000
	maxEventBytes = 8 << 20
)

// checkQuota returns an error when an event exceeds the quota of its job's events.
func checkQuota(r job.Record, e ingest.Event) error {
	factor := 1
	if e.Kind == job.BotExited || e.Kind == job.ManifestFinalized {
		factor = 2
	}
	if r.BotEvents >= factor*maxEvents || r.BotEventBytes+int64(len(e.Data)) > int64(factor)*maxEventBytes {
		return job.NewError(job.OverQuota, fmt.Sprintf(
			"The bots of this job may report %d events with %d bytes of data in all.", maxEvents, maxEventBytes))
	}
	return nil
}
