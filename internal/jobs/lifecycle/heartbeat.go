package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

const (
	// Bots are asked for a heartbeat every minHeartbeatSeconds, or for as many as make
	// heartbeatRate heartbeats per second of all waiting bots of this node, and at
	// least every maxHeartbeatSeconds.
	minHeartbeatSeconds = 5
	maxHeartbeatSeconds = 25
	heartbeatRate       = 400
	// watchedHeartbeatSeconds is the interval for a bot that somebody watches, so that who
	// speaks is up to date.
	watchedHeartbeatSeconds = 2
	// uploadSteps is how often the upload of a recording is recorded: each time
	// is an entry on the timeline.
	uploadSteps = 10
)

// Heartbeat records a bot's heartbeat and its acknowledgements, and answers with
// the waiting commands, without those that the bot is executing. Without any it holds
// the answer until a command is queued or wait is over.
func (s *Service) Heartbeat(
	ctx context.Context, bot ingest.Bot, beat ingest.Heartbeat, wait time.Duration,
) (ingest.HeartbeatResponse, error) {
	notified, stop := s.hub.listen(bot)
	defer stop()
	response, err := s.recordHeartbeat(ctx, bot, beat)
	deadline := time.After(wait)
	for err == nil && len(response.Commands) == 0 && wait > 0 {
		select {
		case <-notified:
		case <-deadline:
			wait = 0
		case <-ctx.Done():
			wait = 0
		}
		response, err = s.readResponse(ctx, s.Store.Reader, bot, beat.Executing)
	}
	if err != nil {
		return ingest.HeartbeatResponse{}, ingestError(err)
	}
	s.hub.mu.Lock()
	waiting := len(s.hub.listeners)
	s.hub.mu.Unlock()
	response.OK, response.NextSeconds = true, heartbeatSeconds(waiting)
	if response.Screenshots {
		response.NextSeconds = min(response.NextSeconds, watchedHeartbeatSeconds)
	}
	return response, nil
}

// heartbeatSeconds returns the interval of heartbeats that bots are asked for.
func heartbeatSeconds(waiting int) int {
	return min(max(minHeartbeatSeconds, waiting/heartbeatRate), maxHeartbeatSeconds)
}

// recordHeartbeat records a heartbeat, with the webhooks and timeline entries that follow from it,
// and after the commit wakes whoever has to act. It returns what depends on the job in the response.
func (s *Service) recordHeartbeat(
	ctx context.Context, bot ingest.Bot, beat ingest.Heartbeat,
) (response ingest.HeartbeatResponse, err error) {
	now, stats := s.Now(), json.RawMessage(nil)
	if beat.Stats != nil {
		if stats, err = encodeData(beat.Stats); err != nil {
			return response, err
		}
	}
	var c *Change
	var settled bool
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		settled = false // of a repeated transaction
		r, err := tx.LockJob(ctx, bot.JobID())
		if err != nil {
			return err
		}
		c = s.newChange(tx, r)
		from, err := s.admit(bot, store.BotJobOf(r))
		if err != nil {
			return err
		}
		current, notCurrent := from.current()
		// The last bot of a cancelled job executes commands too: it still has to leave.
		if notCurrent == nil || bot.Attempt() >= r.Attempt && r.Status == job.Cancelled {
			for _, id := range beat.Acked {
				waited, err := c.settleCommand(ctx, id, beat.Failed[id])
				if err != nil {
					return err
				}
				settled = settled || waited
			}
		}
		if notCurrent == nil && beat.Stats != nil {
			var previous ingest.Stats // of the heartbeat before
			if len(c.Stats) > 0 {
				if err := json.Unmarshal(c.Stats, &previous); err != nil {
					return fmt.Errorf("decode the previous statistics of the bot: %w", err)
				}
			}
			if err := c.emitRoster(ctx, current, beat.Stats.Roster, previous.Roster); err != nil {
				return err
			}
			if err := c.recordUpload(ctx, current, *beat.Stats, previous); err != nil {
				return err
			}
		}
		if err := c.saveGathered(ctx); err != nil {
			return err
		}
		if from.Attempt() >= r.Attempt {
			if err := tx.SaveHeartbeat(ctx, r.ID, now, stats); err != nil {
				return err
			}
		}
		response, err = s.readResponse(ctx, tx.Reader, bot, beat.Executing)
		return err
	})
	if err != nil {
		return response, err
	}
	if settled {
		s.Events.Publish(event.CommandSettled{JobID: c.ID})
	}
	s.deleteOutput(ctx, c.ID, c.played)
	if c.emitted {
		s.Events.Publish(event.DeliveryDue{})
	}
	return response, nil
}

// recordUpload records each tenth of a recording that its bot has uploaded.
func (c *Change) recordUpload(ctx context.Context, _ currentBot, stats, previous ingest.Stats) error {
	step := func(s ingest.Stats) int64 { return s.FinalBytesSent * uploadSteps / max(1, s.FinalBytes) }
	if stats.FinalBytes <= 0 || c.Status != job.MediaUploading || step(stats) <= step(previous) {
		return nil
	}
	return c.MediaStored(ctx, stats.FinalBytesSent, stats.FinalBytes)
}

// emitRoster emits who has joined or left the meeting, and who has started or stopped
// speaking, since the heartbeat before.
func (c *Change) emitRoster(ctx context.Context, _ currentBot, roster, previous *ingest.LiveRoster) error {
	if roster == nil {
		return nil
	}
	before := make(map[string]ingest.LiveParticipant)
	if previous != nil {
		for _, p := range previous.Participants {
			before[p.ID] = p
		}
	}
	var events []webhook.Event
	for _, p := range roster.Participants {
		old, known := before[p.ID]
		delete(before, p.ID)
		if !known {
			events = append(events, webhook.Joined(c.Job, p))
		}
		if p.Speaking != old.Speaking {
			events = append(events, webhook.Speaking(c.Job, p, p.Speaking))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if before[id].Speaking {
			events = append(events, webhook.Speaking(c.Job, before[id], false))
		}
		events = append(events, webhook.Left(c.Job, before[id]))
	}
	for _, e := range events {
		if err := c.emit(ctx, e, false); err != nil {
			return err
		}
	}
	return nil
}

// readResponse returns what depends on the job in the response to a heartbeat.
func (s *Service) readResponse(
	ctx context.Context, db *store.Reader, bot ingest.Bot, executing []string,
) (response ingest.HeartbeatResponse, err error) {
	if ctx.Err() != nil {
		return response, ctx.Err()
	}
	j, err := db.BotJob(ctx, bot.JobID())
	if err != nil {
		return response, err
	}
	to, err := s.admit(bot, j)
	if err != nil {
		return response, err
	}
	commands, err := commandsFor(ctx, db, to)
	commands = slices.DeleteFunc(commands, func(c ingest.Command) bool { return slices.Contains(executing, c.ID) })
	watched := !s.NoScreenshots && to.attending() == nil && to.job.Watched.After(s.Now())
	return ingest.HeartbeatResponse{Status: to.job.Status, Commands: commands, Screenshots: watched}, err
}

// commandsFor returns the commands for a bot: the queue of its job, or to leave the
// meeting when a later attempt has been started or the job has failed. A bot that was
// launched before joinAt gets none before then.
func commandsFor(ctx context.Context, db *store.Reader, to knownBot) ([]ingest.Command, error) {
	switch j := to.job; {
	case j.Prelaunch == job.Prelaunched && to.Attempt() >= j.Attempt:
		return []ingest.Command{}, nil // they wait for joinAt, like those of a job without a bot
	case to.Attempt() < j.Attempt || j.Status == job.Failed:
		id := uuid.NewSHA1(j.ID, fmt.Appendf(nil, "leave %d", to.Attempt())) // always the same, so that it is executed once
		return []ingest.Command{{ID: id.String(), Kind: ingest.LeaveCall}}, nil
	case !j.Commands:
		return []ingest.Command{}, nil
	}
	return db.PendingCommands(ctx, to.JobID())
}
