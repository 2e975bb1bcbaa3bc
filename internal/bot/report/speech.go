package report

import (
	"slices"
	"time"

	"standin/internal/bot/recorder"
)

const (
	// maxMarkDifference is how far a mark of who speaks may be from the sound. Pages mark
	// speakers before the sound is played or after it was, and the bot reads the marks
	// several times a second.
	maxMarkDifference = time.Second
	// maxSoundChanges limits the memory for when sound begins and ends: a day of speech.
	maxSoundChanges = 200_000
)

// AddSound adds when the recorded sound began and ended. The changes are in order, and
// those that are known are ignored.
func (r *Report) AddSound(changes []recorder.SoundChange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, change := range changes {
		change.At = r.clock.Convert(change.At)
		if known := len(r.sound); known < maxSoundChanges && (known == 0 || change.At.After(r.sound[known-1].At)) {
			r.sound = append(r.sound, change)
		}
	}
}

// nearestChange returns the beginning or end of sound that is nearest to a time, or the
// time itself if there is none near it.
func nearestChange(sound []recorder.SoundChange, begins bool, at time.Time) time.Time {
	first, _ := slices.BinarySearchFunc(sound, at.Add(-maxMarkDifference),
		func(change recorder.SoundChange, t time.Time) int { return change.At.Compare(t) })
	nearest, distance := at, maxMarkDifference
	for _, change := range sound[first:] {
		if change.At.Sub(at) > maxMarkDifference {
			break
		}
		if difference := change.At.Sub(at).Abs(); change.Sound == begins && difference <= distance {
			nearest, distance = change.At, difference
		}
	}
	return nearest
}
