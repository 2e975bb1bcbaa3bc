package recording

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Packed is what became of the parts of a recording.
type Packed struct {
	Files  []File // in the folder that was packed into, under their names
	Parts  []PackedPart
	Tracks []PackedTrack
}

// PackedPart tells where a part is found, and what of it was lost.
type PackedPart struct {
	Attempt   int
	Number    int
	StartedAt time.Time
	File      string        // the name of the file it is in; empty when nothing of it was usable
	Offset    time.Duration // of its first moment in that file
	Length    time.Duration
	Loss      Loss // empty when all that was recorded of it is there
}

// Loss says what of a part could not be packed.
type Loss string

// The losses.
const (
	LossBeginning Loss = "beginning_missing" // no first segment: nothing of the part is readable
	LossUnusable  Loss = "unusable"          // no whole fragment, or nothing ffmpeg can read
	LossSegments  Loss = "segments_missing"  // the part was cut at a segment that is not there
	LossTorn      Loss = "torn"              // the last fragment was not whole and was cut
	LossShortened Loss = "shortened"         // packing kept less than was readable
)

// Partial reports whether anything was lost.
func (p Packed) Partial() bool { return len(p.Losses()) > 0 }

// Losses describes each loss.
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

// workPrefix begins the names of the folders that Pack works in.
const workPrefix = "packing-"

// Pack makes recording.mp4, or recording.m4a where there is no picture, in dir of the parts, in the order given: media
// copied as it is, the index in front, so that it plays and seeks in browsers.
// Parts follow one another without a pause; where one was encoded with
// other settings than the one before, which an MP4 cannot hold, a further file
// recording-2.mp4, … begins.
//
// A part ends at a segment that is not there; without its first segment
// nothing of it is usable. If nothing of any part is, the error is a
// NothingSavedError; if ffmpeg is not installed, a MissingToolError. Files
// appear in dir whole or not at all, and Pack may be interrupted and repeated,
// but not run twice at once in the same dir.
func Pack(ctx context.Context, parts []SourcePart, dir string) (Packed, error) {
	tools, err := FindTools()
	if err != nil {
		return Packed{}, fmt.Errorf("pack the recording: %w", err)
	}
	if err := removeAllWithPrefix(dir, workPrefix); err != nil {
		return Packed{}, fmt.Errorf("pack the recording: clear away an earlier run: %w", err)
	}
	work, err := os.MkdirTemp(dir, workPrefix)
	if err != nil {
		return Packed{}, fmt.Errorf("pack the recording: %w", err)
	}
	defer os.RemoveAll(work) // what stays is cleared away by the next run

	packing := packing{tools: tools, work: work, dir: dir}
	packed, err := packing.run(ctx, parts)
	if err != nil {
		return Packed{}, fmt.Errorf("pack the recording: %w", err)
	}
	return packed, nil
}

// removeAllWithPrefix removes everything in dir whose name begins with prefix.
func removeAllWithPrefix(dir, prefix string) error {
	stale, err := filepath.Glob(filepath.Join(escapeGlob(dir), prefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range stale {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// escapeGlob takes a path's characters literally.
func escapeGlob(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// packing is one run of Pack.
type packing struct {
	tools Tools
	work  string
	dir   string
}

// piece is a part as a file of its own.
type piece struct {
	path  string
	media probeResult
	part  int // its place in Packed.Parts
}

func (p packing) run(ctx context.Context, parts []SourcePart) (Packed, error) {
	var packed Packed
	var pieces []piece
	for number, part := range parts {
		position := PackedPart{Attempt: part.Attempt, Number: part.Number, StartedAt: part.StartedAt}
		piece, loss, err := p.remux(ctx, number, part)
		if err != nil {
			return Packed{}, fmt.Errorf("attempt %d, part %d: %w", part.Attempt, part.Number, err)
		}
		position.Loss = loss
		if piece.path != "" {
			piece.part = number
			position.Length = piece.media.Duration
			pieces = append(pieces, piece)
		}
		packed.Parts = append(packed.Parts, position)
	}
	if len(pieces) == 0 {
		return Packed{}, &NothingSavedError{Reasons: packed.Losses()}
	}
	for _, group := range groupPieces(pieces) {
		name := fileName(len(packed.Files), group[0].media)
		file, err := p.finishFile(ctx, group, name)
		if err != nil {
			return Packed{}, fmt.Errorf("%s: %w", name, err)
		}
		packed.Files = append(packed.Files, file)
		offset := time.Duration(0)
		for _, piece := range group {
			slot := &packed.Parts[piece.part]
			slot.File, slot.Offset = name, offset
			offset += slot.Length
		}
	}
	return packed, nil
}

// fileName names the recording's files: number 0 is the first.
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

// groupPieces groups neighbors that fit into one file.
func groupPieces(pieces []piece) [][]piece {
	var groups [][]piece
	for i, piece := range pieces {
		if i == 0 || !pieces[i-1].media.joins(piece.media) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], piece)
	}
	return groups
}

// finishFile makes one file of the group, moves it into dir under its name and
// describes it.
func (p packing) finishFile(ctx context.Context, group []piece, name string) (File, error) {
	source, err := p.concatPieces(ctx, group, name)
	if err != nil {
		return File{}, err
	}
	media, err := p.tools.probeFile(ctx, source)
	if err != nil {
		return File{}, err
	}
	length, sum, err := syncAndHash(source)
	if err != nil {
		return File{}, err
	}
	if err := os.Rename(source, filepath.Join(p.dir, name)); err != nil {
		return File{}, err
	}
	if err := syncDir(p.dir); err != nil {
		return File{}, err
	}
	file := File{
		Name: name, Kind: Audio, ContentType: "audio/mp4", Codecs: media.codecs(),
		Bytes: length, SHA256: sum, DurationMs: media.Duration.Round(time.Millisecond).Milliseconds(),
	}
	if picture, ok := media.stream("video"); ok {
		file.Kind, file.ContentType = Video, "video/mp4"
		file.Width, file.Height = picture.Width, picture.Height
	}
	return file, nil
}

// syncAndHash makes a file durable and returns its length and SHA-256.
func syncAndHash(path string) (length int64, sum string, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, "", err
	}
	defer file.Close() // synced
	hasher := sha256.New()
	length, err = io.Copy(hasher, file)
	if err != nil {
		return 0, "", err
	}
	if err := file.Sync(); err != nil {
		return 0, "", err
	}
	return length, hex.EncodeToString(hasher.Sum(nil)), nil
}
