package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// eventDelay is when the dispatcher looks at a job after an event of its bot. It
// then sets the time by the deadline of the new state.
const eventDelay = 10 * time.Second

// Ingest handles an event that a bot reports. A job that does not exist is a
// *job.Error with InvalidInput.
func (s *Service) Ingest(ctx context.Context, bot ingest.Bot, e ingest.Event) (response ingest.EventResponse, err error) {
	if e.Kind == job.ManifestFinalized {
		_, r, err := s.readBot(ctx, bot)
		if err == nil {
			err = checkQuota(r, e)
		}
		if err != nil {
			return response, err
		}
		// The manifest is written before the job gets its manifestUri.
		_, result := r.Apply(job.Event{Trigger: job.ManifestFinalized, Attempt: bot.Attempt()})
		if result.Applied && r.RecordingDeletedAt.IsZero() {
			r.Attempt = bot.Attempt()
			if err := s.Finalizer.WriteManifest(ctx, r); err != nil {
				return response, ingestError(err)
			}
		}
	}
	data := ingest.ParseEventData(e.Data)
	trigger, err := s.machineEvent(ctx, bot, e, data)
	if err != nil {
		return response, err
	}
	var result job.Result
	var commands []ingest.Command
	r, err := s.Change(ctx, bot.JobID(), func(ctx context.Context, c *Change) error {
		from, err := s.admit(bot, store.BotJobOf(c.Record))
		if err != nil {
			return err
		}
		if err := checkQuota(c.Record, e); err != nil {
			return err
		}
		if result, err = c.applyFromBot(ctx, from, e, data, trigger); err != nil {
			return err
		}
		from.job = store.BotJobOf(c.Record)
		commands, err = commandsFor(ctx, c.tx.Reader, from)
		return err
	})
	if err != nil {
		return response, ingestError(err)
	}
	return ingest.EventResponse{OK: true, Applied: result.Applied, Reason: result.Reason, Status: r.Status, Commands: commands}, nil
}

// machineEvent converts a bot's event for the state machine. The exit of a later attempt's bot
// is no failure when earlier attempts recorded something: that recording is finalized, and the
// job completes.
func (s *Service) machineEvent(ctx context.Context, bot ingest.Bot, e ingest.Event, data ingest.EventData) (job.Event, error) {
	converted := job.Event{Trigger: e.Kind, Attempt: bot.Attempt()}
	switch e.Kind {
	case job.BotExited:
		converted.Lost = data.EndReason == ingest.EndStopped || data.EndReason == ingest.EndRecordingFailed
		if converted.Lost || data.FailureCode == "" {
			break
		}
		if bot.Attempt() > 0 && data.EndReason != ingest.EndRevoked {
			hasMedia, err := s.Finalizer.HasMedia(ctx, bot.JobID())
			if err != nil {
				return converted, err
			}
			if hasMedia {
				break
			}
		}
		converted.FailureCode, converted.FailureDetail = job.FailureCode(data.FailureCode), data.FailureDetail
		if !slices.Contains(job.FailureCodes(), converted.FailureCode) {
			converted.FailureCode = job.InternalError
			converted.FailureDetail = strings.TrimSuffix(fmt.Sprintf("the bot gave the unknown failure code %q: %s", data.FailureCode,
				data.FailureDetail), ": ")
		}
	case job.ManifestFinalized:
		converted.ManifestURI = s.ManifestURI(bot.JobID())
		if strings.HasPrefix(data.ManifestURI, s.BaseURL+"/") { // consumers send requests with their key to it
			converted.ManifestURI = data.ManifestURI
		}
	}
	return converted, nil
}

// applyFromBot applies a bot's event to the job and emits the webhooks that only
// bots cause. trigger is the event for the state machine.
func (c *Change) applyFromBot(
	ctx context.Context, from knownBot, e ingest.Event, data ingest.EventData, trigger job.Event,
) (result job.Result, err error) {
	switch {
	case c.Attempts == 0 && from.Attempt() < c.Attempt: // of a withdrawn prelaunch, which stays off the timeline
		return job.Result{Reason: job.StaleAttempt, From: c.Status, To: c.Status}, nil
	case c.Prelaunch == job.Prelaunched && c.Now.Before(c.JoinAt):
		return result, job.NewError(job.TooEarly, "the bot was launched before joinAt and may report events from then on")
	}
	if _, err := c.StartPrelaunched(ctx); err != nil { // unless the dispatcher was faster
		return result, err
	}
	seen, err := c.tx.HasEvent(ctx, c.ID, from.Attempt(), e.Kind, e.EmittedAt)
	if err != nil {
		return result, err
	}
	if seen {
		result := job.Result{Reason: job.Duplicate, From: c.Status, To: c.Status}
		c.addEventEntry(trigger, result, job.SourceBot, e.EmittedAt, e.Data)
		return result, nil
	}
	result, err = c.Apply(ctx, trigger, job.SourceBot, e.EmittedAt, e.Data)
	if err != nil || !result.Applied {
		return result, err
	}
	if c.HeartbeatAt.Before(c.Now) {
		c.HeartbeatAt = c.Now
	}
	if trigger.Lost && from.Attempt() == c.Attempt {
		c.BotLost = "the bot's process was stopped from outside"
		if data.EndReason == ingest.EndRecordingFailed {
			c.BotLost = "the bot could not record and left for another one"
		}
	}
	if data.EndReason == ingest.EndRevoked {
		c.RecordingDeletedAt, c.RecordingDeletedBy = c.Now, byPlatform
	}
	// When the dispatcher looks at the job next. A dispatcher that has leased the job sets the time itself.
	switch {
	case c.Status == job.Completed || c.Status == job.Failed:
		c.WakeAt, c.Lease = c.Now, "" // to be cleaned up; a running task has nothing left to decide
	case c.Lease == "" && c.BotLost != "":
		c.WakeAt = c.Now // for another attempt
	case c.Lease == "" && c.Status == job.Finalizing && c.Attempt > 0:
		c.WakeAt = c.Now // only the service has what earlier attempts recorded
	case c.Lease == "" && c.Status == job.Cancelled && c.ManifestURI != "":
		c.WakeAt = c.Now // to be cleaned up, however late the manifest came
	case c.Lease == "" && c.WakeAt.After(c.Now.Add(eventDelay)): // never later, however often a bot reports something
		c.WakeAt = c.Now.Add(eventDelay)
	}
	if current, err := from.current(); err == nil {
		return result, c.emitFromBot(ctx, current, e.Kind, data)
	}
	return result, nil
}

// emitFromBot emits the webhook of an event that does not change the status.
func (c *Change) emitFromBot(ctx context.Context, _ currentBot, kind job.Trigger, data ingest.EventData) error {
	switch kind {
	case job.BotPermissionResponse:
		return c.Emit(ctx, webhook.PermissionResponse(c.Job, data.Consented(), cmp.Or(data.Detail, data.Outcome)))
	case job.BotCompetingDetected:
		left := c.AutoLeave.OnBotDetected || data.LeftMeeting != nil && *data.LeftMeeting
		return c.Emit(ctx, webhook.CompetingBot(c.Job, data.DetectedBotName, left))
	case job.BotOutputStarted, job.BotOutputFinished, job.BotOutputFailed:
		return c.Emit(ctx, webhook.Output(c.Job, ingest.OutputStates[kind], data))
	}
	return nil
}
