package simulator

import (
	"time"

	"standin/internal/ingest"
	"standin/internal/recording"
)

// version is the version of simulated bots. It marks the manifests of
// simulated recordings.
const version = "simulator"

// speakingTime is how long one of the imaginary participants speaks before the
// other.
const speakingTime = 5 * time.Second

// timeline is when the meeting was recorded.
type timeline struct {
	parts    []ingest.RecordingPart
	running  bool
	pausedAt time.Time // zero unless paused
	gaps     []ingest.Gap
}

func (t *timeline) started() bool { return len(t.parts) > 0 }

func (t *timeline) start(at time.Time) {
	t.parts = append(t.parts, ingest.RecordingPart{Number: len(t.parts), StartedAt: at, Segments: 1})
	t.running, t.pausedAt = true, time.Time{}
}

func (t *timeline) pause(at time.Time) {
	t.end(at, recording.GapPaused)
	t.pausedAt = at
}

// stop ends the recording, and the pause if it is paused.
func (t *timeline) stop(at time.Time) {
	if !t.pausedAt.IsZero() {
		t.gaps = append(t.gaps, ingest.Gap{From: t.pausedAt, To: at, Reason: recording.GapPaused})
		t.pausedAt = time.Time{}
	}
	if t.running {
		t.end(at, "")
	}
}

func (t *timeline) end(at time.Time, reason string) {
	last := &t.parts[len(t.parts)-1]
	last.EndedAt, last.Complete, last.EndedBy = at, true, reason
	t.running = false
}

// recorded returns the duration of the recording so far.
func (t *timeline) recorded(now time.Time) time.Duration {
	var recorded time.Duration
	for _, part := range t.parts {
		recorded += endOf(part, now).Sub(part.StartedAt)
	}
	return recorded
}

func endOf(part ingest.RecordingPart, now time.Time) time.Time {
	if part.EndedAt.IsZero() {
		return now
	}
	return part.EndedAt
}

// people returns the two participants of every imaginary meeting.
func people(from, to time.Time) []ingest.Person {
	return []ingest.Person{
		{ID: "host", Name: "Simulated Host", JoinedAt: from, LeftAt: to},
		{ID: "guest", Name: "Simulated Guest", JoinedAt: from, LeftAt: to},
	}
}

// speech returns the participants' alternating turns.
func (t *timeline) speech(now time.Time) []ingest.Speech {
	const silence = speakingTime / 10
	speakers := [...]string{"host", "guest"}
	var speech []ingest.Speech
	for _, part := range t.parts {
		end := endOf(part, now)
		for from := part.StartedAt; from.Before(end); from = from.Add(speakingTime) {
			to := from.Add(speakingTime - silence)
			if to.After(end) {
				to = end
			}
			speech = append(speech, ingest.Speech{PersonID: speakers[len(speech)%len(speakers)], From: from, To: to})
		}
	}
	return speech
}
