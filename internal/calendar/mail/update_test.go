package mail

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	meet  = "LOCATION:https://meet.google.com/abc-defg-hij"
	meet2 = "LOCATION:https://meet.google.com/xyz-uvwx-rst"
)

// invite returns a message with an event, whose lines are separated by |, from an author.
func invite(from, id, event string) []byte {
	method := ""
	if strings.HasPrefix(event, "METHOD:") {
		method, event, _ = strings.Cut(event, "|")
		method += "\r\n"
	}
	if !strings.HasPrefix(event, "UID:") {
		event = "UID:planning|" + event
	}
	return fmt.Appendf(nil,
		"From: %s@example.test\r\nTo: notes@bots.example.test\r\nSubject: Planning\r\nMessage-ID: <%s@example.test>\r\n"+
			"Date: Wed, 25 Nov 2026 10:00:00 +0000\r\nContent-Type: text/calendar; charset=utf-8\r\n\r\n"+
			"BEGIN:VCALENDAR\r\n%sBEGIN:VEVENT\r\n%s\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		from, id, method, strings.ReplaceAll(event, "|", "\r\n"))
}

// TestUpdates checks the jobs after updates, which replace what was scheduled whatever
// they ask for, and the replies to them.
func TestUpdates(t *testing.T) {
	t.Parallel()
	var file struct {
		Lines map[string]string
		Tests []struct {
			Name     string
			Messages []string
			Jobs     []string
			Reply    []string // parts of the last one
		}
	}
	readYAML(t, "updates", &file)
	var line func(name string) string
	line = func(name string) string { return os.Expand(file.Lines[name], line) }
	for _, test := range file.Tests {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			h, host := replying(t)
			h.now = november
			for i, message := range test.Messages {
				from := "ann"
				if author, rest, found := strings.Cut(message, ":"); found && (author == "bob" || author == "carol") {
					from, message = author, rest
				}
				h.process(t, invite(from, fmt.Sprint(i), os.Expand(message, line)))
			}
			slices.Sort(test.Jobs)
			if jobs := h.scheduled(t); !slices.Equal(jobs, test.Jobs) {
				t.Errorf("jobs %q, want %q", jobs, test.Jobs)
			}
			_, text := lastReply(t, host)
			for _, want := range test.Reply {
				if !strings.Contains(text, want) {
					t.Errorf("the reply is %q, want %q", text, want)
				}
			}
		})
	}
}

// TestChangedEnd checks that the service learns when a meeting ends, also if only that changes.
func TestChangedEnd(t *testing.T) {
	t.Parallel()
	h := newHarness(t, nil)
	h.now = november
	for n, length := range []int{60, 30} {
		h.process(t, invite("ann", fmt.Sprint(n), fmt.Sprintf(
			"SEQUENCE:%d|DTSTART:20261127T090000Z|DURATION:PT%dM|ORGANIZER:mailto:ann@example.test|%s", n, length, meet)))
		if got := h.jobs(t)[0].Options.StartBefore.Time(); got.Sub(h.jobs(t)[0].JoinAt) != time.Duration(length)*time.Minute {
			t.Errorf("the meeting ends at %s, after %d minutes", got, length)
		}
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
	starts := []string{
		"DTSTART;TZID=Europe/Berlin:20261127T100000", "DTSTART;TZID=Europe/Berlin:20261127T150000",
		"DTSTART;TZID=Europe/Berlin:20261128T100000", "DTSTART;VALUE=DATE:20261127", "DTSTART;TZID=Nowhere:20261127T100000",
		"DTSTART:20261120T100000Z",
	}
	rules := []string{
		"RRULE:FREQ=WEEKLY", "RRULE:FREQ=DAILY;COUNT=9", "RRULE:FREQ=DAILY;UNTIL=20261124", "RRULE:FREQ=HOURLY", "X:y",
		"RRULE:FREQ=DAILY|EXDATE:20261130T100000",
	}
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
			lines := fmt.Sprintf("SEQUENCE:%d|DTSTAMP:20261124T10%02d00Z|ORGANIZER:mailto:%s@example.test|DURATION:PT1H|", version, version,
				organizer) + original + pick(starts) + "|" + pick(links) + "|" + pick(states)
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
			return h.scheduled(t)
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
	policy := newHarness(t, nil).Policy
	explained, err := Explain(t.Context(), policy, sample(t, "planning-exceptions"), "192.0.2.1",
		time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
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
  join at:   Friday, November 27, 2026 at 10:00 (Europe/Berlin, UTC+1)
  join at:   Saturday, November 28, 2026 at 15:00 (Europe/Berlin, UTC+1)
  join at:   Monday, November 30, 2026 at 10:00 (Europe/Berlin, UTC+1)

Cancel “Planning cancelled” of ann@example.test (ser@example.test/20261129T090000Z)
`
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("the explanation is %s\nwant%s", b.String(), want)
	}
}
