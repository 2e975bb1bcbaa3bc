package build

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// minShortening is the difference in length that counts as a loss. Containers
// round by a few frames.
const minShortening = 500 * time.Millisecond

// remux writes a part's segments to one file with an index. The piece has no path
// if the part is unusable.
func (p packing) remux(ctx context.Context, number int, part SourcePart) (piece, Loss, error) {
	source := filepath.Join(p.work, fmt.Sprintf("part-%03d.mp4", number))
	loss, err := concatSegments(ctx, part.Segments, source)
	if err != nil {
		return piece{}, "", err
	}
	defer os.Remove(source) // otherwise removed with the work folder
	if loss == LossBeginning || loss == LossUnusable {
		return piece{}, loss, nil
	}
	before, err := p.tools.probeFile(ctx, source)
	if rejectedInput(err) || err == nil && before.Duration <= 0 {
		return piece{}, LossUnusable, nil
	}
	if err != nil {
		return piece{}, "", err
	}
	target := filepath.Join(p.work, fmt.Sprintf("piece-%03d.mp4", number))
	// Video is the first stream, independent of the recorder's order. Without
	// -copyts, ffmpeg shifts all streams by the same time so that the earliest
	// begins at 0, and writes an edit list for a stream that begins later.
	limits, err := limitsForFiles(source)
	if err != nil {
		return piece{}, "", err
	}
	_, err = runTool(ctx, limits, p.tools.FFmpeg, "-nostdin", "-v", "error", "-y", "-format_whitelist", allowedFormats, "-i", source,
		"-map", "0:v:0?", "-map", "0:a:0?", "-c", "copy", "-map_metadata", "-1", "-movflags", "+faststart", target)
	if errors.Is(err, errToolLimit) {
		return piece{}, LossUnusable, nil
	}
	if err != nil {
		return piece{}, "", err
	}
	after, err := p.tools.probeFile(ctx, target)
	if err != nil {
		return piece{}, "", err
	}
	if loss == "" && before.Duration-after.Duration > minShortening {
		loss = LossShortened
	}
	return piece{path: target, media: after}, loss, nil
}

// concatSegments writes the segments before the first missing one to target, and
// removes an incomplete fragment from the end.
func concatSegments(ctx context.Context, segments []string, target string) (Loss, error) {
	file, err := os.OpenFile(target, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer file.Close() // a temporary file, read back below and by ffmpeg
	present := 0
	for _, segment := range segments {
		err := appendFile(ctx, file, segment)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return "", err
		}
		present++
	}
	if present == 0 {
		return LossBeginning, nil
	}
	length, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return "", err
	}
	found, err := scanFragments(file, length)
	if err != nil {
		return "", err
	}
	if !found.Header || found.Fragments == 0 {
		return LossUnusable, nil
	}
	if err := file.Truncate(found.End); err != nil {
		return "", err
	}
	switch {
	case present < len(segments):
		return LossSegments, nil
	case found.Truncated:
		return LossTorn, nil
	}
	return "", nil
}

// appendFile copies a file to the end of target. For the path "", it returns
// fs.ErrNotExist.
func appendFile(ctx context.Context, target io.Writer, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if path == "" {
		return fs.ErrNotExist
	}
	segment, err := os.Open(path)
	if err != nil {
		return err
	}
	defer segment.Close() // read only
	_, err = io.Copy(target, segment)
	return err
}

// concatPieces concatenates the pieces of a group and returns the path of the
// result.
func (p packing) concatPieces(ctx context.Context, group []piece, name string) (string, error) {
	if len(group) == 1 {
		return group[0].path, nil
	}
	var list strings.Builder
	var paths []string
	list.WriteString("ffconcat version 1.0\n")
	for _, piece := range group {
		paths = append(paths, piece.path)
		// This package sets the names, so they need no quoting. The duration
		// sets the start of the next piece, as PackedPart.Offset expects.
		fmt.Fprintf(&list, "file %s\nduration %dus\n", filepath.Base(piece.path), piece.media.Duration.Microseconds())
	}
	listPath := filepath.Join(p.work, name+".txt")
	if err := os.WriteFile(listPath, []byte(list.String()), 0o600); err != nil {
		return "", err
	}
	target := filepath.Join(p.work, name)
	// auto_convert would also write the decoder settings into the stream, which
	// avc1 forbids (ISO/IEC 14496-15). All pieces have the same settings. The
	// format that ffmpeg derives from the extension m4a does not allow Opus.
	limits, err := limitsForFiles(paths...)
	if err != nil {
		return "", err
	}
	_, err = runTool(ctx, limits, p.tools.FFmpeg, "-nostdin", "-v", "error", "-y",
		"-f", "concat", "-auto_convert", "0", "-format_whitelist", "concat,"+allowedFormats, "-i", listPath,
		"-map", "0", "-c", "copy", "-map_metadata", "-1", "-movflags", "+faststart", "-f", "mp4", target)
	return target, err
}

// fragmentScan describes a fragmented MP4 (ISO/IEC 14496-12, 8.8): a header
// (ftyp, moov) and fragments, each a moof with its mdat.
type fragmentScan struct {
	Header    bool  // the file begins with a complete header
	Fragments int   // number of complete fragments
	End       int64 // end of the last complete fragment
	Truncated bool  // an incomplete box or fragment follows End
}

// box is the header of an ISO base media box (ISO/IEC 14496-12, 4.2).
type box struct {
	Kind string
	Size int64 // including the header
}

// readBox reads the header of the box at offset of a file of the given length. It
// returns an error if the box extends beyond the end of the file.
func readBox(file io.ReaderAt, offset, length int64) (box, error) {
	var header [16]byte
	n, err := file.ReadAt(header[:], offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return box{}, err
	}
	if n < 8 {
		return box{}, errIncompleteBox
	}
	size, headerSize := int64(binary.BigEndian.Uint32(header[:4])), int64(8)
	if size == 1 {
		if n < 16 {
			return box{}, errIncompleteBox
		}
		size, headerSize = int64(binary.BigEndian.Uint64(header[8:])), 16 // an overflow is negative, and rejected below
	}
	kind := string(header[4:8])
	// Size 0 means "to the end of the file", so completeness cannot be
	// determined. A kind with unprintable characters is not a box header.
	if size < headerSize || size > length-offset || strings.ContainsFunc(kind, isUnprintable) {
		return box{}, errIncompleteBox
	}
	return box{Kind: kind, Size: size}, nil
}

func isUnprintable(r rune) bool { return r < ' ' || r > '~' }

var errIncompleteBox = errors.New("the box is incomplete")

// scanFragments reads the top-level boxes of a file up to the first incomplete one.
func scanFragments(file io.ReaderAt, length int64) (fragmentScan, error) {
	var found fragmentScan
	inFragment := false
	offset := int64(0)
	for offset < length {
		next, err := readBox(file, offset, length)
		if errors.Is(err, errIncompleteBox) {
			found.Truncated = true
			return found, nil
		}
		if err != nil {
			return fragmentScan{}, fmt.Errorf("read box: %w", err)
		}
		offset += next.Size
		switch next.Kind {
		case "moov":
			found.Header = true
			found.End = offset
		case "moof":
			inFragment = true
		case "mdat":
			if inFragment && found.Header {
				found.Fragments++
				found.End = offset
			}
			inFragment = false
		}
	}
	found.Truncated = inFragment
	return found, nil
}
