package build

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"standin/internal/base/fsutil"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// Packed is the result of packing the parts and tracks of a recording.
type Packed struct {
	Files  []recording.File // named as in the target folder
	Parts  []PackedPart
	Tracks []PackedTrack
}

// PackedPart describes where a part is stored, or a piece of it, and its losses.
type PackedPart struct {
	Attempt   int
	Number    int
	StartedAt time.Time     // of the piece
	Skipped   time.Duration // of the part, before this piece of it: the part has several if segments are missing
	File      string        // name of the file that contains it; empty when it is unusable
	Offset    time.Duration // position of the part in the file
	Length    time.Duration
	Loss      Loss // empty when the part is complete
}

// Loss is the reason why a part was not packed completely.
type Loss string

// The losses.
const (
	LossBeginning Loss = "beginning_missing" // the first segment is missing: the part is unreadable
	LossUnusable  Loss = "unusable"          // it has no complete fragment, or ffmpeg cannot read it
	LossSegments  Loss = "segments_missing"  // segments are missing: the part is in several pieces, or ends early
	LossTorn      Loss = "torn"              // the last fragment was incomplete and was removed
	LossShortened Loss = "shortened"         // the packed part is shorter than the readable media
)

// Partial reports whether anything was lost.
func (p Packed) Partial() bool { return len(p.Losses()) > 0 }

// Losses returns a description of each loss.
func (p Packed) Losses() []string {
	var losses []string
	for _, part := range p.Parts {
		if part.Loss != "" {
			losses = append(losses, fmt.Sprintf("attempt %d, part %d: %s", part.Attempt, part.Number, part.Loss))
		}
	}
	for _, track := range p.Tracks {
		if track.Loss != "" {
			losses = append(losses, fmt.Sprintf("attempt %d, track %d: %s", track.Attempt, track.Number, track.Loss))
		}
	}
	return losses
}

// workPrefix is the name prefix of Pack's temporary folders.
const workPrefix = "packing-"

// Pack packs the parts, in the given order, into recording.mp4 in dir, or into
// recording.m4a if there is no video. It copies the video and encodes the audio.
// What is missing between two parts is silence and the last picture, but for the pauses in reports. A part
// with other encoder settings than the previous one, which an MP4 cannot contain, starts a
// new file: recording-2.mp4 and so on.
//
// A part with missing segments is packed in pieces, each with a PackedPart; without its
// first segment it is unusable. If all parts are unusable, the error is a NothingSavedError; if
// ffmpeg is not installed, a MissingToolError. Only complete files appear in
// dir; they are not synced to the disk, since they can be packed again. Pack may be
// interrupted and repeated, but must not run concurrently in the same dir.
func Pack(ctx context.Context, parts []SourcePart, reports []ingest.Report, dir string) (packed Packed, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("pack the recording: %w", err)
		}
	}()
	tools, err := FindTools()
	if err != nil {
		return packed, err
	}
	if err := removeAllWithPrefix(dir, workPrefix); err != nil {
		return packed, err
	}
	work, err := os.MkdirTemp(dir, workPrefix)
	if err != nil {
		return packed, err
	}
	defer os.RemoveAll(work) // the next run removes what is left
	p := packing{tools: tools, work: work, dir: dir, files: new(int), codecs: encodeAudio, container: mp4File}
	paused := pauses(reports)
	var pieces []piece
	for _, part := range parts {
		found, loss, err := p.remux(ctx, part)
		if err != nil {
			return Packed{}, fmt.Errorf("attempt %d, part %d: %w", part.Attempt, part.Number, err)
		}
		result := PackedPart{Attempt: part.Attempt, Number: part.Number, StartedAt: part.StartedAt, Loss: loss}
		if len(found) == 0 {
			packed.Parts = append(packed.Parts, result)
		}
		for _, piece := range found {
			piece.part = len(packed.Parts)
			result.Skipped, result.Length = piece.skipped, piece.media.Duration
			if !part.StartedAt.IsZero() {
				result.StartedAt = part.StartedAt.Add(piece.skipped)
			}
			pieces = append(pieces, piece)
			packed.Parts = append(packed.Parts, result)
		}
	}
	if len(pieces) == 0 {
		return Packed{}, &NothingSavedError{Reasons: packed.Losses()}
	}
	var groups [][]piece // adjacent pieces that can be joined into one file
	for i, piece := range pieces {
		if i == 0 || !pieces[i-1].media.joins(piece.media) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], piece)
	}
	for _, group := range groups {
		name := fileName(len(packed.Files), group[0].media)
		end, ended := time.Duration(0), time.Time{} // of the piece before
		for i := range group {
			part := &packed.Parts[group[i].part]
			if missing := part.StartedAt.Sub(ended); i > 0 && !ended.IsZero() && !part.StartedAt.IsZero() && missing >= shortestGap {
				for _, pause := range paused {
					missing -= max(0, job.Earliest(pause.To, part.StartedAt).Sub(job.Latest(pause.From, ended)))
				}
				end += max(0, missing)
			}
			part.File, part.Offset, group[i].start = name, end, end
			end += part.Length
			if ended = (time.Time{}); !part.StartedAt.IsZero() {
				ended = recordedUntil(part.StartedAt, part.Length, paused)
			}
		}
		file, err := p.finishFile(ctx, group, name)
		if err != nil {
			return Packed{}, fmt.Errorf("%s: %w", name, err)
		}
		packed.Files = append(packed.Files, file)
	}
	return packed, nil
}

// removeAllWithPrefix removes everything in dir whose name begins with prefix.
func removeAllWithPrefix(dir, prefix string) error {
	paths, err := filepath.Glob(filepath.Join(strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(dir), prefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// packing is one run of Pack.
type packing struct {
	tools Tools
	work  string
	dir   string
	files *int // written to work, for their names

	codecs, container []string // arguments of ffmpeg
	extension         string   // of pieces; empty: .mp4
	soundOnly         bool
}

// mp4File are the arguments of ffmpeg for the usual container.
var mp4File = []string{"-movflags", "+faststart", "-f", "mp4"}

// piece is a part, or what is between two holes of it, that was written to a separate
// file.
type piece struct {
	path    string
	media   probeResult
	skipped time.Duration // of the part, before the piece
	part    int           // index in Packed.Parts
	start   time.Duration // in the file
	until   time.Duration // what follows in the piece is left out; 0: nothing
	raw     bool          // it has no index yet
}

// fileName returns the name of a file of the recording; number 0 is the first.
func fileName(number int, media probeResult) string {
	extension := ".mp4"
	if _, picture := media.stream("video"); !picture {
		extension = ".m4a"
	}
	if number == 0 {
		return "recording" + extension
	}
	return fmt.Sprintf("recording-%d%s", number+1, extension)
}

// finishFile joins a group of pieces into one file, moves it to dir and describes
// it.
func (p packing) finishFile(ctx context.Context, group []piece, name string) (file recording.File, err error) {
	source, err := p.concatPieces(ctx, group, name)
	if err != nil {
		return file, err
	}
	media := group[0].media
	if source != group[0].path {
		if media, err = p.tools.probeFile(ctx, source); err != nil {
			return file, err
		}
	}
	if file, err = describe(source, name, media); err != nil {
		return file, err
	}
	return file, os.Rename(source, filepath.Join(p.dir, name))
}

// describe returns the entry of a file in the manifest.
func describe(path, name string, media probeResult) (file recording.File, err error) {
	length, sum, err := fsutil.HashFile(path)
	file = recording.File{
		Name: name, Kind: recording.Audio, ContentType: "audio/mp4", Codecs: media.codecs(),
		Bytes: length, SHA256: sum, DurationMs: media.Duration.Round(time.Millisecond).Milliseconds(),
	}
	if picture, ok := media.stream("video"); ok {
		file.Kind, file.ContentType = recording.Video, "video/"+strings.TrimPrefix(filepath.Ext(name), ".")
		file.Width, file.Height = picture.Width, picture.Height
	}
	return file, err
}

// SourcePart is a recording part to pack. Its concatenated segments are one
// fragmented MP4.
type SourcePart struct {
	Attempt   int
	Number    int
	StartedAt time.Time // zero when no report has it
	Segments  []string  // files in recording order; "" or a missing file stands for missing segments
	Encoded   string    // the part as an Encoder has packed it; empty if it was not
	SoundOnly bool      // its picture is not packed
	Whole     string    // file with all segments, which is removed, instead of Segments
}

// FindParts returns an attempt's parts: from the segments in a folder, named by
// ingest.SegmentName, and from the attempt's report, which may be the zero
// Report.
func FindParts(folder string, attempt int, report ingest.Report) ([]SourcePart, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var parts []SourcePart
	indexes := map[int]int{} // part number to index
	part := func(number int) *SourcePart {
		index, known := indexes[number]
		if !known {
			index = len(parts)
			indexes[number] = index
			parts = append(parts, SourcePart{Attempt: attempt, Number: number})
		}
		return &parts[index]
	}
	next := map[int]int{}           // sequence of the segment after the last one, by part
	for _, entry := range entries { // sorted by name, which is the recording order
		number, sequence, ok := ingest.ParseSegmentName(entry.Name())
		if !ok {
			continue
		}
		found := part(number)
		if sequence > next[number] {
			found.Segments = append(found.Segments, "")
		}
		found.Segments = append(found.Segments, filepath.Join(folder, entry.Name()))
		next[number] = sequence + 1
	}
	for _, reported := range report.Parts {
		if isEmpty(reported) {
			continue
		}
		found := part(reported.Number)
		found.StartedAt, found.SoundOnly = reported.StartedAt, reported.SoundOnly
		if reported.Segments > next[reported.Number] {
			found.Segments = append(found.Segments, "")
		}
	}
	slices.SortFunc(parts, func(a, b SourcePart) int { return cmp.Compare(a.Number, b.Number) })
	return parts, nil
}

// isEmpty reports whether a part ended normally without any segment.
func isEmpty(part ingest.RecordingPart) bool { return part.Complete && part.Segments == 0 }

// uniqueName returns the name, with a suffix if another file has it.
func uniqueName(name string, others []recording.File) string {
	unique := name
	for number := 2; slices.ContainsFunc(others, func(file recording.File) bool { return file.Name == unique }); number++ {
		extension := path.Ext(name)
		unique = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, extension), number, extension)
	}
	return unique
}
