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
func (p packing) packPictures(ctx context.Context, packed *Packed, tracks []SourceTrack, log *slog.Logger) error {
	type picture struct {
		piece
		result int // index in packed.Tracks
		source SourceTrack
	}
	var groups [][]picture
	p.extension = ".mkv"
	slices.SortStableFunc(tracks, func(a, b SourceTrack) int { return a.StartedAt.Compare(b.StartedAt) })
	for _, track := range tracks {
		*p.files++
		segments := track.Segments
		if missing := slices.Index(segments, ""); missing >= 0 {
			segments = segments[:missing]
		}
		found, loss, err := p.remuxPicture(ctx, segments)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			log.Warn("cannot read a participant's video", "attempt", track.Attempt, "track", track.Number, "error", err)
			loss = LossUnusable
		} else if loss == "" && len(segments) < len(track.Segments) {
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
	}
	return nil
}

// remuxPicture writes the segments of a track to a file with an index.
func (p packing) remuxPicture(ctx context.Context, segments []string) (found piece, loss Loss, err error) {
	source, err := os.Create(filepath.Join(p.work, fmt.Sprintf("picture-%03d", *p.files)))
	if err != nil {
		return found, "", err
	}
	defer os.Remove(source.Name())
	if err := errors.Join(appendFiles(ctx, source, segments), source.Close()); err != nil {
		return found, "", err
	}
	found, loss, err = p.remuxFile(ctx, source.Name(), "")
	found.raw = true
	return found, loss, err
}
