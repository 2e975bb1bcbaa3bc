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
