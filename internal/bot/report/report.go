// Package report keeps what an attempt observed in its meeting, emits its
// lifecycle events, and delivers the result to the service: the report, from which
// the service builds the manifest, and the recording.
package report

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/recording/build"
)

// Reasons why an attempt ended after the bot was admitted, as in the manifest.
const (
	ReasonHostEnded   = "host_ended"
	ReasonRemoved     = "removed"
	ReasonAlone       = "alone"
	ReasonSilence     = "silence"
	ReasonMaximum     = "max_duration"
	ReasonCompeting   = "competing_bot"
	ReasonCommand     = "left_on_command"
	ReasonPermission  = "permission_refused"
	ReasonRevoked     = ingest.EndRevoked
	ReasonSuperseded  = "superseded"      // the service no longer wants this bot
	ReasonShutdown    = ingest.EndStopped // the bot's process was asked to stop, by whomever
	ReasonBrowserLost = "browser_crashed" // the browser crashed, and rejoining failed
	ReasonConnection  = "connection_lost" // the page died or lost its connection, and rejoining failed
	ReasonNoRecording = ingest.EndRecordingFailed
)

// End is how a session in the meeting or an attempt ended.
type End struct {
	Reason string          // set if the bot was admitted
	Code   job.FailureCode // set if the bot was not admitted, or nothing can be recorded
	Detail string          // an explanation for people
}

// Report collects what the manifest needs and only the bot observes. It is
// saved to the spool whenever it changes, so that the service has the latest
// version if the bot is lost. Its methods are safe for concurrent use.
type Report struct {
	spool *spool.Spool
	clock *Clock

	mu        sync.Mutex
	content   ingest.Report
	packed    build.Packed // the final files, if the bot packed them
	roster    roster
	tracks    trackIndex
	files     build.TrackFiles
	sound     []recorder.SoundChange // on the report's clock, in order
	own       ingest.Person          // the bot itself; without an ID unless it spoke
	ownSpeech []ingest.Speech
	spoke     bool      // somebody, since the report was saved
	nextSave  time.Time // of a report that only has more speech
}

// A report that only has more speech is saved after speechDelay, or later if it is large: reportRate limits its bytes per second.
const speechDelay, reportRate = 5 * time.Second, 20_000

// New returns the report of an attempt that has just started. version is the
// program's. withoutRecording is set if the bot is to record nothing.
func New(attempt int, version string, withoutRecording bool, store *spool.Spool, clock *Clock) *Report {
	return &Report{
		spool:   store,
		clock:   clock,
		content: ingest.Report{Attempt: attempt, BotVersion: version, WithoutRecording: withoutRecording, Parts: []ingest.RecordingPart{}},
		roster:  roster{byID: make(map[string]*participant)},
		tracks:  trackIndex{clock: clock, numbers: make(map[string]int), pageTrack: make(map[string]int)},
		files:   build.TrackFiles{Folder: filepath.Join(store.ScratchDir(), "tracks")},
	}
}

// SetJoined sets when joining was requested for the first time.
func (r *Report) SetJoined(at time.Time) {
	r.update(func(c *ingest.Report) {
		if c.JoinedAt.IsZero() {
			c.JoinedAt = r.clock.Convert(at)
		}
	})
}

// SetAdmitted sets when the bot was admitted for the first time, and clears the
// end of an earlier session.
func (r *Report) SetAdmitted(at time.Time) {
	r.update(func(c *ingest.Report) {
		if c.AdmittedAt.IsZero() {
			c.AdmittedAt = r.clock.Convert(at)
		}
		c.LeftAt, c.EndReason, c.EndDetail = time.Time{}, "", ""
	})
}

// AdmittedAt returns when the bot was admitted for the first time, on the report's clock.
func (r *Report) AdmittedAt() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.content.AdmittedAt
}

// SetLeft sets the end of a session, and ends every speech. A gap stays open: it ends there,
// unless the bot is admitted again.
func (r *Report) SetLeft(at time.Time, end End) {
	at = r.clock.Convert(at)
	r.update(func(c *ingest.Report) {
		c.LeftAt, c.EndReason, c.EndDetail = at, end.Reason, end.Detail
		for _, id := range r.roster.ids {
			r.roster.endSpeech(r.roster.byID[id])
		}
		for i := range c.MediaFaults {
			if c.MediaFaults[i].To.IsZero() {
				c.MediaFaults[i].To = at
			}
		}
	})
}

// SetEnd sets the reason why the attempt ended, which may follow the last
// session in the meeting.
func (r *Report) SetEnd(end End) {
	r.update(func(c *ingest.Report) { c.EndReason, c.EndDetail = end.Reason, end.Detail })
}

// NextPart returns the number of the recording part to start.
func (r *Report) NextPart() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.content.Parts)
}

// StartPart sets when a recording part started, which ends the gap before it.
func (r *Report) StartPart(number int, at time.Time) {
	at = r.clock.Convert(at)
	r.update(func(*ingest.Report) {
		r.part(number).StartedAt = at
		r.setGap(at, "")
	})
}

// DropPicture says that the picture of the current part is not needed.
func (r *Report) DropPicture() {
	r.update(func(c *ingest.Report) { c.Parts[len(c.Parts)-1].SoundOnly = true })
}

// RecordingStart returns when the recording started, on the report's clock, as in the manifest.
func (r *Report) RecordingStart() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return build.RecordingStart(nil, []ingest.Report{r.content})
}

// AddSegment counts a stored segment of a recording part.
func (r *Report) AddSegment(part, sequence int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.part(part).Segments = sequence + 1
}

// part returns the entry of a recording part, creating it if necessary: the
// first segment may arrive before the recorder reports that it started.
func (r *Report) part(number int) *ingest.RecordingPart {
	for len(r.content.Parts) <= number {
		r.content.Parts = append(r.content.Parts, ingest.RecordingPart{Number: len(r.content.Parts)})
	}
	return &r.content.Parts[number]
}

// EndPart ends the current recording part. A nil err means that it is complete. reason is that of
// the gap that follows; "" when the recording ends.
func (r *Report) EndPart(at time.Time, err error, reason string) {
	at = r.clock.Convert(at)
	r.update(func(c *ingest.Report) {
		if len(c.Parts) == 0 {
			return
		}
		current := &c.Parts[len(c.Parts)-1]
		current.EndedAt, current.EndedBy, current.Complete = at, reason, err == nil
		if err != nil {
			current.EndedBy = err.Error()
		}
		if reason != "" && r.openGap() == nil {
			r.setGap(at, reason)
		}
	})
}

// HasRecording reports whether any segment was recorded.
func (r *Report) HasRecording() bool {
	return slices.ContainsFunc(r.current().Parts, func(p ingest.RecordingPart) bool { return p.Segments > 0 })
}

// HasResult reports whether the attempt has a result: a recorded segment or, if nothing
// is to be recorded, admission.
func (r *Report) HasResult() bool {
	r.mu.Lock()
	attended := r.content.WithoutRecording && !r.content.AdmittedAt.IsZero()
	r.mu.Unlock()
	return attended || r.HasRecording()
}

// current returns a copy of the report so far.
func (r *Report) current() ingest.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.content
	current.Parts, current.Gaps, current.AudioTracks = slices.Clone(current.Parts), slices.Clone(current.Gaps), slices.Clone(r.tracks.tracks)
	return current
}

// OpenGap starts a gap, because nothing is recorded although that is asked for. It lasts until a part
// starts or the bot leaves. A gap that is open keeps its reason.
func (r *Report) OpenGap(at time.Time, reason string) {
	at = r.clock.Convert(at)
	r.saveIfChanged(func() bool { return r.openGap() == nil && r.setGap(at, reason) })
}

// SetGap ends the open gap and starts one with another reason: a pause, or a full spool. "" starts
// none, because recording continues or is no longer asked for.
func (r *Report) SetGap(at time.Time, reason string) {
	at = r.clock.Convert(at)
	r.saveIfChanged(func() bool { return r.setGap(at, reason) })
}

const (
	maxGaps  = 5000                   // that are told
	joinGaps = 250 * time.Millisecond // between gaps that are told as one
)

// AddGap adds a gap within the current part: its media is silent.
func (r *Report) AddGap(from, to time.Time, reason string) {
	from, to = r.clock.Convert(from), r.clock.Convert(to)
	r.update(func(c *ingest.Report) {
		end := len(c.Gaps)
		if r.openGap() != nil {
			end--
		}
		if last := end - 1; last >= 0 && c.Gaps[last].Reason == reason && from.Sub(c.Gaps[last].To) <= joinGaps {
			if to.After(c.Gaps[last].To) {
				c.Gaps[last].To = to
			}
		} else if end < maxGaps {
			c.Gaps = slices.Insert(c.Gaps, end, ingest.Gap{From: from, To: to, Reason: reason})
		}
	})
}

// openGap returns the gap that has not ended, or nil.
func (r *Report) openGap() *ingest.Gap {
	if last := len(r.content.Gaps) - 1; last >= 0 && r.content.Gaps[last].To.IsZero() {
		return &r.content.Gaps[last]
	}
	return nil
}

// setGap ends the open gap, and starts one with another reason, if any. It reports whether that
// changed anything.
func (r *Report) setGap(at time.Time, reason string) bool {
	open := r.openGap()
	if open == nil && reason == "" || open != nil && open.Reason == reason {
		return false
	}
	if open != nil {
		if open.To = at; !at.After(open.From) {
			r.content.Gaps = r.content.Gaps[:len(r.content.Gaps)-1]
		}
	}
	if reason != "" {
		r.content.Gaps = append(r.content.Gaps, ingest.Gap{From: at, Reason: reason})
	}
	return true
}

// StartFault adds a fault of the recorded media, unless it is known.
func (r *Report) StartFault(kind string, since time.Time) {
	since = r.clock.Convert(since)
	r.update(func(c *ingest.Report) {
		if i := r.openFault(kind); i < 0 && len(c.MediaFaults) < ingest.MaxMediaFaults {
			c.MediaFaults = append(c.MediaFaults, ingest.MediaFault{Kind: kind, From: since})
		}
	})
}

// EndFault ends a fault.
func (r *Report) EndFault(kind string, at time.Time) {
	at = r.clock.Convert(at)
	r.update(func(c *ingest.Report) {
		if i := r.openFault(kind); i >= 0 {
			c.MediaFaults[i].To = at
		}
	})
}

// openFault returns the index of a fault that has not ended, or -1.
func (r *Report) openFault(kind string) int {
	return slices.IndexFunc(r.content.MediaFaults, func(f ingest.MediaFault) bool { return f.Kind == kind && f.To.IsZero() })
}

// UpdateRoster updates who is in the meeting and who speaks, and by what evidence.
func (r *Report) UpdateRoster(participants []meeting.Participant, sources []meeting.SpeechSource, at time.Time) {
	at = r.clock.Convert(at)
	r.saveIfChanged(func() bool {
		r.spoke = r.spoke || slices.ContainsFunc(participants, func(p meeting.Participant) bool { return p.Speaking })
		return r.roster.update(participants, sources, at) || r.spoke && !time.Now().Before(r.nextSave)
	})
}

// AddOwnSpeech adds a time during which the bot itself spoke, under its name.
func (r *Report) AddOwnSpeech(name string, from, to time.Time) {
	from, to = r.clock.Convert(from), r.clock.Convert(to)
	r.saveIfChanged(func() bool {
		if r.own.ID == "" {
			r.own = ingest.Person{ID: ingest.OwnID, Name: name, JoinedAt: r.content.AdmittedAt}
		}
		if to.After(from) && r.roster.fits(ingest.OwnID, maxSpeechBytes) {
			r.ownSpeech = append(r.ownSpeech, ingest.Speech{PersonID: ingest.OwnID, From: from, To: to})
		}
		return true
	})
}

// Present returns who is in the meeting, in the order of joining.
func (r *Report) Present() *ingest.LiveRoster {
	r.mu.Lock()
	defer r.mu.Unlock()
	live := &ingest.LiveRoster{Participants: []ingest.LiveParticipant{}}
	for _, id := range r.roster.ids {
		p := r.roster.byID[id]
		if p.LeftAt.IsZero() && len(live.Participants) < ingest.MaxLiveParticipants {
			live.Participants = append(live.Participants, ingest.LiveParticipant{ID: p.ID, Name: p.Name, Speaking: p.speaking})
		}
	}
	return live
}

// NameOf returns the name of a participant, or "" if the id is unknown.
func (r *Report) NameOf(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.roster.byID[id]; p != nil {
		return p.Name
	}
	return ""
}

// UpdatePlayed updates which participants' tiles play which tracks.
func (r *Report) UpdatePlayed(tracks []meeting.TrackOwner) {
	r.saveIfChanged(func() (changed bool) {
		x := &r.tracks
		for _, played := range tracks {
			if number, known := x.pageTrack[played.Track]; known && x.tracks[number].Kind == "" && x.owners[number].See(played.ParticipantID) {
				x.tracks[number].PersonID, changed = x.owners[number].ID, true
			}
		}
		return changed
	})
}

// setPacked adds the final files and saves the report.
func (r *Report) setPacked(packed build.Packed) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packed = packed
	return r.saveLocked()
}

// update changes the content and saves it. If saving fails, the next change
// saves it too; the events carry what the job needs.
func (r *Report) update(change func(*ingest.Report)) {
	r.saveIfChanged(func() bool { change(&r.content); return true })
}

// saveIfChanged calls change under the lock and, like update, saves the report
// if it returns true.
func (r *Report) saveIfChanged(change func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if change() {
		_ = r.saveLocked()
	}
}

// Save writes the report to the spool, from where it is uploaded.
func (r *Report) Save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.saveLocked()
}

func (r *Report) saveLocked() error {
	r.content.SavedAt = r.clock.Convert(time.Now())
	// Marks of who speaks move to when the sound begins and ends.
	speech := slices.Clone(r.roster.speech)
	for _, id := range r.roster.ids {
		if p := r.roster.byID[id]; p.speaking && p.to.After(p.from) {
			speech = append(speech, ingest.Speech{PersonID: id, From: p.from, To: p.to})
		}
	}
	for i, one := range speech {
		from, to := nearestChange(r.sound, true, one.From), nearestChange(r.sound, false, one.To)
		if to.After(from) {
			speech[i].From, speech[i].To = from, to
		}
	}
	r.content.People, r.content.Speech, r.content.AudioTracks = nil, speech, r.tracks.tracks
	for _, id := range r.roster.ids {
		r.content.People = append(r.content.People, r.roster.byID[id].Person)
	}
	if r.own.ID != "" {
		r.content.People, r.content.Speech = append(r.content.People, r.own), append(r.content.Speech, r.ownSpeech...)
	}
	r.content.SpeechSources = r.roster.speechSources
	data, err := json.Marshal(build.FinalReport{
		Report: r.content, Media: r.packed.Files, PackedParts: build.ReportedParts(r.packed), PackedTracks: r.packed.Tracks,
	})
	if err != nil {
		return err
	}
	r.spoke, r.nextSave = false, time.Now().Add(max(speechDelay, time.Duration(len(data)/reportRate)*time.Second))
	return r.spool.Put(ingest.ReportName, data)
}
