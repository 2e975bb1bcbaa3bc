package report

import (
	"log/slog"
	"os"
	"sync"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/recorder"
	"standin/internal/recording/build"
)

// Owner is the participant whose audio a track is: the one whose tile, and no other, was
// seen to play it.
type Owner struct {
	ID     string // empty if it is not known
	shared bool   // several participants' tiles played it
}

// See updates the owner of a track that a participant's tile plays, and reports whether that
// changes it.
func (o *Owner) See(participant string) (changed bool) {
	switch {
	case o.shared || o.ID == participant:
		return false
	case o.ID == "":
		o.ID = participant
	default:
		*o = Owner{shared: true}
	}
	return true
}

// trackIndex numbers the audio tracks of participants and tracks whose they
// are. Its times are on the report's clock.
type trackIndex struct {
	clock     *Clock
	tracks    []ingest.AudioTrack // ordered by number
	numbers   map[string]int      // recorder's ID -> number
	pageTrack map[string]int      // page's track ID -> latest number
	owners    []Owner             // by number
}

// maxOtherTracks limits the tracks other than audio, so that there are numbers for audio.
const maxOtherTracks = ingest.MaxAudioTracks * 3 / 4

// number returns the number of a track, assigning one to a new track that
// started at startedAt. It returns false if all numbers are used.
func (x *trackIndex) number(track recorder.ParticipantTrack, startedAt time.Time) (number int, ok bool) {
	if number, known := x.numbers[track.ID]; known {
		return number, true
	}
	number = len(x.tracks)
	if number == ingest.MaxAudioTracks || track.Kind != "" && number >= maxOtherTracks {
		return 0, false
	}
	x.numbers[track.ID], x.pageTrack[track.TrackID] = number, number
	x.tracks = append(x.tracks, ingest.AudioTrack{Number: number, StartedAt: startedAt, PersonID: track.PersonID, Kind: track.Kind})
	x.owners = append(x.owners, Owner{ID: track.PersonID})
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
		if part.Kind != "" {
			changed = changed || track.PersonID != part.PersonID
			track.PersonID = part.PersonID
			if !part.OwnedUntil.IsZero() {
				track.OwnedUntil = x.clock.Convert(part.OwnedUntil)
			}
		}
		if part.Ended {
			track.Complete, track.EndedBy = part.Cause == "", part.Cause
			if x.pageTrack[part.TrackID] == number {
				delete(x.pageTrack, part.TrackID)
			}
		}
	}
	return changed
}

// TrackSink writes the audio tracks of participants to the spool, from where they
// are uploaded. All tracks of one call share one file, so that many participants
// cost no more uploads than one.
type TrackSink struct {
	log    *slog.Logger
	report *Report

	mu      sync.Mutex
	bundles int // attempted so far
}

// NewTrackSink returns a sink that writes to the spool of a report.
func NewTrackSink(log *slog.Logger, report *Report) *TrackSink {
	return &TrackSink{log: log, report: report}
}

// AppendTracks implements recorder.ParticipantTrackSink.
func (s *TrackSink) AppendTracks(parts []recorder.ParticipantTrackPart) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var segments []build.TrackSegment
	for _, part := range parts {
		startedAt := s.report.clock.Convert(part.StartedAt)
		s.report.mu.Lock()
		number, ok := s.report.tracks.number(part.ParticipantTrack, startedAt)
		s.report.mu.Unlock()
		if !ok {
			continue // all numbers are used
		}
		for i, chunk := range part.Chunks {
			segments = append(segments, build.TrackSegment{
				Track: number, Sequence: part.First + i, StartedAt: startedAt, Data: chunk,
			})
		}
	}
	if len(segments) > 0 {
		bundle, err := build.Bundle(segments)
		if err != nil {
			return err
		}
		// Each attempt to append has its own number: a repeated call may hold
		// more segments and is another file.
		number := s.bundles
		s.bundles++
		if err := s.report.spool.AppendBundle(number, bundle); err != nil {
			return err
		}
		if s.report.spool.Evicted() > 0 { // the service packs the recording, and the disk is needed
			err = os.RemoveAll(s.report.files.Folder)
		} else {
			err = s.report.files.Append(segments)
		}
		if err != nil {
			s.log.Warn("cannot collect the tracks of participants while they are recorded; they are packed at the end", "error", err)
		}
	}
	for _, part := range parts {
		if part.Cause != "" {
			s.log.Warn("participant audio is incomplete", "track", part.TrackID, "cause", part.Cause)
		}
	}
	s.report.saveIfChanged(func() bool { return s.report.tracks.addParts(parts) })
	return nil
}
