package recording

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// fragmentScan describes a fragmented MP4 (ISO/IEC 14496-12, 8.8): a header
// (ftyp, moov) and fragments, each a moof with its mdat.
type fragmentScan struct {
	Header    bool  // it begins with a whole header
	Fragments int   // whole ones
	End       int64 // where the last whole fragment ends
	Truncated bool  // something is begun after End, and not whole
}

// box is the head of an ISO base media box (ISO/IEC 14496-12, 4.2).
type box struct {
	Kind string
	Size int64 // with the head
}

// readBox reads the head of the box at offset of a file of the given length.
// A box that does not fit into the file is an error.
func readBox(file io.ReaderAt, offset, length int64) (box, error) {
	var head [16]byte
	n, err := file.ReadAt(head[:], offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return box{}, err
	}
	if n < 8 {
		return box{}, errIncompleteBox
	}
	size, headSize := int64(binary.BigEndian.Uint32(head[:4])), int64(8)
	if size == 1 {
		if n < 16 {
			return box{}, errIncompleteBox
		}
		size, headSize = int64(binary.BigEndian.Uint64(head[8:])), 16 // one that overflows is negative, and refused below
	}
	kind := string(head[4:8])
	// Size 0, "to the end of the file", never ends: it cannot be told whole. A
	// kind that cannot be typed is none: the bytes are out of step.
	if size < headSize || size > length-offset || strings.ContainsFunc(kind, unprintable) {
		return box{}, errIncompleteBox
	}
	return box{Kind: kind, Size: size}, nil
}

func unprintable(r rune) bool { return r < ' ' || r > '~' }

var errIncompleteBox = errors.New("the box is not whole")

// scanFragments walks the top-level boxes of a file as far as they are whole.
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
