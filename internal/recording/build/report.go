package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// MaxReportBytes limits the size of a bot's report. It is far above the size for
// a meeting of a day with hundreds of people.
const MaxReportBytes = 32 << 20

// maxParts is the number of parts that ingest.SegmentName can name.
const maxParts = 1000

// checkSize returns an error for a report with longer lists than any meeting
// needs. Processing takes quadratic time for some of the lists.
func (r FinalReport) checkSize() error {
	for name, list := range map[string]struct{ length, limit int }{
		"parts": {max(len(r.Parts), len(r.PackedParts)), maxParts}, "gaps": {len(r.Gaps), 10 * maxParts},
		"media faults": {len(r.MediaFaults), ingest.MaxMediaFaults},
		"audio tracks": {max(len(r.AudioTracks), len(r.PackedTracks)), ingest.MaxAudioTracks},
		"files":        {len(r.Media), maxParts + ingest.MaxAudioTracks},
	} {
		if list.length > list.limit {
			return fmt.Errorf("it has %d %s, more than %d", list.length, name, list.limit)
		}
	}
	return nil
}

// FinalReport is the content of ingest.ReportName: the bot's report and, after
// packing, the files that the bot packed and uploaded.
type FinalReport struct {
	ingest.Report
	Media        []recording.File `json:"media,omitempty"`
	PackedParts  []ReportedPart   `json:"packedParts,omitempty"`
	PackedTracks []PackedTrack    `json:"packedTracks,omitempty"`

	found bool // true for a report that was read from storage
}

// ReportedPart is a PackedPart in a bot's report.
type ReportedPart struct {
	Number    int    `json:"number"`
	File      string `json:"file,omitempty"`      // empty when the part is unusable
	SkippedMs int64  `json:"skippedMs,omitempty"` // see PackedPart
	OffsetMs  int64  `json:"offsetMs"`            // position of the part in the file
	LengthMs  int64  `json:"lengthMs"`
	Loss      Loss   `json:"loss,omitempty"`
}

// ReportedParts converts the packed parts for a bot's report.
func ReportedParts(packed Packed) []ReportedPart {
	var reported []ReportedPart
	for _, part := range packed.Parts {
		reported = append(reported, ReportedPart{
			Number: part.Number, File: part.File, Loss: part.Loss,
			SkippedMs: part.Skipped.Milliseconds(), OffsetMs: part.Offset.Milliseconds(), LengthMs: part.Length.Milliseconds(),
		})
	}
	return reported
}

// report reads an attempt's report. If there is none, or if it is unreadable, the
// report is empty and found is false.
func (f *Finisher) report(ctx context.Context, jobID uuid.UUID, attempt int) (FinalReport, error) {
	empty := FinalReport{Report: ingest.Report{Attempt: attempt}}
	var text []byte
	err := repeat(ctx, func() error {
		reader, err := f.Storage.OpenUpload(ctx, jobID, attempt, ingest.ReportName)
		if err != nil {
			return err
		}
		defer reader.Close() // read only
		text, err = io.ReadAll(io.LimitReader(reader, MaxReportBytes))
		return err
	})
	if recording.IsNotFound(err) {
		return empty, nil
	}
	if err != nil {
		return FinalReport{}, err
	}
	var report FinalReport
	text, err = api.CleanTexts(text)
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err == nil {
		err = report.checkSize()
	}
	if err != nil {
		f.Log.Warn("cannot read the report of a bot",
			"job", jobID, "attempt", attempt, "error", err)
		return empty, nil
	}
	report.Attempt, report.found = attempt, true // the attempt is the one of the upload, not the reported one
	return report, nil
}

// RecordingStart returns when the recording of a job started, to which the times of its
// manifest are relative, given when that of an attempt started.
func (f *Finisher) RecordingStart(ctx context.Context, jobID uuid.UUID, attempt int, startedAt time.Time) (time.Time, error) {
	var reports []ingest.Report
	for earlier := range attempt {
		report, err := f.report(ctx, jobID, earlier)
		if err != nil {
			return time.Time{}, err
		}
		reports = append(reports, report.Report)
	}
	return RecordingStart([]PackedPart{{StartedAt: startedAt}}, reports), nil
}

// checkReportedFiles compares the finished files of a report with the uploads. A
// difference is a MediaMismatchError.
func (f *Finisher) checkReportedFiles(ctx context.Context, jobID uuid.UUID, attempt attemptData) error {
	for i, file := range attempt.report.Media {
		mismatch := func(format string, arguments ...any) error {
			return &MediaMismatchError{Name: file.Name, Reason: fmt.Sprintf(format, arguments...)}
		}
		switch {
		case !slices.Contains(contentTypes(file.Kind), file.ContentType):
			return mismatch("its kind is %q and its content type %q", file.Kind, file.ContentType)
		case min(file.DurationMs, file.StartOffsetMs, int64(file.Width), int64(file.Height)) < 0:
			return mismatch("it has a negative number")
		}
		length, sum, err := f.Storage.StatUpload(ctx, jobID, attempt.Attempt, file.Name)
		switch {
		case recording.IsNotFound(err):
			return mismatch("not uploaded")
		case errors.As(err, new(*recording.NameError)):
			return mismatch("no media name")
		case err != nil:
			return err
		case length != file.Bytes:
			return mismatch("%d bytes were uploaded, not %d", length, file.Bytes)
		case !strings.EqualFold(sum, file.SHA256):
			return mismatch("the upload's SHA-256 is %s, not %s", sum, file.SHA256)
		case slices.ContainsFunc(attempt.report.Media[:i], func(other recording.File) bool { return other.Name == file.Name }):
			return mismatch("named twice")
		}
	}
	return nil
}

// contentTypes returns the allowed content types for a kind of media, or none for
// an unknown kind. Files are served with their content type, so no active content
// is allowed.
func contentTypes(kind recording.MediaKind) []string {
	switch kind {
	case recording.Video, recording.ParticipantVideo, recording.ScreenShare:
		return []string{"video/mp4", "video/webm"}
	case recording.Audio, recording.ParticipantAudio:
		return []string{"audio/mp4", "audio/webm", "audio/ogg"}
	case recording.Chat, recording.Captions:
		return []string{"text/plain", "text/vtt", "application/json"}
	}
	return nil
}

// packedFromReport returns the media that a bot packed, according to its report.
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

// resolve combines a reported part with the rest of its report. It returns false
// if they contradict each other.
func (p ReportedPart) resolve(report FinalReport) (PackedPart, bool) {
	index := slices.IndexFunc(report.Parts, func(part ingest.RecordingPart) bool { return part.Number == p.Number })
	if index < 0 || p.SkippedMs < 0 || p.OffsetMs < 0 || p.LengthMs < 0 {
		return PackedPart{}, false
	}
	if p.File != "" {
		const rounding = 1000 // milliseconds; a file may end a frame earlier than its parts
		at := slices.IndexFunc(report.Media, func(file recording.File) bool { return file.Name == p.File })
		if at < 0 || p.OffsetMs+p.LengthMs > report.Media[at].DurationMs+rounding {
			return PackedPart{}, false
		}
	}
	skipped := time.Duration(p.SkippedMs) * time.Millisecond
	return PackedPart{
		Attempt: report.Attempt, Number: p.Number, StartedAt: report.Parts[index].StartedAt.Add(skipped), Skipped: skipped, File: p.File,
		Loss:   p.Loss,
		Offset: time.Duration(p.OffsetMs) * time.Millisecond, Length: time.Duration(p.LengthMs) * time.Millisecond,
	}, true
}

// packedInSequence returns the media of a report without usable packed parts. It
// assumes that the first file contains the parts in sequence. The length of a part
// comes from the bot's clock; a part without an end gets the rest of the file.
func packedInSequence(report FinalReport) Packed {
	packed := Packed{Files: slices.Clone(report.Media), Tracks: tracksFromReport(report)}
	at := slices.IndexFunc(packed.Files, func(file recording.File) bool {
		return file.Kind == recording.Video || file.Kind == recording.Audio
	})
	if at < 0 {
		return packed
	}
	file := packed.Files[at]
	remaining := time.Duration(file.DurationMs) * time.Millisecond
	ended := func(part ingest.RecordingPart) bool { return part.EndedAt.After(part.StartedAt) }
	for _, part := range report.Parts {
		if ended(part) {
			remaining -= part.EndedAt.Sub(part.StartedAt)
		}
	}
	offset := time.Duration(0)
	for _, part := range report.Parts {
		if isEmpty(part) {
			continue
		}
		length := max(0, remaining)
		switch {
		case len(report.Parts) == 1:
			length = time.Duration(file.DurationMs) * time.Millisecond
		case ended(part):
			length = part.EndedAt.Sub(part.StartedAt)
		default:
			remaining = 0
		}
		packed.Parts = append(packed.Parts, PackedPart{
			Attempt: report.Attempt, Number: part.Number, StartedAt: part.StartedAt,
			File: file.Name, Offset: offset, Length: length,
		})
		offset += length
	}
	return packed
}

// tracksFromReport returns the tracks that a bot packed, according to its report.
func tracksFromReport(report FinalReport) []PackedTrack {
	var tracks []PackedTrack
	for _, track := range report.PackedTracks {
		at := slices.IndexFunc(report.AudioTracks, func(reported ingest.AudioTrack) bool { return reported.Number == track.Number })
		if at < 0 {
			continue // its participant and its start are unknown
		}
		track.Attempt, track.StartedAt, track.PersonID = report.Attempt, report.AudioTracks[at].StartedAt, report.AudioTracks[at].PersonID
		tracks = append(tracks, track)
	}
	return tracks
}

// MediaMismatchError reports a finished file whose upload does not match the
// bot's report.
type MediaMismatchError struct {
	Name   string
	Reason string
}

func (e *MediaMismatchError) Error() string {
	return fmt.Sprintf("the report's media file %q: %s", e.Name, e.Reason)
}
