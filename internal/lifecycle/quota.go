package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
)

// DefaultBotTokenLifetime is how long a bot's token works after its job has
// ended: as long as a bot tries to upload its recording.
const DefaultBotTokenLifetime = 24 * time.Hour

// DefaultRecordingBitRate is the bit rate of a recording with the default
// settings: video, audio and the audio of 16 participants.
const DefaultRecordingBitRate = 1_200_000 + 17*64_000

// Quota of the events of a job's bots. A bot reports about a hundred in a
// meeting. The events that end an attempt may exceed it twice.
const (
	maxEvents     = 5000
	maxEventBytes = 8 << 20
)

// UploadQuota returns what the bots of a job may upload in all: for each
// attempt, four times the recording of the job's maximum duration and an hour.
// That is enough for segments and finished files at twice the bit rate.
func (s *Service) UploadQuota(ctx context.Context, id uuid.UUID) (recording.UploadQuota, error) {
	r, err := s.Store.Job(ctx, id)
	if err != nil {
		return recording.UploadQuota{}, ingestError(err)
	}
	attempts, seconds := int64(r.Attempt)+1, int64(r.AutoLeave.AfterMaxSeconds)+3600
	bytes := attempts * (4*seconds*cmp.Or(s.RecordingBitRate, DefaultRecordingBitRate)/8 + 1<<30)
	return recording.UploadQuota{Files: int(attempts * (4*seconds + 10_000)), Bytes: cmp.Or(s.UploadBytes, bytes)}, nil
}

// checkBot returns an error when a bot may not report an event: when its token
// has expired or its job's quota of events is exceeded.
func (s *Service) checkBot(r job.Record, e ingest.Event) error {
	if s.tokenExpired(r.Status, r.StatusSince) {
		return errTokenExpired()
	}
	factor := 1
	if e.Kind == job.BotExited || e.Kind == job.ManifestFinalized {
		factor = 2
	}
	if r.BotEvents >= factor*maxEvents || r.BotEventBytes+int64(len(e.Data)) > int64(factor)*maxEventBytes {
		return &job.Error{Code: job.OverQuota, Message: fmt.Sprintf(
			"The bots of this job may report %d events with %d bytes of data in all.", maxEvents, maxEventBytes)}
	}
	return nil
}

// tokenExpired reports whether the tokens of the bots of a job have expired that
// has been in its state since a time.
func (s *Service) tokenExpired(status job.Status, since time.Time) bool {
	return status.Terminal() && s.Now().Sub(since) > cmp.Or(s.BotTokenLifetime, DefaultBotTokenLifetime)
}

func errTokenExpired() error {
	return &job.Error{Code: job.Unauthorized, Message: "The token has expired: the job ended too long ago."}
}
