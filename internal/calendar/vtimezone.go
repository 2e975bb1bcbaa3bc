package calendar

import (
	"fmt"
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

// observance is a STANDARD or DAYLIGHT component: from each onset, local time
// is to ahead of UTC. Local times are stored as if they were UTC.
type observance struct {
	start    time.Time // local, the first onset
	from, to time.Duration
	more     []time.Time    // local, of RDATE
	rule     *rrule.ROption // complete; nil if there is none
}

// readZone parses a VTIMEZONE. It returns nil if it does not understand all of it: a
// wrong time is worse than none.
func readZone(c *component, budget *Budget) (*definedZone, error) {
	var observances []observance
	for _, child := range c.children {
		if child.name != "STANDARD" && child.name != "DAYLIGHT" {
			continue
		}
		o, ok := readObservance(child)
		if !ok || len(observances) == maxObservances {
			return nil, nil
		}
		observances = append(observances, o)
	}
	if len(observances) == 0 {
		return nil, nil
	}
	first := slices.MinFunc(observances, func(a, b observance) int { return a.start.Compare(b.start) })
	zone := &definedZone{before: first.from}
	for _, o := range observances {
		onsets, err := o.onsets(budget)
		if err != nil {
			return nil, err
		}
		zone.onsets = append(zone.onsets, onsets...)
	}
	slices.SortStableFunc(zone.onsets, func(a, b onset) int { return a.local.Compare(b.local) })
	zone.onsets = slices.CompactFunc(zone.onsets, func(a, b onset) bool { return a.local.Equal(b.local) })
	return zone, nil
}

func readObservance(c *component) (o observance, ok bool) {
	var started, fromOK, toOK bool
	o.start, started = localTime(c.text("DTSTART"))
	o.from, fromOK = readOffset(c.text("TZOFFSETFROM"))
	o.to, toOK = readOffset(c.text("TZOFFSETTO"))
	if !started || !fromOK || !toOK {
		return o, false
	}
	for _, p := range c.properties {
		switch p.name {
		case "RDATE":
			for text := range strings.SplitSeq(p.value, ",") {
				at, ok := localTime(text)
				if !ok || len(o.more) == maxOnsets {
					return o, false
				}
				o.more = append(o.more, at)
			}
		case "RRULE":
			if o.rule != nil || !o.readRule(p.value) {
				return o, false
			}
		}
	}
	return o, true
}

// readRule parses the RRULE of an observance: days of each year.
func (o *observance) readRule(text string) bool {
	parts := ruleParts(text)
	until, inUTC := strings.CutSuffix(parts["UNTIL"], "Z")
	delete(parts, "UNTIL")
	rule, err := parseRule(parts, o.start)
	if err != nil || rule.Freq != rrule.YEARLY || rule.Interval != 1 || rule.Count > 0 {
		return false
	}
	if until != "" {
		end, ok := localTime(until)
		if !ok {
			return false
		}
		if inUTC {
			end = end.Add(o.from)
		}
		rule.Until = end
	}
	o.rule = rule
	return true
}

// onsets returns the onsets of an observance, unsorted.
func (o observance) onsets(budget *Budget) ([]onset, error) {
	found := []onset{{o.start, o.to}}
	for _, at := range o.more {
		found = append(found, onset{at, o.to})
	}
	if o.rule == nil {
		return found, budget.Spend(len(found))
	}
	rule := *o.rule
	if rule.Dtstart.Year() < firstOnsetYear {
		rule.Dtstart = time.Date(firstOnsetYear, time.January, 1, 0, 0, 0, 0, time.UTC).Add(clock(o.start))
	}
	if end := time.Date(lastOnsetYear+1, time.January, 1, 0, 0, 0, 0, time.UTC); rule.Until.IsZero() || rule.Until.After(end) {
		rule.Until = end
	}
	all, err := rrule.NewRRule(rule)
	if err != nil {
		return nil, fmt.Errorf("expand a time zone: %w", err)
	}
	next := all.Iterator()
	for at, more := next(); more; at, more = next() {
		if err := budget.Spend(onsetSteps); err != nil {
			return nil, err
		}
		found = append(found, onset{at, o.to})
	}
	return found, nil
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
