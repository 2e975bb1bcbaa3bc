package report

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"standin/internal/bot/ingest"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/build"
)

// Delivery delivers the result of an attempt: the reason why it ended, and the
// recording.
type Delivery struct {
	Log     *slog.Logger
	Attempt int
	Client  *serviceclient.Client
	Spool   *spool.Spool
	Report  *Report
	Events  *Emitter
}

// Deliver returns when the service has everything.
func (d *Delivery) Deliver(ctx context.Context, end End) error {
	if end.Reason == ReasonShutdown || end.Reason == ReasonNoRecording {
		// The meeting may go on, and the service decides whether another bot continues: this one
		// reports neither a failure nor the end of the recording, and packs nothing.
		if d.Report.HasResult() {
			if err := d.Report.Save(); err != nil {
				return err
			}
			if err := d.Client.FlushMedia(ctx); err != nil {
				return err
			}
		}
		return d.exit(ctx, ingest.EventData{EndReason: end.Reason, Detail: end.Detail})
	}
	if !d.Report.HasResult() || end.Reason == ReasonRevoked { // the service deletes what it has
		code := cmp.Or(end.Code, job.MeetingEnded) // without a code, the bot left before anything could be recorded
		return d.exit(ctx, ingest.EventData{EndReason: end.Reason, FailureCode: string(code), FailureDetail: end.Detail})
	}
	if err := d.Report.Save(); err != nil {
		return err
	}
	if !d.Report.HasRecording() {
		if err := d.Client.FlushMedia(ctx); err != nil {
			return err
		}
		if err := d.Events.Emit(job.BotExited, ingest.EventData{EndReason: end.Reason, Detail: end.Detail}); err != nil {
			return err
		}
		if end.Reason != ReasonSuperseded {
			if err := d.Events.Emit(job.ManifestFinalized, nil); err != nil {
				return err
			}
		}
		return d.Client.Flush(ctx)
	}
	if err := d.Events.Emit(job.BotRecordingStopped, nil); err != nil {
		return err
	}
	exited := ingest.EventData{EndReason: end.Reason, Detail: end.Detail}
	tracks, all := d.Report.files.Tracks(d.Attempt, d.Report.current())
	if d.Attempt > 0 || end.Reason == ReasonSuperseded || d.Spool.Evicted() > 0 || !all {
		// Only the service has the recordings of other attempts, the evicted segments and
		// all tracks: it packs the recording when it has the rest.
		if err := d.Client.FlushMedia(ctx); err != nil {
			return err
		}
		return d.exit(ctx, exited)
	}
	if err := d.Events.Emit(job.BotExited, exited); err != nil {
		return err
	}
	// If packing fails, the service packs the segments.
	return errors.Join(d.finalize(ctx, tracks), d.Client.Flush(ctx))
}

// finalize packs the recording and uploads it.
func (d *Delivery) finalize(ctx context.Context, tracks []build.SourceTrack) error {
	if err := d.Events.Emit(job.BotPostProcessing, nil); err != nil {
		return err
	}
	folder := filepath.Join(d.Spool.ScratchDir(), "packed")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	var parts []build.SourcePart
	for _, part := range d.Report.current().Parts {
		if part.Segments > 0 {
			parts = append(parts, build.SourcePart{
				Attempt: d.Attempt, Number: part.Number, StartedAt: part.StartedAt, Segments: d.Spool.Segments(part.Number),
				Encoded: build.Encoded(d.Spool.ScratchDir(), part.Number, part.Segments), SoundOnly: part.SoundOnly,
			})
		}
	}
	add := func(file recording.File) error { // it is uploaded at once
		return d.Spool.AddFile(filepath.Join(folder, file.Name), file.Name, file.Bytes, file.SHA256)
	}
	packed, err := build.Pack(ctx, parts, []ingest.Report{d.Report.current()}, folder)
	for _, file := range packed.Files {
		err = errors.Join(err, add(file))
	}
	if err != nil {
		return err
	}
	if err := build.PackTracks(ctx, &packed, tracks, folder, d.Log, add); err != nil {
		return err
	}
	if err := d.Report.setPacked(packed); err != nil {
		return err
	}
	if err := d.Events.Emit(job.BotMediaUploading, nil); err != nil {
		return err
	}
	if err := d.Client.FlushMedia(ctx); err != nil {
		return err
	}
	return d.Events.Emit(job.ManifestFinalized, nil)
}

// exit reports that the bot has left, and waits until the service has everything.
func (d *Delivery) exit(ctx context.Context, data ingest.EventData) error {
	if err := d.Events.Emit(job.BotExited, data); err != nil {
		return err
	}
	return d.Client.Flush(ctx)
}
