package simulator

import (
	"time"

	"standin/internal/ingest"
	"standin/internal/recording"
)

// version is what simulated bots give as theirs: a manifest tells by it that
// nothing was recorded in earnest.
const version = "simulator"

// turn is how long one of the imagined people speaks before the other does.
const turn = 5 * time.Second

// tape follows what of the meeting was recorded, and when.
type tape struct {
	stretches []ingest.RecordingPart
	running   bool
	pausedAt  time.Time // zero unless paused
	gaps      []ingest.Gap
}

// begun reports whether anything was ever recorded.
func (t *tape) begun() bool { return len(t.stretches) > 0 }

func (t *tape) begin(at time.Time) {
	t.stretches = append(t.stretches, ingest.RecordingPart{Number: len(t.stretches), StartedAt: at, Segments: 1})
	t.running, t.pausedAt = true, time.Time{}
}

func (t *tape) pause(at time.Time) {
	t.end(at, recording.GapPaused)
	t.pausedAt = at
}

// stop ends the recording; a pause that goes on ends with it.
func (t *tape) stop(at time.Time) {
	if !t.pausedAt.IsZero() {
		t.gaps = append(t.gaps, ingest.Gap{From: t.pausedAt, To: at, Reason: recording.GapPaused})
		t.pausedAt = time.Time{}
	}
	if t.running {
		t.end(at, "")
	}
}

func (t *tape) end(at time.Time, why string) {
	last := &t.stretches[len(t.stretches)-1]
	last.EndedAt, last.Complete, last.EndedBy = at, true, why
	t.running = false
}

// length is how much was recorded so far.
func (t *tape) length(now time.Time) time.Duration {
	var length time.Duration
	for _, stretch := range t.stretches {
		length += endOf(stretch, now).Sub(stretch.StartedAt)
	}
	return length
}

func endOf(stretch ingest.RecordingPart, now time.Time) time.Time {
	if stretch.EndedAt.IsZero() {
		return now
	}
	return stretch.EndedAt
}

// people are the two who are in every imagined meeting, as long as the bot is.
func people(from, to time.Time) []ingest.Person {
	return []ingest.Person{
		{ID: "host", Name: "Simulated Host", JoinedAt: from, LeftAt: to},
		{ID: "guest", Name: "Simulated Guest", JoinedAt: from, LeftAt: to},
	}
}

// speech lets them speak by turns, each with a pause before the other begins.
func (t *tape) speech(now time.Time) []ingest.Speech {
	const silence = turn / 10
	speakers := [...]string{"host", "guest"}
	var speech []ingest.Speech
	for _, stretch := range t.stretches {
		end := endOf(stretch, now)
		for from := stretch.StartedAt; from.Before(end); from = from.Add(turn) {
			to := from.Add(turn - silence)
			if to.After(end) {
				to = end
			}
			speech = append(speech, ingest.Speech{PersonID: speakers[len(speech)%len(speakers)], From: from, To: to})
		}
	}
	return speech
}
