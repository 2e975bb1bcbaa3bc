package simulator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
)

const (
	hold        = 5 * time.Second        // how long a heartbeat's answer may be held
	breath      = 100 * time.Millisecond // between heartbeats while a command waits to be obeyed
	firstRetry  = 100 * time.Millisecond // doubled after each failure
	lastRetry   = 5 * time.Second
	maxRecorded = 64 << 20 // bytes of an upload: an hour of the clip is below 16 MiB
)

// errSuperseded says that the service wants no more of this bot: another
// attempt has begun, or the job has ended without it.
var errSuperseded = errors.New("the service wants no more of this bot")

// tell sends an event to the service.
func (b *bot) tell(ctx context.Context, kind job.Trigger, data any) error {
	event := ingest.Event{Kind: kind, JobID: b.assignment.JobID.String(), Attempt: b.assignment.Attempt, EmittedAt: b.pace.stamp()}
	if data != nil {
		var err error
		if event.Data, err = json.Marshal(data); err != nil {
			return fmt.Errorf("encode what goes with %s: %w", kind, err)
		}
	}
	if b.wish.disorder && (kind == job.BotEnteringLobby || kind == job.BotRecordingStopped) {
		b.late = append(b.late, event) // sent behind the next one
		return nil
	}
	events := append([]ingest.Event{event}, b.late...)
	b.late = nil
	if b.wish.duplicates {
		events = append(events, event)
	}
	for _, event := range events {
		if err := b.send(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// send sends an event until the service has taken it.
func (b *bot) send(ctx context.Context, event ingest.Event) error {
	var answer ingest.EventResponse
	err := insist(ctx, func() (err error) {
		answer, err = b.settings.Service.Ingest(ctx, event)
		return err
	})
	if err != nil {
		return fmt.Errorf("tell %s: %w", event.Kind, err)
	}
	b.inbox.add(answer.Commands)
	if answer.Reason == job.StaleAttempt || answer.Reason == job.Terminal && answer.Status != job.Cancelled {
		return errSuperseded
	}
	return nil
}

// beat says that the bot lives, and takes commands, until ctx ends.
func (b *bot) beat(ctx context.Context) {
	life := ingest.Heartbeat{JobID: b.assignment.JobID.String(), Attempt: b.assignment.Attempt}
	for ctx.Err() == nil {
		var answer ingest.HeartbeatResponse
		err := insist(ctx, func() (err error) {
			answer, err = b.settings.Service.Heartbeat(ctx, life, hold)
			return err
		})
		if err != nil {
			return // ctx has ended, or the job is not there: the next event tells
		}
		if !b.inbox.add(answer.Commands) && len(answer.Commands) > 0 {
			rest(ctx, breath) // they are sent again until the bot has come to obey them
		}
	}
}

// acknowledge tells the service that a command was taken.
func (b *bot) acknowledge(ctx context.Context, command ingest.Command) error {
	err := insist(ctx, func() error {
		answer, err := b.settings.Service.Heartbeat(ctx, ingest.Heartbeat{
			JobID: b.assignment.JobID.String(), Attempt: b.assignment.Attempt, Acked: []string{command.ID},
		}, 0)
		b.inbox.add(answer.Commands)
		return err
	})
	if err != nil {
		return fmt.Errorf("acknowledge %s: %w", command.Kind, err)
	}
	return nil
}

// handOver uploads the recording, and the report that names it.
func (b *bot) handOver(ctx context.Context) error {
	made, err := b.clip.record(b.tape.length(b.pace.now()))
	if err != nil {
		return err
	}
	if err := b.upload(ctx, recordingName, made.SHA256, made.open); err != nil {
		return err
	}
	report, err := json.Marshal(recording.FinalReport{Report: b.report(), Media: []recording.File{made.File}})
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	sum := sha256.Sum256(report)
	return b.upload(ctx, ingest.ReportName, hex.EncodeToString(sum[:]), func() io.Reader { return bytes.NewReader(report) })
}

func (b *bot) upload(ctx context.Context, name, sha256Hex string, open func() io.Reader) error {
	err := insist(ctx, func() error {
		if err := b.settings.Service.AdmitUpload(ctx, b.assignment.JobID, b.assignment.Attempt); err != nil {
			return err
		}
		_, err := b.settings.Uploads.PutUpload(ctx, b.assignment.JobID, b.assignment.Attempt, name, open(), sha256Hex, maxRecorded)
		return err
	})
	if err != nil {
		return fmt.Errorf("upload %s: %w", name, err)
	}
	return nil
}

// insist tries until it works, ctx ends, or the service says that it never
// will.
func insist(ctx context.Context, try func() error) error {
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		err := try()
		if refused := new(job.Error); err == nil || errors.As(err, &refused) {
			return err
		}
		if rest(ctx, delay); ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// rest waits on the machine's clock, at most until ctx ends.
func rest(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// inbox holds commands until the bot comes to obey them. Each is given out
// once, however often the service sends it.
type inbox struct {
	news chan struct{} // has a value when something was added

	mu      sync.Mutex
	seen    map[string]bool
	waiting []ingest.Command
}

func newInbox() *inbox {
	return &inbox{news: make(chan struct{}, 1), seen: make(map[string]bool)}
}

// add takes commands in and reports whether any was new.
func (i *inbox) add(commands []ingest.Command) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	added := false
	for _, command := range commands {
		if !i.seen[command.ID] {
			i.seen[command.ID] = true
			i.waiting = append(i.waiting, command)
			added = true
		}
	}
	if added {
		select {
		case i.news <- struct{}{}:
		default: // there is news already
		}
	}
	return added
}

// next gives out the oldest command.
func (i *inbox) next() (ingest.Command, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.waiting) == 0 {
		return ingest.Command{}, false
	}
	command := i.waiting[0]
	i.waiting = i.waiting[1:]
	return command, true
}
