package lifecycle

import (
	"context"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// IngestTexts stores chat messages and captions that a bot read. Repeating a
// request changes nothing. It stores nothing, and returns the reason, for the bot
// of an earlier attempt and once the recording is finalized or deleted. A job
// that does not exist is a *job.Error with InvalidInput.
func (s *Service) IngestTexts(ctx context.Context, bot ingest.Bot, message ingest.Texts) (ingest.TextsResponse, error) {
	texts := make([]job.MeetingText, len(message.Texts))
	for i, t := range message.Texts {
		texts[i] = job.MeetingText{
			Attempt: bot.Attempt(), Kind: t.Kind, ID: t.ID, ParticipantID: t.ParticipantID, Author: t.Author,
			Text: t.Text, Language: t.Language, StartedAt: t.StartedAt, EndedAt: job.Latest(t.EndedAt, t.StartedAt),
		}
	}
	stored, reason, err := s.storeTexts(ctx, bot.JobID(), bot.Attempt(), texts, func(c *Change) error {
		_, err := s.admit(bot, store.BotJobOf(c.Record))
		if err == nil && c.Prelaunch == job.Prelaunched && bot.Attempt() >= c.Attempt && c.Now.Before(c.JoinAt) {
			err = job.NewError(job.TooEarly, "the bot was launched before joinAt and may report texts from then on")
		}
		return err
	})
	if err != nil {
		return ingest.TextsResponse{}, ingestError(err)
	}
	return ingest.TextsResponse{OK: true, Stored: stored, Reason: reason}, nil
}

// StoreLiveTexts stores what the live transcriber has heard of an attempt. Texts that come
// too late are dropped: those of an earlier attempt, and once the recording is finalized
// or deleted.
func (s *Service) StoreLiveTexts(ctx context.Context, id uuid.UUID, attempt int, texts []job.MeetingText) error {
	_, _, err := s.storeTexts(ctx, id, attempt, texts, func(*Change) error { return nil })
	if job.IsNotFound(err) {
		return nil // the job was erased
	}
	return err
}

// storeTexts stores texts of an attempt, unless admit returns an error or there is a reason not to, and emits what
// was written and said. It returns how many are new.
func (s *Service) storeTexts(
	ctx context.Context, id uuid.UUID, attempt int, texts []job.MeetingText, admit func(*Change) error,
) (count int, reason job.Reason, err error) {
	var stored []job.MeetingText
	var c *Change
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		stored, reason = nil, "" // of a repeated transaction
		r, err := tx.LockJob(ctx, id)
		if err != nil {
			return err
		}
		c = s.newChange(tx, r)
		if err := admit(c); err != nil {
			return err
		}
		switch {
		case attempt < r.Attempt:
			reason = job.StaleAttempt
			return nil
		case r.Status == job.Completed || r.ManifestURI != "" || !r.RecordingDeletedAt.IsZero():
			reason = job.Terminal
			return nil
		}
		if stored, err = tx.AppendTexts(ctx, id, texts); err != nil || r.Status.Terminal() {
			return err
		}
		for _, t := range stored {
			switch {
			case t.Kind == job.ChatText:
				err = c.emit(ctx, webhook.Chat(c.Job, t), false)
			case t.Speech != nil && t.Speech.Final && t.Text != "":
				err = c.emit(ctx, webhook.Transcript(c.Job, t), false)
			}
			if err != nil {
				return err
			}
		}
		return c.saveGathered(ctx)
	})
	if err == nil && c.emitted {
		s.Events.Publish(event.DeliveryDue{})
	}
	if err == nil && len(stored) > 0 {
		s.Events.Publish(event.TextsStored{JobID: id})
	}
	return len(stored), reason, err
}
