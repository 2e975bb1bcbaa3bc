package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/ingest"
)

// MaxReportBytes bounds a bot's report: far above what a day's meeting of
// hundreds of people needs.
const MaxReportBytes = 32 << 20

// maxParts is the number of parts that ingest.SegmentName can name.
const maxParts = 1000

// checkSize refuses a report with longer lists than any meeting needs, because
// some of them are compared with each other.
func (r FinalReport) checkSize() error {
	for name, list := range map[string]struct{ length, limit int }{
		"parts": {max(len(r.Parts), len(r.PackedParts)), maxParts}, "gaps": {len(r.Gaps), 10 * maxParts},
		"audio tracks": {max(len(r.AudioTracks), len(r.PackedTracks)), ingest.MaxAudioTracks},
		"files":        {len(r.Media), maxParts + ingest.MaxAudioTracks},
	} {
		if list.length > list.limit {
			return fmt.Errorf("it has %d %s, more than %d", list.length, name, list.limit)
		}
	}
	return nil
}

// FinalReport is what a bot uploads under ingest.ReportName: its report, and
// at the end the files that it packed and uploaded beside it.
type FinalReport struct {
	ingest.Report
	Media        []File         `json:"media,omitempty"`
	PackedParts  []ReportedPart `json:"packedStretches,omitempty"`
	PackedTracks []PackedTrack  `json:"packedVoices,omitempty"`

	found bool // of one that was read: there is one
}

// ReportedPart is where a bot put a part: a PackedPart in its report.
type ReportedPart struct {
	Number   int    `json:"number"`
	File     string `json:"file,omitempty"` // empty when nothing of it was usable
	OffsetMs int64  `json:"offsetMs"`       // of its first moment in that file
	LengthMs int64  `json:"lengthMs"`
	Loss     Loss   `json:"loss,omitempty"`
}

// ReportedParts converts the packed parts for a bot's report.
func ReportedParts(packed Packed) []ReportedPart {
	var reported []ReportedPart
	for _, part := range packed.Parts {
		reported = append(reported, ReportedPart{
			Number: part.Number, File: part.File, Loss: part.Loss,
			OffsetMs: part.Offset.Milliseconds(), LengthMs: part.Length.Milliseconds(),
		})
	}
	return reported
}

// report reads an attempt's report. Where there is none, or it is unreadable,
// the attempt has told nothing: its media counts all the same.
func (f *Finisher) report(ctx context.Context, jobID uuid.UUID, attempt int) (FinalReport, error) {
	none := FinalReport{Report: ingest.Report{Attempt: attempt}}
	reader, err := f.Storage.openUpload(ctx, jobID, attempt, ingest.ReportName)
	if missing := new(NotFoundError); errors.As(err, &missing) {
		return none, nil
	}
	if err != nil {
		return FinalReport{}, err
	}
	defer reader.Close() // read only
	text, err := io.ReadAll(io.LimitReader(reader, MaxReportBytes))
	if err != nil {
		return FinalReport{}, err
	}
	var report FinalReport
	err = json.Unmarshal(text, &report)
	if err == nil {
		err = report.checkSize()
	}
	if err != nil {
		f.Log.Warn("a bot's report is unreadable",
			slog.String("job", jobID.String()), slog.Int("attempt", attempt), slog.Any("error", err))
		return none, nil
	}
	report.Attempt, report.found = attempt, true // where it was uploaded counts, not what it says
	return report, nil
}

// checkReportedFiles checks the finished files of a report. The error for one
// that was not uploaded as reported is a MediaMismatchError.
func (f *Finisher) checkReportedFiles(ctx context.Context, jobID uuid.UUID, left attemptData) error {
	for i, file := range left.report.Media {
		if err := f.checkReportedFile(ctx, jobID, left, file); err != nil {
			return err
		}
		if slices.ContainsFunc(left.report.Media[:i], func(other File) bool { return other.Name == file.Name }) {
			return &MediaMismatchError{Name: file.Name, Reason: "named twice"}
		}
	}
	return nil
}

// checkReportedFile checks what a report says about a file against the upload.
func (f *Finisher) checkReportedFile(ctx context.Context, jobID uuid.UUID, left attemptData, file File) error {
	mismatch := func(format string, arguments ...any) error {
		return &MediaMismatchError{Name: file.Name, Reason: fmt.Sprintf(format, arguments...)}
	}
	key, err := uploadKey(jobID, left.Attempt, file.Name)
	switch {
	case err != nil:
		return mismatch("no media name")
	case !slices.Contains(contentTypes(file.Kind), file.ContentType):
		return mismatch("its kind is %q and its content type %q", file.Kind, file.ContentType)
	case min(file.DurationMs, file.StartOffsetMs, int64(file.Width), int64(file.Height)) < 0:
		return mismatch("it has a negative number")
	}
	length, sum, err := f.Storage.stat(ctx, key)
	if missing := new(NotFoundError); errors.As(err, &missing) {
		return mismatch("not uploaded")
	}
	switch {
	case err != nil:
		return err
	case length != file.Bytes:
		return mismatch("%d bytes were uploaded, not %d", length, file.Bytes)
	case !strings.EqualFold(sum, file.SHA256):
		return mismatch("the upload's SHA-256 is %s, not %s", sum, file.SHA256)
	}
	return nil
}

// contentTypes returns the content types that a file of some kind may have; none
// for an unknown kind. Files are served with their content type, so none of these
// is active content in a browser.
func contentTypes(kind MediaKind) []string {
	switch kind {
	case Video:
		return []string{"video/mp4", "video/webm"}
	case Audio, ParticipantAudio:
		return []string{"audio/mp4", "audio/webm", "audio/ogg"}
	case Chat, Captions:
		return []string{"text/plain", "text/vtt", "application/json"}
	}
	return nil
}

// packedFromReport returns what a bot has packed, according to its report.
func packedFromReport(report FinalReport) Packed {
	packed := Packed{Files: slices.Clone(report.Media), Tracks: tracksFromReport(report)}
	for _, reported := range report.PackedParts {
		part, ok := reported.resolve(report)
		if !ok {
			return packedInSequence(report)
		}
		packed.Parts = append(packed.Parts, part)
	}
	if len(packed.Parts) == 0 {
		return packedInSequence(report)
	}
	return packed
}

// resolve combines a reported part with the rest of its report; false when
// they contradict each other.
func (t ReportedPart) resolve(report FinalReport) (PackedPart, bool) {
	known := slices.IndexFunc(report.Parts, func(s ingest.RecordingPart) bool { return s.Number == t.Number })
	if known < 0 || t.OffsetMs < 0 || t.LengthMs < 0 {
		return PackedPart{}, false
	}
	if t.File != "" {
		const rounding = 1000 // milliseconds; a file may end a frame earlier than its parts
		at := slices.IndexFunc(report.Media, func(file File) bool { return file.Name == t.File })
		if at < 0 || t.OffsetMs+t.LengthMs > report.Media[at].DurationMs+rounding {
			return PackedPart{}, false
		}
	}
	return PackedPart{
		Attempt: report.Attempt, Number: t.Number, StartedAt: report.Parts[known].StartedAt, File: t.File, Loss: t.Loss,
		Offset: time.Duration(t.OffsetMs) * time.Millisecond, Length: time.Duration(t.LengthMs) * time.Millisecond,
	}, true
}

// packedInSequence is for a report without packed parts: it assumes that the
// first file holds the parts in sequence. The length of a part comes from the
// bot's clock; a part without an end gets the rest of the file.
func packedInSequence(report FinalReport) Packed {
	packed := Packed{Files: slices.Clone(report.Media), Tracks: tracksFromReport(report)}
	at := slices.IndexFunc(packed.Files, func(file File) bool { return file.Kind == Video || file.Kind == Audio })
	if at < 0 {
		return packed
	}
	file := packed.Files[at]
	left := time.Duration(file.DurationMs) * time.Millisecond
	ended := func(part ingest.RecordingPart) bool { return part.EndedAt.After(part.StartedAt) }
	for _, part := range report.Parts {
		if ended(part) {
			left -= part.EndedAt.Sub(part.StartedAt)
		}
	}
	offset := time.Duration(0)
	for _, part := range report.Parts {
		if isEmpty(part) {
			continue
		}
		length := max(0, left)
		switch {
		case len(report.Parts) == 1:
			length = time.Duration(file.DurationMs) * time.Millisecond
		case ended(part):
			length = part.EndedAt.Sub(part.StartedAt)
		default:
			left = 0
		}
		packed.Parts = append(packed.Parts, PackedPart{
			Attempt: report.Attempt, Number: part.Number, StartedAt: part.StartedAt,
			File: file.Name, Offset: offset, Length: length,
		})
		offset += length
	}
	return packed
}

// tracksFromReport returns the tracks that a bot has packed, according to its
// report.
func tracksFromReport(report FinalReport) []PackedTrack {
	var tracks []PackedTrack
	for _, track := range report.PackedTracks {
		at := slices.IndexFunc(report.AudioTracks, func(reported ingest.AudioTrack) bool { return reported.Number == track.Number })
		if at < 0 {
			continue // of nobody, and nobody knows when
		}
		track.Attempt, track.StartedAt, track.PersonID = report.Attempt, report.AudioTracks[at].StartedAt, report.AudioTracks[at].PersonID
		tracks = append(tracks, track)
	}
	return tracks
}
