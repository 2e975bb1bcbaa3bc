package recording

import (
	"cmp"
	"fmt"
	"slices"

	"standin/internal/ingest"
)

// personKey tells people apart: a roster's ids hold only within one attempt,
// so the name belongs to it.
type personKey struct{ id, name string }

// rosterID is an id of one attempt's roster.
type rosterID struct {
	attempt int
	id      string
}

// rosterIDs are those of all attempts, each with the manifest's.
type rosterIDs map[rosterID]string

// people lists who was seen and when each spoke. The same id and name in
// several attempts is one participant; the same id with another name is
// another one, and gets an id of its own.
func (b *builder) people() (participants []Participant, speech []Speech, ids rosterIDs) {
	participants, speech, ids = []Participant{}, []Speech{}, rosterIDs{}
	positions := map[personKey]int{}
	taken := map[string]int{}
	for _, report := range b.reports {
		for _, person := range byJoining(report.People) {
			key := personKey{id: person.ID, name: person.Name}
			position, known := positions[key]
			if !known {
				position = len(participants)
				positions[key] = position
				participants = append(participants, Participant{
					ID: uniqueID(person.ID, taken), Name: person.Name, JoinedAt: Instant{person.JoinedAt},
				})
			}
			participants[position].LeftAt = Instant{person.LeftAt} // who came again left when he last left
			ids[rosterID{report.Attempt, person.ID}] = participants[position].ID
		}
		speech = append(speech, b.speech(report, ids)...)
	}
	slices.SortStableFunc(participants, func(a, c Participant) int {
		return cmp.Or(a.JoinedAt.Compare(c.JoinedAt.Time), cmp.Compare(a.ID, c.ID))
	})
	slices.SortStableFunc(speech, func(a, c Speech) int { return cmp.Compare(a.StartMs, c.StartMs) })
	return participants, speech, ids
}

func byJoining(people []ingest.Person) []ingest.Person {
	return slices.SortedStableFunc(slices.Values(people), func(a, b ingest.Person) int {
		return a.JoinedAt.Compare(b.JoinedAt)
	})
}

// uniqueID returns the id, with a suffix if it is taken. taken counts the
// suffixes of each id, so that a report with one id for many people costs no
// more than others.
func uniqueID(id string, taken map[string]int) string {
	unique := id
	for taken[unique] > 0 {
		taken[id]++
		unique = fmt.Sprintf("%s-%d", id, taken[id])
	}
	taken[unique]++
	return unique
}

// speech puts a report's speech on the recording's clock. What was said before
// the recording, or by nobody in the roster, is left out.
func (b *builder) speech(report ingest.Report, ids rosterIDs) []Speech {
	if b.origin.IsZero() {
		return nil
	}
	var speech []Speech
	for _, spoken := range report.Speech {
		id, known := ids[rosterID{report.Attempt, spoken.PersonID}]
		from, to := max(0, b.offset(spoken.From)), b.offset(spoken.To)
		if known && to > from {
			speech = append(speech, Speech{ParticipantID: id, StartMs: from.Milliseconds(), EndMs: to.Milliseconds()})
		}
	}
	return speech
}
