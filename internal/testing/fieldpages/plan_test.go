package fieldpages

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// TestGenerate checks that meetings are reproducible and cover everything.
func TestGenerate(t *testing.T) {
	t.Parallel()
	languages, scenarios := make(map[string]int), make(map[string]int)
	for i := range 2000 {
		plan := Generate(1, i)
		if again := Generate(1, i); !reflect.DeepEqual(plan, again) {
			t.Fatalf("meeting %d is not reproducible: %+v, %+v", i, plan, again)
		}
		if described := Describe(plan.Platform, plan.Scenario, plan.Language, plan.Seed); !reflect.DeepEqual(plan, described) {
			t.Fatalf("%s does not describe the meeting", plan)
		}
		if !plan.scenario().on(plan.Platform) {
			t.Errorf("%s: the platform has no such scenario", plan)
		}
		languages[plan.Language]++
		scenarios[plan.Scenario]++
	}
	for _, language := range Languages() {
		if languages[language] < 30 {
			t.Errorf("%d of 2000 meetings are in %s", languages[language], language)
		}
	}
	for _, scenario := range Scenarios() {
		if scenarios[scenario.Name] == 0 {
			t.Errorf("no meeting of scenario %s", scenario.Name)
		}
	}
}

// TestJudge checks how reports of bots are compared with the truth.
func TestJudge(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	page := func(second float64, kind string) Entry {
		return Entry{At: start.Add(time.Duration(second * float64(time.Second))), Kind: kind}
	}
	report := func(second float64, kind job.Trigger, data string) ingest.Event {
		event := ingest.Event{Kind: kind, EmittedAt: start.Add(time.Duration(second * float64(time.Second)))}
		if data != "" {
			event.Data = []byte(data)
		}
		return event
	}
	const hostEnded, timeout = `{"endReason":"host_ended"}`, `{"failureCode":"lobby_timeout"}`
	visit := []Entry{page(1, "asked"), page(2, "lobby"), page(4, "admitted"), page(9, "over")}
	for name, test := range map[string]struct {
		scenario                string
		truth                   []Entry
		events                  []ingest.Event
		right, admission, early bool
	}{
		"a right report": {
			scenario: "lobby", truth: visit, right: true,
			events: []ingest.Event{report(5, job.BotInMeeting, ""), report(10, job.BotExited, hostEnded)},
		},
		"in the meeting before admission": {
			scenario: "lobby", truth: visit, admission: true,
			events: []ingest.Event{report(3, job.BotInMeeting, ""), report(10, job.BotExited, hostEnded)},
		},
		"ended while the meeting continues": {
			scenario: "lobby", truth: visit, early: true,
			events: []ingest.Event{report(5, job.BotInMeeting, ""), report(8, job.BotExited, hostEnded)},
		},
		"left by its own button while the meeting continues": {
			scenario: "lobby", truth: append(slices.Clone(visit[:3]), page(7, "left")), early: true,
			events: []ingest.Event{report(5, job.BotInMeeting, ""), report(8, job.BotExited, hostEnded)},
		},
		"denied, says the bot in the lobby": {
			scenario: "lobby", truth: visit[:2], early: true,
			events: []ingest.Event{report(3, job.BotExited, `{"failureCode":"host_denied_admission"}`)},
		},
		"the lobby's limit": {
			scenario: "never", truth: visit[:2], right: true,
			events: []ingest.Event{report(10, job.BotExited, timeout)},
		},
		"the lobby's limit, too early": {
			scenario: "never", truth: visit[:2], early: true,
			events: []ingest.Event{report(5, job.BotExited, timeout)},
		},
		"another reason": {
			scenario: "removed", truth: visit,
			events: []ingest.Event{report(5, job.BotInMeeting, ""), report(10, job.BotExited, hostEnded)},
		},
		"no end": {scenario: "lobby", truth: visit, events: []ingest.Event{report(5, job.BotInMeeting, "")}},
	} {
		r := judge(Describe(job.Meet, test.scenario, "en", 1), test.truth, test.events)
		if r.right() != test.right || r.falseAdmission != test.admission || r.falseEnd != test.early {
			t.Errorf("%s: right %t, false admission %t, false end %t: %v", name, r.right(), r.falseAdmission, r.falseEnd, r.problems)
		}
	}
}
