package recording

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"standin/internal/ingest"
)

// Finisher makes the recording and the manifest of a job whose meeting is
// over. It deletes nothing: uploads go by Storage.DeleteUploads, once the
// manifest is known to be stored. Its methods may be interrupted and repeated,
// but one job must not be finished twice at once.
type Finisher struct {
	Storage *Storage
	BaseURL string // of the service, for the manifest's addresses
	TempDir string // where recordings are packed; needs room for three times the recording
	Log     *slog.Logger
}

// Stage is a step of finishing.
type Stage string

// The stages, in their order, and what done and total count in each.
const (
	Fetching Stage = "fetching" // bytes read from storage
	Packing  Stage = "packing"  // parts
	Storing  Stage = "storing"  // bytes written to storage
)

// Progress is told how far finishing is. It is called from one goroutine at
// a time.
type Progress func(stage Stage, done, total int64)

// HasMedia reports whether a job has uploads that a recording may come of: the
// beginning of a part, or a finished file.
func (f *Finisher) HasMedia(ctx context.Context, jobID uuid.UUID) (bool, error) {
	attempts, err := f.Storage.Uploads(ctx, jobID)
	if err != nil {
		return false, fmt.Errorf("look for media: %w", err)
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
	return false, nil
}

// Finish finishes a job whose bot has ended normally, from the uploads of all
// attempts. Where a finished file was not uploaded as the bot's report says,
// the segments are packed instead; without segments the error is a
// MediaMismatchError. A bot that uploaded nothing gets a manifest without
// media. When no segment is usable, the error is a NothingSavedError.
func (f *Finisher) Finish(ctx context.Context, facts ManifestInput) (Manifest, error) {
	left, done, err := f.loadUploads(ctx, facts)
	if done || err != nil {
		return left.manifest, err
	}
	if !left.hasRecordings() {
		return f.writeManifest(ctx, facts, left, Packed{})
	}
	packed, err := f.assemble(ctx, facts.Job.ID, left, nil)
	if err != nil {
		return Manifest{}, err
	}
	return f.writeManifest(ctx, facts, left, packed)
}

// Salvage finishes a job without its bot, from the uploads of all attempts.
// endReason is the reason of the end, unless the last attempt's report has
// one. When nothing usable was uploaded, the error is a NothingSavedError.
// progress may be nil.
func (f *Finisher) Salvage(ctx context.Context, facts ManifestInput, endReason string, progress Progress) (Manifest, error) {
	facts.EndReason, facts.BotLost = endReason, true
	left, done, err := f.loadUploads(ctx, facts)
	if done || err != nil {
		return left.manifest, err
	}
	packed, err := f.assemble(ctx, facts.Job.ID, left, progress)
	if mismatch := new(MediaMismatchError); errors.As(err, &mismatch) {
		return Manifest{}, &NothingSavedError{Reasons: []string{mismatch.Error()}}
	}
	if err != nil {
		return Manifest{}, err
	}
	return f.writeManifest(ctx, facts, left, packed)
}

// jobUploads is what the bots of a job uploaded.
type jobUploads struct {
	attempts []attemptData
	manifest Manifest // of a job that was finished before and whose uploads are gone
}

// attemptData is what one attempt's bot uploaded.
type attemptData struct {
	AttemptUploads
	report FinalReport
}

// segments lists the attempt's segments.
func (a attemptData) segments() []Upload {
	return slices.DeleteFunc(slices.Clone(a.Files), func(file Upload) bool {
		_, _, ok := ingest.ParseSegmentName(file.Name)
		return !ok
	})
}

// mediaUploads returns the segments and the bundles of tracks.
func (a attemptData) mediaUploads() []Upload {
	return slices.DeleteFunc(slices.Clone(a.Files), func(file Upload) bool {
		_, _, ok := ingest.ParseSegmentName(file.Name)
		return !ok && !ingest.IsBundleName(file.Name)
	})
}

// bundles are the paths in a folder of the attempt's bundles, in their order.
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

// hasRecording reports whether the attempt has anything that a recording can
// be made of.
func (a attemptData) hasRecording() bool { return len(a.segments()) > 0 || len(a.report.Media) > 0 }

// hasAllSegments reports whether all segments in the attempt's report were
// uploaded.
func (a attemptData) hasAllSegments() bool {
	there := map[int]int{} // by part
	for _, segment := range a.segments() {
		part, _, _ := ingest.ParseSegmentName(segment.Name) // segments lists no other names
		there[part]++
	}
	return len(there) > 0 && !slices.ContainsFunc(a.report.Parts, func(reported ingest.RecordingPart) bool {
		return there[reported.Number] < reported.Segments
	})
}

// recordings returns the attempts that recorded anything.
func (u jobUploads) recordings() []attemptData {
	return slices.DeleteFunc(slices.Clone(u.attempts), func(left attemptData) bool { return !left.hasRecording() })
}

func (u jobUploads) hasRecordings() bool { return len(u.recordings()) > 0 }

func (u jobUploads) reports() []ingest.Report {
	var reports []ingest.Report
	for _, left := range u.attempts {
		if left.report.found {
			reports = append(reports, left.report.Report)
		}
	}
	return reports
}

// loadUploads lists the uploads and reads the reports. done is true when a
// manifest exists and the uploads are deleted: an earlier run has finished the
// job.
func (f *Finisher) loadUploads(ctx context.Context, facts ManifestInput) (left jobUploads, done bool, err error) {
	attempts, err := f.Storage.Uploads(ctx, facts.Job.ID)
	if err != nil {
		return jobUploads{}, false, fmt.Errorf("look for uploads: %w", err)
	}
	if len(attempts) == 0 {
		manifest, stands, err := f.Storage.storedManifest(ctx, facts.Job.ID)
		if err != nil {
			return jobUploads{}, false, fmt.Errorf("look for a manifest: %w", err)
		}
		return jobUploads{manifest: manifest}, stands, nil
	}
	for _, attempt := range attempts {
		report, err := f.report(ctx, facts.Job.ID, attempt.Attempt)
		if err != nil {
			return jobUploads{}, false, fmt.Errorf("read the report of attempt %d: %w", attempt.Attempt, err)
		}
		left.attempts = append(left.attempts, attemptData{AttemptUploads: attempt, report: report})
	}
	return left, false, nil
}

// writeManifest builds and stores the manifest.
func (f *Finisher) writeManifest(ctx context.Context, facts ManifestInput, left jobUploads, packed Packed) (Manifest, error) {
	manifest := Build(facts, left.reports(), packed, f.BaseURL)
	if err := f.Storage.PutManifest(ctx, facts.Job.ID, manifest); err != nil {
		return Manifest{}, fmt.Errorf("store the manifest: %w", err)
	}
	return manifest, nil
}
