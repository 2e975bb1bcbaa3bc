package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
)

// delivery delivers the result of an attempt: the reason why it ended, and the
// recording.
type delivery struct {
	log     *slog.Logger
	attempt int
	dir     string // for packing
	client  *serviceclient.Client
	spool   *spool.Spool
	report  *report
	events  *emitter
}

// deliver returns when the service has everything.
func (d *delivery) deliver(ctx context.Context, end exitResult) error {
	if !d.report.hasRecording() {
		return d.deliverFailure(ctx, end)
	}
	if err := d.report.save(); err != nil {
		return fmt.Errorf("save the report: %w", err)
	}
	if err := d.events.emit(job.BotRecordingStopped, nil); err != nil {
		return err
	}
	exited := ingest.EventData{EndReason: end.reason, Detail: end.detail}
	if d.attempt > 0 || end.reason == reasonSuperseded || d.spool.Evicted() > 0 {
		// Only the service has the recordings of other attempts and the evicted
		// segments: it packs the recording when it has the rest.
		if err := d.client.FlushMedia(ctx); err != nil {
			return fmt.Errorf("upload the recording: %w", err)
		}
		if err := d.events.emit(job.BotExited, exited); err != nil {
			return err
		}
		return d.flush(ctx)
	}
	if err := d.events.emit(job.BotExited, exited); err != nil {
		return err
	}
	// If packing fails, the service packs the segments.
	return errors.Join(d.finalize(ctx), d.flush(ctx))
}

// deliverFailure ends a job of which nothing was recorded.
func (d *delivery) deliverFailure(ctx context.Context, end exitResult) error {
	code := cmp.Or(end.code, job.MeetingEnded) // without a code, the bot left before anything could be recorded
	if err := d.events.emit(job.BotExited, ingest.EventData{EndReason: end.reason, FailureCode: string(code), FailureDetail: end.detail}); err != nil {
		return err
	}
	return d.flush(ctx)
}

// finalize packs the recording and uploads it.
func (d *delivery) finalize(ctx context.Context) error {
	if err := d.events.emit(job.BotPostProcessing, nil); err != nil {
		return err
	}
	packed, err := d.pack(ctx)
	if err != nil {
		return err
	}
	if err := d.report.setPacked(packed); err != nil {
		return fmt.Errorf("save the report: %w", err)
	}
	if err := d.events.emit(job.BotMediaUploading, nil); err != nil {
		return err
	}
	if err := d.client.FlushMedia(ctx); err != nil {
		return fmt.Errorf("upload the recording: %w", err)
	}
	return d.events.emit(job.ManifestFinalized, nil)
}

// pack puts the recording together and moves its files to the spool.
func (d *delivery) pack(ctx context.Context) (recording.Packed, error) {
	folder := filepath.Join(d.dir, "packed")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return recording.Packed{}, fmt.Errorf("create a folder for packing: %w", err)
	}
	packed, err := recording.Pack(ctx, d.packParts(), folder)
	if err != nil {
		return packed, fmt.Errorf("pack the recording: %w", err)
	}
	if err := d.packTracks(ctx, &packed, folder); err != nil {
		return packed, err
	}
	for _, file := range packed.Files {
		if err := d.spool.AddFile(filepath.Join(folder, file.Name), file.Name); err != nil {
			return packed, fmt.Errorf("spool %s: %w", file.Name, err)
		}
	}
	return packed, nil
}

// packParts returns the recording parts that have segments.
func (d *delivery) packParts() []recording.SourcePart {
	var parts []recording.SourcePart
	for _, part := range d.report.parts() {
		if part.Segments == 0 {
			continue
		}
		parts = append(parts, recording.SourcePart{
			Attempt: d.attempt, Number: part.Number, StartedAt: part.StartedAt, Segments: d.spool.Segments(part.Number),
		})
	}
	return parts
}

// packTracks adds the audio tracks of participants.
func (d *delivery) packTracks(ctx context.Context, packed *recording.Packed, folder string) error {
	work := filepath.Join(folder, "voices")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("create a folder for participant audio: %w", err)
	}
	reported := ingest.Report{AudioTracks: d.report.audioTracks()}
	tracks, err := recording.FindTracks(d.spool.Bundles(), work, d.attempt, reported, d.log)
	if err == nil {
		err = recording.PackTracks(ctx, packed, tracks, folder, d.log)
	}
	return errors.Join(err, os.RemoveAll(work))
}

// flush waits until the service has every event and file.
func (d *delivery) flush(ctx context.Context) error {
	if err := d.client.Flush(ctx); err != nil {
		return fmt.Errorf("deliver events and files: %w", err)
	}
	return nil
}
