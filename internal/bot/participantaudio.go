package bot

import (
	"fmt"
	"log/slog"

	"standin/internal/bot/recorder"
	"standin/internal/bot/spool"
	"standin/internal/recording"
)

// participantAudio writes the audio tracks of participants to the spool, from
// where they are uploaded. All tracks of one call share one file, so that many
// participants cost no more uploads than one.
type participantAudio struct {
	log     *slog.Logger
	spool   *spool.Spool
	report  *report
	clock   *clock
	bundles int // attempted so far
}

// AppendTracks implements recorder.ParticipantTrackSink.
func (p *participantAudio) AppendTracks(parts []recorder.ParticipantTrackPart) error {
	var segments []recording.TrackSegment
	for _, part := range parts {
		number, ok := p.report.trackNumber(part.ParticipantTrack)
		if !ok {
			continue // all numbers are used
		}
		for i, chunk := range part.Chunks {
			segments = append(segments, recording.TrackSegment{
				Track: number, Sequence: part.First + i, StartedAt: p.clock.convert(part.StartedAt), Data: chunk,
			})
		}
	}
	if len(segments) > 0 {
		bundle, err := recording.Bundle(segments)
		if err != nil {
			return err
		}
		// Each attempt to append has its own number: a repeated call may hold
		// more segments and is another file.
		number := p.bundles
		p.bundles++
		if err := p.spool.AppendBundle(number, bundle); err != nil {
			return fmt.Errorf("spool bundle %d: %w", number, err)
		}
	}
	for _, part := range parts {
		if part.Cause != "" {
			p.log.Warn("participant audio is incomplete", "track", part.TrackID, "cause", part.Cause)
		}
	}
	p.report.addTrackParts(parts)
	return nil
}
