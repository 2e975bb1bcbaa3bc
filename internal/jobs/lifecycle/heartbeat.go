package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/batch"
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
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	for err == nil && len(response.Commands) == 0 && wait > 0 {
		select {
		case <-notified:
		case <-deadline.C:
			wait = 0
		case <-ctx.Done():
			wait = 0
		}
		response, err = s.readResponse(ctx, bot, beat.Executing)
	}
	if err != nil {
		return ingest.HeartbeatResponse{}, ingestError(err)
	}
	response.OK, response.NextSeconds = true, heartbeatSeconds(s.hub.waiting())
	if response.Screenshots {
		response.NextSeconds = min(response.NextSeconds, watchedHeartbeatSeconds)
	}
	return response, nil
}

// heartbeatSeconds returns the interval of heartbeats that bots are asked for.
func heartbeatSeconds(waiting int) int {
	return min(max(minHeartbeatSeconds, waiting/heartbeatRate), maxHeartbeatSeconds)
}

// recordHeartbeat saves a heartbeat, and returns what depends on the job in its
// response. Heartbeats that only report that the bot runs share a transaction.
func (s *Service) recordHeartbeat(ctx context.Context, bot ingest.Bot, beat ingest.Heartbeat) (ingest.HeartbeatResponse, error) {
	h, err := newHeartbeat(bot, beat, s.Now())
	if err != nil {
		return ingest.HeartbeatResponse{}, err
	}
	if !h.alone {
		err := s.heartbeats.Do(ctx, h)
		h.alone = h.alone || errors.Is(err, batch.ErrFailed)
		if err != nil && !h.alone {
			return ingest.HeartbeatResponse{}, fmt.Errorf("record a heartbeat: %w", err)
		}
	}
	if h.alone {
		if err := s.recordAlone(ctx, h, beat); err != nil {
			return ingest.HeartbeatResponse{}, err
		}
	}
	return h.response, h.err
}

// recordAlone records a heartbeat in its own transaction, with the webhooks and timeline
// entries that follow from it, and after the commit wakes whoever has to act.
func (s *Service) recordAlone(ctx context.Context, h *heartbeat, beat ingest.Heartbeat) error {
	var c *Change
	var settled bool
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		settled = false // of a repeated transaction
		r, err := tx.LockJob(ctx, h.bot.JobID())
		if err != nil {
			return err
		}
		c = s.newChange(tx, r)
		from, err := s.admit(h.bot, store.BotJobOf(r))
		if err != nil {
			return err
		}
		if commanded, ok := from.commanded(); ok {
			if settled, err = c.settleAcked(ctx, commanded, beat); err != nil {
				return err
			}
		}
		if current, err := from.current(); err == nil {
			if err := c.emitRoster(ctx, current, beat.Stats); err != nil {
				return err
			}
			if err := c.recordUpload(ctx, current, beat.Stats); err != nil {
				return err
			}
		}
		if err := c.saveGathered(ctx); err != nil {
			return err
		}
		j, err := tx.BotJob(ctx, r.ID)
		if err != nil {
			return err
		}
		return s.record(ctx, tx, j, h)
	})
	if err != nil {
		return err
	}
	if settled {
		s.Events.Publish(event.CommandSettled{JobID: c.ID})
	}
	s.deleteOutput(ctx, c.ID, c.played)
	if c.emitted {
		s.Events.Publish(event.DeliveryDue{})
	}
	return nil
}

// settleAcked gives the commands that a heartbeat acknowledges their outcome. It reports
// whether one of them was waiting.
func (c *Change) settleAcked(ctx context.Context, _ commandedBot, beat ingest.Heartbeat) (settled bool, err error) {
	for _, id := range beat.Acked {
		waited, err := c.settleCommand(ctx, id, beat.Failed[id])
		if err != nil {
			return settled, err
		}
		settled = settled || waited
	}
	return settled, nil
}

// recordUpload records each tenth of a recording that its bot has uploaded.
func (c *Change) recordUpload(ctx context.Context, _ currentBot, stats *ingest.Stats) error {
	if stats == nil || stats.FinalBytes <= 0 || c.Status != job.MediaUploading {
		return nil
	}
	previous, err := c.previousStats()
	if err != nil {
		return err
	}
	step := func(s ingest.Stats) int64 { return s.FinalBytesSent * uploadSteps / max(1, s.FinalBytes) }
	if step(*stats) <= step(previous) {
		return nil
	}
	return c.MediaStored(ctx, stats.FinalBytesSent, stats.FinalBytes)
}

// previousStats returns the statistics of the heartbeat before.
func (c *Change) previousStats() (previous ingest.Stats, err error) {
	if len(c.Stats) > 0 {
		if err := json.Unmarshal(c.Stats, &previous); err != nil {
			return previous, fmt.Errorf("decode the previous statistics of the bot: %w", err)
		}
	}
	return previous, nil
}

// emitRoster emits who has joined or left the meeting, and who has started or stopped
// speaking, since the heartbeat before.
func (c *Change) emitRoster(ctx context.Context, _ currentBot, stats *ingest.Stats) error {
	if stats == nil || stats.Roster == nil {
		return nil
	}
	previous, err := c.previousStats()
	if err != nil {
		return err
	}
	before := make(map[string]ingest.LiveParticipant)
	if previous.Roster != nil {
		for _, p := range previous.Roster.Participants {
			before[p.ID] = p
		}
	}
	var events []webhook.Event
	for _, p := range stats.Roster.Participants {
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
func (s *Service) readResponse(ctx context.Context, bot ingest.Bot, executing []string) (ingest.HeartbeatResponse, error) {
	if ctx.Err() != nil {
		return ingest.HeartbeatResponse{}, ctx.Err()
	}
	j, err := s.Store.BotJob(ctx, bot.JobID())
	if err != nil {
		return ingest.HeartbeatResponse{}, err
	}
	from, err := s.admit(bot, j)
	if err != nil {
		return ingest.HeartbeatResponse{}, err
	}
	return s.respond(ctx, s.Store.Reader, from, executing)
}

// respond returns what depends on the job in the response to a heartbeat.
func (s *Service) respond(ctx context.Context, db *store.Reader, to knownBot, executing []string) (ingest.HeartbeatResponse, error) {
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

const (
	// heartbeatInterval is the minimum time between two transactions of a node that
	// record heartbeats. A heartbeat waits for less than that.
	heartbeatInterval = 100 * time.Millisecond
	// maxHeartbeats is the maximum number of heartbeats in a transaction.
	maxHeartbeats    = 1024
	heartbeatTimeout = 10 * time.Second
)

// heartbeat is a heartbeat with its result. It may share its transaction.
type heartbeat struct {
	bot       ingest.Bot
	executing []string
	at        time.Time
	stats     json.RawMessage

	roster   bool // it says who is in the meeting
	alone    bool // it must be recorded in its own transaction
	response ingest.HeartbeatResponse
	err      error
}

// newHeartbeat returns a heartbeat to record. It must be recorded alone if it acknowledges
// commands or reports an upload, which change more than the heartbeat of the job.
func newHeartbeat(bot ingest.Bot, beat ingest.Heartbeat, at time.Time) (*heartbeat, error) {
	h := &heartbeat{bot: bot, executing: beat.Executing, at: at, alone: len(beat.Acked) > 0}
	if beat.Stats == nil {
		return h, nil
	}
	h.roster = beat.Stats.Roster != nil
	h.alone = h.alone || beat.Stats.FinalBytes != 0
	var err error
	h.stats, err = encodeData(beat.Stats)
	return h, err
}

// recordHeartbeats records heartbeats in one transaction. Those of jobs that another transaction
// has locked, and those that may cause webhooks, do not share it.
func (s *Service) recordHeartbeats(ctx context.Context, group []*heartbeat) error {
	ids := make([]uuid.UUID, 0, len(group))
	latest := make(map[uuid.UUID]*heartbeat, len(group))
	for _, h := range group {
		id := h.bot.JobID()
		if latest[id] != nil {
			h.alone = true // the other one is recorded first
			continue
		}
		latest[id] = h
		ids = append(ids, id)
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		jobs, err := tx.LockFreeBotJobs(ctx, ids)
		if err != nil {
			return err
		}
		for id, h := range latest {
			j, found := jobs[id]
			if h.alone = !found || h.roster && j.LiveEvents; h.alone {
				continue // it is locked, does not exist, or may cause webhooks
			}
			if err := s.record(ctx, tx, j, h); err != nil {
				return err
			}
		}
		return nil
	})
}

// record records a heartbeat of a job that is locked.
func (s *Service) record(ctx context.Context, tx *store.Tx, j store.BotJob, h *heartbeat) error {
	var from knownBot
	if from, h.err = s.admit(h.bot, j); h.err != nil {
		return nil //nolint:nilerr // it is that of one heartbeat: the others of the transaction are recorded
	}
	if from.Attempt() >= j.Attempt {
		if err := tx.SaveHeartbeat(ctx, j.ID, h.at, h.stats); err != nil {
			return err
		}
	}
	var err error
	h.response, err = s.respond(ctx, tx.Reader, from, h.executing)
	return err
}
