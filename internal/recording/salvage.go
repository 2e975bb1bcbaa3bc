package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"standin/internal/retry"
)

// fetchConcurrency is the number of concurrent segment downloads. Each needs a
// round trip to the store.
const fetchConcurrency = 8

// A download that is interrupted is repeated, up to fetchTries attempts with an
// increasing delay. The S3 library retries requests, but not the reading of a
// response body.
const (
	fetchTries = 4
	fetchDelay = 250 * time.Millisecond
)

// pack packs the uploaded segments of some attempts into work. If none is usable,
// the error is a NothingSavedError and the result lists the parts.
func (f *Finisher) pack(ctx context.Context, jobID uuid.UUID, attempts []attemptData, work string, progress Progress) (Packed, error) {
	parts, tracks, err := f.fetchAll(ctx, jobID, attempts, work, progress)
	if err != nil {
		return Packed{}, fmt.Errorf("fetch the segments: %w", err)
	}
	progress(Packing, 0, int64(len(parts)))
	packed, err := Pack(ctx, parts, work)
	if nothing := new(NothingSavedError); errors.As(err, &nothing) {
		for _, part := range parts {
			packed.Parts = append(packed.Parts, PackedPart{
				Attempt: part.Attempt, Number: part.Number, StartedAt: part.StartedAt, Loss: LossUnusable,
			})
		}
	}
	if err != nil {
		return packed, err
	}
	if err := PackTracks(ctx, &packed, tracks, work, f.Log); err != nil {
		return Packed{}, err
	}
	progress(Packing, int64(len(parts)), int64(len(parts)))
	return packed, nil
}

// fetchAll copies each attempt's segments into a separate folder in work and
// returns the parts and tracks in these folders.
func (f *Finisher) fetchAll(
	ctx context.Context, jobID uuid.UUID, attempts []attemptData, work string, progress Progress,
) (parts []SourcePart, tracks []SourceTrack, err error) {
	var done, total int64
	for _, attempt := range attempts {
		for _, segment := range attempt.mediaUploads() {
			total += segment.Bytes
		}
	}
	progress(Fetching, 0, total)
	for _, attempt := range attempts {
		folder := filepath.Join(work, fmt.Sprintf("attempt-%d", attempt.Attempt))
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, nil, err
		}
		for batch := range slices.Chunk(attempt.mediaUploads(), 16*fetchConcurrency) {
			group, fetching := errgroup.WithContext(ctx)
			group.SetLimit(fetchConcurrency)
			for _, segment := range batch {
				done += segment.Bytes
				group.Go(func() error {
					return f.fetch(fetching, jobID, attempt.Attempt, segment.Name, filepath.Join(folder, segment.Name))
				})
			}
			if err := group.Wait(); err != nil {
				return nil, nil, err
			}
			progress(Fetching, done, total)
		}
		attemptParts, err := FindParts(folder, attempt.Attempt, attempt.report.Report)
		if err != nil {
			return nil, nil, err
		}
		attemptTracks, err := FindTracks(attempt.bundles(folder), folder, attempt.Attempt, attempt.report.Report, f.Log)
		if err != nil {
			return nil, nil, err
		}
		parts, tracks = append(parts, attemptParts...), append(tracks, attemptTracks...)
	}
	return parts, tracks, nil
}

// fetch copies a whole segment to target.
func (f *Finisher) fetch(ctx context.Context, jobID uuid.UUID, attempt int, name, target string) error {
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		err = f.copyTo(ctx, file, jobID, attempt, name)
		if missing := new(NotFoundError); err == nil || try == fetchTries || ctx.Err() != nil || errors.As(err, &missing) {
			break
		}
		if err := retry.Sleep(ctx, time.Duration(try)*fetchDelay); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("attempt %d, %s: %w", attempt, name, err)
	}
	return nil
}

// copyTo replaces the content of file with that of an upload.
func (f *Finisher) copyTo(ctx context.Context, file *os.File, jobID uuid.UUID, attempt int, name string) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	reader, err := f.Storage.openUpload(ctx, jobID, attempt, name)
	if err != nil {
		return err
	}
	defer reader.Close() // read only
	_, err = io.Copy(file, reader)
	return err
}
