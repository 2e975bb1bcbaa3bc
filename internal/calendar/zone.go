package calendar

import (
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // the same zones on every machine
)

// maxZoneName limits the name of a time zone, in bytes.
const maxZoneName = 255

// zones converts local times of a calendar.
type zones struct {
	defined map[string]*definedZone // VTIMEZONE components, by TZID
	unnamed *time.Location          // of times without a zone
}

// newZones reads the VTIMEZONE components of a calendar. Malformed ones are
// ignored until they are needed.
func newZones(calendar *component) *zones {
	z := &zones{defined: make(map[string]*definedZone), unnamed: time.UTC}
	for _, child := range calendar.children {
		if child.name != "VTIMEZONE" {
			continue
		}
		if zone, ok := readZone(child); ok {
			z.defined[strings.TrimSpace(child.text("TZID"))] = zone
		}
	}
	if location, ok := located(strings.TrimSpace(calendar.text("X-WR-TIMEZONE"))); ok {
		z.unnamed = location
	}
	return z
}

// moment parses a time (RFC 5545, sections 3.3.4 and 3.3.5). A date is its
// first moment. floating reports that the value has no zone.
func (z *zones) moment(p *property) (at time.Time, date, floating bool, err error) {
	value := strings.TrimSpace(p.value)
	unreadable := &ICSError{LineNumber: p.lineNumber, Reason: p.name + " is not a date or date-time"}
	if len(value) == len("20060102") {
		at, err = time.ParseInLocation("20060102", value, z.unnamed)
		if err != nil {
			return time.Time{}, false, false, unreadable
		}
		return at.UTC(), true, true, nil
	}
	text, inUTC := strings.CutSuffix(value, "Z")
	local, err := time.Parse("20060102T150405", text)
	if err != nil {
		return time.Time{}, false, false, unreadable
	}
	name := strings.TrimSpace(p.parameters["TZID"])
	switch {
	case inUTC:
		return local, false, false, nil
	case name == "":
		return in(local, z.unnamed), false, true, nil
	}
	at, ok := z.resolve(local, name)
	if !ok {
		return time.Time{}, false, false, &ICSError{LineNumber: p.lineNumber, Reason: p.name + " is in an unknown time zone"}
	}
	return at, false, false, nil
}

// resolve converts a local time of a named zone. IANA names with a slash and
// Windows names take precedence over the calendar's own definition, which
// programs shorten. Abbreviations, which are ambiguous, come last.
func (z *zones) resolve(local time.Time, name string) (time.Time, bool) {
	location, ok := located(name)
	if zone := z.defined[name]; zone != nil && (!ok || !strings.Contains(location.String(), "/")) {
		return zone.moment(local), true
	}
	if !ok {
		return time.Time{}, false
	}
	return in(local, location), true
}

// in returns the UTC time of a local time.
func in(local time.Time, location *time.Location) time.Time {
	return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, location).UTC()
}

// ianaName is the form of names in the IANA database.
var ianaName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// located returns the location of a Windows or IANA zone name, with or without
// the prefix that some programs add (/example.org/20070129_1/Europe/Berlin).
func located(name string) (*time.Location, bool) {
	if len(name) > maxZoneName {
		return nil, false
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
			if location, ok := load(strings.Join(parts[len(parts)-length:], "/")); ok {
				return location, true
			}
		}
		return nil, false
	}
	return load(name)
}

// load loads a location of the IANA database.
func load(name string) (*time.Location, bool) {
	if !ianaName.MatchString(name) || name == "Local" {
		return nil, false
	}
	location, err := time.LoadLocation(name)
	return location, err == nil
}
