package bot

import (
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/ingest"
)

// trackIndex numbers the audio tracks of participants and tracks whose they
// are. Its times are on the report's clock.
type trackIndex struct {
	tracks    []ingest.AudioTrack // by number
	numbers   map[string]int      // by the recorder's id
	pageTrack map[string]int      // by the page's track id: the latest number
	shared    map[int]bool        // tracks that several participants' tiles played
}

func newTrackIndex() trackIndex {
	return trackIndex{numbers: make(map[string]int), pageTrack: make(map[string]int), shared: make(map[int]bool)}
}

// number returns the number of a track, assigning one to a new track that
// started at startedAt. It returns false if all numbers are used.
func (x *trackIndex) number(track recorder.ParticipantTrack, startedAt time.Time) (number int, ok bool) {
	if number, known := x.numbers[track.ID]; known {
		return number, true
	}
	number = len(x.tracks)
	if number == ingest.MaxAudioTracks {
		return 0, false
	}
	x.numbers[track.ID], x.pageTrack[track.TrackID] = number, number
	x.tracks = append(x.tracks, ingest.AudioTrack{Number: number, StartedAt: startedAt})
	return number, true
}

// addParts counts stored parts of tracks, and reports whether a track started
// or ended.
func (x *trackIndex) addParts(parts []recorder.ParticipantTrackPart) (changed bool) {
	for _, part := range parts {
		number, known := x.numbers[part.ID]
		if !known {
			continue
		}
		track := &x.tracks[number]
		changed = changed || part.First == 0 || part.Ended
		track.Segments = part.First + len(part.Chunks)
		if part.Ended {
			track.Complete, track.EndedBy = part.Cause == "", part.Cause
			if x.pageTrack[part.TrackID] == number {
				delete(x.pageTrack, part.TrackID)
			}
		}
	}
	return changed
}

// updatePlayed updates which participants' tiles play which tracks, and reports
// whether an owner changed. A track belongs to a participant if that
// participant's tile, and no other, was seen to play it.
func (x *trackIndex) updatePlayed(tracks []meeting.TrackOwner) (changed bool) {
	for _, played := range tracks {
		number, known := x.pageTrack[played.Track]
		if !known || x.shared[number] {
			continue
		}
		switch track := &x.tracks[number]; track.PersonID {
		case played.ParticipantID:
		case "":
			track.PersonID, changed = played.ParticipantID, true
		default:
			x.shared[number], track.PersonID, changed = true, "", true
		}
	}
	return changed
}
