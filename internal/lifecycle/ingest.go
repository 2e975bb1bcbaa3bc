package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/store"
	"standin/internal/webhook"
)

// eventDelay is when the dispatcher looks at a job after an event of its bot. It
// then sets the time by the deadline of the new state.
const eventDelay = 10 * time.Second

// Ingest handles an event that a bot reports. A job that does not exist is a
// *job.Error with InvalidInput.
func (s *Service) Ingest(ctx context.Context, e ingest.Event) (ingest.EventResponse, error) {
	id, err := parseJobID(e.JobID)
	if err != nil {
		return ingest.EventResponse{}, err
	}
	if e.Kind == job.ManifestFinalized {
		if err := s.writeManifest(ctx, id, e); err != nil {
			return ingest.EventResponse{}, ingestError(err)
		}
	}
	data := ingest.ParseEventData(e.Data)
	trigger, err := s.machineEvent(ctx, e, data, id)
	if err != nil {
		return ingest.EventResponse{}, err
	}
	var result job.Result
	var commands []ingest.Command
	r, err := s.Change(ctx, id, func(ctx context.Context, c *Change) (err error) {
		if err := s.checkBot(c.Record, e); err != nil {
			return err
		}
		if result, err = c.applyFromBot(ctx, e, data, trigger); err != nil {
			return err
		}
		commands, err = commandsFor(ctx, &c.tx.Reader, store.BotJobOf(c.Record), e.Attempt)
		return err
	})
	if err != nil {
		return ingest.EventResponse{}, ingestError(err)
	}
	return ingest.EventResponse{OK: true, Applied: result.Applied, Reason: result.Reason, Status: r.Status, Commands: commands}, nil
}

// writeManifest writes the manifest before the job gets its manifestUri. It does
// nothing when the event will not be applied, or when the recording was deleted.
func (s *Service) writeManifest(ctx context.Context, id uuid.UUID, e ingest.Event) error {
	r, err := s.Store.Job(ctx, id)
	if err != nil {
		return err
	}
	if err := s.checkBot(r, e); err != nil {
		return err
	}
	if _, result := r.Apply(job.Event{Trigger: job.ManifestFinalized, Attempt: e.Attempt}); !result.Applied || !r.RecordingDeletedAt.IsZero() {
		return nil
	}
	r.Attempt = e.Attempt
	if err := s.Finalizer.WriteManifest(ctx, r); err != nil {
		return fmt.Errorf("write the manifest of job %s: %w", id, err)
	}
	return nil
}

// machineEvent converts a bot's event for the state machine. The exit of a later attempt's bot
// is no failure when earlier attempts recorded something: that recording is finalized, and the
// job completes.
func (s *Service) machineEvent(ctx context.Context, e ingest.Event, data ingest.EventData, id uuid.UUID) (job.Event, error) {
	converted := job.Event{Trigger: e.Kind, Attempt: e.Attempt}
	switch e.Kind {
	case job.BotExited:
		converted.Lost = data.EndReason == ingest.EndStopped
		if converted.Lost || data.FailureCode == "" {
			break
		}
		if e.Attempt > 0 {
			hasMedia, err := s.Finalizer.HasMedia(ctx, id)
			if err != nil {
				return converted, fmt.Errorf("look for uploaded media of job %s: %w", id, err)
			}
			if hasMedia {
				break
			}
		}
		converted.FailureCode, converted.FailureDetail = job.FailureCode(data.FailureCode), data.FailureDetail
		if !converted.FailureCode.Valid() {
			converted.FailureCode = job.InternalError
			converted.FailureDetail = strings.TrimSuffix(fmt.Sprintf("the bot gave the unknown failure code %q: %s", data.FailureCode, data.FailureDetail), ": ")
		}
	case job.ManifestFinalized:
		converted.ManifestURI = s.ManifestURI(id)
		if s.manifestURIAllowed(data.ManifestURI) {
			converted.ManifestURI = data.ManifestURI // the bot stores its manifest elsewhere
		}
	}
	return converted, nil
}

// manifestURIAllowed reports whether a bot may set this URI, to which consumers send
// requests with their key: it must be below the service's URL or a configured prefix.
func (s *Service) manifestURIAllowed(uri string) bool {
	return slices.ContainsFunc(append([]string{s.BaseURL}, s.ManifestPrefixes...), func(prefix string) bool {
		return strings.HasPrefix(uri, strings.TrimRight(prefix, "/")+"/")
	})
}

// applyFromBot applies a bot's event to the job and emits the webhooks that only
// bots cause. trigger is the event for the state machine.
func (c *Change) applyFromBot(ctx context.Context, e ingest.Event, data ingest.EventData, trigger job.Event) (job.Result, error) {
	switch {
	case c.Attempts == 0 && e.Attempt < c.Attempt: // of a withdrawn prelaunch, which stays off the timeline
		return job.Result{Reason: job.StaleAttempt, From: c.Status, To: c.Status}, nil
	case c.Prelaunch == job.Prelaunched && c.Now.Before(c.JoinAt):
		return job.Result{}, &job.Error{Code: job.TooEarly, Message: "the bot was launched before joinAt and may report events from then on"}
	}
	if _, err := c.StartPrelaunched(ctx); err != nil { // unless the dispatcher was faster
		return job.Result{}, err
	}
	seen, err := c.tx.HasEvent(ctx, c.ID, e.Attempt, e.Kind, e.EmittedAt)
	if err != nil {
		return job.Result{}, err
	}
	if seen {
		result := job.Result{Reason: job.Duplicate, From: c.Status, To: c.Status}
		return result, c.addEventEntry(ctx, trigger, result, job.SourceBot, e.EmittedAt, e.Data)
	}
	result, err := c.Apply(ctx, trigger, job.SourceBot, e.EmittedAt, e.Data)
	if err != nil || !result.Applied {
		return result, err
	}
	if c.HeartbeatAt.Before(c.Now) {
		c.HeartbeatAt = c.Now
	}
	if trigger.Lost && e.Attempt == c.Attempt {
		c.BotLost = "the bot's process was stopped from outside"
	}
	c.scheduleAfterEvent()
	switch e.Kind {
	case job.BotPermissionResponse:
		err = c.Emit(ctx, webhook.PermissionResponse(c.Job, data.Consented(), cmp.Or(data.Detail, data.Outcome)))
	case job.BotCompetingDetected:
		left := c.AutoLeave.OnBotDetected || data.LeftMeeting != nil && *data.LeftMeeting
		err = c.Emit(ctx, webhook.CompetingBot(c.Job, data.DetectedBotName, left))
	case job.BotOutputStarted, job.BotOutputFinished, job.BotOutputFailed:
		err = c.Emit(ctx, webhook.Output(c.Job, ingest.OutputStates[e.Kind], data))
	}
	return result, err
}

// scheduleAfterEvent sets when the dispatcher looks at the job after a bot's
// event. A dispatcher that has leased the job sets the time itself.
func (c *Change) scheduleAfterEvent() {
	switch {
	case c.Status == job.Completed || c.Status == job.Failed:
		c.WakeAt, c.Lease = c.Now, "" // to be cleaned up; a running task has nothing left to decide
	case c.Lease == "" && c.BotLost != "":
		c.WakeAt = c.Now // for another attempt
	case c.Lease == "" && c.Status == job.Finalizing && c.Attempt > 0:
		c.WakeAt = c.Now // only the service has what earlier attempts recorded
	case c.Lease == "" && c.Status == job.Cancelled && c.ManifestURI != "":
		c.WakeAt = c.Now // to be cleaned up, however late the manifest came
	case c.Lease == "" && !c.WakeAt.IsZero():
		c.WakeAt = c.Now.Add(eventDelay)
	}
}

// AdmitUpload returns nil when media of a job's bots may be stored: while the recording
// is neither finalized nor deleted.
func (s *Service) AdmitUpload(ctx context.Context, id uuid.UUID) error {
	r, err := s.Store.Job(ctx, id)
	switch {
	case err != nil:
		return ingestError(err)
	case s.tokenExpired(r.Status, r.StatusSince):
		return errTokenExpired()
	case r.Status == job.Completed || r.ManifestURI != "":
		return &job.Error{Code: job.InvalidState, Message: "the recording of this job is finished"}
	case !r.RecordingDeletedAt.IsZero():
		return &job.Error{Code: job.InvalidState, Message: "the recording of this job was deleted"}
	}
	return nil
}

// AdmitSound returns nil when an attempt's bot may send live sound: while it is in the
// meeting, and no later attempt was started.
func (s *Service) AdmitSound(ctx context.Context, id uuid.UUID, attempt int) error {
	r, err := s.Store.Job(ctx, id)
	switch {
	case err != nil:
		return ingestError(err)
	case s.tokenExpired(r.Status, r.StatusSince):
		return errTokenExpired()
	case attempt < r.Attempt:
		return &job.Error{Code: job.InvalidState, Message: "a later attempt of this job has been started"}
	case r.Status.Terminal() || r.Status.Teardown():
		return &job.Error{Code: job.InvalidState, Message: "there is no more sound: the job is " + string(r.Status)}
	}
	return nil
}

// parseJobID parses the jobId of a request.
func parseJobID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.UUID{}, &job.Error{Code: job.InvalidInput, Message: "jobId is not a UUID", Path: []any{"jobId"}}
	}
	return id, nil
}

// ingestError converts the error for a job that does not exist: the ingest
// operations answer it with 400 and the path of the field.
func ingestError(err error) error {
	if job.ErrorIs(err, job.NotFound) {
		return &job.Error{Code: job.InvalidInput, Message: "no such job", Path: []any{"jobId"}}
	}
	return err
}

// defaultBotTokenLifetime is how long a bot's token works after its job has
// ended: as long as a bot tries to upload its recording.
const defaultBotTokenLifetime = 24 * time.Hour

// defaultRecordingBitRate is the bit rate of a recording with the default
// settings: video, audio and the audio of 16 participants.
const defaultRecordingBitRate = 1_200_000 + 17*64_000

// Quota of the events of a job's bots. A bot reports about a hundred in a
// meeting, and two for each sound that it plays. The events that end an attempt may exceed it twice.
const (
	maxEvents     = 20_000
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
	bytes := attempts * (4*seconds*cmp.Or(s.RecordingBitRate, defaultRecordingBitRate)/8 + 1<<30)
	return recording.UploadQuota{Files: int(attempts * (4*seconds + 10_000)), Bytes: cmp.Or(s.UploadMiB<<20, bytes)}, nil
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
	return status.Terminal() && s.Now().Sub(since) > cmp.Or(s.BotTokenLifetime, defaultBotTokenLifetime)
}

func errTokenExpired() error {
	return &job.Error{Code: job.Unauthorized, Message: "The token has expired: the job ended too long ago."}
}
