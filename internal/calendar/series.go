package calendar

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

const (
	maxDates       = 1000   // dates in the RDATE and EXDATE properties of an event
	maxOccurrences = 40_000 // occurrences of a series that are examined: daily for more than a century
	maxInterval    = 1000
	maxRulePart    = 256 // bytes
	expandSteps    = 200 // of a Budget, to find the first occurrence
)

// earliestSeries is the earliest start of a series: each occurrence since then
// may be examined.
var earliestSeries = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)

// Series is the recurrence of an event: its RRULE, RDATE and EXDATE (RFC 5545,
// section 3.8.5).
type Series struct {
	rule         *rrule.ROption // complete, in local time as if it were UTC; nil if there is no rule
	until        time.Time      // UTC; zero if unlimited
	utc          func(local time.Time) (time.Time, bool)
	dates        []time.Time        // UTC; the first start and RDATE
	excluded     map[time.Time]bool // UTC
	excludedDays map[string]bool    // local dates, as in 20060102
}

// readSeries returns the recurrence of an event; nil if it does not recur. It
// returns an *ICSError for a rule that it does not understand.
func readSeries(c *component, zones *zones, start *property, budget *Budget) (*Series, error) {
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
			if err = budget.Spend(expandSteps); err == nil {
				err = s.readRule(p, first)
			}
		case "RDATE", "EXDATE":
			recurs = recurs || p.name == "RDATE"
			for value := range strings.SplitSeq(p.value, ",") {
				if count++; count > maxDates {
					return nil, &ICSError{LineNumber: p.lineNumber, Reason: "too many dates"}
				}
				if err = budget.Spend(1); err != nil {
					break
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
		if !slices.Contains([]string{"FREQ", "INTERVAL", "COUNT", "WKST"}, name) && !slices.Contains(accepted, name) || len(parts[name]) > maxRulePart {
			return unusable
		}
		text = append(text, name+"="+parts[name])
	}
	options, err := rrule.StrToROption(strings.Join(text, ";"))
	if err != nil || options.Interval > maxInterval {
		return unusable
	}
	options.Dtstart = first
	rule, err := rrule.NewRRule(*options)
	if err != nil {
		return unusable
	}
	if _, possible := rule.Iterator()(); !possible {
		return unusable // such as February 30, for which each expansion would search all years
	}
	s.rule = &rule.Options
	return nil
}

// ruleNear returns the rule from a local time on, or from shortly before it. It
// starts at the beginning of a period of the rule that is a multiple of the interval
// after the first one. A rule with a COUNT starts at its first occurrence.
func (s *Series) ruleNear(local time.Time) rrule.ROption {
	near := *s.rule
	first := near.Dtstart
	if near.Count > 0 || !local.After(first) {
		return near
	}
	interval := max(1, near.Interval)
	whole := func(periods int) int { return periods / interval * interval }
	days, years := int(local.Sub(first)/(24*time.Hour)), local.Year()-first.Year()
	clock := first.Sub(first.Truncate(24 * time.Hour))
	switch near.Freq {
	case rrule.DAILY:
		near.Dtstart = first.AddDate(0, 0, whole(days))
	case rrule.WEEKLY:
		near.Dtstart = first.AddDate(0, 0, 7*whole(days/7))
	case rrule.MONTHLY:
		if months := whole(12*years + int(local.Month()-first.Month())); months > 0 {
			near.Dtstart = time.Date(first.Year(), first.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC).Add(clock)
		}
	case rrule.YEARLY:
		if years = whole(years); years > 0 {
			near.Dtstart = time.Date(first.Year()+years, time.January, 1, 0, 0, 0, 0, time.UTC).Add(clock)
		}
	}
	return near
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
func (s *Series) starts(from, to time.Time, withExcluded bool, budget *Budget) ([]time.Time, error) {
	if err := budget.Spend(1 + len(s.dates)/8); err != nil {
		return nil, err
	}
	found := slices.Clone(s.dates)
	if s.rule != nil {
		var err error
		if found, err = s.appendRule(found, from, to, withExcluded, budget); err != nil {
			return nil, err
		}
	}
	found = slices.DeleteFunc(found, func(at time.Time) bool {
		return at.Before(from) || !at.Before(to) || !withExcluded && s.excluded[at]
	})
	slices.SortFunc(found, time.Time.Compare)
	return slices.CompactFunc(found, time.Time.Equal), nil
}

// appendRule appends the starts in [from, to) that the rule has, and some others.
func (s *Series) appendRule(found []time.Time, from, to time.Time, withExcluded bool, budget *Budget) ([]time.Time, error) {
	if err := budget.Spend(expandSteps); err != nil {
		return nil, err
	}
	earliest := from.AddDate(0, 0, -2) // local times are less than a day from UTC
	options := s.ruleNear(earliest)
	options.Until = to.AddDate(0, 0, 2)
	rule, err := rrule.NewRRule(options)
	if err != nil {
		return nil, fmt.Errorf("expand a series: %w", err)
	}
	next := rule.Iterator()
	for range maxOccurrences {
		if err := budget.Spend(1); err != nil {
			return nil, err
		}
		local, more := next()
		if !more {
			break
		}
		if local.Before(earliest) {
			continue
		}
		at, ok := s.utc(local)
		if !s.until.IsZero() && at.After(s.until) {
			break
		}
		if ok && (withExcluded || !s.excludedDays[local.Format("20060102")]) {
			found = append(found, at)
		}
	}
	return found, nil
}

// Occurrences returns the meetings of an event that start before to and end
// after from, in the sequence of their starts. events are the event, if it is
// known, and its changed occurrences. All-day events, cancelled occurrences and
// changes of occurrences that the series no longer has are left out. Occurrences
// have no Series. Errors are those of the budget.
func Occurrences(events []Event, from, to time.Time, budget *Budget) (found []Event, err error) {
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
	switch {
	case whole == nil:
		found = changes
	case whole.Cancelled:
	case whole.Series == nil:
		found = append(changes, *whole)
	default:
		if found, err = whole.expand(changes, from, to, budget); err != nil {
			return nil, err
		}
	}
	found = slices.DeleteFunc(found, func(e Event) bool {
		return e.Cancelled || e.AllDay || !e.Start.Before(to) || !e.End.After(from) && !e.Start.After(from)
	})
	for i := range found {
		found[i].Series = nil
	}
	slices.SortStableFunc(found, func(a, b Event) int { return a.Start.Compare(b.Start) })
	return found, nil
}

// expand returns the occurrences of a series that start from before to, and
// those that are changed. changes are sorted.
func (e Event) expand(changes []Event, from, to time.Time, budget *Budget) (found []Event, err error) {
	first, last := from, to
	if len(changes) > 0 {
		first, last = changes[0].Original, changes[len(changes)-1].Original.Add(time.Second)
	}
	known, err := e.Series.starts(first, last, true, budget)
	if err != nil {
		return nil, err
	}
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
	starts, err := e.Series.starts(from.Add(-length), to, false, budget)
	if err != nil {
		return nil, err
	}
	for _, start := range starts {
		if err := budget.Spend(1 + len(changes)/8); err != nil {
			return nil, err
		}
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
	return found, nil
}
