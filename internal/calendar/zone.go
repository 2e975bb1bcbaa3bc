package calendar

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"standin/internal/base/zoneinfo"
)

// maxZoneName limits the name of a time zone, in bytes.
const maxZoneName = 255

// zones converts local times of a calendar.
type zones struct {
	defined map[string]*definedZone // VTIMEZONE components, by TZID
	unnamed *time.Location          // zone of times without one
	display string                  // IANA name of the zone for times in UTC; may be empty
	located map[string]*time.Location
	written time.Time // when the event was written that is being read; may be zero
}

// newZones reads the VTIMEZONE components of a calendar. Malformed ones are ignored until
// they are needed.
func newZones(calendar *component, budget *Budget) (*zones, error) {
	z := &zones{defined: make(map[string]*definedZone), unnamed: time.UTC, located: make(map[string]*time.Location)}
	for _, child := range calendar.children {
		if child.name != "VTIMEZONE" {
			continue
		}
		name := child.trimmed("TZID")
		location := z.locate(name)
		if location != nil && z.display == "" {
			z.display = location.String()
		}
		zone, err := readZone(child, budget)
		if err != nil {
			return nil, err
		}
		if zone != nil {
			z.defined[name] = zone
		}
	}
	if location := z.locate(calendar.trimmed("X-WR-TIMEZONE")); location != nil {
		z.unnamed, z.display = location, location.String()
	}
	return z, nil
}

// locate returns the location of a zone name as located does, or nil. It remembers
// them, because the IANA database is slow.
func (z *zones) locate(name string) *time.Location {
	location, known := z.located[name]
	if !known {
		location = located(name)
		z.located[name] = location
	}
	return location
}

// ZoneName returns the IANA name of a time zone with an IANA or Windows name; empty if it
// is unknown.
func ZoneName(name string) string {
	if location := located(strings.TrimSpace(name)); location != nil {
		return location.String()
	}
	return ""
}

// Location returns the time zone with an IANA name, or UTC if it is unknown.
func Location(name string) *time.Location {
	return cmp.Or(load(name), time.UTC)
}

// find returns the location of a zone name and the calendar's own definition; nil if there
// is none. Calendars that Outlook publishes may have a number after a name that they do not
// define.
func (z *zones) find(name string) (*time.Location, *definedZone) {
	location, defined := z.locate(name), z.defined[name]
	if location == nil && defined == nil {
		location = z.locate(strings.TrimRight(name, " 0123456789"))
	}
	return location, defined
}

// shown returns the IANA name of the zone in which people see a time that is at a UTC time;
// empty if it is unknown, or has other clocks than the calendar's own definition.
func (z *zones) shown(p *property, at time.Time) string {
	if location, _ := z.find(strings.TrimSpace(p.parameters["TZID"])); location != nil {
		local, inUTC, err := localOf(strings.TrimSpace(p.value))
		if err == nil && !inUTC && !in(local, location).Equal(at) {
			return ""
		}
		return location.String()
	}
	if p.parameters["TZID"] == "" && !strings.HasSuffix(strings.TrimSpace(p.value), "Z") && z.unnamed == time.UTC {
		return "" // floating
	}
	return z.display
}

// moment parses a time (RFC 5545, sections 3.3.4 and 3.3.5). A date is its
// first moment. floating reports that the value has no zone.
func (z *zones) moment(p *property) (at time.Time, date, floating bool, err error) {
	value := strings.TrimSpace(p.value)
	unreadable := &ICSError{p.name + " is not a date or date-time"}
	if len(value) == len("20060102") {
		at, err = time.ParseInLocation("20060102", value, z.unnamed)
		if err != nil {
			return at, false, false, unreadable
		}
		return at.UTC(), true, true, nil
	}
	local, inUTC, err := localOf(value)
	if err != nil {
		return at, false, false, unreadable
	}
	at, ok := z.converter(p)(local)
	if !ok {
		return at, false, false, &ICSError{p.name + " is in an unknown time zone"}
	}
	return at, false, !inUTC && strings.TrimSpace(p.parameters["TZID"]) == "", nil
}

// inZoneOf returns a property whose value has the zone of DTSTART, if it has no zone
// itself. RFC 5545 requires one, but some programs leave it out.
func inZoneOf(start *property, p property) *property {
	value := strings.TrimSpace(p.value)
	if start == nil || p.parameters["TZID"] != "" || strings.HasSuffix(value, "Z") || len(value) == len("20060102") {
		return &p
	}
	if strings.HasSuffix(strings.TrimSpace(start.value), "Z") {
		p.value = value + "Z"
	}
	p.parameters = start.parameters
	return &p
}

// localOf parses a date-time as it is written, as if it were UTC.
func localOf(value string) (local time.Time, inUTC bool, err error) {
	text, inUTC := strings.CutSuffix(value, "Z")
	local, err = time.Parse("20060102T150405", text)
	return local, inUTC, err
}

// converter returns the function that converts local times of a property to
// UTC. It reports false in an unknown zone.
func (z *zones) converter(p *property) func(local time.Time) (time.Time, bool) {
	name := strings.TrimSpace(p.parameters["TZID"])
	if strings.HasSuffix(strings.TrimSpace(p.value), "Z") {
		return func(local time.Time) (time.Time, bool) { return local, true }
	}
	location, defined := z.unnamed, (*definedZone)(nil)
	if name != "" {
		location, defined = z.find(name)
	}
	isNewer := defined != nil && z.written.After(zoneinfo.Current().Released)
	switch {
	// A Windows name, or an IANA name with a slash, takes precedence over the calendar's own definition, which
	// programs shorten, unless that is newer. Abbreviations, which are ambiguous, come last.
	case defined != nil && (location == nil || !strings.Contains(location.String(), "/")):
		return func(local time.Time) (time.Time, bool) { return defined.moment(local), true }
	case location == nil:
		return func(time.Time) (time.Time, bool) { return time.Time{}, false }
	}
	return func(local time.Time) (time.Time, bool) {
		at := in(local, location)
		if isNewer && defined.hasNews(local, at, location) {
			at = defined.moment(local)
		}
		return at, true
	}
}

// memory is for how many years programs write rules of a zone that no longer hold.
const memory = 10

// hasNews reports whether the offset that a definition gives a local time, other than the
// location's, can be a rule that the time zone database does not have yet: not if it is one
// of the past, as Exchange writes for Mexico, or if the definition lacks summer time.
func (z *definedZone) hasNews(local, at time.Time, location *time.Location) bool {
	shown := at.In(location)
	if shown.IsDST() && len(z.onsets) == 1 || shown.Format(time.DateTime) != local.Format(time.DateTime) { // clocks are set forward
		return false
	}
	offset := local.Sub(z.moment(local))
	for years := range memory {
		past := local.AddDate(-1-years, 0, 0)
		if past.Sub(in(past, location)) == offset {
			return false
		}
	}
	return true
}

// in returns the UTC time of a local time. Of two times, when clocks are set
// back, it returns the first (RFC 5545, section 3.3.5).
func in(local time.Time, location *time.Location) time.Time {
	at := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, location)
	_, offset := at.Add(-12 * time.Hour).Zone()
	if first := local.Add(-time.Duration(offset) * time.Second); first.Before(at) &&
		first.In(location).Format(time.DateTime) == local.Format(time.DateTime) {
		return first.UTC()
	}
	return at.UTC()
}

// ianaName is the form of names in the IANA database.
var ianaName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// located returns the location of a Windows or IANA zone name, with or without
// the prefix that some programs add (/example.org/20070129_1/Europe/Berlin); nil if it is unknown.
func located(name string) *time.Location {
	if len(name) > maxZoneName {
		return nil
	}
	if iana, ok := ianaOfWindows(name); ok {
		name = iana
	}
	if strings.HasPrefix(name, "/") {
		parts := strings.Split(name, "/")
		for _, length := range []int{3, 2} {
			if len(parts) <= length {
				continue
			}
			if location := load(strings.Join(parts[len(parts)-length:], "/")); location != nil {
				return location
			}
		}
		return nil
	}
	return load(name)
}

// load loads a location of the IANA database; nil if it has none with this name.
func load(name string) *time.Location {
	if !ianaName.MatchString(name) || name == "Local" {
		return nil
	}
	location, _ := zoneinfo.Load(name)
	return location
}
