package build

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

	"standin/internal/recording"
)

const (
	// minPictureGap is how long a participant must send no video for a gap of his file.
	minPictureGap = time.Second
	// minUnknown is how long the video of an unknown participant must be to be kept.
	minUnknown = 2 * time.Second
)

// packPictures packs the video of each participant, and what he shares, into one file for each codec. Nothing is
// encoded. Between two tracks, the last picture is shown. A track whose participant is unknown has a file of its own.
func (p packing) packPictures(ctx context.Context, packed *Packed, tracks []SourceTrack, log *slog.Logger,
	finished func(recording.File) error,
) error {
	type picture struct {
		piece
		result int // index in packed.Tracks
		source SourceTrack
	}
	var groups [][]picture
	slices.SortStableFunc(tracks, func(a, b SourceTrack) int { return a.StartedAt.Compare(b.StartedAt) })
	for _, track := range tracks {
		*p.files++
		found, loss, err := p.remuxPicture(ctx, track)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			log.Warn("cannot read a participant's video", "attempt", track.Attempt, "track", track.Number, "error", err)
			loss = LossUnusable
		} else if loss == "" && slices.Contains(track.Segments, "") {
			loss = LossSegments
		}
		length := found.media.Duration
		if owned := track.OwnedUntil.Sub(track.StartedAt); !track.OwnedUntil.IsZero() && owned < length {
			found.until, length = max(owned, 0), max(owned, 0)
		}
		packed.Tracks = append(packed.Tracks, PackedTrack{
			Attempt: track.Attempt, Number: track.Number, StartedAt: track.StartedAt, PersonID: track.PersonID, Loss: loss,
			LengthMs: length.Milliseconds(),
		})
		if stream, ok := found.media.stream("video"); !ok || length == 0 || track.StartedAt.IsZero() ||
			track.PersonID == "" && length < minUnknown {
			continue
		} else if stream.Codec != "h264" { // its settings are in its key frames, and its size may change, but not its shape
			shape := (5*stream.Width + stream.Height/2) / max(stream.Height, 1)
			found.media.Streams = []probeStream{{Type: stream.Type, Codec: stream.Codec, Width: shape}}
		}
		group := slices.IndexFunc(groups, func(g []picture) bool {
			first := g[0].source
			return track.PersonID != "" && first.PersonID == track.PersonID && first.Attempt == track.Attempt && first.Kind == track.Kind &&
				g[0].media.joins(found.media)
		})
		if group < 0 {
			group, groups = len(groups), append(groups, nil)
		} else {
			found.start = track.StartedAt.Sub(groups[group][0].source.StartedAt)
		}
		groups[group] = append(groups[group], picture{found, len(packed.Tracks) - 1, track})
	}
	for _, group := range groups {
		first := group[0].source
		name, container := fmt.Sprintf("video-%03d", first.Number+1), mp4File
		if first.Kind == recording.ScreenShare {
			name = fmt.Sprintf("screen-%03d", first.Number+1)
		}
		if stream, _ := group[0].media.stream("video"); stream.Codec == "h264" {
			name += ".mp4"
		} else {
			name, container = name+".webm", []string{"-f", "webm"}
		}
		p.container = container
		pieces := make([]piece, len(group))
		for i, one := range group {
			pieces[i] = one.piece
		}
		file, err := p.finishFile(ctx, pieces, uniqueName(name, packed.Files))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, one := range group {
			result := &packed.Tracks[one.result]
			if result.File = file.Name; err != nil {
				result.File, result.Loss = "", LossUnusable
			}
		}
		if err != nil {
			log.Warn("cannot pack a participant's video", "attempt", first.Attempt, "track", first.Number, "error", err)
			continue
		}
		file.Kind = cmp.Or(first.Kind, recording.ParticipantVideo)
		packed.Files = append(packed.Files, file)
		if err := finished(file); err != nil {
			return err
		}
	}
	return nil
}

// remuxPicture writes a track, up to its first missing segment, to a file with an index.
func (p packing) remuxPicture(ctx context.Context, track SourceTrack) (found piece, loss Loss, err error) {
	source := cmp.Or(track.Whole, filepath.Join(p.work, fmt.Sprintf("picture-%03d", *p.files)))
	defer os.Remove(source)
	file, err := os.OpenFile(source, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return found, "", err
	}
	segments := track.Segments
	if missing := slices.Index(segments, ""); missing >= 0 {
		segments = segments[:missing]
	}
	codec := make([]byte, 4)
	err = appendFiles(ctx, file, segments)
	_, _ = file.ReadAt(codec, 8) // of the header of IVF; ffmpeg refuses a file without one
	if err := errors.Join(err, file.Close()); err != nil {
		return found, "", err
	}
	// Most tracks of H.264 are files of their own; others need another container first, since their size may change.
	direct := string(codec) == "H264"
	if !direct {
		p.extension = ".mkv"
	}
	found, loss, err = p.remuxFile(ctx, source, "")
	found.raw = !direct
	return found, loss, err
}
