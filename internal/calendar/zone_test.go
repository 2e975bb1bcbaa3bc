package calendar_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"standin/internal/calendar"
)

// startOf returns the start of an event with the given DTSTART and preceding
// components.
func startOf(t *testing.T, before, dtstart string) (time.Time, error) {
	t.Helper()
	text := strings.Replace(inEvent(dtstart), "BEGIN:VEVENT", before+"BEGIN:VEVENT", 1)
	parsed, err := calendar.ParseICS([]byte(text), nil)
	if err != nil {
		return time.Time{}, err
	}
	if problem := parsed.Events[0].Problem; problem != "" {
		return time.Time{}, errors.New(problem)
	}
	return parsed.Events[0].Start, nil
}

func TestZones(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		dtstart string
		want    time.Time
	}{
		"UTC":                    {"DTSTART:20260715T100000Z", utc(2026, 7, 15, 10, 0)},
		"UTC with a zone beside": {"DTSTART;TZID=Europe/Berlin:20260715T100000Z", utc(2026, 7, 15, 10, 0)},
		"IANA, summer":           {"DTSTART;TZID=Europe/Berlin:20260715T100000", utc(2026, 7, 15, 8, 0)},
		"IANA, winter":           {"DTSTART;TZID=Europe/Berlin:20261215T100000", utc(2026, 12, 15, 9, 0)},
		"IANA, three parts":      {"DTSTART;TZID=America/Argentina/Buenos_Aires:20261215T100000", utc(2026, 12, 15, 13, 0)},
		"with a prefix":          {"DTSTART;TZID=/mozilla.org/20070129_1/Europe/Berlin:20261215T100000", utc(2026, 12, 15, 9, 0)},
		"with a prefix, three":   {"DTSTART;TZID=/x.org/20070129_1/America/Indiana/Knox:20261215T100000", utc(2026, 12, 15, 16, 0)},
		"Windows, summer":        {"DTSTART;TZID=Pacific Standard Time:20260715T100000", utc(2026, 7, 15, 17, 0)},
		"Windows, winter":        {"DTSTART;TZID=Pacific Standard Time:20261215T100000", utc(2026, 12, 15, 18, 0)},
		"Windows, quoted":        {`DTSTART;TZID="India Standard Time":20261215T100000`, utc(2026, 12, 15, 4, 30)},
		"Windows, numbered":      {"DTSTART;TZID=W. Europe Standard Time 1:20261215T100000", utc(2026, 12, 15, 9, 0)},
		"changed in 2026":        {"DTSTART;TZID=America/Vancouver:20261215T100000", utc(2026, 12, 15, 17, 0)},
		"Outlook's UTC":          {"DTSTART;TZID=tzone://Microsoft/Utc:20261215T100000", utc(2026, 12, 15, 10, 0)},
		"clocks are set back":    {"DTSTART;TZID=Europe/Berlin:20261025T023000", utc(2026, 10, 25, 0, 30)},
		"by half an hour":        {"DTSTART;TZID=Australia/Lord_Howe:20270404T014500", utc(2027, 4, 3, 14, 45)},
		"clocks are set forward": {"DTSTART;TZID=Europe/Berlin:20270328T023000", utc(2027, 3, 28, 1, 30)},
		"a date":                 {"DTSTART;VALUE=DATE:20261215", utc(2026, 12, 15, 0, 0)},
		"blanks":                 {"DTSTART;TZID= Europe/Berlin : 20261215T100000 ", utc(2026, 12, 15, 9, 0)},
	}
	for name, test := range tests {
		if got, err := startOf(t, "", test.dtstart); err != nil || !got.Equal(test.want) || got.Location() != time.UTC {
			t.Errorf("%s: %s is %v, %v, want %v", name, test.dtstart, got, err, test.want)
		}
	}
}

// A VTIMEZONE gives the same times as the IANA zone that it describes, on
// every day of several years.
func TestDefinedZonesAgree(t *testing.T) {
	t.Parallel()
	tests := map[string][2]string{ // RRULE to standard time and to daylight time
		"Europe/Berlin|+0100|+0200|T030000|T020000": {"FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU", "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3;WKST=MO"},
		"America/New_York|-0500|-0400|T020000|T020000": {
			"FREQ=YEARLY;BYMONTH=11;BYDAY=1SU", "FREQ=YEARLY;BYMONTH=3;BYDAY=SU;BYMONTHDAY=8,9,10,11,12,13,14",
		},
		// HCL Notes writes the time of day into the rule.
		"America/Chicago|-0600|-0500|T020000|T020000": {
			"FREQ=YEARLY;BYMINUTE=0;BYHOUR=2;BYDAY=1SU;BYMONTH=11", "FREQ=YEARLY;BYMINUTE=0;BYHOUR=2;BYSECOND=0;BYDAY=SU;BYSETPOS=2;BYMONTH=3",
		},
		"Australia/Sydney|+1000|+1100|T030000|T020000": {"FREQ=YEARLY;BYMONTH=4;BYDAY=1SU", "FREQ=YEARLY;BYMONTH=10;BYDAY=1SU"},
	}
	for zone, rules := range tests {
		part := strings.Split(zone, "|")
		location, err := time.LoadLocation(part[0])
		if err != nil {
			t.Fatal(err)
		}
		definition := fmt.Sprintf("BEGIN:VTIMEZONE\nTZID:Mine\n"+
			"BEGIN:STANDARD\nDTSTART:20100101%s\nTZOFFSETFROM:%s\nTZOFFSETTO:%s\nRRULE:%s\nEND:STANDARD\n"+
			"BEGIN:DAYLIGHT\nDTSTART:20100101%s\nTZOFFSETFROM:%s\nTZOFFSETTO:%s\nRRULE:%s\nEND:DAYLIGHT\nEND:VTIMEZONE\n",
			part[3], part[2], part[1], rules[0], part[4], part[1], part[2], rules[1])
		for _, year := range []int{2012, 2026, 2027, 2035} {
			text := "BEGIN:VCALENDAR\n" + definition
			var want []time.Time
			for day := range 365 {
				want = append(want, time.Date(year, 1, 1+day, 10, 0, 0, 0, location))
				text += "BEGIN:VEVENT\nDTSTART;TZID=Mine:" + want[day].Format("20060102T150405") + "\nEND:VEVENT\n"
			}
			parsed, err := calendar.ParseICS([]byte(text+"END:VCALENDAR\n"), nil)
			if err != nil {
				t.Fatal(err)
			}
			for day, event := range parsed.Events {
				if !event.Start.Equal(want[day]) {
					t.Fatalf("%s: %s is %v (%s)", part[0], want[day], event.Start, event.Problem)
				}
			}
		}
	}
}

func TestDefinedZones(t *testing.T) {
	t.Parallel()
	zone := func(id string, parts ...string) string {
		return "BEGIN:VTIMEZONE\nTZID:" + id + "\n" + strings.Join(parts, "") + "END:VTIMEZONE\n"
	}
	part := func(lines ...string) string {
		return "BEGIN:STANDARD\n" + strings.Join(lines, "\n") + "\nEND:STANDARD\n"
	}
	fixed := part("DTSTART:19700101T000000", "TZOFFSETFROM:+0130", "TZOFFSETTO:+0530")
	const newer = "DTSTAMP:20990101T000000Z\r\n" // than every time zone database
	mexico := []string{
		part("DTSTART:16010101T020000", "TZOFFSETFROM:-0500", "TZOFFSETTO:-0600", "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10"),
		part("DTSTART:16010101T020000", "TZOFFSETFROM:-0600", "TZOFFSETTO:-0500", "RRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=4"),
	}
	tests := map[string]struct {
		before, dtstart string
		want            time.Time // zero: refused
	}{
		"fixed":                  {zone("Mine", fixed), "DTSTART;TZID=Mine:20261120T100000", utc(2026, 11, 20, 4, 30)},
		"before its first onset": {zone("Mine", fixed), "DTSTART;TZID=Mine:19601120T100000", utc(1960, 11, 20, 8, 30)},
		"seconds": {
			zone("Mine", part("DTSTART:19700101T000000", "TZOFFSETFROM:+0000", "TZOFFSETTO:-003000")), "DTSTART;TZID=Mine:20261120T100000",
			utc(2026, 11, 20, 10, 30),
		},
		"the IANA name goes before": {zone("Europe/Berlin", fixed), "DTSTART;TZID=Europe/Berlin:20261120T100000", utc(2026, 11, 20, 9, 0)},
		"an abbreviation goes last": {zone("EST", fixed), "DTSTART;TZID=EST:20261120T100000", utc(2026, 11, 20, 4, 30)},
		"dates": {
			zone("Mine", fixed, part("DTSTART:20200101T000000", "TZOFFSETFROM:+0530", "TZOFFSETTO:+0600", "RDATE:20240101T000000,20260101T000000")),
			"DTSTART;TZID=Mine:20261120T100000", utc(2026, 11, 20, 4, 0),
		},
		"a rule that has ended": {
			zone("Mine", part("DTSTART:19700101T000000", "TZOFFSETFROM:+0000", "TZOFFSETTO:+0100", "RRULE:FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=1"),
				part("DTSTART:19700601T000000", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0200",
					"RRULE:FREQ=YEARLY;BYMONTH=6;BYMONTHDAY=1;UNTIL=20200531T230000Z")),
			"DTSTART;TZID=Mine:20261120T100000", utc(2026, 11, 20, 9, 0),
		},
		"the last time of a rule": {
			zone("Mine", part("DTSTART:19700101T000000", "TZOFFSETFROM:+0000", "TZOFFSETTO:+0100", "RRULE:FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=1"),
				part("DTSTART:19700601T000000", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0200",
					"RRULE:FREQ=YEARLY;BYMONTH=6;BYMONTHDAY=1;UNTIL=20200531T230000Z")),
			"DTSTART;TZID=Mine:20201120T100000", utc(2020, 11, 20, 8, 0),
		},
		"a newer file": {zone("Europe/Berlin", fixed), newer + "DTSTART;TZID=Europe/Berlin:20261120T100000", utc(2026, 11, 20, 4, 30)},
		"a newer file with the rules of the past, as Exchange writes them": {
			zone("Central Standard Time (Mexico)", mexico...), newer + "DTSTART;TZID=Central Standard Time (Mexico):20270615T100000",
			utc(2027, 6, 15, 16, 0),
		},
		"a newer file without summer time": {
			zone("Europe/Berlin", part("DTSTART:19700101T000000", "TZOFFSETFROM:+0100", "TZOFFSETTO:+0100")),
			newer + "DTSTART;TZID=Europe/Berlin:20270615T100000", utc(2027, 6, 15, 8, 0),
		},
		"no parts": {zone("Mine"), "DTSTART;TZID=Mine:20261120T100000", time.Time{}},
		"an offset that is none": {
			zone("Mine", part("DTSTART:19700101T000000", "TZOFFSETFROM:+0000", "TZOFFSETTO:+2500")), "DTSTART;TZID=Mine:20261120T100000",
			time.Time{},
		},
		"no offset": {zone("Mine", part("DTSTART:19700101T000000")), "DTSTART;TZID=Mine:20261120T100000", time.Time{}},
		"every second year": {
			zone("Mine", part("DTSTART:19700101T000000", "TZOFFSETFROM:+0000", "TZOFFSETTO:+0100",
				"RRULE:FREQ=YEARLY;INTERVAL=2")), "DTSTART;TZID=Mine:20261120T100000", time.Time{},
		},
		"a weekday that is none": {
			zone("Mine", part("DTSTART:19700101T000000", "TZOFFSETFROM:+0000", "TZOFFSETTO:+0100",
				"RRULE:FREQ=YEARLY;BYDAY=9XX")), "DTSTART;TZID=Mine:20261120T100000", time.Time{},
		},
	}
	for name, test := range tests {
		got, err := startOf(t, test.before, test.dtstart)
		if !got.Equal(test.want) || (err != nil) != test.want.IsZero() {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
	}
}
