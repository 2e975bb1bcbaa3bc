package meeting

// SpeechSource is a kind of evidence of who speaks.
type SpeechSource string

// The kinds of evidence of who speaks.
const (
	SpeechByPage  SpeechSource = "page"  // marks of participants' tiles
	SpeechByAudio SpeechSource = "audio" // the level of audio that is known to be a participant's
)

const (
	// speechLevel is the level of audio from which it counts as speech, between 0
	// and 1 (https://www.w3.org/TR/webrtc-stats/, audioLevel).
	speechLevel = 0.01
	// silenceLevel is the level of audio up to which nobody speaks.
	silenceLevel = 0.001
)

// decideSpeech decides which participants speak, and returns what is known of it.
// The level of a track that one participant's tile plays, or of all audio when
// there is one other participant, is more direct than a mark of the page. While all
// audio is silent nobody speaks, whatever the page marks: Zoom marks the last
// speaker.
func decideSpeech(snapshot Snapshot, participants []Participant, others int, owners []TrackOwner) (sources []SpeechSource) {
	levels := make(map[string]float64) // participant -> level
	loudest, known := 0.0, false
	for _, audio := range snapshot.Audio {
		level, ok := audio.loudness()
		if !ok {
			continue
		}
		loudest, known = max(loudest, level), true
		for _, owner := range owners {
			if owner.Track == audio.Track {
				levels[owner.ParticipantID] = max(levels[owner.ParticipantID], level)
			}
		}
	}
	if known && others == 1 && len(participants) == 1 {
		levels[participants[0].ID] = loudest
	}
	byPage, byAudio := false, false
	for i := range participants {
		p := &participants[i]
		byPage = byPage || p.Speaking
		if level, direct := levels[p.ID]; direct {
			p.Speaking, byAudio = level >= speechLevel, true
		}
		if known && loudest <= silenceLevel {
			p.Speaking = false
		}
	}
	if byPage {
		sources = append(sources, SpeechByPage)
	}
	if byAudio {
		sources = append(sources, SpeechByAudio)
	}
	return sources
}

// loudness returns the level of a track: its own, or else that of its loudest
// contributor. ok is false when no level is known.
func (a AudioTrack) loudness() (level float64, ok bool) {
	if a.Level != nil {
		return *a.Level, true
	}
	for _, contributor := range a.Contributors {
		if contributor.Level != nil {
			level, ok = max(level, *contributor.Level), true
		}
	}
	return level, ok
}

// countContributors returns how many participants the arriving audio comes from.
func countContributors(audio []AudioTrack) int {
	sources := make(map[string]bool)
	for _, track := range audio {
		for _, contributor := range track.Contributors {
			sources[contributor.ID] = true
		}
	}
	return len(sources)
}
