package sound

import (
	"encoding/json"
	"slices"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/server/live"
)

// people are the participants of a meeting for protocols that number them and tell
// changes, not states.
type people struct {
	numbers  map[string]int // by ID, or by name without one
	present  []ingest.LiveParticipant
	speaking []string // IDs
}

func newPeople() *people { return &people{numbers: make(map[string]int)} }

// change is what a participant did.
type change struct {
	what     string // join, leave, update, speech_on or speech_off
	id, name string
}

// number returns the number of a participant, which is not that of a track.
func (p *people) number(id string) int {
	if _, known := p.numbers[id]; !known {
		p.numbers[id] = ingest.MaxSoundSources + 1 + len(p.numbers)
	}
	return p.numbers[id]
}

// changes returns what an event says that participants did.
func (p *people) changes(event live.Event) (changes []change) {
	switch job.StreamEvent(event.Name) {
	case job.ParticipantsEvents:
		var now live.Participants
		if json.Unmarshal(event.Data, &now) != nil {
			return nil
		}
		for _, participant := range now.Participants {
			if before, known := find(p.present, participant.ID); !known {
				changes = append(changes, change{"join", participant.ID, participant.Name})
			} else if before.Name != participant.Name {
				changes = append(changes, change{"update", participant.ID, participant.Name})
			}
		}
		for _, participant := range p.present {
			if _, stays := find(now.Participants, participant.ID); !stays {
				changes = append(changes, change{"leave", participant.ID, participant.Name})
			}
		}
		p.present = now.Participants
	case job.SpeakingEvents:
		var now live.Speaking
		if json.Unmarshal(event.Data, &now) != nil {
			return nil
		}
		tell := func(what string, ids, others []string) {
			for _, id := range ids {
				if !slices.Contains(others, id) {
					participant, _ := find(p.present, id)
					changes = append(changes, change{what, id, participant.Name})
				}
			}
		}
		tell("speech_off", p.speaking, now.ParticipantIDs)
		tell("speech_on", now.ParticipantIDs, p.speaking)
		p.speaking = now.ParticipantIDs
	}
	return changes
}

func find(people []ingest.LiveParticipant, id string) (ingest.LiveParticipant, bool) {
	for _, p := range people {
		if p.ID == id {
			return p, true
		}
	}
	return ingest.LiveParticipant{}, false
}
