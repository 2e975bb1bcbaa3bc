package fieldpages

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"standin/internal/bot/ingest"
)

// speechCollar is the time around each beginning and end of speech that is not scored,
// as is usual for such scores.
const speechCollar = 250 * time.Millisecond

// speechScore compares who spoke with what the bot reported: the time in which somebody
// spoke, that of it which the bot reported, and all that it reported.
type speechScore struct{ spoken, found, reported time.Duration }

func (s *speechScore) add(other speechScore) {
	s.spoken += other.spoken
	s.found += other.found
	s.reported += other.reported
}

// recall is the share of the spoken time that was reported, and precision the share of the
// reported time that was spoken.
func (s speechScore) recall() float64 { return s.found.Seconds() / max(s.spoken.Seconds(), 0.001) }
func (s speechScore) precision() float64 {
	return s.found.Seconds() / max(s.reported.Seconds(), 0.001)
}

// String returns recall and precision.
func (s speechScore) String() string {
	if s.spoken == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f/%.2f", s.recall(), s.precision())
}

// span is a section of a meeting.
type span struct{ from, to time.Time }

func (s span) contains(at time.Time) bool { return !at.Before(s.from) && at.Before(s.to) }

// scoreSpeech compares the speech of a report with the log of a page, from the bot's first
// look at the meeting to its end.
func scoreSpeech(truth []Entry, report ingest.Report) (score speechScore) {
	spoken, reported := spokenSpans(truth), make(map[string][]span)
	for _, speech := range report.Speech {
		for _, person := range report.People {
			if person.ID == speech.PersonID {
				reported[person.Name] = append(reported[person.Name], span{speech.From, speech.To})
			}
		}
	}
	var end time.Time
	for _, entry := range truth {
		if entry.Kind == "over" {
			end = entry.At
		}
	}
	names := make(map[string]bool)
	for name := range spoken {
		names[name] = true
	}
	for name := range reported {
		names[name] = true
	}
	const step = 10 * time.Millisecond
	for name := range names {
		for at := report.AdmittedAt.Add(time.Second); at.Before(end.Add(-speechCollar)); at = at.Add(step) {
			if nearEdge(spoken[name], at) {
				continue
			}
			speaks := func(s span) bool { return s.contains(at) }
			truly, said := slices.ContainsFunc(spoken[name], speaks), slices.ContainsFunc(reported[name], speaks)
			for counted, sum := range map[*time.Duration]bool{&score.spoken: truly, &score.found: truly && said, &score.reported: said} {
				if sum {
					*counted += step
				}
			}
		}
	}
	return score
}

// nearEdge reports whether a span begins or ends near a time.
func nearEdge(spans []span, at time.Time) bool {
	return slices.ContainsFunc(spans, func(s span) bool {
		return at.Sub(s.from).Abs() < speechCollar || at.Sub(s.to).Abs() < speechCollar
	})
}

// spokenSpans returns when each person spoke. Pauses that the bot counts as part of a
// speech do not end one.
func spokenSpans(truth []Entry) map[string][]span {
	const shortPause = time.Second
	spoken := make(map[string][]span)
	since := make(map[string]time.Time)
	end := func(name string, at time.Time) {
		spans := spoken[name]
		if last := len(spans) - 1; last >= 0 && since[name].Sub(spans[last].to) < shortPause {
			spans[last].to = at
		} else {
			spoken[name] = append(spans, span{since[name], at})
		}
		delete(since, name)
	}
	for _, entry := range truth {
		var names []string
		switch entry.Kind {
		case "speaks":
			_ = json.Unmarshal([]byte(entry.Detail), &names) // the page's own JSON
		case "over":
		default:
			continue
		}
		for name := range since {
			if !slices.Contains(names, name) {
				end(name, entry.At)
			}
		}
		for _, name := range names {
			if _, speaks := since[name]; !speaks {
				since[name] = entry.At
			}
		}
	}
	return spoken
}

// tallySpeech adds up the results of the scenarios in which people talk for a while.
func tallySpeech(results []result) (score speechScore, checked, complete int) {
	for _, r := range results {
		if r.plan.Scenario != "crowd" && r.plan.Scenario != "talk" {
			continue
		}
		score.add(r.speech)
		checked++
		if r.complete {
			complete++
		}
	}
	return score, checked, complete
}
