package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/store"
	"standin/internal/webhook"
)

// lookAgain is when the dispatcher looks at a job after its bot has moved it.
// The dispatcher then sets its own time, by the deadline of the new state.
const lookAgain = 10 * time.Second

// nextHeartbeat is how often bots are asked to be heard, in seconds.
const nextHeartbeat = 5

// recheck is how often a held heartbeat looks for commands that another node
// queued.
const recheck = time.Second

// Ingest takes a bot's event (contract, State machine and Bot channel). A job
// that is not there is a *job.Error with InvalidInput.
func (s *Service) Ingest(ctx context.Context, event ingest.Event) (ingest.EventResponse, error) {
	id, err := jobID(event.JobID)
	if err != nil {
		return ingest.EventResponse{}, err
	}
	if event.Kind == job.ManifestFinalized {
		if err := s.makeManifest(ctx, id, event.Attempt); err != nil {
			return ingest.EventResponse{}, unknownJob(err)
		}
	}
	data := ingest.ParseEventData(event.Data)
	move := machineEvent(event, data, s.ManifestURI(id))
	if err := s.keepEarlier(ctx, id, &move); err != nil {
		return ingest.EventResponse{}, err
	}
	var result job.Result
	var commands []ingest.Command
	r, err := s.Change(ctx, id, func(c *Change) (err error) {
		if result, err = c.fromBot(ctx, event, data, move); err != nil {
			return err
		}
		commands, err = c.commands(ctx, event.Attempt)
		return err
	})
	if err != nil {
		return ingest.EventResponse{}, unknownJob(err)
	}
	return ingest.EventResponse{OK: true, Applied: result.Applied, Reason: result.Reason, Status: r.Status, Commands: commands}, nil
}

// AdmitUpload returns nil when media of an attempt's bot may be stored: while
// the recording is neither finished nor deleted.
func (s *Service) AdmitUpload(ctx context.Context, id uuid.UUID, _ int) error {
	r, err := s.store.Job(ctx, id)
	if err != nil {
		return unknownJob(err)
	}
	if r.Status == job.Completed || r.ManifestURI != "" {
		return &job.Error{Code: job.InvalidState, Message: "the recording of this job is finished"}
	}
	if !r.RecordingDeletedAt.IsZero() {
		return &job.Error{Code: job.InvalidState, Message: "the recording of this job was deleted"}
	}
	return nil
}

// makeManifest has the manifest made before the job is said to have one. It
// is left out when the event will not count, or when the consumer wants no
// recording any more.
func (s *Service) makeManifest(ctx context.Context, id uuid.UUID, attempt int) error {
	r, err := s.store.Job(ctx, id)
	if err != nil {
		return err
	}
	if _, result := r.Apply(job.Event{Trigger: job.ManifestFinalized, Attempt: attempt}); !result.Applied || !r.RecordingDeletedAt.IsZero() {
		return nil
	}
	r.Attempt = attempt
	if err := s.finalizer.WriteManifest(ctx, r); err != nil {
		return fmt.Errorf("make the manifest of job %s: %w", id, err)
	}
	return nil
}

// keepEarlier takes the failure from the exit of a later attempt's bot when
// something is saved: the meeting that it did not get into again was recorded
// by the attempts before, and what they saved is finalized (contract, State
// machine: a lost bot whose media was saved is completed).
func (s *Service) keepEarlier(ctx context.Context, id uuid.UUID, move *job.Event) error {
	if move.FailureCode == "" || move.Attempt == 0 {
		return nil
	}
	saved, err := s.finalizer.HasMedia(ctx, id)
	if err != nil {
		return fmt.Errorf("see what the bots of job %s saved: %w", id, err)
	}
	if saved {
		move.FailureCode, move.FailureDetail = "", ""
	}
	return nil
}

// fromBot applies a bot's event to the job and emits the webhooks that only
// bots cause. move is the event as the state machine sees it.
func (c *Change) fromBot(ctx context.Context, event ingest.Event, data ingest.EventData, move job.Event) (job.Result, error) {
	seen, err := c.q.EventExists(ctx, c.ID, event.Attempt, event.Kind, event.EmittedAt)
	if err != nil {
		return job.Result{}, err
	}
	if seen {
		result := job.Result{Reason: job.Duplicate, From: c.Status, To: c.Status}
		return result, c.addEventEntry(ctx, move, result, job.SourceBot, event.EmittedAt, event.Data)
	}
	result, err := c.Apply(ctx, move, job.SourceBot, event.EmittedAt, event.Data)
	if err != nil || !result.Applied {
		return result, err
	}
	if c.HeartbeatAt.Before(c.Now) {
		c.HeartbeatAt = c.Now
	}
	c.schedule()
	switch event.Kind {
	case job.BotPermissionResponse:
		granted := data.Granted != nil && *data.Granted || data.Outcome == "granted"
		detail := data.Detail
		if detail == "" {
			detail = data.Outcome
		}
		err = c.Emit(ctx, webhook.PermissionResponse(c.Job, granted, detail))
	case job.BotCompetingDetected:
		left := c.AutoLeave.OnBotDetected || data.LeftMeeting != nil && *data.LeftMeeting
		err = c.Emit(ctx, webhook.CompetingBot(c.Job, data.DetectedBotName, left))
	}
	return result, err
}

// schedule sets when the dispatcher looks at the job after a bot's event; a
// dispatcher that holds it sets the time itself.
func (c *Change) schedule() {
	switch {
	case c.Status == job.Completed || c.Status == job.Failed:
		c.WakeAt, c.Lease = c.Now, "" // whoever holds it has nothing left to decide; the dispatcher tidies up
	case c.Lease == "" && c.Status == job.Finalizing && c.Attempt > 0:
		c.WakeAt = c.Now // only the service has what earlier attempts recorded
	case c.Lease == "" && c.Status == job.Cancelled && c.ManifestURI != "":
		c.WakeAt = c.Now // however late it came, the dispatcher tidies up
	case c.Lease == "" && !c.WakeAt.IsZero():
		c.WakeAt = c.Now.Add(lookAgain)
	}
}

// machineEvent gives the state machine what it needs of a bot's event.
func machineEvent(event ingest.Event, data ingest.EventData, manifestURI string) job.Event {
	e := job.Event{Trigger: event.Kind, Attempt: event.Attempt}
	switch event.Kind {
	case job.BotExited:
		e.FailureCode, e.FailureDetail = job.FailureCode(data.FailureCode), data.FailureDetail
		if e.FailureCode != "" && !e.FailureCode.Valid() {
			e.FailureCode = job.InternalError
			e.FailureDetail = fmt.Sprintf("the bot gave the unknown failure code %q: %s", data.FailureCode, data.FailureDetail)
		}
	case job.ManifestFinalized:
		e.ManifestURI = manifestURI
		if u, err := url.Parse(data.ManifestURI); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
			e.ManifestURI = data.ManifestURI // a bot that keeps its manifest elsewhere says where
		}
	}
	return e
}

// Heartbeat notes that a bot lives, takes its acknowledgements, and answers
// with the commands that wait. With nothing waiting it holds the answer until
// a command comes or wait is over.
func (s *Service) Heartbeat(ctx context.Context, beat ingest.Heartbeat, wait time.Duration) (ingest.HeartbeatResponse, error) {
	id, err := jobID(beat.JobID)
	if err != nil {
		return ingest.HeartbeatResponse{}, err
	}
	news, stop := s.hub.listen(id)
	defer stop()
	status, commands, err := s.noteHeartbeat(ctx, id, beat)
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	again := time.NewTicker(recheck)
	defer again.Stop()
	for err == nil && len(commands) == 0 && wait > 0 {
		select {
		case <-news:
		case <-again.C:
		case <-deadline.C:
			wait = 0
		case <-ctx.Done():
			wait = 0
		}
		status, commands, err = s.waiting(ctx, id, beat.Attempt)
	}
	if err != nil {
		return ingest.HeartbeatResponse{}, unknownJob(err)
	}
	return ingest.HeartbeatResponse{OK: true, Status: status, Commands: commands, NextSeconds: nextHeartbeat}, nil
}

// noteHeartbeat keeps what a heartbeat says.
func (s *Service) noteHeartbeat(ctx context.Context, id uuid.UUID, beat ingest.Heartbeat) (status job.Status, commands []ingest.Command, err error) {
	stats, err := json.Marshal(beat.Stats)
	if err != nil || beat.Stats == nil {
		stats = nil
	}
	err = s.store.Write(ctx, func(q *store.Queries) error {
		r, err := q.LockJob(ctx, id)
		if err != nil {
			return err
		}
		for _, acked := range beat.Acked {
			if err := q.AckCommand(ctx, id, acked, s.now()); err != nil {
				return err
			}
		}
		if beat.Attempt >= r.Attempt {
			if err := q.SaveHeartbeat(ctx, id, s.now(), stats); err != nil {
				return err
			}
			if err := s.noteHandingIn(ctx, q, r, beat.Stats); err != nil {
				return err
			}
		}
		status = r.Status
		commands, err = commandsFor(ctx, q, r, beat.Attempt)
		return err
	})
	return status, commands, err
}

// handedInParts is how often the handing in of a recording is told of on its
// way: each time is a line on the timeline.
const handedInParts = 10

// noteHandingIn notes each tenth of a recording that its bot hands in.
func (s *Service) noteHandingIn(ctx context.Context, q *store.Queries, r job.Record, told *ingest.Stats) error {
	if told == nil || told.FinalBytes <= 0 || r.Status != job.MediaUploading {
		return nil
	}
	var before ingest.Stats
	if len(r.Stats) > 0 {
		if err := json.Unmarshal(r.Stats, &before); err != nil {
			return fmt.Errorf("decode what the bot told before: %w", err)
		}
	}
	part := func(stats ingest.Stats) int64 {
		return stats.FinalBytesSent * handedInParts / max(1, stats.FinalBytes)
	}
	if part(*told) <= part(before) {
		return nil
	}
	change := Change{Record: r, Now: s.now(), q: q}
	return change.MediaStored(ctx, told.FinalBytesSent, told.FinalBytes)
}

// waiting returns what waits for a bot now.
func (s *Service) waiting(ctx context.Context, id uuid.UUID, attempt int) (job.Status, []ingest.Command, error) {
	if ctx.Err() != nil {
		return "", nil, ctx.Err()
	}
	r, err := s.store.Job(ctx, id)
	if err != nil {
		return "", nil, err
	}
	commands, err := commandsFor(ctx, s.store.Queries, r, attempt)
	return r.Status, commands, err
}

func (c *Change) commands(ctx context.Context, attempt int) ([]ingest.Command, error) {
	return commandsFor(ctx, c.q, c.Record, attempt)
}

// commandsFor returns what a bot must be told: the queue of its job, or to
// leave when the meeting is no longer its own: a later attempt has begun, or
// the job has failed without it.
func commandsFor(ctx context.Context, q *store.Queries, r job.Record, attempt int) ([]ingest.Command, error) {
	if attempt < r.Attempt || r.Status == job.Failed {
		id := uuid.NewSHA1(r.ID, fmt.Appendf(nil, "leave %d", attempt)) // the same each time, so that it is obeyed once
		return []ingest.Command{{ID: id.String(), Kind: ingest.LeaveCall}}, nil
	}
	return q.PendingCommands(ctx, r.ID)
}

// jobID reads a job's id from the wire.
func jobID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.UUID{}, &job.Error{Code: job.InvalidInput, Message: "jobId is not a UUID", Path: []any{"jobId"}}
	}
	return id, nil
}

// unknownJob turns a missing job into what the ingest surface answers: 400
// with the path of the field at fault (contract, State machine).
func unknownJob(err error) error {
	if job.ErrorIs(err, job.NotFound) {
		return &job.Error{Code: job.InvalidInput, Message: "no such job", Path: []any{"jobId"}}
	}
	return err
}
