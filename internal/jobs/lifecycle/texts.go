package lifecycle

import (
	"context"

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
	var reason job.Reason
	var stored []job.MeetingText
	var c *Change
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		stored, reason = nil, "" // of a repeated transaction
		r, err := tx.LockJob(ctx, bot.JobID())
		if err != nil {
			return err
		}
		c = s.newChange(tx, r)
		from, err := s.admit(bot, store.BotJobOf(r))
		switch {
		case err != nil:
			return err
		case r.Prelaunch == job.Prelaunched && bot.Attempt() >= r.Attempt && c.Now.Before(r.JoinAt):
			return job.NewError(job.TooEarly, "the bot was launched before joinAt and may report texts from then on")
		}
		if reason = admitText(r, bot.Attempt()); reason != "" {
			return nil
		}
		if stored, err = tx.AppendTexts(ctx, r.ID, texts); err != nil {
			return err
		}
		if _, err := from.current(); err == nil {
			for _, t := range stored {
				if t.Kind != job.ChatText {
					continue
				}
				if err := c.emit(ctx, webhook.Chat(c.Job, t), false); err != nil {
					return err
				}
			}
			return c.saveGathered(ctx)
		}
		return nil
	})
	if err != nil {
		return ingest.TextsResponse{}, ingestError(err)
	}
	if c.emitted {
		s.Events.Publish(event.DeliveryDue{})
	}
	if len(stored) > 0 {
		s.Events.Publish(event.TextsStored{JobID: c.ID, Texts: stored})
	}
	return ingest.TextsResponse{OK: true, Stored: len(stored), Reason: reason}, nil
}

// admitText returns why texts of an attempt come too late, if they do.
func admitText(r job.Record, attempt int) job.Reason {
	switch {
	case attempt < r.Attempt:
		return job.StaleAttempt
	case r.Status == job.Completed || r.ManifestURI != "" || !r.RecordingDeletedAt.IsZero():
		return job.Terminal
	}
	return ""
}
