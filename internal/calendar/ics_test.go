package calendar_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"standin/internal/calendar"
	"standin/internal/jobs/job"
)

// sample reads a calendar file as written by a program.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".ics"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func utc(year int, month time.Month, day, hour, minute int) time.Time {
	return time.Date(year, month, day, hour, minute, 0, 0, time.UTC)
}

func TestParseICS(t *testing.T) {
	t.Parallel()
	tests := map[string]calendar.Calendar{
		"google": {Method: "REQUEST", Events: []calendar.Event{{
			UID: "4k3j2h1g0f9d8s7a6@google.com", Sequence: 2, Summary: "Weekly; plans & numbers", Organizer: "ada@example.test",
			Attendees: []string{"notes@example.test"},
			Start:     utc(2026, 11, 20, 15, 0), MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet,
		}}},
		"outlook": {Method: "REQUEST", Events: []calendar.Event{{
			UID: "040000008200E00074C5B7101A82E0080000000010F5", Summary: "Jour fixe", Organizer: "juergen@example.test",
			Attendees: []string{"notes@example.test"},
			Start:     utc(2026, 7, 15, 7, 0), Platform: job.Teams,
			MeetingURL: "https://teams.microsoft.com/l/meetup-join/19%3ameeting_ZWQ0%40thread.v2/0?context=%7b%22Tid%22%3a%2211111111-2222-3333-4444-555555555555%22%2c%22Oid%22%3a%2266666666-7777-8888-9999-000000000000%22%7d",
		}}},
		"customized-zone": {Method: "REQUEST", Events: []calendar.Event{
			{
				UID: "winter", Summary: "Winter", Organizer: "ada@example.test", Start: utc(2026, 11, 20, 15, 0),
				MeetingURL: "https://us02web.zoom.us/j/81234567890?pwd=QUJD.1#success", Platform: job.ZoomWeb,
			},
			{
				UID: "summer", Summary: "Summer", Organizer: "ada@example.test", Start: utc(2026, 7, 20, 14, 0),
				MeetingURL: "https://example.zoom.us/my/ada.lovelace", Platform: job.ZoomWeb,
			},
		}},
		"cancelled": {Method: "CANCEL", Events: []calendar.Event{{
			UID: "gone@example.test", Sequence: 3, Cancelled: true, Organizer: "ada@example.test",
		}}},
		"series": {Method: "REQUEST", Events: []calendar.Event{
			{
				UID: "series@example.test", Series: &calendar.Series{}, Summary: "Stand-up", Organizer: "ada@example.test", Start: utc(2026, 11, 2, 14,
					30),
				MeetingURL: "https://teams.live.com/meet/9312345678?p=secret", Platform: job.Teams,
			},
			{
				UID: "series@example.test", Original: utc(2026, 11, 9, 14, 30), Summary: "Stand-up (late)", Organizer: "ada@example.test",
				Start: utc(2026, 11, 9, 16, 0), MeetingURL: "https://teams.live.com/meet/9312345678?p=secret", Platform: job.Teams,
			},
		}},
		"apple-allday": {Method: "PUBLISH", Events: []calendar.Event{
			{
				UID: "allday", Summary: "Off site", Organizer: "ada@example.test", Start: utc(2026, 11, 30, 15, 0), AllDay: true, Floating: true,
			},
			{
				UID: "floating", Summary: "Floating", Start: utc(2026, 12, 1, 0, 0), Floating: true,
				MeetingURL: "https://meet.google.com/abc-defg-hij", Platform: job.Meet,
			},
		}},
		"html": {Events: []calendar.Event{{
			UID: "html", Summary: "Forwarded", Organizer: "ada@example.test", Start: utc(2026, 11, 20, 9, 0),
			MeetingURL: "https://zoom.us/j/123456789?pwd=abc&tk=def", Platform: job.ZoomWeb,
		}}},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := calendar.ParseICS(sample(t, name), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.Method != want.Method || len(got.Events) != len(want.Events) {
				t.Fatalf("method %q with %d events, want %q with %d", got.Method, len(got.Events), want.Method, len(want.Events))
			}
			for i := range got.Events {
				e := got.Events[i]
				if (e.Series != nil) != (want.Events[i].Series != nil) {
					t.Errorf("event %d: the series is %v", i, e.Series)
				}
				e.Series, e.Stamp, e.End, e.Zone, e.Description, e.Responses = want.Events[i].Series, time.Time{}, time.Time{}, "", "", nil
				if !reflect.DeepEqual(e, want.Events[i]) {
					t.Errorf("event %d:\n     %+v\nwant %+v", i, got.Events[i], want.Events[i])
				}
			}
		})
	}
}

// A changed occurrence has its own ICalUID.
func TestEventInvite(t *testing.T) {
	t.Parallel()
	parsed, err := calendar.ParseICS(sample(t, "series"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, uid := range []string{"series@example.test", "series@example.test/20261109T143000Z"} {
		invite, err := parsed.Events[i].Invite().Normal()
		if err != nil || invite.ICalUID != uid || invite.Platform != job.Teams || !invite.JoinAt.Equal(parsed.Events[i].Start) {
			t.Errorf("event %d asks for %+v, %v", i, invite, err)
		}
	}
	if _, err := (calendar.Event{}).Invite().Normal(); !job.ErrorIs(err, job.InvalidInput) {
		t.Errorf("an event that says nothing: %v", err)
	}
}

// inEvent returns a calendar with one event that has the lines.
func inEvent(lines ...string) string {
	return "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n" + strings.Join(lines, "\r\n") + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
}

// Malformed calendars are refused.
func TestParseICSRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"nothing":             "",
		"something else":      "<html>",
		"another component":   "BEGIN:VCARD\nEND:VCARD\n",
		"the end is missing":  "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261120T100000Z\nEND:VEVENT\n",
		"half an event":       "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261120T100000Z\n",
		"crossed ends":        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\nEND:VEVENT\n",
		"an end too many":     "BEGIN:VCALENDAR\nEND:VCALENDAR\nEND:VCALENDAR\n",
		"too deep":            strings.Repeat("BEGIN:VCALENDAR\n", 20),
		"too many components": "BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:X\nEND:X\n", 6000) + "END:VCALENDAR\n",
		"too long":            strings.Repeat("X:y\n", calendar.MaxICS/4+1),
		"too many events": "BEGIN:VCALENDAR\n" + strings.Repeat("BEGIN:VEVENT\nDTSTART:20261120T100000Z\nEND:VEVENT\n", 2001) +
			"END:VCALENDAR\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, err := calendar.ParseICS([]byte(text), nil)
			wrong := (*calendar.ICSError)(nil)
			if !errors.As(err, &wrong) {
				t.Errorf("%+v, %v, want an error", parsed, err)
			}
		})
	}
}

// TestUncertainEvents checks the problems of events whose start is uncertain. The other
// event of the calendar has none.
func TestUncertainEvents(t *testing.T) {
	t.Parallel()
	const zone = "BEGIN:VTIMEZONE\nTZID:Mine\nBEGIN:STANDARD\nDTSTART:20200101T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:FREQ=MONTHLY\nEND:STANDARD\nEND:VTIMEZONE\n"
	for name, test := range map[string]struct{ line, want string }{
		"no start":                {"X:y", "DTSTART is missing"},
		"the first moment of all": {"DTSTART:00010101T000000Z", "DTSTART is not the time of a meeting"},
		"a start that is none":    {"DTSTART:tomorrow", "DTSTART is not a date or date-time"},
		"a day that is none":      {"DTSTART:20260230T100000Z", "DTSTART is not a date or date-time"},
		"an unknown zone":         {"DTSTART;TZID=Nowhere/City:20261120T100000", "DTSTART is in an unknown time zone"},
		"this machine's zone":     {"DTSTART;TZID=Local:20261120T100000", "DTSTART is in an unknown time zone"},
		"a file":                  {"DTSTART;TZID=../../etc/passwd:20261120T100000", "DTSTART is in an unknown time zone"},
		"a zone of an endless name": {
			"DTSTART;TZID=" + strings.Repeat("Europe/Berlin/", 100) + ":20261120T100000", "DTSTART is in an unknown time zone",
		},
		"a zone with another rule": {"DTSTART;TZID=Mine:20261120T100000", "DTSTART is in an unknown time zone"},
		"an unknown rule":          {"DTSTART:20261120T100000Z\nRRULE:FREQ=HOURLY", "RRULE is not understood"},
	} {
		text := "BEGIN:VCALENDAR\n" + zone + "BEGIN:VEVENT\nUID:bad\nSEQUENCE:2\n" + test.line +
			"\nEND:VEVENT\nBEGIN:VEVENT\nUID:good\nDTSTART:20261120T100000Z\nEND:VEVENT\nEND:VCALENDAR\n"
		parsed, err := calendar.ParseICS([]byte(text), nil)
		if err != nil || len(parsed.Events) != 2 || parsed.Events[0].Problem != test.want || parsed.Events[0].UID != "bad" ||
			parsed.Events[0].Sequence != 2 || parsed.Events[1].Problem != "" {
			t.Errorf("%s: %+v, %v", name, parsed.Events, err)
		}
	}
	text := inEvent("UID:1", "RECURRENCE-ID;TZID=Nowhere:20261120T100000", "DTSTART:20261120T100000Z")
	if parsed, err := calendar.ParseICS([]byte(text), nil); err != nil || parsed.Events[0].UID != "" ||
		parsed.Events[0].Problem != "RECURRENCE-ID is in an unknown time zone" {
		t.Errorf("an unknown occurrence: %+v, %v", parsed.Events, err)
	}
}

// TestCancelledSpellings checks the ways in which programs say that an event is
// cancelled.
func TestCancelledSpellings(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{{"STATUS:CANCELLED"}, {"STATUS:Canceled"}, {"METHOD:CANCEL"}} {
		parsed, err := calendar.ParseICS([]byte(inEvent(append(lines, "UID:1", "DTSTART:20261120T100000Z")...)), nil)
		if err != nil || !parsed.Events[0].Cancelled {
			t.Errorf("%s: %+v, %v", lines, parsed.Events, err)
		}
	}
}

// TestUTF16 checks that files in UTF-16 are read, with and without a byte order mark.
func TestUTF16(t *testing.T) {
	t.Parallel()
	text := inEvent("UID:1", "SUMMARY:Größe", "DTSTART:20261120T100000Z")
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, mark := range []string{"", "\ufeff"} {
			var file []byte
			for _, unit := range utf16.Encode([]rune(mark + text)) {
				file = order.AppendUint16(file, unit)
			}
			parsed, err := calendar.ParseICS(file, nil)
			if err != nil || len(parsed.Events) != 1 || parsed.Events[0].Summary != "Größe" {
				t.Errorf("%s %q: %+v, %v", order, mark, parsed, err)
			}
		}
	}
}

// Common mistakes of programs do not hide an event.
func TestLenient(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lines []string
		check func(calendar.Event) bool
	}{
		"a line that is none": {[]string{"nonsense", "SUMMARY:x"}, func(e calendar.Event) bool { return e.Summary == "x" }},
		"a parameter that is none": {
			[]string{"X;Y:z", "X;=:z", "X;A:", "SUMMARY;LANGUAGE=:x"}, func(e calendar.Event) bool { return e.Summary == "x" },
		},
		"a line that ends early": {
			[]string{"X;TZID=Europe/Berlin", `X;A="b`, "SUMMARY:x"}, func(e calendar.Event) bool { return e.Summary == "x" },
		},
		"small letters": {[]string{"summary:x", "organizer:MailTo:ada@example.test"}, func(e calendar.Event) bool {
			return e.Summary == "x" && e.Organizer == "ada@example.test"
		}},
		"commas without escapes": {[]string{`SUMMARY:a, b\, c\: d\N e\\n`}, func(e calendar.Event) bool {
			return e.Summary == "a, b, c: d\n e\\n"
		}},
		"a fold within a letter": {[]string{"SUMMARY:caf\xc3\r\n \xa9"}, func(e calendar.Event) bool { return e.Summary == "café" }},
		"folds, one after another": {
			[]string{"SUM\r\n MARY\r\n\t:x\r\n  y\r\n \r\n z"}, func(e calendar.Event) bool { return e.Summary == "x yz" },
		},
		"another charset": {[]string{"SUMMARY:caf\xe9"}, func(e calendar.Event) bool { return e.Summary == "café" }},
		"colons in quotes": {[]string{
			`ORGANIZER;CN="a:b;c,d",e;SENT-BY="mailto:bob@example.test":mailto:ada@example.test`,
		}, func(e calendar.Event) bool {
			return e.Organizer == "ada@example.test"
		}},
		"a sequence that is none": {[]string{"SEQUENCE:-1"}, func(e calendar.Event) bool { return e.Sequence == 0 }},
		"two organizers in one": {
			[]string{"ORGANIZER:mailto:ada@example.test,bob@example.test"}, func(e calendar.Event) bool { return e.Organizer == "" },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, err := calendar.ParseICS([]byte(inEvent(append(test.lines, "DTSTART:20261120T100000Z")...)), nil)
			if err != nil || len(parsed.Events) != 1 || !test.check(parsed.Events[0]) {
				t.Errorf("%+v, %v", parsed.Events, err)
			}
		})
	}
}

func TestLineEnds(t *testing.T) {
	t.Parallel()
	text := string(sample(t, "outlook"))
	want, err := calendar.ParseICS([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"\n", "\r", "\r\n\r\n"} {
		if end == "\r\n\r\n" {
			text = strings.ReplaceAll(text, "\r\n ", "") // an empty line ends a folded one
		}
		got, err := calendar.ParseICS([]byte("\uFEFF"+strings.ReplaceAll(text, "\r\n", end)), nil)
		if err != nil || len(got.Events) != 1 || !reflect.DeepEqual(got.Events[0], want.Events[0]) {
			t.Errorf("lines that end in %q: %+v, %v", end, got, err)
		}
	}
}

// TestHostileTextIsParsedQuickly parses texts of the maximum size, and of a quarter of it in
// the short run, that are expensive to parse.
func TestHostileTextIsParsedQuickly(t *testing.T) {
	t.Parallel()
	fill := func(prefix, repeated, suffix string) []byte {
		size := calendar.MaxICS
		if testing.Short() {
			size /= 4
		}
		n := (size - len(prefix) - len(suffix)) / len(repeated)
		return []byte(prefix + strings.Repeat(repeated, n) + suffix)
	}
	event := "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261120T100000Z\n"
	end := "\nEND:VEVENT\nEND:VCALENDAR\n"
	tests := map[string][]byte{
		"one parameter":       fill(event+"X;A=", "a", ":v"+end),
		"many parameters":     fill(event+"X", ";A=b", ":v"+end),
		"many values":         fill(event+"X;A=b", ",c", ":v"+end),
		"folds":               fill(event+"DESCRIPTION:", "\n x", end),
		"escapes":             fill(event+"DESCRIPTION:", `\n`, end),
		"addresses":           fill(event+"DESCRIPTION:", "https://a.b/ ", end),
		"schemes":             fill(event+"DESCRIPTION:", "://", end),
		"an address":          fill(event+"DESCRIPTION:https://zoom.us/j/", "%2525", end),
		"redirectors":         fill(event+"DESCRIPTION:", "https://google.com/url?q=", end),
		"brackets":            fill(event+"DESCRIPTION:https://a.b/", ")", end),
		"points":              fill(event+"DESCRIPTION:https://a.b/", ".)", end),
		"descriptions":        fill(event, "DESCRIPTION:https://a.b/\n", end),
		"components":          fill("", "BEGIN:VCALENDAR\n", ""),
		"observances":         fill("BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:x\nBEGIN:STANDARD\nDTSTART:20200101T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\n", "RRULE:FREQ=YEARLY\n", "END:STANDARD\nEND:VTIMEZONE\n"+strings.ReplaceAll(event, "BEGIN:VCALENDAR\n", "")+end),
		"dates of observance": fill("BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:x\nBEGIN:STANDARD\nDTSTART:20200101T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRDATE:20200101T000000", ",20200101T000000", "\nEND:STANDARD\nEND:VTIMEZONE\nEND:VCALENDAR\n"),
		"encodings":           fill(event+"DESCRIPTION:", "%25", end),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := calendar.ParseICS(text, nil)
			if wrong := (*calendar.ICSError)(nil); err != nil && !errors.As(err, &wrong) {
				t.Error(err)
			}
			took := time.Since(began)
			if took > 20*time.Second { // far more than a busy machine needs, far less than quadratic work takes
				t.Errorf("%d bytes took %s", len(text), took)
			}
			t.Logf("%s", took)
		})
	}
}

// TestOccurrences checks the starts of series, in UTC.
func TestOccurrences(t *testing.T) {
	t.Parallel()
	const zone = ";TZID=America/New_York:"
	tests := map[string]struct {
		lines []string
		want  string
	}{
		"weekly, over the end of daylight saving time": {
			[]string{"DTSTART" + zone + "20261026T093000", "RRULE:FREQ=WEEKLY;COUNT=3"}, "10-26 13:30, 11-02 14:30, 11-09 14:30",
		},
		"until a date": {
			[]string{"DTSTART" + zone + "20261026T093000", "RRULE:FREQ=DAILY;UNTIL=20261027"}, "10-26 13:30, 10-27 13:30",
		},
		"until a time in UTC": {
			[]string{"DTSTART" + zone + "20261026T093000", "RRULE:FREQ=DAILY;UNTIL=20261027T133000Z"}, "10-26 13:30, 10-27 13:30",
		},
		"until a local time": {[]string{"DTSTART" + zone + "20261026T093000", "RRULE:FREQ=DAILY;UNTIL=20261027T092959"}, "10-26 13:30"},
		"without some": {
			[]string{
				"DTSTART" + zone + "20261026T093000", "RRULE:FREQ=DAILY;COUNT=4", "EXDATE" + zone + "20261027T093000", "EXDATE;VALUE=DATE:20261028",
			},
			"10-26 13:30, 10-29 13:30",
		},
		"without the first and an added day": {
			[]string{
				"DTSTART" + zone + "20261026T203000", "RRULE:FREQ=DAILY;COUNT=2",
				"RDATE" + zone + "20261030T203000", "RDATE" + zone + "20261031T203000",
				"EXDATE;VALUE=DATE:20261026,20261030",
			},
			"10-28 00:30, 11-01 00:30",
		},
		"exclusions in UTC": {
			[]string{"DTSTART" + zone + "20261026T093000", "RRULE:FREQ=DAILY;COUNT=2", "EXDATE:20261026T133000Z"}, "10-27 13:30",
		},
		"with more": {
			[]string{"DTSTART" + zone + "20261026T093000", "RDATE:20261028T080000Z,20261028T080000Z", "RDATE;VALUE=PERIOD:20261029T080000Z/PT1H"},
			"10-26 13:30, 10-28 08:00, 10-29 08:00",
		},
		"the last Friday of the month": {
			[]string{"DTSTART" + zone + "20260925T093000", "RRULE:FREQ=MONTHLY;BYDAY=-1FR"}, "10-30 13:30, 11-27 14:30",
		},
		"the second workday": {
			[]string{"DTSTART" + zone + "20261002T093000", "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=2"}, "11-03 14:30",
		},
		"a day that few months have": {[]string{"DTSTART" + zone + "20260831T093000", "RRULE:FREQ=MONTHLY"}, "10-31 13:30"},
		"exclusions without a zone": {
			[]string{"DTSTART" + zone + "20261026T093000", "RRULE:FREQ=DAILY;COUNT=3", "EXDATE:20261027T093000"}, "10-26 13:30, 10-28 13:30",
		},
		"more without a zone": {[]string{"DTSTART" + zone + "20261026T093000", "RDATE:20261028T080000"}, "10-26 13:30, 10-28 12:00"},
		"exclusions in the start's Z": {
			[]string{"DTSTART:20261026T133000Z", "RRULE:FREQ=DAILY;COUNT=3", "EXDATE:20261027T133000"}, "10-26 13:30, 10-28 13:30",
		},
		"certain months": {
			[]string{"DTSTART" + zone + "20260702T093000", "RRULE:FREQ=MONTHLY;BYMONTH=1,4,7,11;BYDAY=1TH;COUNT=3"}, "11-05 14:30",
		},
		"hours": {
			[]string{"DTSTART" + zone + "20261026T093000", "RRULE:FREQ=DAILY;BYHOUR=9,15;BYMINUTE=30;COUNT=3"},
			"10-26 13:30, 10-26 19:30, 10-27 13:30",
		},
		"every seventh day": {
			[]string{"DTSTART" + zone + "20261026T093000", "RRULE:FREQ=DAILY;INTERVAL=7;BYDAY=MO;COUNT=2"}, "10-26 13:30, 11-02 14:30",
		},
		"spaces": {
			[]string{"DTSTART" + zone + "20261026T093000", "RRULE: FREQ = WEEKLY; BYDAY=MO, TU;COUNT=3"},
			"10-26 13:30, 10-27 13:30, 11-02 14:30",
		},
		"two rules": {
			[]string{"DTSTART" + zone + "20261026T093000", "RRULE:FREQ=WEEKLY;COUNT=2", "RRULE:FREQ=DAILY;COUNT=2"},
			"10-26 13:30, 10-27 13:30, 11-02 14:30",
		},
		"a long count": {
			[]string{"DTSTART" + zone + "19700101T093000", "RRULE:FREQ=DAILY;COUNT=20755"},
			"10-20 13:30, 10-21 13:30, 10-22 13:30, 10-23 13:30, 10-24 13:30, 10-25 13:30, 10-26 13:30, 10-27 13:30, 10-28 13:30",
		},
		"small letters": {[]string{"DTSTART" + zone + "20261026T093000", "RRULE:freq=daily;count=1"}, "10-26 13:30"},
		"all day":       {[]string{"DTSTART;VALUE=DATE:20261026", "RRULE:FREQ=DAILY"}, ""},
	}
	for name, test := range tests {
		parsed, err := calendar.ParseICS([]byte(inEvent(append(test.lines, "UID:1", "DURATION:PT1H")...)), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		found, err := calendar.Occurrences(parsed.Events, utc(2026, 10, 20, 0, 0), utc(2026, 11, 30, 0, 0), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, o := range found {
			if o.Series != nil || o.End.Sub(o.Start) != time.Hour {
				t.Errorf("%s: %+v", name, o)
			}
			got = append(got, o.Start.Format("01-02 15:04"))
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), test.want)
		}
	}
	for _, rule := range []string{
		"FREQ=HOURLY", "COUNT=2", "FREQ=DAILY;UNTIL=soon", "FREQ=DAILY;INTERVAL=-1", "FREQ=WEEKLY;BYDAY=XX", "FREQ=WEEKLY;BYSETPOS=1",
		"FREQ=DAILY;BYHOUR=1,2,3,4,5;BYMINUTE=1,2,3,4,5", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;INTERVAL=1001",
	} {
		if parsed, err := calendar.ParseICS([]byte(inEvent("DTSTART:20261026T093000Z", "RRULE:"+rule)), nil); err != nil ||
			parsed.Events[0].Problem != "RRULE is not understood" {
			t.Errorf("%s: %+v, %v", rule, parsed, err)
		}
	}
}

// TestChangedOccurrences checks which changed occurrences of an event take place.
func TestChangedOccurrences(t *testing.T) {
	t.Parallel()
	const old, later = "DTSTAMP:20261001T000000Z", "DTSTAMP:20261002T000000Z"
	change := func(lines ...string) string {
		return "END:VEVENT\r\nBEGIN:VEVENT\r\nUID:1\r\nDURATION:PT1H\r\n" + strings.Join(lines, "\r\n")
	}
	moved := []string{"RECURRENCE-ID;TZID=Europe/Berlin:20261027T100000", "DTSTART;TZID=Europe/Berlin:20261027T150000"}
	daily := []string{"DTSTART;TZID=Europe/Berlin:20261026T100000", "RRULE:FREQ=DAILY;COUNT=3"}
	with := func(lines []string, more ...string) []string { return append(append([]string{}, lines...), more...) }
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"moved": {with(daily, change(moved...)), "10-26 09:00, 10-27 14:00, 10-28 09:00"},
		"an identity without a zone": {
			with(daily, change("RECURRENCE-ID:20261027T100000", "DTSTART:20261027T140000Z")), "10-26 09:00, 10-27 14:00, 10-28 09:00",
		},
		"an identity that is a date": {
			with(daily, change("RECURRENCE-ID;VALUE=DATE:20261027", "DTSTART:20261027T140000Z")), "10-26 09:00, 10-27 14:00, 10-28 09:00",
		},
		"made all-day":       {with(daily, change(moved[0], "DTSTART;VALUE=DATE:20261027")), "10-26 09:00, 10-28 09:00"},
		"in an unknown zone": {with(daily, change(moved[0], "DTSTART;TZID=Nowhere:20261027T150000")), "10-26 09:00, 10-28 09:00"},
		"moved out of sight": {with(daily, change(moved[0], "DTSTART:20270101T100000Z")), "10-26 09:00, 10-28 09:00"},
		"excluded": {
			with(daily, old, "EXDATE;TZID=Europe/Berlin:20261027T100000", change(with(moved, old)...)), "10-26 09:00, 10-28 09:00",
		},
		"excluded, then moved": {
			with(daily, old, "EXDATE;TZID=Europe/Berlin:20261027T100000", change(with(moved, later)...)),
			"10-26 09:00, 10-27 14:00, 10-28 09:00",
		},
		"not of the series": {
			with(daily, change("RECURRENCE-ID:20261030T090000Z", moved[1])), "10-26 09:00, 10-27 09:00, 10-28 09:00",
		},
		"of what no longer is a series": {with(daily[:1], later, change(with(moved, old)...)), "10-26 09:00"},
		"of a series that is cancelled": {with(daily, "STATUS:CANCELLED", change(moved...)), ""},
	} {
		parsed, err := calendar.ParseICS([]byte(inEvent(append([]string{"UID:1", "DURATION:PT1H"}, test.lines...)...)), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found, err := calendar.Occurrences(parsed.Events, utc(2026, 10, 20, 0, 0), utc(2026, 11, 30, 0, 0), nil)
		var got []string
		for _, o := range found {
			got = append(got, o.Start.Format("01-02 15:04"))
		}
		if err != nil || strings.Join(got, ", ") != test.want {
			t.Errorf("%s: %s, %v, want %s", name, strings.Join(got, ", "), err, test.want)
		}
	}
}
