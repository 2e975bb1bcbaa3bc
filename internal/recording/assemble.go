package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// assemblyPlan says what a job's media is made of.
type assemblyPlan struct {
	adopted  []attemptData // whose bots' finished files are taken as they are
	packed   []attemptData // whose segments are packed
	mismatch error         // of a bot's files that are not as its report says
}

// assemble makes the job's media of all that its attempts left, so that
// nothing that any of them saved is lost. A single attempt's finished files are
// taken as they are. Of several, the segments are packed together; only where
// an attempt's segments are not all there, and the files that its bot had
// finished are, those stand beside. progress may be nil.
func (f *Finisher) assemble(ctx context.Context, jobID uuid.UUID, left jobUploads, progress Progress) (Packed, error) {
	if progress == nil {
		progress = func(Stage, int64, int64) {}
	}
	plan, err := f.plan(ctx, jobID, left.recordings())
	if err != nil {
		return Packed{}, err
	}
	if len(plan.adopted)+len(plan.packed) == 0 {
		return Packed{}, cmp.Or(plan.mismatch, error(&NothingSavedError{}))
	}
	prefix := "salvage-" + jobID.String() + "-"
	if err := removeAllWithPrefix(f.TempDir, prefix); err != nil {
		return Packed{}, fmt.Errorf("clear away an earlier run: %w", err)
	}
	work, err := os.MkdirTemp(f.TempDir, prefix)
	if err != nil {
		return Packed{}, fmt.Errorf("make a folder to pack in: %w", err)
	}
	defer os.RemoveAll(work) // what stays is cleared away by the next run
	var packed Packed
	if len(plan.packed) > 0 {
		packed, err = f.pack(ctx, jobID, plan.packed, work, progress)
		if nothing := new(NothingSavedError); err != nil && (len(plan.adopted) == 0 || !errors.As(err, &nothing)) {
			return Packed{}, err
		}
	}
	if packed.Partial() {
		f.Log.Warn("some of the recording is lost", slog.String("job", jobID.String()),
			slog.String("losses", strings.Join(packed.Losses(), "; ")))
	}
	return f.storeMedia(ctx, jobID, packed, plan.adopted, work, progress)
}

// plan decides what the media is made of.
func (f *Finisher) plan(ctx context.Context, jobID uuid.UUID, recorders []attemptData) (assemblyPlan, error) {
	var plan assemblyPlan
	for _, left := range recorders {
		if len(left.report.Media) > 0 && (len(recorders) == 1 || !left.hasAllSegments()) {
			err := f.checkReportedFiles(ctx, jobID, left)
			if err == nil {
				plan.adopted = append(plan.adopted, left)
				continue
			}
			if mismatch := new(MediaMismatchError); !errors.As(err, &mismatch) {
				return assemblyPlan{}, fmt.Errorf("compare the bot's files with its report: %w", err)
			}
			f.Log.Warn("a bot's files are not as its report says",
				slog.String("job", jobID.String()), slog.Int("attempt", left.Attempt), slog.Any("error", err))
			plan.mismatch = err
		}
		if len(left.segments()) > 0 {
			plan.packed = append(plan.packed, left)
		}
	}
	return plan, nil
}

// storeMedia stores the packed files and the finished files of bots. It
// returns what all of them hold, in the order of the attempts.
func (f *Finisher) storeMedia(
	ctx context.Context, jobID uuid.UUID, packed Packed, adopted []attemptData, work string, progress Progress,
) (Packed, error) {
	var done, total int64
	count := func(files []File) {
		for _, file := range files {
			total += file.Bytes
		}
	}
	count(packed.Files)
	for _, left := range adopted {
		count(left.report.Media)
	}
	notify := func(bytes int64) {
		done += bytes
		progress(Storing, done, total)
	}
	notify(0)
	for _, file := range packed.Files {
		if err := f.storeFile(ctx, jobID, file, filepath.Join(work, file.Name), notify); err != nil {
			return Packed{}, fmt.Errorf("store %s: %w", file.Name, err)
		}
	}
	origin := firstStart(packed.Parts, adopted)
	for _, left := range adopted {
		taken, err := f.adopt(ctx, jobID, left.withOrigin(origin), packed.Files, notify)
		if err != nil {
			return Packed{}, fmt.Errorf("adopt the files of attempt %d: %w", left.Attempt, err)
		}
		packed.Files = append(packed.Files, taken.Files...)
		packed.Parts = append(packed.Parts, taken.Parts...)
		packed.Tracks = append(packed.Tracks, taken.Tracks...)
	}
	slices.SortStableFunc(packed.Parts, func(a, b PackedPart) int { return cmp.Compare(a.Attempt, b.Attempt) })
	slices.SortStableFunc(packed.Files, func(a, b File) int { return cmp.Compare(packed.fileOrder(a), packed.fileOrder(b)) })
	return packed, nil
}

// fileOrder returns the index of a file's first part; files without parts come
// last.
func (p Packed) fileOrder(file File) int {
	at := slices.IndexFunc(p.Parts, func(part PackedPart) bool { return part.File == file.Name })
	if at < 0 {
		return len(p.Parts)
	}
	return at
}

// firstStart is when the first part of all began; zero when nobody knows.
func firstStart(packed []PackedPart, adopted []attemptData) time.Time {
	var first time.Time
	consider := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, part := range packed {
		consider(part.StartedAt)
	}
	for _, left := range adopted {
		for _, part := range left.report.Parts {
			consider(part.StartedAt)
		}
	}
	return first
}

// withOrigin converts the offsets of an attempt's files, which are relative to
// its own first part, to a recording that began at origin. Build sets the
// offsets of files that hold parts.
func (a attemptData) withOrigin(origin time.Time) attemptData {
	began := firstStart(nil, []attemptData{a})
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
func (f *Finisher) storeFile(ctx context.Context, jobID uuid.UUID, file File, path string, report func(bytes int64)) error {
	content, err := os.Open(path)
	if err != nil {
		return err
	}
	defer content.Close() // read only
	_, err = f.Storage.PutMedia(ctx, jobID, file.Name, &progressReader{Reader: content, onRead: report}, file.SHA256)
	return err
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

// adopt makes the files that an attempt's bot had finished the job's media,
// under their own names where those are free.
func (f *Finisher) adopt(ctx context.Context, jobID uuid.UUID, left attemptData, beside []File, notify func(bytes int64)) (Packed, error) {
	files, tracks := slices.Clone(left.report.Media), slices.Clone(left.report.PackedTracks)
	parts := slices.Clone(left.report.PackedParts)
	for i := range files {
		from, err := uploadKey(jobID, left.Attempt, files[i].Name)
		if err != nil {
			return Packed{}, err
		}
		name := uniqueName(files[i].Name, slices.Concat(beside, files[:i], files[i+1:]))
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
		to, err := mediaKey(jobID, files[i].Name)
		if err != nil {
			return Packed{}, err
		}
		files[i].SHA256 = strings.ToLower(files[i].SHA256)
		if err := f.Storage.copyUpload(ctx, from, to, files[i].Bytes, files[i].SHA256); err != nil {
			return Packed{}, err
		}
		notify(files[i].Bytes)
	}
	left.report.Media, left.report.PackedTracks, left.report.PackedParts = files, tracks, parts
	return packedFromReport(left.report), nil
}

// uniqueName returns the name, with a suffix if another file has it.
func uniqueName(name string, others []File) string {
	free := name
	for number := 2; slices.ContainsFunc(others, func(file File) bool { return file.Name == free }); number++ {
		extension := path.Ext(name)
		free = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, extension), number, extension)
	}
	return free
}
