package report

import (
	"encoding/json"
	"slices"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
)

const (
	// absentAfter is how long a participant must be missing from the roster to
	// count as gone: pages redraw tiles now and then.
	absentAfter = 3 * time.Second
	// maxSpeechPause is how long a participant may be silent within one speech.
	maxSpeechPause = 1200 * time.Millisecond
	// maxMarkInterval is how far apart two looks at the page may be for a change between
	// them to be in the middle.
	maxMarkInterval = time.Second
	// maxRosterBytes limits the encoded people and speech, since the report has to fit
	// into the spool, whatever a page shows. Later ones are dropped.
	maxRosterBytes = 7 << 20
	// maxPersonBytes and maxSpeechBytes limit what the encoding of one adds to the ID.
	maxPersonBytes, maxSpeechBytes = 1500, 120
)

// roster tracks who is in the meeting and who speaks. Its times are on the
// report's clock.
type roster struct {
	byID   map[string]*participant
	ids    []string // ordered by the time of joining
	speech []ingest.Speech

	speechSources []string // evidence of who speaks, so far
	size          int      // most bytes of the encoded people and speech
}

// participant is one person in the roster.
type participant struct {
	ingest.Person
	seenAt   time.Time
	speaking bool
	pausing  bool      // the current speech may have ended
	from, to time.Time // start and last moment of the current speech
}

// fits counts a person or a speech, and reports whether there is space for it.
func (r *roster) fits(id string, more int) bool {
	encoded, _ := json.Marshal(id) // a string always encodes
	size := r.size + len(encoded) + more
	if size > maxRosterBytes {
		return false
	}
	r.size = size
	return true
}

// update updates the roster from the participants that a page shows at now, and
// reports whether anybody joined, left or changed a name, or whether there is new
// evidence of who speaks.
func (r *roster) update(participants []meeting.Participant, sources []meeting.SpeechSource, now time.Time) (changed bool) {
	for _, source := range sources {
		if !slices.Contains(r.speechSources, string(source)) {
			r.speechSources, changed = append(r.speechSources, string(source)), true
		}
	}
	for _, seen := range participants {
		p, known := r.byID[seen.ID]
		if !known {
			if !r.fits(seen.ID, maxPersonBytes) {
				continue
			}
			p = &participant{Person: ingest.Person{ID: seen.ID, JoinedAt: now}}
			r.byID[seen.ID] = p
			r.ids = append(r.ids, seen.ID)
		}
		renamed := seen.Name != "" && seen.Name != p.Name
		if renamed {
			p.Name = seen.Name
		}
		changed = changed || !known || renamed || !p.LeftAt.IsZero()
		switch {
		case seen.Speaking && !p.speaking:
			p.speaking, p.pausing, p.from, p.to = true, false, between(p.seenAt, now), now
		case seen.Speaking:
			p.pausing, p.to = false, now
		case p.speaking && !p.pausing && now.Sub(p.to) <= maxMarkInterval:
			p.pausing, p.to = true, between(p.to, now)
		case p.speaking && now.Sub(p.to) > maxSpeechPause:
			r.endSpeech(p)
		}
		p.seenAt, p.LeftAt = now, time.Time{}
	}
	for _, id := range r.ids {
		p := r.byID[id]
		if p.LeftAt.IsZero() && now.Sub(p.seenAt) > absentAfter {
			p.LeftAt, changed = p.seenAt, true
			r.endSpeech(p)
		}
	}
	return changed
}

// between returns the middle of two times, or the second if they are far apart.
func between(before, now time.Time) time.Time {
	if now.Sub(before) > maxMarkInterval {
		return now
	}
	return before.Add(now.Sub(before) / 2)
}

func (r *roster) endSpeech(p *participant) {
	if p.speaking && p.to.After(p.from) && r.fits(p.ID, maxSpeechBytes) {
		r.speech = append(r.speech, ingest.Speech{PersonID: p.ID, From: p.from, To: p.to})
	}
	p.speaking = false
}
