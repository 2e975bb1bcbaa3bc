package recording

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"standin/internal/ingest"
)

// TrackSegment is a segment of a voice.
type TrackSegment struct {
	Track, Sequence int
	StartedAt       time.Time // the voice's beginning, whichever segment it is
	Data            []byte
}

// Bundle puts segments of several voices into one file: a tar archive, in which
// each stands under its ingest.VoiceSegmentName, with the time at which its voice
// began. So a bundle tells all that is needed even when no report came.
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
			return nil, fmt.Errorf("bundle voices: %w", err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("bundle voices: %w", err)
	}
	return bundle.Bytes(), nil
}

// unbundle puts a bundle's segments into a folder, as files whose time is their
// voice's beginning, as far as the bundle is readable.
func unbundle(path, folder string) error {
	bundle, err := os.Open(path)
	if err != nil {
		return err
	}
	defer bundle.Close() // read only
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
			continue
		}
		if err := extract(reader, filepath.Join(folder, header.Name), header.ModTime); err != nil {
			return fmt.Errorf("read %s from %s: %w", header.Name, filepath.Base(path), err)
		}
	}
}

// extract writes a segment, or leaves nothing of it.
func extract(content io.Reader, target string, at time.Time) error {
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Chtimes(target, time.Time{}, at)
	}
	if err != nil {
		return errors.Join(err, os.Remove(target))
	}
	return nil
}
