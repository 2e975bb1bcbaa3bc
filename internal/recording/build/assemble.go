package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// assemblyPlan divides a job's attempts by the source of their media.
type assemblyPlan struct {
	adopted  []attemptData // the files that the bot finished are used unchanged
	packed   []attemptData // the segments are packed
	mismatch error         // the last difference between a bot's files and its report
}

// assemble creates the job's media from the uploads of all attempts. The
// finished files of a single attempt are used unchanged. With several attempts,
// the segments are packed together, except those of an attempt with missing
// segments and complete finished files: its files are added unchanged. progress
// may be nil.
func (f *Finisher) assemble(ctx context.Context, jobID uuid.UUID, uploads jobUploads, progress Progress) (packed Packed, err error) {
	if progress == nil {
		progress = func(Stage, int64, int64) {}
	}
	plan, err := f.plan(ctx, jobID, uploads.recordings())
	if err != nil {
		return packed, err
	}
	if len(plan.adopted)+len(plan.packed) == 0 {
		return packed, cmp.Or(plan.mismatch, error(&NothingSavedError{}))
	}
	prefix := recording.WorkPrefix(jobID) + "finish-"
	if err := removeAllWithPrefix(f.TempDir, prefix); err != nil {
		return packed, err
	}
	work, err := os.MkdirTemp(f.TempDir, prefix)
	if err != nil {
		return packed, err
	}
	defer os.RemoveAll(work) // the next run removes what is left
	if len(plan.packed) > 0 {
		packed, err = f.pack(ctx, jobID, plan.packed, work, progress)
		if err != nil && (len(plan.adopted) == 0 || !errors.As(err, new(*NothingSavedError))) {
			return packed, err
		}
	}
	if packed.Partial() {
		f.Log.Warn("part of the recording is lost", "job", jobID,
			"losses", strings.Join(packed.Losses(), "; "))
	}
	var done, total int64
	count := func(files []recording.File) {
		for _, file := range files {
			total += file.Bytes
		}
	}
	count(packed.Files)
	for _, attempt := range plan.adopted {
		count(attempt.report.Media)
	}
	notify := func(bytes int64) {
		done += bytes
		progress(Storing, done, total)
	}
	notify(0)
	for _, file := range packed.Files {
		if err := f.storeFile(ctx, jobID, file, filepath.Join(work, file.Name), notify); err != nil {
			return packed, err
		}
	}
	origin := firstStart(packed.Parts, jobUploads(plan.adopted).reports())
	for _, attempt := range plan.adopted {
		adoptedMedia, err := f.adopt(ctx, jobID, attempt.withOrigin(origin), packed.Files, notify)
		if err != nil {
			return packed, err
		}
		packed.Files = append(packed.Files, adoptedMedia.Files...)
		packed.Parts = append(packed.Parts, adoptedMedia.Parts...)
		packed.Tracks = append(packed.Tracks, adoptedMedia.Tracks...)
	}
	slices.SortStableFunc(packed.Parts, func(a, b PackedPart) int { return cmp.Compare(a.Attempt, b.Attempt) })
	slices.SortStableFunc(packed.Files, func(a, b recording.File) int { return cmp.Compare(packed.fileOrder(a), packed.fileOrder(b)) })
	return packed, nil
}

// plan selects the source of each attempt's media.
func (f *Finisher) plan(ctx context.Context, jobID uuid.UUID, attempts []attemptData) (assemblyPlan, error) {
	var plan assemblyPlan
	for _, attempt := range attempts {
		if len(attempt.report.Media) > 0 && (len(attempts) == 1 || !attempt.hasAllSegments()) {
			err := f.checkReportedFiles(ctx, jobID, attempt)
			if err == nil {
				plan.adopted = append(plan.adopted, attempt)
				continue
			}
			if !errors.As(err, new(*MediaMismatchError)) {
				return assemblyPlan{}, err
			}
			f.Log.Warn("bot files do not match the bot's report",
				"job", jobID, "attempt", attempt.Attempt, "error", err)
			plan.mismatch = err
		}
		if len(attempt.segments()) > 0 {
			plan.packed = append(plan.packed, attempt)
		}
	}
	return plan, nil
}

// fileOrder returns the index of a file's first part; files without parts come
// last.
func (p Packed) fileOrder(file recording.File) int {
	for i, part := range p.Parts {
		if part.File == file.Name {
			return i
		}
	}
	return len(p.Parts)
}

// withOrigin converts the offsets of an attempt's files, which are relative to
// its own first part, to a recording that began at origin. NewManifest sets the
// offsets of files that hold parts.
func (a attemptData) withOrigin(origin time.Time) attemptData {
	began := firstStart(nil, []ingest.Report{a.report.Report})
	if began.IsZero() || origin.IsZero() {
		return a
	}
	a.report.Media = slices.Clone(a.report.Media)
	for i := range a.report.Media {
		a.report.Media[i].StartOffsetMs += began.Sub(origin).Milliseconds()
	}
	return a
}

// storeFile stores a packed file.
func (f *Finisher) storeFile(ctx context.Context, jobID uuid.UUID, file recording.File, path string, report func(bytes int64)) error {
	content, err := os.Open(path)
	if err != nil {
		return err
	}
	defer content.Close() // read only
	return f.Storage.PutMedia(ctx, jobID, file.Name, &progressReader{Reader: content, onRead: report}, file.SHA256)
}

// progressReader calls onRead with the number of bytes of each read.
type progressReader struct {
	io.Reader
	onRead func(bytes int64)
}

func (r *progressReader) Read(buffer []byte) (int, error) {
	n, err := r.Reader.Read(buffer)
	if n > 0 {
		r.onRead(int64(n))
	}
	return n, err
}

// adopt stores the files that an attempt's bot finished as media of the job. A
// file gets a new name if its name is already used.
func (f *Finisher) adopt(ctx context.Context, jobID uuid.UUID, attempt attemptData, others []recording.File,
	notify func(bytes int64)) (Packed, error) {
	files, tracks := slices.Clone(attempt.report.Media), slices.Clone(attempt.report.PackedTracks)
	parts := slices.Clone(attempt.report.PackedParts)
	for i := range files {
		upload := files[i].Name
		name := uniqueName(files[i].Name, slices.Concat(others, files[:i], files[i+1:]))
		for at := range tracks {
			if tracks[at].File == files[i].Name {
				tracks[at].File = name
			}
		}
		for at := range parts {
			if parts[at].File == files[i].Name {
				parts[at].File = name
			}
		}
		files[i].Name = name
		files[i].SHA256 = strings.ToLower(files[i].SHA256)
		if err := f.Storage.CopyUpload(ctx, jobID, attempt.Attempt, upload, name, files[i].Bytes, files[i].SHA256); err != nil {
			return Packed{}, err
		}
		notify(files[i].Bytes)
	}
	attempt.report.Media, attempt.report.PackedTracks, attempt.report.PackedParts = files, tracks, parts
	return packedFromReport(attempt.report), nil
}

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

// pack packs the uploaded segments of some attempts into work, where each attempt has a folder. If none is usable,
// the error is a NothingSavedError and the result lists the parts.
func (f *Finisher) pack(ctx context.Context, jobID uuid.UUID, attempts []attemptData, work string, progress Progress) (Packed, error) {
	var parts []SourcePart
	var tracks []SourceTrack
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
			return Packed{}, err
		}
		for batch := range slices.Chunk(attempt.mediaUploads(), 16*fetchConcurrency) {
			group, fetching := errgroup.WithContext(ctx)
			group.SetLimit(fetchConcurrency)
			for _, segment := range batch {
				done += segment.Bytes
				group.Go(func() error {
					file, err := os.OpenFile(filepath.Join(folder, segment.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
					if err != nil {
						return err
					}
					err = repeat(fetching, func() error {
						if err := file.Truncate(0); err != nil {
							return err
						}
						if _, err := file.Seek(0, io.SeekStart); err != nil {
							return err
						}
						reader, err := f.Storage.OpenUpload(fetching, jobID, attempt.Attempt, segment.Name)
						if err != nil {
							return err
						}
						defer reader.Close() // read only
						_, err = io.Copy(file, reader)
						return err
					})
					if err := errors.Join(err, file.Close()); err != nil {
						return fmt.Errorf("attempt %d, %s: %w", attempt.Attempt, segment.Name, err)
					}
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				return Packed{}, err
			}
			progress(Fetching, done, total)
		}
		attemptParts, err := FindParts(folder, attempt.Attempt, attempt.report.Report)
		if err != nil {
			return Packed{}, err
		}
		attemptTracks, err := FindTracks(attempt.bundles(folder), folder, attempt.Attempt, attempt.report.Report, f.Log)
		if err != nil {
			return Packed{}, err
		}
		parts, tracks = append(parts, attemptParts...), append(tracks, attemptTracks...)
	}
	progress(Packing, 0, int64(len(parts)))
	packed, err := Pack(ctx, parts, jobUploads(attempts).reports(), work)
	if errors.As(err, new(*NothingSavedError)) {
		for _, part := range parts {
			packed.Parts = append(packed.Parts, PackedPart{
				Attempt: part.Attempt, Number: part.Number, StartedAt: part.StartedAt, Loss: LossUnusable,
			})
		}
	}
	if err != nil {
		return packed, err
	}
	if err := PackTracks(ctx, &packed, tracks, work, f.Log, func(recording.File) error { return nil }); err != nil {
		return Packed{}, err
	}
	progress(Packing, int64(len(parts)), int64(len(parts)))
	return packed, nil
}

// repeat calls a function that reads from the storage until it returns no error, or what
// it reads does not exist, fetchTries times at most. The storage's library repeats
// requests, but not the download of a response that breaks off.
func repeat(ctx context.Context, read func() error) error {
	for try := 1; ; try++ {
		err := read()
		if err == nil || try == fetchTries || ctx.Err() != nil || recording.IsNotFound(err) {
			return err
		}
		if err := retry.Sleep(ctx, time.Duration(try)*fetchDelay); err != nil {
			return err
		}
	}
}
