package bot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
)

// handIn tells the service how the visit ended and gives it what was recorded.
// It returns when the service has everything.
func (b *bot) handIn(ctx context.Context, end ending) error {
	if !b.report.recorded() {
		return b.handInNothing(ctx, end)
	}
	if err := b.report.keep(); err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	if err := b.tell(job.BotRecordingStopped, nil); err != nil {
		return err
	}
	exited := ingest.EventData{EndReason: end.reason, Detail: end.detail}
	if b.Attempt > 0 || end.reason == reasonSuperseded || b.spool.Evicted() > 0 {
		// Only the service has what other attempts recorded, and what this
		// one had no room to keep: it finalizes once it has the rest.
		if err := b.channel.FlushMedia(ctx); err != nil {
			return fmt.Errorf("upload the recording: %w", err)
		}
		if err := b.tell(job.BotExited, exited); err != nil {
			return err
		}
		return b.flush(ctx)
	}
	if err := b.tell(job.BotExited, exited); err != nil {
		return err
	}
	if err := b.finalize(ctx); err != nil {
		// The service finalizes without this bot, once it has the segments.
		return errors.Join(err, b.flush(ctx))
	}
	return b.flush(ctx)
}

// handInNothing ends a job of which nothing was recorded.
func (b *bot) handInNothing(ctx context.Context, end ending) error {
	data := ingest.EventData{EndReason: end.reason, FailureCode: string(end.code), FailureDetail: end.detail}
	if data.FailureCode == "" {
		data.FailureCode = string(job.MeetingEnded) // it was left before anything could be recorded
	}
	if err := b.tell(job.BotExited, data); err != nil {
		return err
	}
	return b.flush(ctx)
}

// finalize puts the recording together and uploads it.
func (b *bot) finalize(ctx context.Context) error {
	if err := b.tell(job.BotPostProcessing, nil); err != nil {
		return err
	}
	folder := filepath.Join(b.Dir, "packed")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make a folder to pack in: %w", err)
	}
	packed, err := recording.Pack(ctx, b.packStretches(), folder)
	if err != nil {
		return fmt.Errorf("put the recording together: %w", err)
	}
	if err := b.packVoices(ctx, &packed, folder); err != nil {
		return err
	}
	for _, file := range packed.Files {
		if err := b.spool.AddFile(filepath.Join(folder, file.Name), file.Name); err != nil {
			return fmt.Errorf("spool %s: %w", file.Name, err)
		}
	}
	if err := b.report.finished(packed); err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	if err := b.tell(job.BotMediaUploading, nil); err != nil {
		return err
	}
	if err := b.channel.FlushMedia(ctx); err != nil {
		return fmt.Errorf("upload the recording: %w", err)
	}
	return b.tell(job.ManifestFinalized, nil)
}

// packStretches are the stretches as packing wants them.
func (b *bot) packStretches() []recording.SourcePart {
	var stretches []recording.SourcePart
	for _, stretch := range b.report.stretches() {
		if stretch.Segments == 0 {
			continue
		}
		stretches = append(stretches, recording.SourcePart{
			Attempt: b.Attempt, Number: stretch.Number, StartedAt: stretch.StartedAt, Segments: b.spool.Segments(stretch.Number),
		})
	}
	return stretches
}

// packVoices adds what participants said by themselves.
func (b *bot) packVoices(ctx context.Context, packed *recording.Packed, folder string) error {
	work := filepath.Join(folder, "voices")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("make a folder for participants' own sound: %w", err)
	}
	told := ingest.Report{AudioTracks: b.report.voices()}
	voices, err := recording.FindTracks(b.spool.Bundles(), work, b.Attempt, told, b.Log)
	if err == nil {
		err = recording.PackTracks(ctx, packed, voices, folder, b.Log)
	}
	return errors.Join(err, os.RemoveAll(work))
}

// flush waits until the service has every event and file.
func (b *bot) flush(ctx context.Context) error {
	if err := b.channel.Flush(ctx); err != nil {
		return fmt.Errorf("deliver what is left: %w", err)
	}
	return nil
}
