package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
)

// fetchers is how many segments are fetched at a time: each costs a round trip
// where the store is far.
const fetchers = 8

// salvage packs the uploaded segments of all attempts.
func (f *Finisher) salvage(ctx context.Context, facts Facts, left uploaded, progress Progress) (Manifest, error) {
	if progress == nil {
		progress = func(Stage, int64, int64) {}
	}
	prefix := "salvage-" + facts.Job.ID.String() + "-"
	if err := removeAllNamed(f.TempDir, prefix); err != nil {
		return Manifest{}, fmt.Errorf("clear away an earlier run: %w", err)
	}
	work, err := os.MkdirTemp(f.TempDir, prefix)
	if err != nil {
		return Manifest{}, fmt.Errorf("make a folder to pack in: %w", err)
	}
	defer os.RemoveAll(work) // what stays is cleared away by the next run

	stretches, err := f.fetchAll(ctx, facts.Job.ID, left, work, progress)
	if err != nil {
		return Manifest{}, fmt.Errorf("fetch the segments: %w", err)
	}
	progress(Packing, 0, int64(len(stretches)))
	packed, err := Pack(ctx, stretches, work)
	if err != nil {
		return Manifest{}, err
	}
	progress(Packing, int64(len(stretches)), int64(len(stretches)))
	if packed.Partial() {
		f.Log.Warn("some of the recording is lost", slog.String("job", facts.Job.ID.String()),
			slog.String("losses", strings.Join(packed.Losses(), "; ")))
	}
	if err := f.storeAll(ctx, facts.Job.ID, packed.Files, work, progress); err != nil {
		return Manifest{}, fmt.Errorf("store the recording: %w", err)
	}
	return f.conclude(ctx, facts, left, packed)
}

// fetchAll copies every attempt's segments into a folder of its own below
// work and finds the stretches there.
func (f *Finisher) fetchAll(ctx context.Context, jobID uuid.UUID, left uploaded, work string, progress Progress) ([]PackStretch, error) {
	var done, total int64
	for _, attempt := range left.attempts {
		for _, segment := range attempt.segments() {
			total += segment.Bytes
		}
	}
	progress(Fetching, 0, total)
	var stretches []PackStretch
	for _, attempt := range left.attempts {
		folder := filepath.Join(work, fmt.Sprintf("attempt-%d", attempt.Attempt))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
		for batch := range slices.Chunk(attempt.segments(), 16*fetchers) {
			group, fetching := errgroup.WithContext(ctx)
			group.SetLimit(fetchers)
			for _, segment := range batch {
				done += segment.Bytes
				group.Go(func() error {
					return f.fetch(fetching, jobID, attempt.Attempt, segment.Name, filepath.Join(folder, segment.Name))
				})
			}
			if err := group.Wait(); err != nil {
				return nil, err
			}
			progress(Fetching, done, total)
		}
		found, err := StretchesIn(folder, attempt.Attempt, attempt.report.Report)
		if err != nil {
			return nil, err
		}
		stretches = append(stretches, found...)
	}
	return stretches, nil
}

func (f *Finisher) fetch(ctx context.Context, jobID uuid.UUID, attempt int, name, target string) error {
	reader, err := f.Storage.openUpload(ctx, jobID, attempt, name)
	if err != nil {
		return err
	}
	defer reader.Close() // read only
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, reader); err != nil {
		return errors.Join(fmt.Errorf("attempt %d, %s: %w", attempt, name, err), file.Close())
	}
	return file.Close()
}

// storeAll puts the packed files into storage.
func (f *Finisher) storeAll(ctx context.Context, jobID uuid.UUID, files []File, folder string, progress Progress) error {
	var done, total int64
	for _, file := range files {
		total += file.Bytes
	}
	progress(Storing, 0, total)
	for _, file := range files {
		if err := f.store(ctx, jobID, file, filepath.Join(folder, file.Name)); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
		done += file.Bytes
		progress(Storing, done, total)
	}
	return nil
}

func (f *Finisher) store(ctx context.Context, jobID uuid.UUID, file File, path string) error {
	content, err := os.Open(path)
	if err != nil {
		return err
	}
	defer content.Close() // read only
	_, err = f.Storage.PutMedia(ctx, jobID, file.Name, content, file.SHA256)
	return err
}
