package bot

import (
	"fmt"

	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/ingest"
	"standin/internal/recording"
)

// chorus is what is known of voices: the numbers under which they are kept, and
// whose they are. It belongs to the report, whose lock guards it.
type chorus struct {
	numbers map[string]int // by the recorder's id
	tracks  map[string]int // by the page's track: the last voice on it
	shared  map[int]bool   // voices that were seen with several participants
}

func newChorus() chorus {
	return chorus{numbers: make(map[string]int), tracks: make(map[string]int), shared: make(map[int]bool)}
}

// voiceSink puts what participants say by themselves into the spool, from where
// it is uploaded: one file for all that comes at once, however many speak.
type voiceSink struct {
	*bot
	bundles int
}

// AppendTracks implements recorder.ParticipantTrackSink.
func (s *voiceSink) AppendTracks(parts []recorder.ParticipantTrackPart) error {
	var segments []recording.TrackSegment
	for _, part := range parts {
		number, ok := s.report.voice(part.ParticipantTrack)
		if !ok {
			continue // there are no more numbers: so much was told when they ran out
		}
		for i, chunk := range part.Chunks {
			segments = append(segments, recording.TrackSegment{
				Track: number, Sequence: part.First + i, StartedAt: s.clock.steady(part.StartedAt), Data: chunk,
			})
		}
	}
	if len(segments) > 0 {
		bundle, err := recording.Bundle(segments)
		if err != nil {
			return err
		}
		// Each try has a number of its own: what comes again with more in it is
		// another file.
		s.bundles++
		if err := s.spool.AppendBundle(s.bundles-1, bundle); err != nil {
			return fmt.Errorf("spool bundle %d: %w", s.bundles-1, err)
		}
	}
	for _, part := range parts {
		if part.Cause != "" {
			s.Log.Warn("a participant's own sound is not whole", "track", part.TrackID, "cause", part.Cause)
		}
	}
	s.report.said(parts)
	return nil
}

// voice is the number of a voice, a new one where it is not known; false when
// there are none left.
func (r *report) voice(voice recorder.ParticipantTrack) (number int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	number, known := r.chorus.numbers[voice.ID]
	if known {
		return number, true
	}
	number = len(r.content.AudioTracks)
	if number == ingest.MaxAudioTracks {
		return 0, false
	}
	r.chorus.numbers[voice.ID], r.chorus.tracks[voice.TrackID] = number, number
	r.content.AudioTracks = append(r.content.AudioTracks, ingest.AudioTrack{Number: number, StartedAt: r.clock.steady(voice.StartedAt)})
	return number, true
}

// said notes what was kept of voices.
func (r *report) said(parts []recorder.ParticipantTrackPart) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	for _, part := range parts {
		number, known := r.chorus.numbers[part.ID]
		if !known {
			continue
		}
		voice := &r.content.AudioTracks[number]
		changed = changed || part.First == 0 || part.Ended
		voice.Segments = part.First + len(part.Chunks)
		if part.Ended {
			voice.Complete, voice.EndedBy = part.Cause == "", part.Cause
			if r.chorus.tracks[part.TrackID] == number {
				delete(r.chorus.tracks, part.TrackID)
			}
		}
	}
	if changed {
		_ = r.keepLocked() // as in update
	}
}

// played notes whose tiles play which tracks. A voice is somebody's when that
// participant's tile, and no other, has been seen to play it.
func (r *report) played(tracks []meeting.TrackOwner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	for _, played := range tracks {
		number, known := r.chorus.tracks[played.Track]
		if !known || r.chorus.shared[number] {
			continue
		}
		switch voice := &r.content.AudioTracks[number]; voice.PersonID {
		case played.ParticipantID:
		case "":
			voice.PersonID, changed = played.ParticipantID, true
		default:
			r.chorus.shared[number], voice.PersonID, changed = true, "", true
		}
	}
	if changed {
		_ = r.keepLocked() // as in update
	}
}

// voices returns what is known of the voices.
func (r *report) voices() []ingest.AudioTrack {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]ingest.AudioTrack(nil), r.content.AudioTracks...)
}
