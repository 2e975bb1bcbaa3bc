package recording

import (
	"cmp"
	"fmt"
	"slices"

	"standin/internal/ingest"
)

// personKey identifies a person across attempts. It includes the name because a
// roster's IDs are valid within one attempt only.
type personKey struct{ id, name string }

// rosterID is an ID in the roster of one attempt.
type rosterID struct {
	attempt int
	id      string
}

// rosterIDs maps the IDs of all attempts to the IDs in the manifest.
type rosterIDs map[rosterID]string

// people returns the participants and their speech. The same ID and name in
// several attempts is one participant. The same ID with another name is another
// participant with a new ID.
func (b *builder) people() (participants []Participant, speech []Speech, ids rosterIDs) {
	participants, speech, ids = []Participant{}, []Speech{}, rosterIDs{}
	indexes := map[personKey]int{}
	usedIDs := map[string]int{}
	for _, report := range b.reports {
		for _, person := range byJoining(report.People) {
			key := personKey{id: person.ID, name: person.Name}
			index, known := indexes[key]
			if !known {
				index = len(participants)
				indexes[key] = index
				participants = append(participants, Participant{
					ID: uniqueID(person.ID, usedIDs), Name: person.Name, JoinedAt: Instant{person.JoinedAt},
				})
			}
			participants[index].LeftAt = Instant{person.LeftAt} // the last time, for a participant who returned
			ids[rosterID{report.Attempt, person.ID}] = participants[index].ID
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

// uniqueID returns the ID, with a suffix if it is already used. used holds the
// number of suffixes of each ID, so that a report with the same ID for many
// people takes linear time.
func uniqueID(id string, used map[string]int) string {
	unique := id
	for used[unique] > 0 {
		used[id]++
		unique = fmt.Sprintf("%s-%d", id, used[id])
	}
	used[unique]++
	return unique
}

// speech returns a report's speech relative to the start of the recording. It
// omits speech before the recording and speech of people not in the roster.
func (b *builder) speech(report ingest.Report, ids rosterIDs) []Speech {
	if b.origin.IsZero() {
		return nil
	}
	var speech []Speech
	for _, entry := range report.Speech {
		id, known := ids[rosterID{report.Attempt, entry.PersonID}]
		from, to := max(0, b.offset(entry.From)), b.offset(entry.To)
		if known && to > from {
			speech = append(speech, Speech{ParticipantID: id, StartMs: from.Milliseconds(), EndMs: to.Milliseconds()})
		}
	}
	return speech
}

// speechSource returns the evidence of speech in all reports.
func (b *builder) speechSource() SpeechSource {
	page, audio := false, false
	for _, report := range b.reports {
		page = page || slices.Contains(report.SpeechSources, string(SpeechByPage)) ||
			len(report.SpeechSources) == 0 && len(report.Speech) > 0 // of an earlier version
		audio = audio || slices.Contains(report.SpeechSources, string(SpeechByAudio))
	}
	switch {
	case page && audio:
		return SpeechByPageAndAudio
	case audio:
		return SpeechByAudio
	case page:
		return SpeechByPage
	}
	return SpeechUnknown
}
