package calendar

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxOnsets limits the RDATE values of an observance.
const maxOnsets = 500

// definedZone is a VTIMEZONE (RFC 5545, section 3.6.5). It is needed for zones
// that a program invented, such as Outlook's "Customized Time Zone".
type definedZone struct {
	observances []observance
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

// readZone parses a VTIMEZONE. It returns false if it does not understand all
// of it: a wrong time is worse than none.
func readZone(c *component) (*definedZone, bool) {
	zone := &definedZone{}
	for _, child := range c.children {
		if child.name != "STANDARD" && child.name != "DAYLIGHT" {
			continue
		}
		o, ok := readObservance(child)
		if !ok {
			return nil, false
		}
		zone.observances = append(zone.observances, o)
	}
	return zone, len(zone.observances) > 0
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
			if o.rule, ok = readYearly(p.value, o.start); !ok {
				return o, false
			}
		}
	}
	return o, true
}

// moment converts a local time of the zone.
func (z *definedZone) moment(local time.Time) time.Time {
	var latest time.Time
	offset, found := time.Duration(0), false
	for _, o := range z.observances {
		if onset, ok := o.onsetBefore(local); ok && (!found || onset.After(latest)) {
			latest, offset, found = onset, o.to, true
		}
	}
	if !found { // the time is before the first onset
		first := slices.MinFunc(z.observances, func(a, b observance) int { return a.start.Compare(b.start) })
		offset = first.from
	}
	return local.Add(-offset)
}

// onsetBefore returns the last onset at or before the local time.
func (o observance) onsetBefore(local time.Time) (latest time.Time, found bool) {
	consider := func(onset time.Time) {
		if !onset.After(local) && (!found || onset.After(latest)) {
			latest, found = onset, true
		}
	}
	consider(o.start)
	for _, onset := range o.more {
		consider(onset)
	}
	if o.rule == nil {
		return latest, found
	}
	year := local.Year()
	if until := o.rule.until; !until.IsZero() {
		year = min(year, until.Year()+1) // the year of an onset is local, that of until is UTC
	}
	for y := year; y > year-3 && y >= o.start.Year(); y-- {
		onset := o.rule.onset(y, o.start)
		if onset.Before(o.start) || !o.rule.until.IsZero() && onset.Add(-o.from).After(o.rule.until) {
			continue
		}
		consider(onset)
	}
	return latest, found
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
