package mail

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// corpusTest is an expectation.
type corpusTest struct {
	messages string // names of files
	jobs     []string
	verdict  string    // of the last message; accepted when empty
	detail   string    // part of its explanation
	at       time.Time // monday when zero
}

// corpus has the jobs that exist after messages were received one after another,
// as: start in UTC, link, organizer. The messages are written as calendars and
// mail programs write them.
var corpus = []corpusTest{
	// Google Calendar.
	{messages: "google-single", jobs: []string{"10-21 13:00 meet ada"}},
	{messages: "google-single google-update", jobs: []string{"10-22 14:00 meet ada"}},
	{messages: "google-update google-single", jobs: []string{"10-22 14:00 meet ada"}, detail: "A newer version of"},
	{messages: "google-single google-same-sequence", jobs: []string{"10-21 16:00 meet ada"}},
	{messages: "google-same-sequence google-single", jobs: []string{"10-21 16:00 meet ada"}, detail: "A newer version of"},
	{messages: "google-single google-update google-cancel"},
	{messages: "google-cancel google-single google-update", detail: "A newer version of"},
	{messages: "google-zone", jobs: []string{"10-26 14:00 meet ada"}}, // the day after the end of daylight saving time
	{messages: "google-weekly", jobs: []string{"10-20 13:00 meet ada", "10-27 14:00 meet ada"}},
	{messages: "google-weekly google-weekly-exdate", jobs: []string{"10-20 13:00 meet ada"}},
	{messages: "google-weekly google-moved-instance", jobs: []string{"10-20 13:00 meet ada", "10-28 09:00 meet ada"}},
	{messages: "google-moved-instance google-weekly", jobs: []string{"10-20 13:00 meet ada", "10-28 09:00 meet ada"}},
	{messages: "google-moved-instance", jobs: []string{"10-28 09:00 meet ada"}}, // invited to one instance
	{messages: "google-weekly google-cancel-instance", jobs: []string{"10-20 13:00 meet ada"}},
	{messages: "google-cancel-instance google-weekly", jobs: []string{"10-20 13:00 meet ada"}},
	{messages: "google-weekly google-series-moved", jobs: []string{"10-20 15:00 meet ada", "10-27 16:00 meet ada"}},
	{messages: "google-weekly google-moved-instance google-series-moved", jobs: []string{"10-20 15:00 meet ada", "10-27 16:00 meet ada"}},
	{messages: "google-weekly", jobs: []string{"11-03 14:00 meet ada", "11-10 14:00 meet ada"}, at: time.Date(2026, 10, 30, 0, 0, 0, 0, time.UTC)},
	{messages: "google-series-ended", verdict: ignored, detail: "is over"},
	{messages: "google-allday", verdict: ignored, detail: "lasts all day"},
	{messages: "google-no-link", verdict: ignored, detail: "no link to a meeting"},
	{messages: "google-over", verdict: ignored, detail: "is over"},
	{messages: "google-reply", verdict: ignored, detail: "its method is REPLY"},
	{messages: "google-counter", verdict: ignored, detail: "its method is COUNTER"},

	// Outlook and Exchange.
	{messages: "outlook-single", jobs: []string{"10-26 08:00 teams juergen"}},
	{messages: "outlook-latin1", jobs: []string{"10-21 07:00 teams juergen"}},
	{messages: "outlook-customized-zone", jobs: []string{"10-26 07:00 teams juergen"}},
	{messages: "outlook-series", jobs: []string{"10-19 13:30 teams juergen", "10-26 13:30 teams juergen"}},
	{messages: "outlook-series outlook-exception", jobs: []string{"10-19 13:30 teams juergen", "10-26 13:30 teams juergen"}},
	{messages: "outlook-series outlook-exception", jobs: []string{"10-26 13:30 teams juergen", "11-02 16:00 teams juergen"}, at: time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)},
	{messages: "outlook-series outlook-exception outlook-cancel-series"},
	{messages: "outlook-monthly", jobs: []string{"11-02 13:00 teams juergen"}, at: time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)},
	{messages: "outlook-zoom", jobs: []string{"10-22 09:00 zoom juergen"}},
	{messages: "outlook-utc", jobs: []string{"10-22 11:00 teams juergen"}},
	{messages: "outlook-dst-gap", jobs: []string{"03-28 01:30 teams juergen"}},  // 2:30 does not exist: with the offset before the change
	{messages: "outlook-dst-fold", jobs: []string{"10-25 00:30 teams juergen"}}, // 2:30 exists twice: the first
	{messages: "outlook-winmail", verdict: ignored, detail: "winmail.dat"},
	{messages: "outlook-forwarded", jobs: []string{"10-26 08:00 teams juergen"}},

	// Microsoft 365.
	{messages: "m365-teams", jobs: []string{"10-22 14:00 teams grace"}},
	{messages: "m365-teams m365-update", jobs: []string{"10-22 17:00 teams grace"}},
	{messages: "m365-teams m365-cancel m365-update", detail: "A newer version of"},
	{messages: "m365-safelinks", jobs: []string{"10-23 14:00 teams grace"}},
	{messages: "m365-altdesc", jobs: []string{"10-23 16:00 teams grace"}},
	{messages: "m365-until", jobs: []string{"10-19 19:00 teams grace", "10-20 19:00 teams grace", "10-21 19:00 teams grace", "10-22 19:00 teams grace", "10-23 19:00 teams grace"}},
	{messages: "m365-workdays", jobs: []string{
		"10-19 12:00 teams grace", "10-20 12:00 teams grace", "10-21 12:00 teams grace", "10-22 12:00 teams grace", "10-23 12:00 teams grace",
		"10-26 12:00 teams grace", "10-27 12:00 teams grace", "10-28 12:00 teams grace",
	}},
	{messages: "m365-london", jobs: []string{"10-26 09:00 teams grace"}},
	{messages: "m365-html-link", jobs: []string{"10-23 18:00 teams grace"}},
	{messages: "m365-several-links", verdict: ignored, detail: "the text of the message has several"},
	{messages: "m365-organizer-upper", jobs: []string{"10-23 20:00 teams grace"}},

	// Apple Calendar.
	{messages: "apple-single", jobs: []string{"10-30 20:00 zoom ada"}},
	{messages: "apple-floating", verdict: ignored, detail: "has no time zone"},
	{messages: "apple-floating-zone", jobs: []string{"10-22 07:00 zoom ada"}},
	{messages: "apple-allday", verdict: ignored, detail: "lasts all day"},
	{messages: "apple-rdate", jobs: []string{"10-21 14:00 zoom ada", "10-23 15:00 zoom ada"}},
	{messages: "apple-override", jobs: []string{"10-26 14:00 zoom ada", "10-27 14:00 zoom ada", "10-28 19:00 zoom ada", "10-29 14:00 zoom ada"}},
	{messages: "apple-duration", jobs: []string{"10-20 07:00 zoom ada"}, at: time.Date(2026, 10, 20, 8, 30, 0, 0, time.UTC)}, // it lasts until 9:00
	{messages: "apple-duration", verdict: ignored, detail: "is over", at: time.Date(2026, 10, 20, 9, 0, 0, 0, time.UTC)},
	{messages: "apple-thisandfuture", jobs: []string{"10-21 14:00 zoom ada", "10-22 14:00 zoom ada", "10-23 16:00 zoom ada", "10-24 16:00 zoom ada"}},
	{messages: "apple-yearly", jobs: []string{"10-24 16:00 zoom ada"}},

	// Zoom.
	{messages: "zoom-invite", jobs: []string{"10-22 14:00 zoom ada"}},
	{messages: "zoom-recurring", jobs: []string{"10-21 15:00 zoom ada", "10-28 15:00 zoom ada"}},
	{messages: "zoom-text-only", verdict: ignored, detail: "no calendar (.ics) that says when"},
	{messages: "zoom-two-links", verdict: ignored, detail: "several meeting links and no calendar"},
	{messages: "zoom-registration", verdict: ignored, detail: "no link to a meeting"},

	// Calendly.
	{messages: "calendly-new", jobs: []string{"10-27 09:00 meet2 ada"}},
	{messages: "calendly-new calendly-rescheduled", jobs: []string{"10-28 09:00 meet2 ada"}},
	{messages: "calendly-new calendly-rescheduled calendly-canceled"},

	// Fastmail and Proton.
	{messages: "fastmail-invite", jobs: []string{"11-02 01:30 meet2 ada"}}, // the evening after the end of daylight saving time
	{messages: "fastmail-prefixed-zone", jobs: []string{"11-02 09:00 meet2 ada"}},
	{messages: "fastmail-biweekly", jobs: []string{"10-22 16:00 meet2 ada"}},
	{messages: "proton-invite", jobs: []string{"10-23 06:30 zoom ada"}},
	{messages: "proton-invite proton-update", jobs: []string{"10-23 06:30 meet2 ada"}},
	{messages: "proton-update proton-invite", jobs: []string{"10-23 06:30 meet2 ada"}, detail: "A newer version of"},
	{messages: "proton-invite proton-cancel"},

	// People, and defects.
	{messages: "forwarded-by-gmail", jobs: []string{"10-21 13:00 meet ada"}},
	{messages: "google-single forwarded-by-gmail", jobs: []string{"10-21 13:00 meet ada"}},
	{messages: "forwarded-html-only", verdict: ignored, detail: "has a meeting link, but no calendar"},
	{messages: "two-events", jobs: []string{"10-21 08:00 meet ada", "10-22 08:00 zoom ada"}, detail: "“Third” lasts all day"},
	{messages: "nested", jobs: []string{"10-21 08:00 meet ada"}},
	{messages: "nested-too-deep", verdict: ignored, detail: "not an invitation"},
	{messages: "truncated", verdict: ignored, detail: "BEGIN without END"},
	{messages: "broken-base64", verdict: ignored, detail: "BEGIN without END"},
	{messages: "windows-1251", jobs: []string{"10-21 11:00 zoom ada"}},
	{messages: "two-authors", verdict: refused, detail: "exactly one author"},
	{messages: "no-uid", verdict: ignored, detail: "no usable UID"},
	{messages: "no-organizer", jobs: []string{"10-21 08:00 meet ada"}},
	{messages: "newsletter", verdict: ignored, detail: "not an invitation"},
	{messages: "auto-reply", verdict: ignored, detail: "not an invitation"},
	{messages: "bounce", verdict: ignored, detail: "not an invitation"},
	{messages: "unknown-zone", verdict: ignored, detail: "unknown time zone"},
	{messages: "hourly", verdict: ignored, detail: "RRULE is not understood"},
	{messages: "google-single other-organizer"}, // all senders are trusted here; TestSenders has others

	// Updates, unusual links and rules, in November.
	{messages: "planning-weekly", jobs: []string{"11-27 09:00 meet ann", "12-04 09:00 meet ann"}, at: november},
	{messages: "planning-weekly planning-ended", detail: "“Planning” is over.", at: november},
	{messages: "planning-ended planning-weekly", detail: "A newer version of “Planning” is known.", verdict: ignored, at: november},
	{messages: "planning-single planning-webex", detail: "“Planning” has no link to a meeting of a known platform.", at: november},
	{messages: "planning-webex planning-single", detail: "A newer version of “Planning” is known.", verdict: ignored, at: november},
	{messages: "planning-later", detail: "“Weekly later” will be scheduled from Monday, December 7, 2026 on, 14 days before its next date, Monday, December 21, 2026 at 10:00 (Europe/Berlin).", at: november},
	{messages: "planning-later", jobs: []string{"12-21 09:00 meet ann"}, at: time.Date(2026, 12, 7, 12, 0, 0, 0, time.UTC)},
	{messages: "planning-past-exception", jobs: []string{"11-30 09:00 meet ann", "12-07 09:00 meet ann"}, at: november},
	{messages: "planning-exceptions", jobs: []string{"11-27 09:00 meet ann", "11-28 14:00 meet ann", "11-30 09:00 meet ann"}, at: november},
	{messages: "planning-same-version-1 planning-same-version-2", jobs: []string{"11-27 14:00 meet ann"}, at: november},
	{messages: "planning-since-1970", jobs: slices.Repeat([]string{
		"11-26 09:00 meet ann", "11-27 09:00 meet ann", "11-28 09:00 meet ann", "11-29 09:00 meet ann", "11-30 09:00 meet ann", "12-01 09:00 meet ann", "12-02 09:00 meet ann",
		"12-03 09:00 meet ann", "12-04 09:00 meet ann", "12-05 09:00 meet ann", "12-06 09:00 meet ann", "12-07 09:00 meet ann", "12-08 09:00 meet ann", "12-09 09:00 meet ann",
	}, 20), at: november},
	{messages: "exdate-floating", jobs: []string{"11-30 09:00 meet ann", "12-01 09:00 meet ann", "12-03 09:00 meet ann", "12-04 09:00 meet ann"}, at: november},
	{messages: "one-bad-event", jobs: []string{"12-02 09:00 meet ann"}, detail: "“x” cannot be scheduled: DTSTART is in an unknown time zone.", at: november},
	{messages: "monthly-bymonth", jobs: []string{"01-04 09:00 meet ann"}, at: time.Date(2026, 12, 25, 0, 0, 0, 0, time.UTC)},
	{messages: "link-chinese-comma", jobs: []string{"11-27 10:00 meet ann"}, at: november},
	{messages: "link-chinese-brackets", jobs: []string{"11-27 10:00 https://us02web.zoom.us/j/86012345678?pwd=QWxhZGRpbjpvcGVu.1 ann"}, at: november},
	{messages: "link-no-scheme", jobs: []string{"11-27 10:00 https://us02web.zoom.us/j/86012345678 ann"}, at: november},
}

// november is the time of the later messages.
var november = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// TestCorpus checks which jobs messages cause, and that receiving the last one again and
// continuing the series changes nothing.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(files) < 60 {
		t.Fatalf("the corpus has %d messages: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".eml")
		if !slices.ContainsFunc(corpus, func(test corpusTest) bool { return slices.Contains(strings.Fields(test.messages), name) }) {
			t.Errorf("no expectation for %s", name)
		}
	}
	for _, test := range corpus {
		name := test.messages
		if !test.at.IsZero() {
			name += test.at.Format(" on 01-02")
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, nil)
			if !test.at.IsZero() {
				h.now = test.at
			}
			var got Record
			for name := range strings.FieldsSeq(test.messages) {
				got = h.process(t, sample(t, name))
			}
			if test.verdict == "" {
				test.verdict = accepted
			}
			if got.Verdict != test.verdict || !strings.Contains(got.Detail, test.detail) || test.detail == "" && got.Detail != "" {
				t.Errorf("the verdict is %s: %q, want %s: %q", got.Verdict, got.Detail, test.verdict, test.detail)
			}
			slices.Sort(test.jobs)
			if jobs := h.service.scheduled(); !slices.Equal(jobs, test.jobs) {
				t.Errorf("jobs %q, want %q", jobs, test.jobs)
			}
			calls := h.service.calls
			messages := strings.Fields(test.messages)
			h.process(t, append(sample(t, messages[len(messages)-1]), '\n'))
			if jobs := h.service.scheduled(); !slices.Equal(jobs, test.jobs) || h.service.calls != calls {
				t.Errorf("after the same message: jobs %q, %d more requests", jobs, h.service.calls-calls)
			}
		})
	}
}
