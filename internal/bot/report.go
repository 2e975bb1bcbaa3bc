package bot

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/recording"
)

const (
	// goneAfter is how long somebody must be missing from the roster to have
	// left: pages draw tiles anew now and then.
	goneAfter = 3 * time.Second
	// pauseOfBreath is how long somebody may be silent within one speech.
	pauseOfBreath = 1200 * time.Millisecond
)

// report gathers what the bot sees for the manifest, and keeps it in the spool
// whenever something that matters has changed. Its methods may be called from
// any goroutine.
type report struct {
	spool *spool.Spool
	clock *clock

	mu       sync.Mutex
	content  ingest.Report
	packed   recording.Packed // put together by the bot itself
	chorus   chorus
	people   map[string]*presence
	order    []string // ids of people in the order of their coming
	pausedAt time.Time
	fullAt   time.Time // since when there has been no room for more
}

// presence is what is known of a person.
type presence struct {
	ingest.Person
	seenAt   time.Time
	speaking bool
	from, to time.Time // of the speech that goes on
}

func newReport(attempt int, version string, keep *spool.Spool, clock *clock) *report {
	return &report{
		spool:   keep,
		clock:   clock,
		content: ingest.Report{Attempt: attempt, BotVersion: version, Parts: []ingest.RecordingPart{}},
		people:  make(map[string]*presence),
		chorus:  newChorus(),
	}
}

// keep writes the report to the spool, from where it is uploaded.
func (r *report) keep() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keepLocked()
}

func (r *report) keepLocked() error {
	r.content.People = r.content.People[:0]
	for _, id := range r.order {
		r.content.People = append(r.content.People, r.people[id].Person)
	}
	data, err := json.Marshal(recording.FinalReport{
		Report: r.content, Media: r.packed.Files, PackedParts: recording.ReportedParts(r.packed), PackedTracks: r.packed.Tracks,
	})
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	return r.spool.Put(ingest.ReportName, data)
}

// update changes the content and keeps it. A report that cannot be kept now is
// kept with the next change; the events carry what the job needs.
func (r *report) update(change func(*ingest.Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.content)
	_ = r.keepLocked()
}

func (r *report) joined(at time.Time) {
	r.update(func(c *ingest.Report) {
		if c.JoinedAt.IsZero() {
			c.JoinedAt = r.clock.steady(at)
		}
	})
}

// admitted notes that the bot was let in. Whatever ended an earlier visit of
// the attempt was not the end.
func (r *report) admitted(at time.Time) {
	r.update(func(c *ingest.Report) {
		if c.AdmittedAt.IsZero() {
			c.AdmittedAt = r.clock.steady(at)
		}
		c.LeftAt, c.EndReason, c.EndDetail = time.Time{}, "", ""
	})
}

// left notes the end of a visit and of everything that went on until then.
func (r *report) left(at time.Time, end ending) {
	at = r.clock.steady(at)
	r.update(func(c *ingest.Report) {
		c.LeftAt, c.EndReason, c.EndDetail = at, end.reason, end.detail
		for _, id := range r.order {
			r.endSpeech(r.people[id])
		}
		r.endPause(at)
		r.endWant(at)
	})
}

// concluded gives the reason why the attempt ended, which may come after the
// last time in the meeting.
func (r *report) concluded(end ending) {
	r.update(func(c *ingest.Report) { c.EndReason, c.EndDetail = end.reason, end.detail })
}

// nextStretch is the number of the stretch to begin.
func (r *report) nextStretch() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.content.Parts)
}

func (r *report) began(number int, at time.Time) {
	r.update(func(c *ingest.Report) {
		r.stretch(number).StartedAt = r.clock.steady(at)
	})
}

// stretch returns the entry of a stretch, made when it is missing: its first
// segment may come before the recorder has said that it runs.
func (r *report) stretch(number int) *ingest.RecordingPart {
	for len(r.content.Parts) <= number {
		r.content.Parts = append(r.content.Parts, ingest.RecordingPart{Number: len(r.content.Parts)})
	}
	return &r.content.Parts[number]
}

// ended notes the end of the current stretch; why is nil when it ended in
// order.
func (r *report) ended(at time.Time, why error) {
	at = r.clock.steady(at)
	r.update(func(c *ingest.Report) {
		if len(c.Parts) == 0 {
			return
		}
		current := &c.Parts[len(c.Parts)-1]
		current.EndedAt, current.Complete = at, why == nil
		if why != nil {
			current.EndedBy = why.Error()
		}
		r.endPause(at)
	})
}

// interrupted gives the reason for what is missing after the current stretch,
// which ended in order.
func (r *report) interrupted(reason string) {
	r.update(func(c *ingest.Report) {
		if last := len(c.Parts) - 1; last >= 0 && c.Parts[last].Complete {
			c.Parts[last].EndedBy = reason
		}
	})
}

func (r *report) recordedSegment(stretch, sequence int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stretch(stretch).Segments = sequence + 1
}

// recorded reports whether anything was recorded at all.
func (r *report) recorded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, stretch := range r.content.Parts {
		if stretch.Segments > 0 {
			return true
		}
	}
	return false
}

func (r *report) paused(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pausedAt = r.clock.steady(at)
}

func (r *report) resumed(at time.Time) {
	at = r.clock.steady(at)
	r.update(func(*ingest.Report) { r.endPause(at) })
}

// endPause notes the gap that a pause has left.
func (r *report) endPause(at time.Time) {
	if !r.pausedAt.IsZero() {
		r.content.Gaps = append(r.content.Gaps, ingest.Gap{From: r.pausedAt, To: at, Reason: "paused"})
		r.pausedAt = time.Time{}
	}
}

// outOfRoom notes that nothing more can be kept.
func (r *report) outOfRoom(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fullAt.IsZero() {
		r.fullAt = r.clock.steady(at)
	}
}

// roomAgain notes that the recording goes on.
func (r *report) roomAgain(at time.Time) {
	at = r.clock.steady(at)
	r.update(func(*ingest.Report) { r.endWant(at) })
}

// endWant notes the gap that the want of room has left.
func (r *report) endWant(at time.Time) {
	if !r.fullAt.IsZero() {
		r.content.Gaps = append(r.content.Gaps, ingest.Gap{From: r.fullAt, To: at, Reason: recording.GapDiskFull})
		r.fullAt = time.Time{}
	}
}

// saw notes who is in the meeting and who speaks.
func (r *report) saw(participants []meeting.Participant, now time.Time) {
	now = r.clock.steady(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	for _, seen := range participants {
		p, known := r.people[seen.ID]
		if !known {
			p = &presence{Person: ingest.Person{ID: seen.ID, JoinedAt: now}}
			r.people[seen.ID] = p
			r.order = append(r.order, seen.ID)
			changed = true
		}
		if seen.Name != "" && seen.Name != p.Name {
			p.Name, changed = seen.Name, true
		}
		changed = changed || !p.LeftAt.IsZero() // is back
		p.seenAt, p.LeftAt = now, time.Time{}
		r.heard(p, seen.Speaking, now)
	}
	for _, id := range r.order {
		if p := r.people[id]; p.LeftAt.IsZero() && now.Sub(p.seenAt) > goneAfter {
			p.LeftAt, changed = p.seenAt, true
			r.endSpeech(p)
		}
	}
	if changed {
		_ = r.keepLocked() // as in update
	}
}

// nameOf is the name of somebody who was seen, empty for others.
func (r *report) nameOf(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, known := r.people[id]; known {
		return p.Name
	}
	return ""
}

// heard follows a person's speech.
func (r *report) heard(p *presence, speaking bool, now time.Time) {
	switch {
	case speaking && !p.speaking:
		p.speaking, p.from, p.to = true, now, now
	case speaking:
		p.to = now
	case p.speaking && now.Sub(p.to) > pauseOfBreath:
		r.endSpeech(p)
	}
}

// endSpeech notes the speech that went on.
func (r *report) endSpeech(p *presence) {
	if p.speaking && p.to.After(p.from) {
		r.content.Speech = append(r.content.Speech, ingest.Speech{PersonID: p.ID, From: p.from, To: p.to})
	}
	p.speaking = false
}

// finished notes the files that the bot has put together.
func (r *report) finished(packed recording.Packed) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packed = packed
	return r.keepLocked()
}

// stretches returns what is known of the stretches.
func (r *report) stretches() []ingest.RecordingPart {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]ingest.RecordingPart(nil), r.content.Parts...)
}
