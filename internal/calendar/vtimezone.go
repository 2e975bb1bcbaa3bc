package calendar

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

// Limits of a time zone. Those of programs have two to ten observances.
const (
	maxObservances = 20
	maxOnsets      = 500 // RDATE values of an observance
	onsetSteps     = 3   // of a Budget, for an onset
)

// The years for which the onsets of a zone are computed. Times before and after them
// have the offset of the nearest onset.
const (
	firstOnsetYear = 1970
	lastOnsetYear  = 2099
)

// definedZone is a VTIMEZONE (RFC 5545, section 3.6.5). It is needed for zones
// that a program invented, such as Outlook's "Customized Time Zone". Its methods may
// be called from any goroutine.
type definedZone struct {
	onsets []onset       // by time
	before time.Duration // offset before the first onset
}

// onset is a local time, stored as if it were UTC, from which local time is offset
// ahead of UTC.
type onset struct {
	local  time.Time
	offset time.Duration
}

// readZone parses a VTIMEZONE. It returns nil if it does not understand all of it: a
// wrong time is worse than none.
func readZone(c *component, budget *Budget) (*definedZone, error) {
	zone, first, observances := new(definedZone), time.Time{}, 0
	for _, child := range c.children {
		if child.name != "STANDARD" && child.name != "DAYLIGHT" {
			continue
		}
		if observances++; observances > maxObservances {
			return nil, nil
		}
		onsets, before, err := readObservance(child, budget)
		if err != nil || len(onsets) == 0 {
			return nil, err
		}
		if start := onsets[0].local; observances == 1 || start.Before(first) {
			first, zone.before = start, before
		}
		zone.onsets = append(zone.onsets, onsets...)
	}
	if observances == 0 {
		return nil, nil
	}
	slices.SortStableFunc(zone.onsets, func(a, b onset) int { return a.local.Compare(b.local) })
	zone.onsets = slices.CompactFunc(zone.onsets, func(a, b onset) bool { return a.local.Equal(b.local) })
	return zone, nil
}

// readObservance parses a STANDARD or DAYLIGHT component. It returns its onsets, of which DTSTART is
// the first one and the others are not sorted, and the offset before them. It returns no onsets if it
// does not understand all of it.
func readObservance(c *component, budget *Budget) (found []onset, before time.Duration, err error) {
	start, started := localTime(c.text("DTSTART"))
	before, beforeOK := readOffset(c.text("TZOFFSETFROM"))
	offset, offsetOK := readOffset(c.text("TZOFFSETTO"))
	if !started || !beforeOK || !offsetOK {
		return nil, 0, nil
	}
	found = []onset{{start, offset}}
	dates, recurs := 0, false
	for _, p := range c.properties {
		switch p.name {
		case "RDATE":
			for text := range strings.SplitSeq(p.value, ",") {
				at, ok := localTime(text)
				if dates++; !ok || dates > maxOnsets {
					return nil, 0, nil
				}
				found = append(found, onset{at, offset})
			}
		case "RRULE":
			rule := observanceRule(p.value, start, before)
			if rule == nil || recurs {
				return nil, 0, nil
			}
			recurs = true
			next := rule.Iterator()
			for at, more := next(); more; at, more = next() {
				if err := budget.Spend(onsetSteps); err != nil {
					return nil, 0, err
				}
				found = append(found, onset{at, offset})
			}
		}
	}
	return found, before, budget.Spend(1 + dates)
}

// observanceRule parses the RRULE of an observance: days of each year. It returns nil if it does not
// understand the rule.
func observanceRule(text string, start time.Time, before time.Duration) *rrule.RRule {
	parts := ruleParts(text)
	until, inUTC := strings.CutSuffix(parts["UNTIL"], "Z")
	delete(parts, "UNTIL")
	options, err := parseRule(parts, start)
	if err != nil || options.Freq != rrule.YEARLY || options.Interval != 1 || options.Count > 0 {
		return nil
	}
	options.Until = time.Date(lastOnsetYear+1, time.January, 1, 0, 0, 0, 0, time.UTC)
	if until != "" {
		end, ok := localTime(until)
		if !ok {
			return nil
		}
		if inUTC {
			end = end.Add(before)
		}
		if end.Before(options.Until) {
			options.Until = end
		}
	}
	if start.Year() < firstOnsetYear {
		options.Dtstart = time.Date(firstOnsetYear, time.January, 1, 0, 0, 0, 0, time.UTC).Add(clock(start))
	}
	rule, _ := rrule.NewRRule(*options) // nil with an error
	return rule
}

// moment converts a local time of the zone to UTC.
func (z *definedZone) moment(local time.Time) time.Time {
	next := sort.Search(len(z.onsets), func(i int) bool { return z.onsets[i].local.After(local) })
	if next == 0 {
		return local.Add(-z.before)
	}
	return local.Add(-z.onsets[next-1].offset)
}

// localTime parses a date-time without a zone as if it were UTC.
func localTime(text string) (time.Time, bool) {
	at, err := time.Parse("20060102T150405", strings.TrimSpace(text))
	if err != nil {
		at, err = time.Parse("20060102", strings.TrimSpace(text))
	}
	return at, err == nil
}

// readOffset parses a UTC-OFFSET (RFC 5545, section 3.3.14).
func readOffset(text string) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	at, err := time.Parse("-0700", text)
	if err != nil {
		at, err = time.Parse("-070000", text)
	}
	_, seconds := at.Zone()
	offset := time.Duration(seconds) * time.Second
	return offset, err == nil && offset.Abs() < 24*time.Hour
}

// number parses an integer between two limits.
func number(text string, least, most int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= least && n <= most
}
