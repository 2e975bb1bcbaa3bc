package calendar

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

const (
	maxDates        = 1000   // dates in the RDATE and EXDATE properties of an event
	maxRules        = 10     // RRULE properties of an event
	maxOccurrences  = 40_000 // occurrences that are counted for a COUNT: daily for more than a century
	maxInterval     = 1000
	maxRulePart     = 256 // bytes
	maxTimes        = 24  // occurrences of a rule on one day
	expandSteps     = 200 // of a Budget, to find the first occurrence of a rule
	impossibleSteps = 100_000
)

// earliestSeries is the earliest start of a series.
var earliestSeries = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)

// Series is the recurrence of an event: its RRULE, RDATE and EXDATE (RFC 5545,
// section 3.8.5).
type Series struct {
	rules        []seriesRule
	utc          func(local time.Time) (time.Time, bool)
	dates        []time.Time        // UTC; the first start and RDATE
	excluded     map[time.Time]bool // UTC
	excludedDays map[string]bool    // local dates, as in 20060102
}

// seriesRule is an RRULE.
type seriesRule struct {
	options rrule.ROption // complete, without an end, in local time as if it were UTC
	until   time.Time     // UTC; zero if unlimited
	last    time.Time     // local, of the last occurrence of a COUNT; zero if unlimited
}

// readSeries returns the recurrence of an event; nil if it does not recur. It
// returns an *ICSError for a rule that it does not understand.
func readSeries(c *component, zones *zones, start *property, budget *Budget) (*Series, error) {
	first, _, err := localOf(strings.TrimSpace(start.value))
	if err != nil {
		return nil, &ICSError{"DTSTART is not a date-time"}
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
			if recurs = true; len(s.rules) == maxRules {
				return nil, &ICSError{"too many RRULEs"}
			}
			err = s.readRule(p, first, budget)
		case "RDATE", "EXDATE":
			recurs = recurs || p.name == "RDATE"
			for value := range strings.SplitSeq(p.value, ",") {
				if count++; count > maxDates {
					return nil, &ICSError{"too many dates"}
				}
				if err = budget.Spend(1); err != nil {
					break
				}
				if err = s.readDate(p, zones, start, value); err != nil {
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
func (s *Series) readDate(p *property, zones *zones, start *property, value string) error {
	value, _, _ = strings.Cut(strings.TrimSpace(value), "/") // the start of a period
	if value == "" {
		return nil
	}
	at, date, _, err := zones.moment(inZoneOf(start, property{name: p.name, parameters: p.parameters, value: value}))
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

// acceptedParts are the parts of an RRULE that are accepted for each frequency.
// Rules that recur within a day are not meetings.
var acceptedParts = map[string][]string{
	"DAILY":   {"BYDAY", "BYMONTH", "BYMONTHDAY"},
	"WEEKLY":  {"BYDAY", "BYMONTH"},
	"MONTHLY": {"BYDAY", "BYMONTH", "BYMONTHDAY", "BYSETPOS"},
	"YEARLY":  {"BYDAY", "BYMONTH", "BYMONTHDAY", "BYSETPOS", "BYWEEKNO", "BYYEARDAY"},
}

// commonParts are accepted for each frequency.
var commonParts = []string{"FREQ", "INTERVAL", "COUNT", "WKST", "BYHOUR", "BYMINUTE", "BYSECOND"}

// ruleParts returns the parts of an RRULE by their names. Empty ones and the spaces
// that some programs write are left out.
func ruleParts(text string) map[string]string {
	parts := make(map[string]string)
	for part := range strings.SplitSeq(strings.Join(strings.Fields(strings.ToUpper(text)), ""), ";") {
		if name, value, _ := strings.Cut(part, "="); value != "" {
			parts[name] = value
		}
	}
	return parts
}

// parseRule returns the rule with the given parts and first local time, with all that
// it takes from that time. It knows no UNTIL.
func parseRule(parts map[string]string, first time.Time) (*rrule.ROption, error) {
	accepted, known := acceptedParts[parts["FREQ"]]
	if !known {
		return nil, fmt.Errorf("unknown frequency %q", parts["FREQ"])
	}
	var text []string
	times := 1
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if !slices.Contains(commonParts, name) && !slices.Contains(accepted, name) || len(parts[name]) > maxRulePart {
			return nil, fmt.Errorf("part %s is not accepted", name)
		}
		if name == "BYHOUR" || name == "BYMINUTE" || name == "BYSECOND" {
			times *= 1 + strings.Count(parts[name], ",")
		}
		text = append(text, name+"="+parts[name])
	}
	options, err := rrule.StrToROption(strings.Join(text, ";"))
	if err != nil {
		return nil, err
	}
	if options.Interval > maxInterval || times > maxTimes {
		return nil, errors.New("too large a number")
	}
	options.Dtstart = first
	rule, err := rrule.NewRRule(*options)
	if err != nil {
		return nil, err
	}
	return &rule.Options, nil
}

// readRule reads an RRULE.
func (s *Series) readRule(p *property, first time.Time, budget *Budget) error {
	unusable := &ICSError{"RRULE is not understood"}
	if err := budget.Spend(expandSteps); err != nil {
		return err
	}
	var r seriesRule
	parts := ruleParts(p.value)
	if text := parts["UNTIL"]; text != "" {
		if day, err := time.Parse("20060102", text); err == nil { // the end is inclusive
			text = day.Format("20060102T") + "235959"
		}
		local, inUTC, err := localOf(text)
		if err != nil {
			return unusable
		}
		if r.until = local; !inUTC {
			r.until, _ = s.utc(local) // the zone is that of DTSTART, which is known
		}
		delete(parts, "UNTIL")
	}
	options, err := parseRule(parts, first)
	if err != nil || first.Before(earliestSeries) {
		return unusable
	}
	count := options.Count
	r.options = *options
	r.options.Count = 0
	rule, err := rrule.NewRRule(r.options)
	if err != nil {
		return unusable
	}
	next := rule.Iterator()
	local, possible := next()
	if !possible { // such as February 30, for which all years were searched
		if err := budget.Spend(impossibleSteps); err != nil {
			return err
		}
		return unusable
	}
	for n := 1; n <= min(count, maxOccurrences); n++ {
		if n == count {
			r.last = local
			break
		}
		if err := budget.Spend(1); err != nil {
			return err
		}
		if local, possible = next(); !possible {
			break
		}
	}
	s.rules = append(s.rules, r)
	return nil
}

// near returns the rule from a local time on, or from shortly before it. It
// starts at the beginning of a period of the rule that is a multiple of the interval
// after the first one.
func (r seriesRule) near(local time.Time) rrule.ROption {
	near := r.options
	first := near.Dtstart
	if !local.After(first) {
		return near
	}
	interval := max(1, near.Interval)
	whole := func(periods int) int { return periods / interval * interval }
	days, years := int(local.Sub(first)/(24*time.Hour)), local.Year()-first.Year()
	switch near.Freq {
	case rrule.DAILY:
		near.Dtstart = first.AddDate(0, 0, whole(days))
	case rrule.WEEKLY:
		near.Dtstart = first.AddDate(0, 0, 7*whole(days/7))
	case rrule.MONTHLY:
		if months := whole(12*years + int(local.Month()-first.Month())); months > 0 {
			near.Dtstart = time.Date(first.Year(), first.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC).Add(clock(first))
		}
	case rrule.YEARLY:
		if years = whole(years); years > 0 {
			near.Dtstart = time.Date(first.Year()+years, time.January, 1, 0, 0, 0, 0, time.UTC).Add(clock(first))
		}
	}
	return near
}

// clock returns the time of day.
func clock(local time.Time) time.Duration { return local.Sub(local.Truncate(24 * time.Hour)) }

// starts returns the starts of the occurrences in [from, to), in UTC, with or
// without those that EXDATE excludes.
func (s *Series) starts(from, to time.Time, withExcluded bool, budget *Budget) ([]time.Time, error) {
	if err := budget.Spend(1 + len(s.dates)/8); err != nil {
		return nil, err
	}
	found := slices.Clone(s.dates)
	earliest := from.AddDate(0, 0, -2) // local times are less than a day from UTC
	for _, r := range s.rules {
		if err := budget.Spend(expandSteps); err != nil {
			return nil, err
		}
		options := r.near(earliest)
		options.Until = to.AddDate(0, 0, 2)
		rule, err := rrule.NewRRule(options)
		if err != nil {
			return nil, fmt.Errorf("expand a series: %w", err)
		}
		next := rule.Iterator()
		for local, more := next(); more; local, more = next() {
			if err := budget.Spend(1); err != nil {
				return nil, err
			}
			if local.Before(earliest) {
				continue
			}
			at, ok := s.utc(local)
			if !r.until.IsZero() && at.After(r.until) || !r.last.IsZero() && local.After(r.last) {
				break
			}
			if ok {
				found = append(found, at)
			}
		}
	}
	found = slices.DeleteFunc(found, func(at time.Time) bool {
		return at.Before(from) || !at.Before(to) || !withExcluded && s.excludes(at)
	})
	slices.SortFunc(found, time.Time.Compare)
	return slices.CompactFunc(found, time.Time.Equal), nil
}

// excludes reports whether EXDATE names a start or its day.
func (s *Series) excludes(at time.Time) bool {
	if s.excluded[at] || len(s.excludedDays) == 0 {
		return s.excluded[at]
	}
	for offset := -1; offset <= 1; offset++ { // local times are less than a day from UTC
		day := at.AddDate(0, 0, offset).Truncate(24 * time.Hour)
		if s.excludedDays[day.Format("20060102")] {
			begin, _ := s.utc(day)
			if end, ok := s.utc(day.AddDate(0, 0, 1)); ok && !at.Before(begin) && at.Before(end) {
				return true
			}
		}
	}
	return false
}
