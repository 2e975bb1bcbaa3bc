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

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/build"
)

const (
	heartbeatWait = 5 * time.Second        // how long the service may delay a heartbeat response
	commandPause  = 100 * time.Millisecond // between heartbeats while a command is not executed
	minRetryDelay = 100 * time.Millisecond // doubled up to
	maxRetryDelay = 5 * time.Second
)

// sender returns the bot as the service knows it.
func (b *bot) sender() ingest.Bot { return ingest.Simulated(b.assignment.JobID, b.assignment.Attempt) }

// emit sends an event to the service, in the order and number of the scenario.
func (b *bot) emit(ctx context.Context, kind job.Trigger, data any) error {
	at := b.clock.now().Truncate(time.Millisecond)
	if !at.After(b.lastEvent) { // the service detects duplicate events by their time
		at = b.lastEvent.Add(time.Millisecond)
	}
	b.lastEvent = at
	event := ingest.Event{Kind: kind, EmittedAt: at}
	if data != nil {
		var err error
		if event.Data, err = json.Marshal(data); err != nil {
			return fmt.Errorf("encode data of %s: %w", kind, err)
		}
	}
	if b.options.reorders && (kind == job.BotEnteringLobby || kind == job.BotRecordingStopped) {
		b.delayed = append(b.delayed, event) // sent after the next one
		return nil
	}
	events := append([]ingest.Event{event}, b.delayed...)
	b.delayed = nil
	if b.options.duplicates {
		events = append(events, event)
	}
	for _, event := range events {
		var response ingest.EventResponse
		err := retryRequest(ctx, func() (err error) {
			response, err = b.Service.Ingest(ctx, b.sender(), event)
			return err
		})
		if err != nil {
			return fmt.Errorf("send %s: %w", event.Kind, err)
		}
		b.commandQueue.add(response.Commands)
		if response.Reason == job.StaleAttempt || response.Reason == job.Terminal && response.Status != job.Cancelled {
			return errors.New("superseded by another attempt or the end of the job")
		}
	}
	return nil
}

// beat sends a heartbeat, with retries, and queues the commands of the response. repeated
// reports that it has only commands that were queued before.
func (b *bot) beat(ctx context.Context, beat ingest.Heartbeat, wait time.Duration) (repeated bool, err error) {
	err = retryRequest(ctx, func() error {
		response, err := b.Service.Heartbeat(ctx, b.sender(), beat, wait)
		b.watched.Store(response.Screenshots)
		repeated = !b.commandQueue.add(response.Commands) && len(response.Commands) > 0
		return err
	})
	return repeated, err
}

// uploadRecording uploads the recording and its report.
func (b *bot) uploadRecording(ctx context.Context) error {
	if b.withoutRecording() {
		return b.uploadReport(ctx)
	}
	parts := b.timeline.parts
	length := endOf(parts[len(parts)-1], b.clock.now()).Sub(parts[0].StartedAt)
	content, sum := readMeeting(length), sha256.New()
	size, err := io.Copy(sum, content)
	if err := errors.Join(err, content.Close()); err != nil {
		return err
	}
	file := recording.File{
		Name: "recording.mp4", Kind: recording.Video, ContentType: "video/mp4", Codecs: "avc1.42C01E,mp4a.40.2", Bytes: size,
		SHA256: hex.EncodeToString(sum.Sum(nil)), DurationMs: max(fragmentLength, length.Round(fragmentLength)).Milliseconds(),
		Width: 640, Height: 360,
	}
	err = b.upload(ctx, file.Name, file.SHA256, file.Bytes, func() io.ReadCloser { return readMeeting(length) })
	if err != nil {
		return err
	}
	return b.uploadReport(ctx, file)
}

// uploadReport uploads the bot's report with the files of its recording.
func (b *bot) uploadReport(ctx context.Context, files ...recording.File) error {
	report, err := json.Marshal(build.FinalReport{Report: b.report(), Media: files})
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	sum := sha256.Sum256(report)
	return b.upload(ctx, ingest.ReportName, hex.EncodeToString(sum[:]), int64(len(report)), func() io.ReadCloser {
		return io.NopCloser(bytes.NewReader(report))
	})
}

func (b *bot) upload(ctx context.Context, name, sha256Hex string, size int64, open func() io.ReadCloser) error {
	err := retryRequest(ctx, func() error {
		if _, err := b.Service.AdmitUpload(ctx, b.sender()); err != nil {
			return err
		}
		content := open()
		defer content.Close()
		_, err := b.Uploads.PutUpload(ctx, b.assignment.JobID, b.assignment.Attempt, name, content, sha256Hex, size)
		return err
	})
	if err != nil {
		return fmt.Errorf("upload %s: %w", name, err)
	}
	return nil
}

// retryRequest calls a function until it succeeds, returns a *job.Error, or ctx is
// done.
func retryRequest(ctx context.Context, try func() error) error {
	backoff := retry.Backoff{Min: minRetryDelay, Max: maxRetryDelay}
	for {
		err := try()
		if err == nil || errors.As(err, new(*job.Error)) {
			return err
		}
		if ended := retry.Sleep(ctx, backoff.Next()); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// commandQueue holds commands until the bot executes them. Commands that the
// service sends again are ignored.
type commandQueue struct {
	added retry.Signal // sent by add

	mu      sync.Mutex
	seen    map[string]bool
	waiting []ingest.Command
}

// add queues commands and reports whether any is new.
func (i *commandQueue) add(commands []ingest.Command) bool {
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
		i.added.Send()
	}
	return added
}

// next removes the oldest command.
func (i *commandQueue) next() (ingest.Command, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.waiting) == 0 {
		return ingest.Command{}, false
	}
	command := i.waiting[0]
	i.waiting = i.waiting[1:]
	return command, true
}
