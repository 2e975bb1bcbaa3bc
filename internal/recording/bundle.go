package recording

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"standin/internal/ingest"
)

// TrackSegment is a segment of a participant's audio track.
type TrackSegment struct {
	Track, Sequence int
	StartedAt       time.Time // of the track, not of the segment
	Data            []byte
}

// Bundle writes segments of several tracks into a tar archive. An entry's name
// is its ingest.TrackSegmentName and its time the start of its track, so that a
// bundle can be read without a report.
func Bundle(segments []TrackSegment) ([]byte, error) {
	var bundle bytes.Buffer
	writer := tar.NewWriter(&bundle)
	for _, segment := range segments {
		err := writer.WriteHeader(&tar.Header{
			Name: ingest.TrackSegmentName(segment.Track, segment.Sequence), Mode: 0o600,
			Size: int64(len(segment.Data)), ModTime: segment.StartedAt, Format: tar.FormatPAX,
		})
		if err == nil {
			_, err = writer.Write(segment.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("write a bundle of participant audio: %w", err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("write a bundle of participant audio: %w", err)
	}
	return bundle.Bytes(), nil
}

// unbundle extracts a bundle's segments into a folder, up to the first error. A
// file's modification time is the start of its track. Bundles come from bots,
// so everything extracted is bounded by the bundle's size: sparse entries, which
// expand to any size, are refused.
func unbundle(path, folder string) error {
	bundle, err := os.Open(path)
	if err != nil {
		return err
	}
	defer bundle.Close()
	info, err := bundle.Stat()
	if err != nil {
		return err
	}
	remaining := info.Size()
	reader := tar.NewReader(bundle)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", filepath.Base(path), err)
		}
		if _, _, ok := ingest.ParseTrackSegmentName(header.Name); !ok || header.Typeflag != tar.TypeReg {
			if isSparse(header) {
				return fmt.Errorf("read %s: sparse entry %q", filepath.Base(path), header.Name)
			}
			continue
		}
		if isSparse(header) || header.Size > remaining {
			return fmt.Errorf("read %s: entry %q of %d bytes is sparse or larger than the bundle", filepath.Base(path), header.Name, header.Size)
		}
		remaining -= header.Size
		if err := extract(reader, header, filepath.Join(folder, header.Name)); err != nil {
			return fmt.Errorf("read %s from %s: %w", header.Name, filepath.Base(path), err)
		}
	}
}

// isSparse reports whether an entry has holes that archive/tar fills with zeros.
func isSparse(header *tar.Header) bool {
	return header.Typeflag == tar.TypeGNUSparse || slices.ContainsFunc(slices.Collect(maps.Keys(header.PAXRecords)), func(key string) bool {
		return strings.HasPrefix(key, "GNU.sparse.")
	})
}

// extract writes an entry to target, or removes target on error.
func extract(content io.Reader, header *tar.Header, target string) error {
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(file, content, header.Size)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Chtimes(target, time.Time{}, header.ModTime)
	}
	if err != nil {
		return errors.Join(err, os.Remove(target))
	}
	return nil
}
