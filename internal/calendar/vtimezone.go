package calendar

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of a time zone. Those of programs have two to ten observances.
const (
	maxObservances = 20
	maxOnsets      = 500 // RDATE values of an observance
)

// The years for which the onsets of a zone are computed. Times before and after them
// have the offset of the nearest onset.
const (
	firstOnsetYear = 1900
	lastOnsetYear  = 2199
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
	more     []time.Time // local, of RDATE
	rule     *yearly     // nil if there is none
}

// yearly is the RRULE of an observance: one day of each year.
type yearly struct {
	month   time.Month
	weekday time.Weekday
	nth     int // number in BYDAY: 1 is the first in the month, -1 the last; 0 if days decides
	days    []int
	any     bool      // BYMONTHDAY without BYDAY
	until   time.Time // UTC; zero if unlimited
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
		zone.onsets = append(zone.onsets, o.onsets()...)
	}
	slices.SortStableFunc(zone.onsets, func(a, b onset) int { return a.local.Compare(b.local) })
	zone.onsets = slices.CompactFunc(zone.onsets, func(a, b onset) bool { return a.local.Equal(b.local) })
	return zone, budget.Spend(1 + len(zone.onsets)/4)
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
			if o.rule != nil {
				return o, false
			}
			if o.rule, ok = readYearly(p.value, o.start); !ok {
				return o, false
			}
		}
	}
	return o, true
}

// onsets returns the onsets of an observance, unsorted.
func (o observance) onsets() []onset {
	found := []onset{{o.start, o.to}}
	for _, at := range o.more {
		found = append(found, onset{at, o.to})
	}
	if o.rule == nil {
		return found
	}
	for year := max(o.start.Year(), firstOnsetYear); year <= lastOnsetYear; year++ {
		at := o.rule.onset(year, o.start)
		if !o.rule.until.IsZero() && at.Add(-o.from).After(o.rule.until) {
			break
		}
		if !at.Before(o.start) {
			found = append(found, onset{at, o.to})
		}
	}
	return found
}

// moment converts a local time of the zone to UTC.
func (z *definedZone) moment(local time.Time) time.Time {
	next, _ := slices.BinarySearchFunc(z.onsets, local, func(o onset, at time.Time) int {
		if o.local.After(at) {
			return 1
		}
		return -1
	})
	if next == 0 {
		return local.Add(-z.before)
	}
	return local.Add(-z.onsets[next-1].offset)
}

// readYearly parses the RRULE of an observance.
func readYearly(text string, start time.Time) (*yearly, bool) {
	r := &yearly{month: start.Month(), days: []int{start.Day()}, any: true}
	freq, weekdays := "", false
	for part := range strings.SplitSeq(strings.ToUpper(strings.TrimSpace(text)), ";") {
		key, value, _ := strings.Cut(part, "=")
		ok := true
		switch key {
		case "FREQ":
			freq = value
		case "BYMONTH":
			var month int
			month, ok = number(value, 1, 12)
			r.month = time.Month(month)
		case "BYDAY":
			weekdays = true
			ok = r.readByDay(value)
		case "BYMONTHDAY":
			r.days = nil
			for day := range strings.SplitSeq(value, ",") {
				n, valid := number(day, 1, 31)
				ok = ok && valid
				r.days = append(r.days, n)
			}
		case "UNTIL":
			r.until, ok = localTime(strings.TrimSuffix(value, "Z"))
		case "INTERVAL":
			ok = value == "1"
		case "WKST", "":
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	r.any = !weekdays
	if r.nth != 0 {
		r.days = nil
	}
	return r, freq == "YEARLY" && (r.nth != 0 || len(r.days) > 0) && len(r.days) <= 31
}

// readByDay parses a weekday with or without its number in the month.
func (r *yearly) readByDay(text string) bool {
	if len(text) < 2 {
		return false
	}
	day := slices.Index([]string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}, text[len(text)-2:])
	if day < 0 {
		return false
	}
	r.weekday = time.Weekday(day)
	if position := text[:len(text)-2]; position != "" {
		var ok bool
		if r.nth, ok = number(position, -5, 5); !ok || r.nth == 0 {
			return false
		}
	}
	return true
}

// onset returns the day of the rule in a year, at the time of day of start.
func (r *yearly) onset(year int, start time.Time) time.Time {
	at := func(day int) time.Time {
		return time.Date(year, r.month, day, start.Hour(), start.Minute(), start.Second(), 0, time.UTC)
	}
	switch {
	case r.nth > 0:
		first := at(1)
		return at(1 + (int(r.weekday)-int(first.Weekday())+7)%7 + 7*(r.nth-1))
	case r.nth < 0:
		last := time.Date(year, r.month+1, 0, 0, 0, 0, 0, time.UTC)
		return at(last.Day() - (int(last.Weekday())-int(r.weekday)+7)%7 + 7*(r.nth+1))
	case r.any:
		return at(r.days[0])
	}
	for _, day := range r.days {
		if onset := at(day); onset.Weekday() == r.weekday {
			return onset
		}
	}
	return at(r.days[0])
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
	if len(text) != len("+0000") && len(text) != len("+000000") || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	var parts [3]int
	for i := 0; 1+2*i < len(text); i++ {
		n, ok := number(text[1+2*i:3+2*i], 0, 59)
		if !ok {
			return 0, false
		}
		parts[i] = n
	}
	offset := time.Duration(parts[0])*time.Hour + time.Duration(parts[1])*time.Minute + time.Duration(parts[2])*time.Second
	if text[0] == '-' {
		offset = -offset
	}
	return offset, parts[0] < 24
}

// number parses an integer between two limits.
func number(text string, least, most int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= least && n <= most
}
