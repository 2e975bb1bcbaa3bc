package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"standin/internal/ingest"
)

// SourceTrack is a participant's audio track to pack. Its concatenated segments
// are one fragmented MP4.
type SourceTrack struct {
	Attempt   int
	Number    int
	StartedAt time.Time
	PersonID  string   // as in ingest.AudioTrack
	Segments  []string // as in SourcePart
}

// PackedTrack describes which file contains a track.
type PackedTrack struct {
	Attempt   int       `json:"-"`
	Number    int       `json:"number"`
	StartedAt time.Time `json:"-"`
	PersonID  string    `json:"-"`
	File      string    `json:"file,omitempty"` // empty when the track is unusable
	Loss      Loss      `json:"loss,omitempty"` // as in PackedPart
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
		return nil, fmt.Errorf("list the segments of participant audio: %w", err)
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
			return nil, fmt.Errorf("list the segments of participant audio: %w", err)
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
		found.StartedAt, found.PersonID = reported.StartedAt, reported.PersonID
		if reported.Segments > len(found.Segments) {
			incomplete[reported.Number] = true
		}
	}
	for number := range incomplete { // packing ends at the first missing segment, so one is enough
		track(number).Segments = append(track(number).Segments, "")
	}
	return tracks, nil
}

// PackTracks packs each track into a file in dir, as Pack does with parts, and
// adds the files to packed. A track that cannot be packed is a Loss instead of an
// error, because the recording is not affected.
func PackTracks(ctx context.Context, packed *Packed, tracks []SourceTrack, dir string, log *slog.Logger) error {
	if len(tracks) == 0 {
		return nil
	}
	tools, err := FindTools()
	if err != nil {
		return fmt.Errorf("pack participant audio: %w", err)
	}
	work, err := os.MkdirTemp(dir, workPrefix)
	if err != nil {
		return fmt.Errorf("pack participant audio: %w", err)
	}
	defer os.RemoveAll(work) // on failure, the next run removes it
	packing := packing{tools: tools, work: work, dir: dir}
	for index, track := range tracks {
		file, loss, err := packing.packTrack(ctx, index, track, packed.Files)
		if ctx.Err() != nil {
			return fmt.Errorf("pack participant audio: %w", ctx.Err())
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
		}
	}
	return nil
}

// packTrack packs one track. The file has no name if the track is unusable.
func (p packing) packTrack(ctx context.Context, index int, track SourceTrack, others []File) (File, Loss, error) {
	if track.StartedAt.IsZero() {
		return File{}, LossUnusable, errors.New("its start is unknown")
	}
	packed, loss, err := p.remux(ctx, index, SourcePart{Segments: track.Segments})
	if err != nil || packed.path == "" {
		return File{}, loss, err
	}
	file, err := p.finishFile(ctx, []piece{packed}, uniqueName(fmt.Sprintf("participant-%03d.m4a", track.Number+1), others))
	if err != nil {
		return File{}, loss, err
	}
	file.Kind = ParticipantAudio
	return file, loss, nil
}
