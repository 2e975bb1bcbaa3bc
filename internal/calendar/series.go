package calendar

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

const (
	maxDates       = 1000   // dates in the RDATE and EXDATE properties of an event
	maxOccurrences = 40_000 // occurrences of a series that are examined: daily for more than a century
)

// earliestSeries is the earliest start of a series: each occurrence since then
// is examined.
var earliestSeries = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)

// Series is the recurrence of an event: its RRULE, RDATE and EXDATE (RFC 5545,
// section 3.8.5).
type Series struct {
	rule         *rrule.ROption // local time as if it were UTC; nil if there is no rule
	until        time.Time      // UTC; zero if unlimited
	utc          func(local time.Time) (time.Time, bool)
	dates        []time.Time        // UTC; the first start and RDATE
	excluded     map[time.Time]bool // UTC
	excludedDays map[string]bool    // local dates, as in 20060102
}

// readSeries returns the recurrence of an event; nil if it does not recur. It
// returns an *ICSError for a rule that it does not understand.
func readSeries(c *component, zones *zones, start *property) (*Series, error) {
	first, _, err := localOf(strings.TrimSpace(start.value))
	if err != nil {
		return nil, &ICSError{LineNumber: start.lineNumber, Reason: "DTSTART is not a date-time"}
	}
	s := &Series{utc: zones.converter(start), excluded: map[time.Time]bool{}, excludedDays: map[string]bool{}}
	if at, ok := s.utc(first); ok {
		s.dates = []time.Time{at}
	}
	recurs, count := false, 0
	for i := range c.properties {
		p := &c.properties[i]
		switch p.name {
		case "RRULE":
			if recurs = true; s.rule != nil {
				return nil, &ICSError{LineNumber: p.lineNumber, Reason: "more than one RRULE"}
			}
			err = s.readRule(p, first)
		case "RDATE", "EXDATE":
			recurs = recurs || p.name == "RDATE"
			for value := range strings.SplitSeq(p.value, ",") {
				if count++; count > maxDates {
					return nil, &ICSError{LineNumber: p.lineNumber, Reason: "too many dates"}
				}
				if err = s.readDate(p, zones, value); err != nil {
					break
				}
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if !recurs {
		return nil, nil
	}
	return s, nil
}

// readDate reads one value of RDATE or EXDATE.
func (s *Series) readDate(p *property, zones *zones, value string) error {
	value, _, _ = strings.Cut(strings.TrimSpace(value), "/") // the start of a period
	if value == "" {
		return nil
	}
	at, date, _, err := zones.moment(&property{name: p.name, parameters: p.parameters, value: value, lineNumber: p.lineNumber})
	switch {
	case err != nil:
		return err
	case p.name == "RDATE" && !date:
		s.dates = append(s.dates, at)
	case p.name == "EXDATE" && date:
		s.excludedDays[value] = true
	case p.name == "EXDATE":
		s.excluded[at] = true
	}
	return nil
}

// ruleParts are the parts of an RRULE that are accepted for each frequency.
// Calendars write no others, which make rules that have no occurrence and are
// expensive to expand.
var ruleParts = map[string][]string{
	"DAILY":   {"BYDAY"}, // every day
	"WEEKLY":  {"BYDAY"},
	"MONTHLY": {"BYDAY", "BYMONTHDAY", "BYSETPOS"},
	"YEARLY":  {"BYDAY", "BYMONTH", "BYMONTHDAY", "BYSETPOS"},
}

// readRule reads an RRULE.
func (s *Series) readRule(p *property, first time.Time) (err error) {
	unusable := &ICSError{LineNumber: p.lineNumber, Reason: "RRULE is not understood"}
	if first.Before(earliestSeries) {
		return unusable
	}
	parts := make(map[string]string)
	for part := range strings.SplitSeq(strings.ToUpper(strings.TrimSpace(p.value)), ";") {
		if name, value, found := strings.Cut(part, "="); found {
			parts[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	if text := parts["UNTIL"]; text != "" {
		if s.until, err = s.readUntil(text); err != nil {
			return unusable
		}
		delete(parts, "UNTIL")
	}
	accepted, known := ruleParts[parts["FREQ"]]
	sparse := parts["FREQ"] == "DAILY" && parts["BYDAY"] != "" && parts["INTERVAL"] != "" && parts["INTERVAL"] != "1"
	if !known || sparse {
		return unusable
	}
	var text []string
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if !slices.Contains([]string{"FREQ", "INTERVAL", "COUNT", "WKST"}, name) && !slices.Contains(accepted, name) {
			return unusable
		}
		text = append(text, name+"="+parts[name])
	}
	if s.rule, err = rrule.StrToROption(strings.Join(text, ";")); err != nil {
		return unusable
	}
	s.rule.Dtstart = first
	if _, err := rrule.NewRRule(*s.rule); err != nil {
		return unusable
	}
	return nil
}

// readUntil parses the end of a rule, which is inclusive: a time in UTC, or a
// local time or date.
func (s *Series) readUntil(text string) (time.Time, error) {
	if day, err := time.Parse("20060102", text); err == nil {
		text = day.Format("20060102T") + "235959"
	}
	local, inUTC, err := localOf(text)
	if err != nil || inUTC {
		return local, err
	}
	at, _ := s.utc(local) // the zone is that of DTSTART, which is known
	return at, nil
}

// starts returns the starts of the occurrences in [from, to), in UTC, with or
// without those that EXDATE excludes.
func (s *Series) starts(from, to time.Time, withExcluded bool) []time.Time {
	found := slices.Clone(s.dates)
	if s.rule != nil {
		bounded := *s.rule
		bounded.Until = to.AddDate(0, 0, 2) // local times are less than a day from UTC
		if rule, err := rrule.NewRRule(bounded); err == nil {
			next := rule.Iterator()
			for range maxOccurrences {
				local, more := next()
				at, ok := s.utc(local)
				if !more || !s.until.IsZero() && at.After(s.until) {
					break
				}
				if ok && (withExcluded || !s.excludedDays[local.Format("20060102")]) {
					found = append(found, at)
				}
			}
		}
	}
	found = slices.DeleteFunc(found, func(at time.Time) bool {
		return at.Before(from) || !at.Before(to) || !withExcluded && s.excluded[at]
	})
	slices.SortFunc(found, time.Time.Compare)
	return slices.CompactFunc(found, time.Time.Equal)
}

// Occurrences returns the meetings of an event that start before to and end
// after from, in the sequence of their starts. events are the event, if it is
// known, and its changed occurrences. All-day events, cancelled occurrences and
// changes of occurrences that the series no longer has are left out. Occurrences
// have no Series.
func Occurrences(events []Event, from, to time.Time) []Event {
	var whole *Event
	var changes []Event
	for i := range events {
		if events[i].Original.IsZero() {
			whole = &events[i]
		} else {
			changes = append(changes, events[i])
		}
	}
	slices.SortFunc(changes, func(a, b Event) int { return a.Original.Compare(b.Original) })
	var found []Event
	switch {
	case whole == nil:
		found = changes
	case whole.Cancelled:
	case whole.Series == nil:
		found = append(changes, *whole)
	default:
		found = whole.expand(changes, from, to)
	}
	found = slices.DeleteFunc(found, func(e Event) bool {
		return e.Cancelled || e.AllDay || !e.Start.Before(to) || !e.End.After(from) && !e.Start.After(from)
	})
	for i := range found {
		found[i].Series = nil
	}
	slices.SortStableFunc(found, func(a, b Event) int { return a.Start.Compare(b.Start) })
	return found
}

// expand returns the occurrences of a series that start from before to, and
// those that are changed. changes are sorted.
func (e Event) expand(changes []Event, from, to time.Time) (found []Event) {
	first, last := from, to
	if len(changes) > 0 {
		first, last = changes[0].Original, changes[len(changes)-1].Original.Add(time.Second)
	}
	known := e.Series.starts(first, last, true)
	var later []Event // changes of an occurrence and those after it
	for _, change := range changes {
		if _, ok := slices.BinarySearchFunc(known, change.Original, time.Time.Compare); ok {
			found = append(found, change)
			if change.ThisAndFuture {
				later = append(later, change)
			}
		}
	}
	length := e.End.Sub(e.Start)
	for _, start := range e.Series.starts(from.Add(-length), to, false) {
		if slices.ContainsFunc(changes, func(change Event) bool { return change.Original.Equal(start) }) {
			continue
		}
		one := e
		one.Start, one.End = start, start.Add(length)
		for _, change := range later {
			if start.After(change.Original) {
				one = change
				one.Start = start.Add(change.Start.Sub(change.Original))
				one.End = one.Start.Add(change.End.Sub(change.Start))
			}
		}
		one.Original, one.ThisAndFuture = start, false
		found = append(found, one)
	}
	return found
}
