// Package build makes the recording of a job: it packs segments into files that
// play and seek in a browser, and builds the manifest, which describes the
// recorded media and the gaps in it.
//
// The bot packs the segments in its spool; the service packs uploaded segments.
package build

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// Storage has the uploads of bots, and stores what is made of them. It is implemented
// by storage.Recordings and returns the errors of package recording.
type Storage interface {
	Uploads(ctx context.Context, jobID uuid.UUID) ([]recording.AttemptUploads, error)
	StatUpload(ctx context.Context, jobID uuid.UUID, attempt int, name string) (length int64, sha256Hex string, err error)
	OpenUpload(ctx context.Context, jobID uuid.UUID, attempt int, name string) (io.ReadCloser, error)
	CopyUpload(ctx context.Context, jobID uuid.UUID, attempt int, upload, name string, length int64, sha256Hex string) error
	PutMedia(ctx context.Context, jobID uuid.UUID, name string, content io.Reader, sha256Hex string) error
	StoredManifest(ctx context.Context, jobID uuid.UUID) (recording.Manifest, bool, error)
	PutManifest(ctx context.Context, jobID uuid.UUID, manifest recording.Manifest) error
	MissingFiles(ctx context.Context, jobID uuid.UUID) (problems []string, err error)
}

// Finisher creates the recording and the manifest of a job whose meeting has
// ended. It does not delete uploads: delete them after the manifest
// is stored. Its methods may be interrupted and repeated, but calls for
// the same job must not run concurrently.
type Finisher struct {
	Storage Storage
	BaseURL string // service URL, for the links in the manifest
	TempDir string // working directory; needs three times the size of the recording
	Log     *slog.Logger
}

// Stage is a step of finishing.
type Stage string

// The stages in their order, with the unit of done and total in each.
const (
	Fetching Stage = "fetching" // bytes read from storage
	Packing  Stage = "packing"  // parts
	Storing  Stage = "storing"  // bytes written to storage
)

// Progress is called with the progress of finishing, from one goroutine at a
// time.
type Progress func(stage Stage, done, total int64)

// HasMedia reports whether a job has uploads that can become a recording: the
// first segment of a part, a finished file, or the report of a bot that attended a
// meeting without recording it, as its job wants.
func (f *Finisher) HasMedia(ctx context.Context, jobID uuid.UUID) (bool, error) {
	attempts, err := f.Storage.Uploads(ctx, jobID)
	if err != nil {
		return false, err
	}
	for _, attempt := range attempts {
		for _, file := range attempt.Files {
			_, sequence, segment := ingest.ParseSegmentName(file.Name)
			finished := filepath.Ext(file.Name) == ".mp4" || filepath.Ext(file.Name) == ".m4a"
			if file.Bytes > 0 && (segment && sequence == 0 || finished) {
				return true, nil
			}
		}
	}
	for _, attempt := range attempts {
		report, err := f.report(ctx, jobID, attempt.Attempt)
		if err != nil {
			return false, err
		}
		if attended(report.Report) {
			return true, nil
		}
	}
	return false, nil
}

// attended reports whether a bot was in the meeting and records nothing by its job's
// choice.
func attended(report ingest.Report) bool {
	return report.WithoutRecording && !report.AdmittedAt.IsZero()
}

// Finish finishes a job whose bot ended normally, from the uploads of all
// attempts. If the upload of a finished file does not match the bot's report,
// the segments are packed instead; without segments the error is a
// MediaMismatchError. Without any uploaded media, the manifest has no media.
// When no segment is usable, the error is a NothingSavedError.
func (f *Finisher) Finish(ctx context.Context, input ManifestInput) (recording.Manifest, error) {
	return f.finish(ctx, input, nil)
}

// FinishWithoutBot finishes a job without its bot, from the uploads of all attempts.
// endReason is the end reason if the last attempt's report has none. When
// nothing usable was uploaded, the error is a NothingSavedError.
// progress may be nil.
func (f *Finisher) FinishWithoutBot(ctx context.Context, input ManifestInput, endReason string,
	progress Progress) (recording.Manifest, error) {
	input.EndReason, input.BotLost = endReason, true
	manifest, err := f.finish(ctx, input, progress)
	if mismatch := new(MediaMismatchError); errors.As(err, &mismatch) {
		err = &NothingSavedError{Reasons: []string{mismatch.Error()}}
	}
	return manifest, err
}

func (f *Finisher) finish(ctx context.Context, input ManifestInput, progress Progress) (recording.Manifest, error) {
	attempts, err := f.Storage.Uploads(ctx, input.Job.ID)
	if err != nil {
		return recording.Manifest{}, err
	}
	if len(attempts) == 0 { // an earlier run may have finished the job, whose uploads were deleted then
		manifest, exists, err := f.Storage.StoredManifest(ctx, input.Job.ID)
		if exists || err != nil {
			return manifest, err
		}
	}
	var uploads jobUploads
	for _, attempt := range attempts {
		report, err := f.report(ctx, input.Job.ID, attempt.Attempt)
		if err != nil {
			return recording.Manifest{}, err
		}
		uploads = append(uploads, attemptData{AttemptUploads: attempt, report: report})
	}
	var packed Packed
	if len(uploads.recordings()) > 0 || input.BotLost && !slices.ContainsFunc(uploads.reports(), attended) {
		if packed, err = f.assemble(ctx, input.Job.ID, uploads, progress); err != nil {
			return recording.Manifest{}, err
		}
	}
	return f.writeManifest(ctx, input, uploads, packed)
}

// jobUploads holds the uploads of a job's bots, by attempt.
type jobUploads []attemptData

// attemptData holds the uploads of one attempt and its report.
type attemptData struct {
	recording.AttemptUploads
	report FinalReport
}

// segments lists the attempt's segments.
func (a attemptData) segments() []recording.Upload {
	return slices.DeleteFunc(slices.Clone(a.Files), func(file recording.Upload) bool {
		_, _, ok := ingest.ParseSegmentName(file.Name)
		return !ok
	})
}

// mediaUploads returns the attempt's segments and its bundles of audio tracks.
func (a attemptData) mediaUploads() []recording.Upload {
	return slices.DeleteFunc(slices.Clone(a.Files), func(file recording.Upload) bool {
		_, _, ok := ingest.ParseSegmentName(file.Name)
		return !ok && !ingest.IsBundleName(file.Name)
	})
}

// bundles returns the paths of the attempt's bundles in a folder, in order.
func (a attemptData) bundles(folder string) []string {
	var paths []string
	for _, file := range a.Files {
		if ingest.IsBundleName(file.Name) {
			paths = append(paths, filepath.Join(folder, file.Name))
		}
	}
	slices.Sort(paths)
	return paths
}

// hasAllSegments reports whether all segments in the attempt's report were
// uploaded.
func (a attemptData) hasAllSegments() bool {
	uploaded := map[int]int{} // segments by part
	for _, segment := range a.segments() {
		part, _, _ := ingest.ParseSegmentName(segment.Name) // segments lists no other names
		uploaded[part]++
	}
	return len(uploaded) > 0 && !slices.ContainsFunc(a.report.Parts, func(reported ingest.RecordingPart) bool {
		return uploaded[reported.Number] < reported.Segments
	})
}

// recordings returns the attempts that have a recording.
func (u jobUploads) recordings() []attemptData {
	return slices.DeleteFunc(slices.Clone(u), func(attempt attemptData) bool {
		return len(attempt.segments()) == 0 && len(attempt.report.Media) == 0
	})
}

func (u jobUploads) reports() []ingest.Report {
	var reports []ingest.Report
	for _, attempt := range u {
		if attempt.report.found {
			reports = append(reports, attempt.report.Report)
		}
	}
	return reports
}

// writeManifest stores the chat and the captions, then builds and stores the manifest,
// and checks that everything is stored.
func (f *Finisher) writeManifest(ctx context.Context, input ManifestInput, uploads jobUploads,
	packed Packed) (manifest recording.Manifest, err error) {
	b := newBuilder(input, uploads.reports(), packed)
	manifest = b.manifest(f.BaseURL)
	texts, err := b.textFiles(manifest.Gaps)
	if err != nil {
		return manifest, err
	}
	for _, file := range texts {
		file.Name = uniqueName(file.Name, manifestFiles(manifest))
		added := file.Attachment()
		if err := f.Storage.PutMedia(ctx, input.Job.ID, file.Name, added.Content, added.SHA256); err != nil {
			return manifest, err
		}
		uri := recording.MediaURI(f.BaseURL, input.Job.ID.String(), file.Name)
		manifest.Media = append(manifest.Media, recording.Media{File: added.File, URI: uri})
	}
	if err := f.Storage.PutManifest(ctx, input.Job.ID, manifest); err != nil {
		return manifest, err
	}
	// The uploads are deleted next. A store may say that it has stored what it has not.
	var problems []string
	err = repeat(ctx, func() (err error) {
		problems, err = f.Storage.MissingFiles(ctx, input.Job.ID)
		return err
	})
	if err == nil && len(problems) > 0 {
		err = errors.New("the storage does not have what it was given: " + strings.Join(problems, "; "))
	}
	return manifest, err
}

// NothingSavedError reports that a recording has no usable media.
type NothingSavedError struct {
	Reasons []string // one for each unusable part; empty when there are no parts
}

func (e *NothingSavedError) Error() string {
	if len(e.Reasons) == 0 {
		return "no media was saved"
	}
	return "no usable media was saved: " + strings.Join(e.Reasons, "; ")
}
