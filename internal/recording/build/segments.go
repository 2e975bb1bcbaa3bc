package build

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// minShortening is the difference in length that counts as a loss. Containers
// round by a few frames.
const minShortening = 500 * time.Millisecond

// maxPieces is the maximum number of pieces of a part. Only a faulty store makes more
// than one, and each costs a run of ffmpeg.
const maxPieces = 50

// remux writes a part's segments to files with an index: one for each run of segments
// without a hole. There are none if the part is unusable.
func (p packing) remux(ctx context.Context, part SourcePart) (pieces []piece, loss Loss, err error) {
	p.soundOnly = part.SoundOnly
	if part.Encoded != "" {
		*p.files++
		encoded := filepath.Join(p.work, fmt.Sprintf("piece-%03d.mp4", *p.files))
		if part.SoundOnly {
			p := p
			p.codecs = []string{"-c", "copy"}
			err = p.copyStreams(ctx, part.Encoded, encoded)
		} else {
			err = os.Rename(part.Encoded, encoded)
		}
		if err != nil {
			return nil, "", err
		}
		if media, err := p.tools.probeFile(ctx, encoded); err == nil && media.Duration > 0 {
			return []piece{{path: encoded, media: media}}, "", nil
		}
	}
	if part.Whole != "" {
		*p.files++
		found, loss, err := p.remuxFile(ctx, part.Whole, "")
		if err = errors.Join(err, os.Remove(part.Whole)); found.path != "" {
			pieces = []piece{found}
		}
		return pieces, loss, err
	}
	var header []byte
	var began time.Duration
	// The first run is empty if the first segment is missing.
	runs, complete := [][]string{nil}, len(part.Segments) > 0
	for _, segment := range part.Segments {
		if _, err := os.Stat(segment); segment != "" && err == nil {
			runs[len(runs)-1] = append(runs[len(runs)-1], segment)
			continue
		}
		complete = false
		if last := runs[len(runs)-1]; len(last) > 0 || len(runs) == 1 {
			runs = append(runs, nil)
		}
	}
	if last := len(runs) - 1; last > 0 && len(runs[last]) == 0 {
		runs = runs[:last]
	}
	for i, run := range runs[:min(len(runs), maxPieces)] {
		*p.files++
		source := filepath.Join(p.work, fmt.Sprintf("part-%03d.mp4", *p.files))
		var found piece
		var runLoss Loss
		if i == 0 {
			header, runLoss, err = concatSegments(ctx, run, source)
		} else {
			runLoss, err = concatAfterHole(ctx, header, run, source)
		}
		if err == nil && runLoss != LossUnusable && runLoss != LossBeginning {
			found, runLoss, err = p.remuxFile(ctx, source, runLoss)
		}
		var whole probeResult
		if err == nil && found.path != "" && len(runs) > 1 {
			whole, err = p.tools.probeFile(ctx, source)
		}
		if err := errors.Join(err, os.RemoveAll(source)); err != nil {
			return nil, "", err
		}
		switch {
		case i == 0 && found.path == "":
			return nil, runLoss, nil
		case i == 0:
			began, loss = whole.Start, runLoss
		}
		if found.path != "" {
			found.skipped = max(0, whole.Start-began)
			pieces = append(pieces, found)
		}
	}
	if !complete {
		loss = LossSegments
	}
	return pieces, loss, nil
}

// remuxFile writes a fragmented MP4 to a file with an index. The piece has no path if
// ffmpeg cannot read it.
func (p packing) remuxFile(ctx context.Context, source string, loss Loss) (piece, Loss, error) {
	target := filepath.Join(p.work, fmt.Sprintf("piece-%03d%s", *p.files, cmp.Or(p.extension, ".mp4")))
	var before probeResult // of a damaged source
	err := p.copyStreams(ctx, source, target, "-xerror")
	if RejectedInput(err) && !errors.Is(err, errToolLimit) {
		before, err = p.tools.probeFile(ctx, source)
		if RejectedInput(err) {
			return piece{}, LossUnusable, nil
		}
		if err == nil {
			err = p.copyStreams(ctx, source, target)
		}
	}
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
	if after.Duration <= 0 {
		return piece{}, LossUnusable, nil
	}
	if loss == "" && before.Duration-after.Duration > minShortening {
		loss = LossShortened
	}
	return piece{path: target, media: after}, loss, nil
}

// copyStreams writes the media of a file to one with an index. With the option -xerror,
// damage is an error; without it, what follows may be missing.
func (p packing) copyStreams(ctx context.Context, source, target string, options ...string) error {
	limits, err := limitsForFiles(source)
	if err != nil {
		return err
	}
	// Video is the first stream, independent of the recorder's order. Without
	// -copyts, ffmpeg shifts all streams by the same time so that the earliest
	// begins at 0, and writes an edit list for a stream that begins later.
	streams := []string{"-map", "0:v:0?", "-map", "0:a:0?"}
	if p.soundOnly {
		streams = streams[2:]
	}
	arguments := slices.Concat([]string{"-nostdin", "-v", "error", "-y"}, options, []string{"-format_whitelist", allowedFormats, "-i", source},
		streams, p.codecs, []string{"-map_metadata", "-1", "-movflags", "+faststart", target})
	_, err = runTool(ctx, limits, p.tools.FFmpeg, arguments...)
	return err
}

// concatSegments writes segments to target, and removes an incomplete fragment from the
// end. It returns the header of the MP4.
func concatSegments(ctx context.Context, segments []string, target string) (header []byte, loss Loss, err error) {
	file, err := os.OpenFile(target, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, "", err
	}
	defer file.Close() // a temporary file, read back below and by ffmpeg
	if len(segments) == 0 {
		return nil, LossBeginning, nil
	}
	if err := appendFiles(ctx, file, segments); err != nil {
		return nil, "", err
	}
	found, err := cutIncomplete(file)
	if err != nil {
		return nil, "", err
	}
	if !found.Header || found.Fragments == 0 {
		return nil, LossUnusable, nil
	}
	header = make([]byte, found.HeaderEnd)
	if _, err := file.ReadAt(header, 0); err != nil {
		return nil, "", err
	}
	if found.Truncated {
		loss = LossTorn
	}
	return header, loss, nil
}

// concatAfterHole writes segments that follow a hole to target: the header of their
// part, and the fragments from the first one that begins after the hole.
func concatAfterHole(ctx context.Context, header []byte, segments []string, target string) (Loss, error) {
	whole, err := os.OpenFile(target+".whole", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer os.Remove(whole.Name())
	defer whole.Close() // a temporary file, read back below
	if err := appendFiles(ctx, whole, segments); err != nil {
		return "", err
	}
	length, err := whole.Seek(0, io.SeekCurrent)
	if err != nil {
		return "", err
	}
	begin, ok, err := firstFragment(whole, length)
	if err != nil || !ok {
		return LossUnusable, err
	}
	file, err := os.OpenFile(target, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	defer file.Close() // a temporary file, read back below and by ffmpeg
	if _, err := file.Write(header); err != nil {
		return "", err
	}
	if _, err := io.Copy(file, io.NewSectionReader(whole, begin, length-begin)); err != nil {
		return "", err
	}
	found, err := cutIncomplete(file)
	if err == nil && found.Fragments == 0 {
		return LossUnusable, nil
	}
	return "", err
}

// firstFragment returns where the first complete fragment of a file begins that may
// begin within another one. It searches the first 64 MiB, which hold many fragments.
func firstFragment(file io.ReaderAt, length int64) (offset int64, ok bool, err error) {
	data := make([]byte, min(length, 64<<20))
	if _, err := file.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, false, err
	}
	for from := 4; from < len(data); {
		at := bytes.Index(data[from:], []byte("moof"))
		if at < 0 {
			break
		}
		offset = int64(from + at - 4)
		fragment, err := readBox(file, offset, length)
		if err == nil {
			var media box
			if media, err = readBox(file, offset+fragment.Size, length); err == nil && media.Kind == "mdat" {
				return offset, true, nil
			}
		}
		if err != nil && !errors.Is(err, errIncompleteBox) {
			return 0, false, err
		}
		from += at + 4
	}
	return 0, false, nil
}

// cutIncomplete removes what follows the last complete fragment of a file.
func cutIncomplete(file *os.File) (fragmentScan, error) {
	length, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return fragmentScan{}, err
	}
	found, err := scanFragments(file, length)
	if err != nil || !found.Header || found.Fragments == 0 {
		return found, err
	}
	return found, file.Truncate(found.End)
}

// appendFiles appends files to target.
func appendFiles(ctx context.Context, target io.Writer, paths []string) error {
	for _, path := range paths {
		if err := appendFile(ctx, target, path); err != nil {
			return err
		}
	}
	return nil
}

// appendFile copies a file to the end of target.
func appendFile(ctx context.Context, target io.Writer, path string) error {
	if err := ctx.Err(); err != nil {
		return err
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
	if len(group) == 1 && !group[0].raw && group[0].until == 0 {
		return group[0].path, nil
	}
	var list strings.Builder
	var paths []string
	list.WriteString("ffconcat version 1.0\n")
	for i, piece := range group {
		paths = append(paths, piece.path)
		length := piece.media.Duration
		if i+1 < len(group) {
			length = group[i+1].start - piece.start
		}
		// This package sets the names, so they need no quoting. The duration
		// sets the start of the next piece, as PackedPart.Offset expects.
		fmt.Fprintf(&list, "file %s\nduration %dus\n", filepath.Base(piece.path), length.Microseconds())
		if piece.until > 0 {
			fmt.Fprintf(&list, "outpoint %dus\n", piece.until.Microseconds())
		}
	}
	listPath := filepath.Join(p.work, name+".txt")
	if err := os.WriteFile(listPath, []byte(list.String()), 0o600); err != nil {
		return "", err
	}
	target := filepath.Join(p.work, name)
	// auto_convert would also write the decoder settings into the stream, which
	// avc1 forbids (ISO/IEC 14496-15). All pieces have the same settings. Without -copyts, what
	// the AAC encoder puts before the first sample would move all streams.
	limits, err := limitsForFiles(paths...)
	if err != nil {
		return "", err
	}
	_, err = runTool(ctx, limits, p.tools.FFmpeg, slices.Concat([]string{"-nostdin", "-v", "error", "-y",
		"-f", "concat", "-auto_convert", "0", "-format_whitelist", "concat," + allowedFormats,
		"-copyts", "-i", listPath, "-map", "0"}, p.codecs, []string{"-map_metadata", "-1"}, p.container, []string{target})...)
	return target, err
}

// fragmentScan describes a fragmented MP4 (ISO/IEC 14496-12, 8.8): a header
// (ftyp, moov) and fragments, each a moof with its mdat.
type fragmentScan struct {
	Header    bool // the file begins with a complete header
	HeaderEnd int64
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
			return fragmentScan{}, err
		}
		offset += next.Size
		switch next.Kind {
		case "moov":
			found.Header, found.HeaderEnd = true, offset
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
