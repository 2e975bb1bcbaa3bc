package build

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// SourceTrack is a participant's audio track to pack. Its concatenated segments
// are one fragmented MP4.
type SourceTrack struct {
	Attempt   int
	Number    int
	StartedAt time.Time
	PersonID  string // see ingest.AudioTrack
	Kind      recording.MediaKind
	Segments  []string // see SourcePart
	Whole     string   // see SourcePart

	OwnedUntil time.Time // see ingest.AudioTrack
}

// PackedTrack describes which file contains a track.
type PackedTrack struct {
	Attempt   int       `json:"-"`
	Number    int       `json:"number"`
	StartedAt time.Time `json:"-"`
	PersonID  string    `json:"-"`
	File      string    `json:"file,omitempty"`     // empty when the track is unusable
	LengthMs  int64     `json:"lengthMs,omitempty"` // of a picture in a file with several
	Loss      Loss      `json:"loss,omitempty"`     // see PackedPart
}

// FindTracks returns an attempt's tracks: from its bundles, which it extracts
// into folder, and from its report. It logs a damaged bundle, whose remaining
// segments are then missing.
func FindTracks(bundles []string, folder string, attempt int, report ingest.Report, log *slog.Logger) ([]SourceTrack, error) {
	for _, bundle := range bundles {
		if err := unbundle(bundle, folder); err != nil {
			log.Warn("cannot read a bundle of participant audio", "attempt", attempt, "error", err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	tracks := make([]SourceTrack, 0, min(len(report.AudioTracks), ingest.MaxAudioTracks))
	track := func(number int) *SourceTrack {
		index, known := slices.BinarySearchFunc(tracks, number, func(t SourceTrack, n int) int { return cmp.Compare(t.Number, n) })
		if !known {
			tracks = slices.Insert(tracks, index, SourceTrack{Attempt: attempt, Number: number})
		}
		return &tracks[index]
	}
	incomplete := map[int]bool{}
	for _, entry := range entries { // sorted by name, which is the recording order
		number, sequence, ok := ingest.ParseTrackSegmentName(entry.Name())
		if !ok {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		found := track(number)
		found.StartedAt = info.ModTime()
		if sequence == len(found.Segments) {
			found.Segments = append(found.Segments, filepath.Join(folder, entry.Name()))
		} else {
			incomplete[number] = true
		}
	}
	for _, reported := range report.AudioTracks {
		if reported.Segments == 0 || reported.Number < 0 || reported.Number >= ingest.MaxAudioTracks {
			continue
		}
		found := track(reported.Number)
		found.report(reported)
		if reported.Segments > len(found.Segments) {
			incomplete[reported.Number] = true
		}
	}
	for number := range incomplete {
		track(number).Segments = append(track(number).Segments, "")
	}
	return tracks, nil
}

// report sets what an attempt has reported of the track.
func (t *SourceTrack) report(r ingest.AudioTrack) {
	t.StartedAt, t.PersonID, t.Kind, t.OwnedUntil = r.StartedAt, r.PersonID, recording.MediaKind(r.Kind), r.OwnedUntil
}

// copyTracks are the codecs of tracks. ffmpeg does not know how long a frame of FLAC in a fragment is, and would drop the
// last one of a file.
var copyTracks = []string{
	"-c", "copy", "-strict", "experimental",
	"-bsf:a", fmt.Sprintf(`setts=duration=if(DURATION\,DURATION\,%d/%d/TB)`, ingest.FLACFrameSamples, ingest.SoundRate),
}

// PackTracks packs each track into a file in dir, as Pack does with parts, and adds the files to packed: the largest, which are
// pictures, are made first, and finished is called with each. A track that cannot be packed is a Loss instead of an error,
// because the recording is not affected.
func PackTracks(ctx context.Context, packed *Packed, tracks []SourceTrack, dir string, log *slog.Logger,
	finished func(recording.File) error,
) error {
	if len(tracks) == 0 {
		return nil
	}
	tools, err := FindTools()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(dir, workPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) // the next run removes what is left
	packing := packing{tools: tools, work: work, dir: dir, files: new(int), codecs: copyTracks, container: mp4File}
	var pictures, sounds []SourceTrack
	for _, track := range tracks {
		if track.Kind == recording.ParticipantVideo || track.Kind == recording.ScreenShare {
			pictures = append(pictures, track)
		} else {
			sounds = append(sounds, track)
		}
	}
	if err := packing.packPictures(ctx, packed, pictures, log, finished); err != nil {
		return err
	}
	for _, track := range sounds {
		file, loss, err := packing.packTrack(ctx, track, packed.Files)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			log.Warn("cannot pack a participant's audio", "attempt", track.Attempt, "track", track.Number, "error", err)
			loss = LossUnusable
		}
		packed.Tracks = append(packed.Tracks, PackedTrack{
			Attempt: track.Attempt, Number: track.Number, StartedAt: track.StartedAt, PersonID: track.PersonID,
			File: file.Name, Loss: loss,
		})
		if file.Name != "" {
			packed.Files = append(packed.Files, file)
			if err := finished(file); err != nil {
				return err
			}
		}
	}
	return nil
}

// packTrack packs one track, up to its first missing segment: other positions would not
// be those of the recording. The file has no name if the track is unusable.
func (p packing) packTrack(ctx context.Context, track SourceTrack, others []recording.File) (file recording.File, loss Loss, err error) {
	if track.StartedAt.IsZero() {
		return file, LossUnusable, errors.New("its start is unknown")
	}
	packed, loss, err := p.remux(ctx, SourcePart{Segments: track.Segments, Whole: track.Whole})
	if err != nil || len(packed) == 0 {
		return file, loss, err
	}
	file, err = p.finishFile(ctx, packed[:1], uniqueName(fmt.Sprintf("participant-%03d.m4a", track.Number+1), others))
	file.Kind = recording.ParticipantAudio
	return file, loss, err
}

// TrackSegment is a segment of a participant's audio track.
type TrackSegment struct {
	Track, Sequence int
	StartedAt       time.Time // start of the whole track
	Data            []byte
}

// TrackFiles are files to which the segments of tracks are appended while they are recorded, so that little is left to do when
// the meeting ends.
type TrackFiles struct {
	Folder string

	mu       sync.Mutex
	segments map[int]int // of each track
}

// Append appends segments.
func (f *TrackFiles) Append(segments []TrackSegment) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.segments == nil {
		f.segments = make(map[int]int)
		_ = os.MkdirAll(f.Folder, 0o700) // without it, no file can be opened
	}
	for _, s := range segments {
		if f.segments[s.Track] != s.Sequence {
			continue
		}
		f.segments[s.Track] = -1
		file, err := os.OpenFile(f.path(s.Track), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		_, err = file.Write(s.Data)
		if err := errors.Join(err, file.Close()); err != nil {
			return errors.Join(err, os.Remove(file.Name()))
		}
		f.segments[s.Track] = s.Sequence + 1
	}
	return nil
}

func (f *TrackFiles) path(track int) string {
	return filepath.Join(f.Folder, fmt.Sprintf("track-%04d", track))
}

// Tracks returns an attempt's tracks, and whether the files have all of their segments.
func (f *TrackFiles) Tracks(attempt int, report ingest.Report) (tracks []SourceTrack, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, reported := range report.AudioTracks {
		if f.segments[reported.Number] != reported.Segments {
			return nil, false
		}
		if reported.Segments > 0 {
			track := SourceTrack{Attempt: attempt, Number: reported.Number, Whole: f.path(reported.Number)}
			track.report(reported)
			tracks = append(tracks, track)
		}
	}
	return tracks, true
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
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
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
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return header.Typeflag == tar.TypeGNUSparse
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
