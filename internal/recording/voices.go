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

// SourceTrack is a voice that is to be packed: its segments, put one behind the
// other, are one fragmented MP4.
type SourceTrack struct {
	Attempt   int
	Number    int
	StartedAt time.Time
	PersonID  string   // as in ingest.Voice
	Segments  []string // as in SourcePart
}

// PackedTrack tells in which file a voice is.
type PackedTrack struct {
	Attempt   int       `json:"-"`
	Number    int       `json:"number"`
	StartedAt time.Time `json:"-"`
	PersonID  string    `json:"-"`
	File      string    `json:"file,omitempty"` // empty when nothing of it was usable
	Loss      Loss      `json:"loss,omitempty"` // as in PackedPart
}

// VoicesIn finds an attempt's voices in the bundles of its segments, and those
// that its report tells of. It works in folder. What of a bundle is unreadable
// goes to the log: the voices end before it.
func FindTracks(bundles []string, folder string, attempt int, report ingest.Report, log *slog.Logger) ([]SourceTrack, error) {
	for _, bundle := range bundles {
		if err := unbundle(bundle, folder); err != nil {
			log.Warn("a bundle of participants' own sound is unreadable", "attempt", attempt, "error", err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("look for voices: %w", err)
	}
	found := make([]SourceTrack, 0, len(report.AudioTracks))
	voice := func(number int) *SourceTrack {
		at, known := slices.BinarySearchFunc(found, number, func(v SourceTrack, n int) int { return cmp.Compare(v.Number, n) })
		if !known {
			found = slices.Insert(found, at, SourceTrack{Attempt: attempt, Number: number})
		}
		return &found[at]
	}
	holed := map[int]bool{}
	for _, entry := range entries { // by name, so in the order of recording
		number, sequence, ok := ingest.ParseTrackSegmentName(entry.Name())
		if !ok {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, fmt.Errorf("look for voices: %w", err)
		}
		spoken := voice(number)
		spoken.StartedAt = info.ModTime()
		if sequence == len(spoken.Segments) {
			spoken.Segments = append(spoken.Segments, filepath.Join(folder, entry.Name()))
		} else {
			holed[number] = true
		}
	}
	for _, told := range report.AudioTracks {
		if told.Segments == 0 || told.Number < 0 || told.Number >= ingest.MaxAudioTracks {
			continue
		}
		spoken := voice(told.Number)
		spoken.StartedAt, spoken.PersonID = told.StartedAt, told.PersonID
		if told.Segments > len(spoken.Segments) {
			holed[told.Number] = true
		}
	}
	for number := range holed { // a voice ends at its first hole: one is enough
		voice(number).Segments = append(voice(number).Segments, "")
	}
	return found, nil
}

// PackVoices makes a file in dir of each voice, as Pack does of stretches, and
// adds them to packed. A voice that cannot be packed is a loss, and no reason to
// end: the recording itself is not spoiled by it. Only ctx ends it.
func PackTracks(ctx context.Context, packed *Packed, voices []SourceTrack, dir string, log *slog.Logger) error {
	if len(voices) == 0 {
		return nil
	}
	tools, err := FindTools()
	if err != nil {
		return fmt.Errorf("pack participants' own sound: %w", err)
	}
	work, err := os.MkdirTemp(dir, workPrefix)
	if err != nil {
		return fmt.Errorf("pack participants' own sound: %w", err)
	}
	defer os.RemoveAll(work) // what stays is cleared away by the next run
	packing := packing{tools: tools, work: work, dir: dir}
	for number, voice := range voices {
		file, loss, err := packing.voice(ctx, number, voice, packed.Files)
		if ctx.Err() != nil {
			return fmt.Errorf("pack participants' own sound: %w", ctx.Err())
		}
		if err != nil {
			log.Warn("a participant's own sound cannot be packed", "attempt", voice.Attempt, "voice", voice.Number, "error", err)
			loss = LossUnusable
		}
		packed.Tracks = append(packed.Tracks, PackedTrack{
			Attempt: voice.Attempt, Number: voice.Number, StartedAt: voice.StartedAt, PersonID: voice.PersonID,
			File: file.Name, Loss: loss,
		})
		if file.Name != "" {
			packed.Files = append(packed.Files, file)
		}
	}
	return nil
}

// voice packs one voice. A file without a name means that nothing was usable.
func (p packing) voice(ctx context.Context, number int, voice SourceTrack, others []File) (File, Loss, error) {
	if voice.StartedAt.IsZero() {
		return File{}, LossUnusable, errors.New("nothing tells when it began")
	}
	made, loss, err := p.remux(ctx, number, SourcePart{Segments: voice.Segments})
	if err != nil || made.path == "" {
		return File{}, loss, err
	}
	file, err := p.finish(ctx, []piece{made}, freeName(fmt.Sprintf("participant-%03d.m4a", voice.Number+1), others))
	if err != nil {
		return File{}, loss, err
	}
	file.Kind = ParticipantAudio
	return file, loss, nil
}
