package lifecycle

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/text"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// Change is a job that is locked for change within one transaction. What belongs to the change
// gathers until save.
type Change struct {
	store.JobChange

	service  *Service
	tx       *store.Tx
	team     *store.Team // of the job, once it is read
	before   job.Record  // as the transaction read it
	applied  []event.StateApplied
	emitted  bool        // deliveries were created
	commands bool        // commands were queued
	played   []uuid.UUID // commands whose output is no longer needed
}

// Change locks the job and calls fn. It saves the job as fn leaves it, unless fn
// returns an error, and after the commit wakes whoever has to act. fn may be called
// more than once.
func (s *Service) Change(ctx context.Context, id uuid.UUID, fn func(context.Context, *Change) error) (job.Record, error) {
	var c *Change
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.LockJob(ctx, id)
		if err != nil {
			return err
		}
		c = s.newChange(tx, r)
		if err := fn(ctx, c); err != nil {
			return err
		}
		return c.save(ctx)
	})
	if err != nil {
		return job.Record{}, err
	}
	s.publish(ctx, c)
	return c.Record, nil
}

// newChange returns the change of a job that the transaction has locked.
func (s *Service) newChange(tx *store.Tx, r job.Record) *Change {
	return &Change{JobChange: store.JobChange{Record: r, Now: s.Now()}, before: r, service: s, tx: tx}
}

// save saves the job and what belongs to the change.
func (c *Change) save(ctx context.Context) error {
	err := c.tx.SaveJob(ctx, c.JobChange)
	c.Entries, c.Deliveries, c.AttemptEnds, c.Usage, c.Ended = nil, nil, nil, job.Usage{}, false
	return err
}

// saveGathered saves the job if anything belongs to the change.
func (c *Change) saveGathered(ctx context.Context) error {
	if len(c.Entries)+len(c.Deliveries) == 0 {
		return nil
	}
	return c.save(ctx)
}

// publish publishes the events of a committed change.
func (s *Service) publish(ctx context.Context, c *Change) {
	if c.emitted {
		s.Events.Publish(event.DeliveryDue{})
	}
	if c.commands || c.Attempt != c.before.Attempt || c.Status == job.Failed {
		s.hub.notify(c.ID) // a bot is to leave that was replaced, or whose job has failed
	}
	if c.commands {
		s.Events.Publish(event.CommandQueued{JobID: c.ID})
	}
	s.deleteOutput(ctx, c.ID, c.played)
	for _, applied := range c.applied {
		applied.Job = c.Record
		s.Events.Publish(applied)
	}
	if !c.WakeAt.IsZero() {
		s.Events.Publish(jobDue(c.Record))
	}
}

// jobDue returns the event of a job that has been created or changed.
func jobDue(r job.Record) event.JobDue {
	return event.JobDue{At: r.WakeAt, Waiting: !r.Status.Dispatched()}
}

// Apply gives an event to the state machine and saves what follows from it: the
// new state, a timeline entry, the webhooks. data is part of the entry and may
// be nil.
func (c *Change) Apply(ctx context.Context, e job.Event, source job.Source, emittedAt time.Time, data json.RawMessage) (job.Result, error) {
	e.At = c.Now
	state, result := c.State.Apply(e)
	attached := state.ManifestURI != c.ManifestURI
	end := job.NewAttemptEnd(c.Attempt, e.FailureCode, e.FailureDetail)
	c.State = state
	if result.Changed() {
		c.StatusSince = c.Now
	}
	if result.Applied {
		applied := event.StateApplied{Trigger: e.Trigger, Result: result, Data: data}
		if c.Mode == job.Live && (end.Cause != "" || result.Changed() && result.To == job.Completed) {
			applied.End = &end
			c.AttemptEnds = append(c.AttemptEnds, end)
		}
		c.applied = append(c.applied, applied)
	}
	c.addEventEntry(e, result, source, emittedAt, data)
	// The usage of the consumer: the bots have left the meeting, it has ended, and what was recorded.
	var usage job.Usage
	if result.Changed() {
		usage = job.UsageOf(result.From, result.To, c.StartedAt, c.Now)
	}
	if attached {
		progress, err := c.tx.Progress(ctx, []uuid.UUID{c.ID})
		if err != nil {
			return result, err
		}
		summary := progress[c.ID].Summary
		usage.StoredBytes = summary.Bytes
		if summary.MediaURI != "" {
			usage.Recorded = time.Duration(summary.DurationMs) * time.Millisecond
		}
	}
	var stats ingest.Stats // the last of the attempt's bot
	ended := e.Trigger == job.AttemptStarted || result.Changed() && result.To.Terminal()
	if result.Applied && ended && json.Unmarshal(c.Stats, &stats) == nil {
		usage.Cores = time.Duration(stats.CoreSeconds * float64(time.Second))
		usage.Memory = time.Duration(stats.GiBSeconds * float64(time.Second))
		err := c.tx.ChangeSummary(ctx, c.ID, func(s *job.Summary) { s.Resources = s.Resources.Plus(usage.Resources) })
		if err != nil {
			return result, err
		}
	}
	c.Usage = c.Usage.Plus(usage)
	if result.Applied && e.Trigger == job.ManifestFinalized {
		if err := c.queueTasks(ctx); err != nil {
			return result, err
		}
	}
	if !result.Changed() {
		return result, nil
	}
	if err := c.Emit(ctx, webhook.StatusChanged(c.Job, result.From, result.To)); err != nil {
		return result, err
	}
	if result.To.Terminal() {
		// The commands that wait get an outcome. The bot has left the meeting, or will.
		var waiting []ingest.Command
		if c.HasCommands {
			var err error
			if waiting, err = c.tx.PendingCommands(ctx, c.ID); err != nil {
				return result, err
			}
		}
		for _, command := range waiting {
			failure := "the job has ended: it is " + string(c.Status)
			if command.Kind == ingest.LeaveCall {
				failure = ""
			}
			if _, err := c.settleCommand(ctx, command.ID, failure); err != nil {
				return result, err
			}
		}
		c.Ended = true
	}
	switch result.To {
	case job.Failed:
		if err := c.tx.ChangeSummary(ctx, c.ID, func(s *job.Summary) { s.FailedIn = result.From }); err != nil {
			return result, err
		}
		return result, c.Emit(ctx, webhook.Failed(c.Job))
	case job.Completed:
		return result, c.Emit(ctx, webhook.Finalized(c.Job))
	}
	return result, nil
}

// ApplyFromService applies an event that the service itself decided on.
func (c *Change) ApplyFromService(ctx context.Context, e job.Event, data any) (job.Result, error) {
	e.Attempt = c.Attempt
	encoded, err := encodeData(data)
	if err != nil {
		return job.Result{}, err
	}
	return c.Apply(ctx, e, job.SourceService, c.Now, encoded)
}

// Emit puts a webhook event into the outbox, once for each URL it goes to: those of the job,
// and the endpoints that take it. The event counts in the job's sequence even when it goes to
// no URL.
func (c *Change) Emit(ctx context.Context, e webhook.Event) error { return c.emit(ctx, e, true) }

// emit emits an event to the endpoints that take it and, if named, to the URLs of the job. An
// event for endpoints only that none takes does not count in the job's sequence.
func (c *Change) emit(ctx context.Context, e webhook.Event, named bool) error {
	team, err := c.readTeam(ctx)
	if err != nil {
		return err
	}
	var urls []string
	if named {
		urls = webhook.Targets(c.Job, team.WebhookURL, e.Name)
	}
	targets := webhook.Takers(urls, team.Endpoints[c.Mode], e.Name)
	if !named && len(targets) == 0 {
		return nil
	}
	c.Sequence++
	c.emitted = c.emitted || len(targets) > 0
	deliveries, err := webhook.Deliveries(webhook.Delivery{
		JobID: c.ID, ConsumerID: c.ConsumerID, Mode: c.Mode, Sequence: c.Sequence, EmittedAt: c.Now, Version: team.WebhookVersion,
	}, e, targets)
	c.Deliveries = append(c.Deliveries, deliveries...)
	return err
}

// Consumer returns the consumer of the job.
func (c *Change) Consumer(ctx context.Context) (account.Consumer, error) {
	team, err := c.readTeam(ctx)
	return team.Consumer, err
}

// readTeam returns the team of the job, which the transaction reads once.
func (c *Change) readTeam(ctx context.Context) (store.Team, error) {
	if c.team == nil {
		team, err := c.tx.Team(ctx, c.ConsumerID)
		if err != nil {
			return team, err
		}
		c.team = &team
	}
	return *c.team, nil
}

// StartAttempt starts the job's next attempt, whose bot is launched by a node.
// reason is the reason for another attempt, for people; empty for the first. It
// returns false when the job's status does not allow it. If the recording was paused,
// the next bot pauses it too.
func (c *Change) StartAttempt(ctx context.Context, node, nodeName, reason string) (bool, error) {
	paused := c.Status == job.RecordingPaused || c.PreviousStatus == job.RecordingPaused
	if applied, err := c.applyAttemptStarted(ctx, nodeName, reason); err != nil || !applied {
		return false, err
	}
	if paused {
		if err := c.queueForConsumer(ctx, job.NewID(), ingest.PauseRecording, nil); err != nil {
			return false, err
		}
	}
	c.Prelaunch = job.NotPrelaunched
	c.resetBot(node)
	return true, nil
}

// applyAttemptStarted applies the trigger AttemptStarted.
func (c *Change) applyAttemptStarted(ctx context.Context, nodeName, reason string) (bool, error) {
	data := map[string]string{}
	if reason != "" {
		data["reason"] = reason
	}
	if nodeName != "" {
		data["node"] = nodeName
	}
	result, err := c.ApplyFromService(ctx, job.Event{Trigger: job.AttemptStarted, FailureDetail: reason}, data)
	return result.Applied, err
}

// resetBot removes what is known about the bot of an earlier attempt. The new
// one is launched by a node.
func (c *Change) resetBot(node string) {
	c.AttemptStartedAt, c.LaunchedAt, c.HeartbeatAt = c.Now, time.Time{}, time.Time{}
	c.LaunchFailures, c.LaunchError, c.BotLost, c.Node, c.Stats = 0, "", "", node, nil
}

// BotLaunched records that the bot of the current attempt was started, on which
// node, and how late.
func (c *Change) BotLaunched(ctx context.Context, nodeName string) error {
	data := map[string]any{"node": nodeName}
	if c.Attempts == 1 && !c.JoinAt.Before(c.CreatedAt) {
		data["lateMs"] = max(0, c.LaunchedAt.Sub(c.JoinAt).Milliseconds())
	}
	return c.addEntry(BotLaunched, data)
}

// BotLaunchFailed records that a node could not start the bot of the current attempt,
// and that the launch is tried again after a delay.
func (c *Change) BotLaunchFailed(ctx context.Context, nodeName string, failure error) error {
	c.LaunchFailures++
	c.LaunchError = failure.Error()
	if c.Prelaunch == job.Prelaunched { // its launch is not part of the job's history yet
		return nil
	}
	return c.addEntry(LaunchFailed, map[string]any{"node": nodeName, "detail": c.LaunchError})
}

// BeginPrelaunch records that a node is about to launch the job's bot before
// joinAt. It returns false when the job cannot have such a bot.
func (c *Change) BeginPrelaunch(node string) bool {
	if c.Status != job.Scheduled || c.Prelaunch != job.NotPrelaunched {
		return false
	}
	c.Prelaunch = job.Prelaunched
	c.resetBot(node)
	return true
}

// StartPrelaunched starts the first attempt with the prelaunched bot. It returns
// false when there is none.
func (c *Change) StartPrelaunched(ctx context.Context) (bool, error) {
	if c.Prelaunch != job.Prelaunched {
		return false, nil
	}
	name, err := c.tx.NodeName(ctx, c.Node)
	if err != nil {
		return false, err
	}
	if applied, err := c.applyAttemptStarted(ctx, name, ""); err != nil || !applied {
		return false, err
	}
	c.Prelaunch, c.AttemptStartedAt = job.NotPrelaunched, c.Now
	if c.LaunchedAt.IsZero() {
		return true, nil // recorded when it is launched
	}
	return true, c.BotLaunched(ctx, name)
}

// EndPrelaunch records that the bot of a withdrawn prelaunch was stopped.
func (c *Change) EndPrelaunch(ctx context.Context) error {
	c.Prelaunch = job.NotPrelaunched
	c.resetBot("")
	c.AttemptStartedAt = time.Time{}
	c.WakeAt = c.Now
	if undispatched(c.Status) {
		c.WakeAt = job.Latest(c.JoinAt, c.Now)
	}
	return c.tx.TakeBackAccount(ctx, c.ID, c.Now)
}

// WithdrawPrelaunch takes a prelaunched bot back because the job has changed. The
// bot's token is void from now on, and the dispatcher stops the bot.
func (c *Change) WithdrawPrelaunch() {
	switch c.Prelaunch {
	case job.Prelaunched:
		c.Prelaunch = job.PrelaunchWithdrawn
		c.Attempt++
	case job.PrelaunchSkipped:
		c.Prelaunch = job.NotPrelaunched // the reason may be gone
	}
	if c.Prelaunch == job.PrelaunchWithdrawn && c.Lease == "" {
		c.WakeAt = c.Now // a dispatcher that has leased the job notices the new attempt number itself
	}
}

// queueForConsumer queues a command and records it on the timeline.
func (c *Change) queueForConsumer(ctx context.Context, id uuid.UUID, kind ingest.CommandKind, args any) error {
	if err := c.insertCommand(ctx, id, kind, args); err != nil {
		return err
	}
	return c.addEntry(CommandQueued, map[string]string{"commandId": id.String(), "command": string(kind)})
}

// QueueCommand queues a command of the service for the job's bot and returns its ID. args
// are encoded as JSON and may be nil.
func (c *Change) QueueCommand(ctx context.Context, kind ingest.CommandKind, args any) (uuid.UUID, error) {
	id := job.NewID()
	return id, c.insertCommand(ctx, id, kind, args)
}

func (c *Change) insertCommand(ctx context.Context, id uuid.UUID, kind ingest.CommandKind, args any) error {
	encoded, err := encodeData(args)
	if err != nil {
		return err
	}
	c.commands, c.HasCommands = true, true
	return c.tx.InsertCommand(ctx, ingest.QueuedCommand{ID: id, JobID: c.ID, Kind: kind, Args: encoded, CreatedAt: c.Now})
}

// settleCommand records that a command was executed, or failed if there is a reason.
// It returns false for a command that does not wait for its outcome.
func (c *Change) settleCommand(ctx context.Context, id, failure string) (bool, error) {
	kind, acked, err := c.tx.AckCommand(ctx, c.ID, id, c.Now)
	if err != nil || !acked {
		return false, err
	}
	switch kind {
	case ingest.PlayAudio, ingest.Speak, ingest.SetCamera, ingest.ShareScreen:
		if command, err := uuid.Parse(id); err == nil {
			c.played = append(c.played, command)
		}
	}
	entry, data := CommandDone, map[string]string{"commandId": id, "command": string(kind)}
	if failure != "" {
		failure = text.Clean(failure, ingest.MaxCommandFailure)
		entry, data["reason"] = CommandFailed, failure
	}
	if err := c.addEntry(entry, data); err != nil {
		return true, err
	}
	consumer, err := c.Consumer(ctx)
	if err != nil {
		return true, err
	}
	return true, c.emit(ctx, webhook.CommandOutcome(c.Job, id, kind, failure), consumer.CommandEvent)
}

// MediaStored records how much of a recording is in storage.
func (c *Change) MediaStored(ctx context.Context, done, total int64) error {
	return c.addEntry(MediaStored, map[string]int64{"bytesDone": done, "bytesTotal": total})
}

// addEntry adds a timeline entry that is not an event of the state machine.
func (c *Change) addEntry(kind job.Trigger, data any) error {
	encoded, err := encodeData(data)
	if err == nil {
		result := job.Result{Applied: true, From: c.Status, To: c.Status}
		c.addEventEntry(job.Event{Trigger: kind}, result, job.SourceService, c.Now, encoded)
	}
	return err
}

// addEventEntry adds the timeline entry of an event.
func (c *Change) addEventEntry(e job.Event, result job.Result, source job.Source, emittedAt time.Time, data json.RawMessage) {
	attempt := e.Attempt
	switch source {
	case job.SourceService:
		attempt = c.Attempt // after the event
	case job.SourceBot:
		c.BotEvents++
		c.BotEventBytes += int64(len(data))
	}
	c.Entries = append(c.Entries, job.TimelineEntry{
		ID:         job.NewID(),
		JobID:      c.ID,
		Attempt:    attempt,
		Source:     source,
		Kind:       e.Trigger,
		EmittedAt:  emittedAt,
		ReceivedAt: c.Now,
		Applied:    result.Applied,
		Reason:     result.Reason,
		From:       result.From,
		To:         result.To,
		Data:       data,
	})
}

// encodeData encodes the data of a timeline entry, or the arguments of a
// command; nil is none.
func encodeData(data any) (json.RawMessage, error) {
	if data == nil {
		return nil, nil
	}
	return json.Marshal(data)
}
