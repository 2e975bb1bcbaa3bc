package mail

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// Lines of the events below. Those of a version are separated by |.
const (
	v0     = "SEQUENCE:0|DTSTAMP:20261120T100000Z|"
	v1     = "SEQUENCE:1|DTSTAMP:20261125T100000Z|"
	v2     = "SEQUENCE:2|DTSTAMP:20261125T110000Z|"
	by     = "SUMMARY:Planning|ORGANIZER:mailto:ann@example.test|"
	friday = by + "DTSTART;TZID=Europe/Berlin:20261127T100000|DURATION:PT1H|"
	weekly = friday + "RRULE:FREQ=WEEKLY;BYDAY=FR|"
	change = by + "RECURRENCE-ID;TZID=Europe/Berlin:20261127T100000|DURATION:PT1H|"
	meet   = "LOCATION:https://meet.google.com/abc-defg-hij"
	meet2  = "LOCATION:https://meet.google.com/xyz-uvwx-rst"
)

var fridays = []string{"11-27 09:00 meet ann", "12-04 09:00 meet ann"}

// invite returns a message with events of one UID, from an author.
func invite(from, id string, events ...string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "From: %s@example.test\r\nTo: notes@bots.example.test\r\nSubject: Planning\r\nMessage-ID: <%s@example.test>\r\nDate: Wed, 25 Nov 2026 10:00:00 +0000\r\n"+
		"Content-Type: text/calendar; charset=utf-8\r\n\r\nBEGIN:VCALENDAR\r\n", from, id)
	for _, event := range events {
		fmt.Fprintf(&b, "BEGIN:VEVENT\r\nUID:planning\r\n%s\r\nEND:VEVENT\r\n", strings.ReplaceAll(event, "|", "\r\n"))
	}
	b.WriteString("END:VCALENDAR\r\n")
	return []byte(b.String())
}

// TestUpdates checks the jobs after updates, which replace what was scheduled whatever
// they ask for, and the replies to them.
func TestUpdates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		messages []string // by ann unless they begin with another author and a colon
		jobs     []string
		reply    []string // parts of the last one
	}{
		"the series has ended": {
			[]string{v0 + by + "DTSTART;TZID=Europe/Berlin:20261113T100000|DURATION:PT1H|RRULE:FREQ=WEEKLY|" + meet, v1 + by + "DTSTART;TZID=Europe/Berlin:20261113T100000|DURATION:PT1H|RRULE:FREQ=WEEKLY;UNTIL=20261126T225959Z|" + meet}, nil,
			[]string{"Cancelled: Planning, Friday, November 27, 2026 at 10:00", "Cancelled: Planning, Friday, December 4", "“Planning” is over."},
		},
		"moved to Webex":            {[]string{v0 + friday + meet, v1 + by + "DTSTART:20261130T140000Z|LOCATION:https://acme.webex.com/meet/ann"}, nil, []string{"Cancelled: Planning, Friday", "“Planning” has no link to a meeting of a known platform."}},
		"moved to a room":           {[]string{v0 + friday + meet, v1 + by + "DTSTART:20261130T140000Z|LOCATION:Room 5"}, nil, []string{"Cancelled", "no link"}},
		"the link is removed":       {[]string{v0 + friday + meet, v1 + friday + "LOCATION:Room 5"}, nil, []string{"Cancelled", "no link"}},
		"made all-day":              {[]string{v0 + friday + meet, v1 + by + "DTSTART;VALUE=DATE:20261127|" + meet}, nil, []string{"Cancelled", "“Planning” lasts all day."}},
		"moved into the past":       {[]string{v0 + friday + meet, v1 + by + "DTSTART:20261124T100000Z|DURATION:PT1H|" + meet}, nil, []string{"Cancelled", "“Planning” is over."}},
		"moved to an unknown zone":  {[]string{v0 + friday + meet, v1 + by + "DTSTART;TZID=Nowhere:20261130T100000|" + meet}, nil, []string{"Cancelled", "“Planning” cannot be scheduled: DTSTART is in an unknown time zone."}},
		"with an unknown rule":      {[]string{v0 + friday + meet, v1 + friday + "RRULE:FREQ=HOURLY|" + meet}, nil, []string{"Cancelled", "RRULE is not understood"}},
		"without a time zone":       {[]string{v0 + friday + meet, v1 + by + "DTSTART:20261130T100000|" + meet}, nil, []string{"Cancelled", "has no time zone"}},
		"moved, and back":           {[]string{v0 + friday + meet, v1 + friday + "LOCATION:Room 5", v2 + friday + meet}, fridays[:1], []string{"Scheduled: Planning, Friday"}},
		"an instance was held":      {[]string{v0 + weekly + meet, v1 + change + "DTSTART;TZID=Europe/Berlin:20261124T100000|" + meet}, fridays[1:], []string{"Cancelled: Planning, Friday, November 27"}},
		"an instance without link":  {[]string{v0 + weekly + meet, v1 + change + "DTSTART;TZID=Europe/Berlin:20261128T150000|LOCATION:Room 5"}, fridays[1:], []string{"Cancelled: Planning, Friday, November 27", "The occurrence of “Planning” on Friday, November 27, 2026 at 10:00 (Europe/Berlin) has no link"}},
		"an all-day instance":       {[]string{v0 + weekly + meet, v1 + change + "DTSTART;VALUE=DATE:20261127|" + meet}, fridays[1:], []string{"Cancelled: Planning, Friday, November 27", "The occurrence of “Planning”", "lasts all day"}},
		"an instance with another":  {[]string{v0 + weekly + meet, v1 + change + "DTSTART;TZID=Europe/Berlin:20261128T150000|" + meet2}, []string{"11-28 14:00 meet2 ann", fridays[1]}, []string{"Moved: Planning, Saturday, November 28, 2026 at 15:00"}},
		"one instance has a link":   {[]string{v0 + weekly + "LOCATION:Room 5", v1 + change + "DTSTART;TZID=Europe/Berlin:20261127T100000|" + meet}, fridays[:1], []string{"Scheduled: Planning, Friday, November 27", "“Planning” has no link"}},
		"no longer a series":        {[]string{v0 + weekly + meet, v1 + change + "DTSTART;TZID=Europe/Berlin:20261128T150000|" + meet, v2 + friday + meet}, fridays[:1], nil},
		"an instance is excluded":   {[]string{v0 + weekly + meet, v1 + change + "DTSTART;TZID=Europe/Berlin:20261128T150000|" + meet, v2 + weekly + "EXDATE:20261127T100000|" + meet}, fridays[1:], []string{"Cancelled: Planning, Saturday"}},
		"an older version":          {[]string{v1 + friday + "LOCATION:Room 5", v0 + friday + meet}, nil, []string{"A newer version of “Planning” is known."}},
		"the same version":          {[]string{v0 + friday + meet, v0 + by + "DTSTART:20261127T140000Z|" + meet}, []string{"11-27 14:00 meet ann"}, []string{"Moved: Planning"}},
		"no version":                {[]string{friday + meet, by + "DTSTART:20261127T140000Z|" + meet}, []string{"11-27 14:00 meet ann"}, []string{"Moved: Planning"}},
		"as it was":                 {[]string{v0 + friday + meet, v1 + friday + meet}, fridays[:1], []string{"Nothing has changed: this invitation is already scheduled as it is."}},
		"canceled with one l":       {[]string{v0 + friday + meet, v1 + friday + "STATUS:CANCELED|" + meet}, nil, []string{"Cancelled: Planning"}},
		"cancelled within":          {[]string{v0 + friday + meet, v1 + friday + "METHOD:CANCEL|" + meet}, nil, []string{"Cancelled: Planning"}},
		"cancelled, but unknown":    {[]string{v1 + friday + "STATUS:CANCELLED|" + meet}, nil, []string{"“Planning” is cancelled."}},
		"a date in a year and more": {[]string{v0 + by + "DTSTART:20280301T100000Z|" + meet}, nil, []string{"“Planning” will be scheduled from Monday, March 1, 2027 on", "Wednesday, March 1, 2028 at 10:00"}},
		"a leap day":                {[]string{v0 + by + "DTSTART:20240229T100000Z|RRULE:FREQ=YEARLY|" + meet}, nil, []string{"“Planning” will be scheduled from", "Tuesday, February 29, 2028 at 10:00"}},

		"another organizer":                 {[]string{v0 + friday + meet, "bob:" + v1 + strings.Replace(friday, "ann@", "bob@", 1) + meet}, []string{"11-27 09:00 meet bob"}, []string{"Cancelled: Planning", "Scheduled: Planning"}},
		"another organizer, an hour later":  {[]string{v0 + weekly + meet, "bob:" + v1 + strings.Replace(by, "ann@", "bob@", 1) + "DTSTART;TZID=Europe/Berlin:20261127T110000|" + meet}, []string{"11-27 10:00 meet bob"}, nil},
		"another organizer, the other way":  {[]string{"bob:" + v1 + strings.Replace(friday, "ann@", "bob@", 1) + meet, v0 + weekly + meet}, []string{"11-27 09:00 meet bob"}, nil},
		"a copy without organizer":          {[]string{v0 + friday + meet, "bob:" + v0 + "SUMMARY:Planning|DTSTART:20261127T090000Z|DURATION:PT1H|" + meet}, fridays[:1], []string{"Nothing has changed"}},
		"a later copy without organizer":    {[]string{v0 + friday + meet, "bob:" + v1 + "SUMMARY:Planning|DTSTART:20261127T090000Z|DURATION:PT1H|" + meet}, fridays[:1], []string{"Nothing has changed"}},
		"a copy without organizer first":    {[]string{"bob:" + v0 + "SUMMARY:Planning|DTSTART:20261127T090000Z|DURATION:PT1H|" + meet, v0 + friday + meet}, fridays[:1], []string{"Cancelled: Planning", "Scheduled: Planning"}},
		"copies without organizer":          {[]string{"bob:" + v0 + "DTSTART:20261127T090000Z|" + meet, "carol:" + v0 + "DTSTART:20261127T090000Z|" + meet}, []string{"11-27 09:00 meet bob"}, []string{"Nothing has changed"}},
		"a copy of one instance, forwarded": {[]string{v0 + weekly + meet, "bob:" + v0 + strings.Replace(change, by, "", 1) + "DTSTART:20261127T100000Z|" + meet}, []string{"11-27 10:00 meet ann", fridays[1]}, []string{"Moved"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, host := replying(t)
			h.now = november
			for i, message := range test.messages {
				from := "ann"
				if author, rest, found := strings.Cut(message, ":"); found && (author == "bob" || author == "carol") {
					from, message = author, rest
				}
				h.process(t, invite(from, fmt.Sprint(i), message))
			}
			slices.Sort(test.jobs)
			if jobs := h.service.scheduled(); !slices.Equal(jobs, test.jobs) {
				t.Errorf("jobs %q, want %q", jobs, test.jobs)
			}
			_, text := host.last(t)
			for _, want := range test.reply {
				if !strings.Contains(text, want) {
					t.Errorf("the reply is %q, want %q", text, want)
				}
			}
		})
	}
}

// TestAnyOrder delivers versions of a meeting in random sequence, some of them twice, and
// checks that the jobs are those of the newest versions.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	runs := 100
	if testing.Short() {
		runs = 5
	}
	starts := []string{"DTSTART;TZID=Europe/Berlin:20261127T100000", "DTSTART;TZID=Europe/Berlin:20261127T150000", "DTSTART;TZID=Europe/Berlin:20261128T100000", "DTSTART;VALUE=DATE:20261127", "DTSTART;TZID=Nowhere:20261127T100000", "DTSTART:20261120T100000Z"}
	rules := []string{"RRULE:FREQ=WEEKLY", "RRULE:FREQ=DAILY;COUNT=9", "RRULE:FREQ=DAILY;UNTIL=20261124", "RRULE:FREQ=HOURLY", "X:y", "RRULE:FREQ=DAILY|EXDATE:20261130T100000"}
	links := []string{meet, meet, meet2, "LOCATION:Room 5"}
	states := []string{"STATUS:CONFIRMED", "STATUS:CONFIRMED", "STATUS:CONFIRMED", "STATUS:CANCELLED"}
	originals := []string{"", "RECURRENCE-ID;TZID=Europe/Berlin:20261127T100000|", "RECURRENCE-ID;TZID=Europe/Berlin:20261130T100000|"}
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 0))
		pick := func(from []string) string { return from[random.IntN(len(from))] }
		var versions [][]byte
		newest := make(map[string][]byte) // by occurrence
		for version := range 2 + random.IntN(7) {
			original := pick(originals)
			organizer := "ann"
			if random.IntN(4) == 0 {
				organizer = "bob"
			}
			lines := fmt.Sprintf("SEQUENCE:%d|DTSTAMP:20261124T10%02d00Z|ORGANIZER:mailto:%s@example.test|DURATION:PT1H|", version, version, organizer) + original + pick(starts) + "|" + pick(links) + "|" + pick(states)
			if original == "" {
				lines += "|" + pick(rules)
			}
			message := invite(organizer, fmt.Sprint(version), lines)
			versions = append(versions, message)
			newest[original+organizer] = message
		}
		deliver := func(messages [][]byte) []string {
			h := newHarness(t, nil)
			h.now = november
			for _, message := range messages {
				h.process(t, message)
			}
			return h.service.scheduled()
		}
		var last [][]byte
		for _, message := range newest {
			last = append(last, message)
		}
		want := deliver(last)
		for _, i := range random.Perm(len(versions)) {
			if random.IntN(3) == 0 {
				versions = append(versions, append(slices.Clone(versions[i]), "\r\n"...))
			}
		}
		random.Shuffle(len(versions), func(i, j int) { versions[i], versions[j] = versions[j], versions[i] })
		if got := deliver(versions); !slices.Equal(got, want) {
			t.Errorf("seed %d: jobs %q, want %q, after\n%s", seed, got, want, slices.Concat(versions...))
		}
	}
}

// TestExplainSeries checks that a series with changed occurrences is explained as it is
// scheduled.
func TestExplainSeries(t *testing.T) {
	t.Parallel()
	policy := newHarness(t, nil).settings.Policy
	explained, err := Explain(t.Context(), policy, sample(t, "planning-exceptions"), "192.0.2.1", time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := explained.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	const want = `
Schedule “Planning” for ann@example.test
  meeting:   https://meet.google.com/abc-defg-hij (meet)
  event:     ser@example.test, version 0
  join at:   Friday, November 27, 2026 at 10:00 (Europe/Berlin)
  join at:   Saturday, November 28, 2026 at 15:00 (Europe/Berlin)
  join at:   Monday, November 30, 2026 at 10:00 (Europe/Berlin)

Cancel “Planning cancelled” of ann@example.test (ser@example.test/20261129T090000Z)
`
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("the explanation is %s\nwant%s", b.String(), want)
	}
}

// TestForms checks the forms in which messages have a calendar, and what the author
// learns of those that cannot be read.
func TestForms(t *testing.T) {
	t.Parallel()
	text := func(events ...string) string {
		_, body, _ := strings.Cut(string(invite("ann", "x", events...)), "\r\n\r\n")
		return body
	}
	parts := func(parts ...string) string {
		return "multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: " + strings.Join(parts, "\r\n--b\r\nContent-Type: ") + "\r\n--b--\r\n"
	}
	many := []string{v0 + by + "DTSTART;TZID=Europe/Berlin:20260101T100000|DURATION:PT1H|RRULE:FREQ=DAILY;UNTIL=20261128T235959Z|" + meet}
	for day := range 208 {
		start := time.Date(2026, 1, 1+day, 10, 0, 0, 0, time.UTC).Format("20060102T150405")
		many = append(many, fmt.Sprintf("%s%sRECURRENCE-ID;TZID=Europe/Berlin:%s|DTSTART;TZID=Europe/Berlin:%s|%s", v0, by, start, start, meet))
	}
	for name, test := range map[string]struct {
		content string // after Content-Type
		jobs    []string
		want    string // part of the detail
	}{
		"text":                       {"text/plain\r\n\r\n" + text(v0+friday+meet), fridays[:1], ""},
		"text with more":             {"text/plain\r\n\r\n" + text(v0+friday+meet) + "Regards", nil, "no calendar"},
		"vCalendar":                  {"text/x-vcalendar\r\n\r\n" + text(v0+friday+meet), fridays[:1], ""},
		"a .vcs file":                {parts("application/octet-stream; name=x.vcs\r\n\r\n" + text(v0+friday+meet)), fridays[:1], ""},
		"cancelled by its type":      {"text/calendar; method=CANCEL\r\n\r\n" + text(v1+friday+meet), nil, "“Planning” is cancelled."},
		"a reply by its type":        {"text/calendar; method=REPLY\r\n\r\n" + text(v1+friday+meet), nil, "its method is REPLY"},
		"an Outlook item":            {parts("text/plain\r\n\r\nHello", "application/vnd.ms-outlook; name=Planning.msg\r\n\r\nx"), nil, "Outlook item (.msg)"},
		"S/MIME":                     {"application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\r\n\r\nx", nil, "(S/MIME)"},
		"many changed occurrences":   {"text/calendar\r\n\r\n" + text(many...), []string{"11-26 09:00 meet ann", "11-27 09:00 meet ann", "11-28 09:00 meet ann"}, ""},
		"two links to one meeting":   {parts("text/plain\r\n\r\nhttps://zoom.us/j/123456789 https://us02web.zoom.us/j/123456789?pwd=x", "text/calendar\r\n\r\n"+text(v0+friday+"LOCATION:Zoom")), []string{"11-27 09:00 https://us02web.zoom.us/j/123456789?pwd=x ann"}, ""},
		"the passcode in the text":   {parts("text/plain\r\n\r\nhttps://zoom.us/j/99 https://zoom.us/j/123456789?pwd=x", "text/calendar\r\n\r\n"+text(v0+friday+"LOCATION:https://zoom.us/j/123456789")), []string{"11-27 09:00 https://zoom.us/j/123456789?pwd=x ann"}, ""},
		"a host of the operator":     {"text/calendar\r\n\r\n" + text(v0+friday+"LOCATION:https://zoom-x.de/j/123?pwd=x"), []string{"11-27 09:00 https://zoom-x.de/j/123?pwd=x ann"}, ""},
		"an event without a start":   {"text/calendar\r\n\r\n" + text(v0+by+meet, v0+change+"DTSTART;TZID=Europe/Berlin:20261127T100000|"+meet), fridays[:1], "DTSTART is missing"},
		"an unknown occurrence":      {"text/calendar\r\n\r\n" + text(v0+weekly+meet, v1+by+"RECURRENCE-ID;TZID=Nowhere:20261127T100000|DTSTART:20261127T120000Z|"+meet), fridays, "“Planning” cannot be used: RECURRENCE-ID is in an unknown time zone."},
		"a calendar that breaks off": {"text/calendar\r\n\r\nBEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n", nil, "What was scheduled before stays."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(s *Settings) { s.Policy.MeetingHosts = []string{"zoom-x.de"} })
			h.now = november
			got := h.process(t, []byte("From: ann@example.test\r\nTo: notes@bots.example.test\r\nContent-Type: "+test.content))
			if jobs := h.service.scheduled(); !slices.Equal(jobs, test.jobs) || !strings.Contains(got.Detail, test.want) || test.want == "" && got.Detail != "" {
				t.Errorf("%s: %q, jobs %q, want %q", got.Verdict, got.Detail, jobs, test.jobs)
			}
		})
	}
}
