package bot

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/recording"
)

// report collects what the manifest needs and only the bot observes. It is
// saved to the spool whenever it changes, so that the service has the latest
// version if the bot is lost. Its methods are safe for concurrent use.
type report struct {
	spool *spool.Spool
	clock *clock

	mu       sync.Mutex
	content  ingest.Report
	packed   recording.Packed // the final files, if the bot packed them
	roster   roster
	tracks   trackIndex
	pausedAt time.Time // start of the current pause
	fullAt   time.Time // since when the spool is full
}

func newReport(attempt int, version string, store *spool.Spool, clock *clock) *report {
	return &report{
		spool:   store,
		clock:   clock,
		content: ingest.Report{Attempt: attempt, BotVersion: version, Parts: []ingest.RecordingPart{}},
		roster:  newRoster(),
		tracks:  newTrackIndex(),
	}
}

// setJoined sets when joining was requested for the first time.
func (r *report) setJoined(at time.Time) {
	r.update(func(c *ingest.Report) {
		if c.JoinedAt.IsZero() {
			c.JoinedAt = r.clock.convert(at)
		}
	})
}

// setAdmitted sets when the bot was admitted for the first time, and clears the
// end of an earlier session.
func (r *report) setAdmitted(at time.Time) {
	r.update(func(c *ingest.Report) {
		if c.AdmittedAt.IsZero() {
			c.AdmittedAt = r.clock.convert(at)
		}
		c.LeftAt, c.EndReason, c.EndDetail = time.Time{}, "", ""
	})
}

// setLeft sets the end of a session, and ends every speech and gap.
func (r *report) setLeft(at time.Time, end exitResult) {
	at = r.clock.convert(at)
	r.update(func(c *ingest.Report) {
		c.LeftAt, c.EndReason, c.EndDetail = at, end.reason, end.detail
		r.roster.endAllSpeech()
		r.endGap(&r.pausedAt, at, recording.GapPaused)
		r.endGap(&r.fullAt, at, recording.GapDiskFull)
		for i := range c.MediaFaults {
			if c.MediaFaults[i].To.IsZero() {
				c.MediaFaults[i].To = at
			}
		}
	})
}

// setEnd sets the reason why the attempt ended, which may follow the last
// session in the meeting.
func (r *report) setEnd(end exitResult) {
	r.update(func(c *ingest.Report) { c.EndReason, c.EndDetail = end.reason, end.detail })
}

// nextPart returns the number of the recording part to start.
func (r *report) nextPart() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.content.Parts)
}

// startPart sets when a recording part started. Recording after the spool was
// full ends that gap.
func (r *report) startPart(number int, at time.Time) {
	at = r.clock.convert(at)
	r.update(func(*ingest.Report) {
		r.part(number).StartedAt = at
		r.endGap(&r.fullAt, at, recording.GapDiskFull)
	})
}

// addSegment counts a stored segment of a recording part.
func (r *report) addSegment(part, sequence int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.part(part).Segments = sequence + 1
}

// part returns the entry of a recording part, creating it if necessary: the
// first segment may arrive before the recorder reports that it started.
func (r *report) part(number int) *ingest.RecordingPart {
	for len(r.content.Parts) <= number {
		r.content.Parts = append(r.content.Parts, ingest.RecordingPart{Number: len(r.content.Parts)})
	}
	return &r.content.Parts[number]
}

// endPart ends the current recording part. A nil err means that it is complete.
func (r *report) endPart(at time.Time, err error) {
	at = r.clock.convert(at)
	r.update(func(c *ingest.Report) {
		if len(c.Parts) == 0 {
			return
		}
		current := &c.Parts[len(c.Parts)-1]
		current.EndedAt, current.Complete = at, err == nil
		if err != nil {
			current.EndedBy = err.Error()
		}
		r.endGap(&r.pausedAt, at, recording.GapPaused)
	})
}

// setPartEnd sets why the last recording part, which is complete, ended.
func (r *report) setPartEnd(reason string) {
	r.update(func(c *ingest.Report) {
		if last := len(c.Parts) - 1; last >= 0 && c.Parts[last].Complete {
			c.Parts[last].EndedBy = reason
		}
	})
}

// hasRecording reports whether any segment was recorded.
func (r *report) hasRecording() bool {
	return slices.ContainsFunc(r.parts(), func(p ingest.RecordingPart) bool { return p.Segments > 0 })
}

// parts returns a copy of the recording parts.
func (r *report) parts() []ingest.RecordingPart {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.content.Parts)
}

// pause starts a gap.
func (r *report) pause(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pausedAt = r.clock.convert(at)
}

// resume ends the gap of a pause.
func (r *report) resume(at time.Time) {
	at = r.clock.convert(at)
	r.update(func(*ingest.Report) { r.endGap(&r.pausedAt, at, recording.GapPaused) })
}

// setFull starts a gap in which the spool takes no more segments.
func (r *report) setFull(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fullAt.IsZero() {
		r.fullAt = r.clock.convert(at)
	}
}

// endGap adds the gap that started at from, if one did, and resets from.
func (r *report) endGap(from *time.Time, at time.Time, reason string) {
	if !from.IsZero() {
		r.content.Gaps = append(r.content.Gaps, ingest.Gap{From: *from, To: at, Reason: reason})
		*from = time.Time{}
	}
}

// startFault adds a fault of the recorded media, unless it is known.
func (r *report) startFault(kind string, since time.Time) {
	since = r.clock.convert(since)
	r.update(func(c *ingest.Report) {
		if i := r.openFault(kind); i < 0 && len(c.MediaFaults) < ingest.MaxMediaFaults {
			c.MediaFaults = append(c.MediaFaults, ingest.MediaFault{Kind: kind, From: since})
		}
	})
}

// endFault ends a fault.
func (r *report) endFault(kind string, at time.Time) {
	at = r.clock.convert(at)
	r.update(func(c *ingest.Report) {
		if i := r.openFault(kind); i >= 0 {
			c.MediaFaults[i].To = at
		}
	})
}

// openFault returns the index of a fault that has not ended, or -1.
func (r *report) openFault(kind string) int {
	return slices.IndexFunc(r.content.MediaFaults, func(f ingest.MediaFault) bool { return f.Kind == kind && f.To.IsZero() })
}

// updateRoster updates who is in the meeting and who speaks, and by what evidence.
func (r *report) updateRoster(participants []meeting.Participant, sources []meeting.SpeechSource, at time.Time) {
	at = r.clock.convert(at)
	r.saveIfChanged(func() bool { return r.roster.update(participants, sources, at) })
}

// present returns who is in the meeting.
func (r *report) present() *ingest.LiveRoster {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roster.present()
}

// nameOf returns the name of a participant, or "" if the id is unknown.
func (r *report) nameOf(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.roster.nameOf(id)
}

// trackNumber returns the number of an audio track; false if all are used.
func (r *report) trackNumber(track recorder.ParticipantTrack) (number int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tracks.number(track, r.clock.convert(track.StartedAt))
}

// addTrackParts counts stored parts of audio tracks.
func (r *report) addTrackParts(parts []recorder.ParticipantTrackPart) {
	r.saveIfChanged(func() bool { return r.tracks.addParts(parts) })
}

// updatePlayed updates which participants' tiles play which tracks.
func (r *report) updatePlayed(tracks []meeting.TrackOwner) {
	r.saveIfChanged(func() bool { return r.tracks.updatePlayed(tracks) })
}

// audioTracks returns a copy of the audio tracks.
func (r *report) audioTracks() []ingest.AudioTrack {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tracks.tracks)
}

// setPacked adds the final files and saves the report.
func (r *report) setPacked(packed recording.Packed) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packed = packed
	return r.saveLocked()
}

// update changes the content and saves it. If saving fails, the next change
// saves it too; the events carry what the job needs.
func (r *report) update(change func(*ingest.Report)) {
	r.saveIfChanged(func() bool { change(&r.content); return true })
}

// saveIfChanged calls change under the lock and, like update, saves the report
// if it returns true.
func (r *report) saveIfChanged(change func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if change() {
		_ = r.saveLocked()
	}
}

// save writes the report to the spool, from where it is uploaded.
func (r *report) save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.saveLocked()
}

func (r *report) saveLocked() error {
	r.content.People, r.content.Speech, r.content.AudioTracks = r.roster.people(), r.roster.speech, r.tracks.tracks
	r.content.SpeechSources = r.roster.speechSources
	data, err := json.Marshal(recording.FinalReport{
		Report: r.content, Media: r.packed.Files, PackedParts: recording.ReportedParts(r.packed), PackedTracks: r.packed.Tracks,
	})
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	return r.spool.Put(ingest.ReportName, data)
}
