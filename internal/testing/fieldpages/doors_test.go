package fieldpages

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/jobs/outcome"
)

// door is a way in which a meeting receives a bot.
type door struct {
	name      string
	scenario  string
	noAccount string // why there is no account, for a bot that may sign in
}

// doors returns the ways into meetings. Those of accounts that let a bot in are visits of package session.
func doors() []door {
	return []door{
		{"guest is let in", "straight", ""},
		{"guest waits, and is admitted", "lobby", ""},
		{"host comes later", "hostAbsent", ""},
		{"another notetaker is there", "notetaker", ""},
		{"people are asked for consent", "consent", ""},
		{"nobody admits the guest", "never", ""},
		{"request without an answer (second list)", "noAnswer", ""},
		{"request is denied", "denied", ""},
		{"lobby for bots", "botLobby", ""},
		{"host never comes", "hostNever", ""},
		{"meeting is locked", "locked", ""},
		{"automated visitors are refused", "botWall", ""},
		{"captcha", "captcha", ""},
		{"code by email", "emailCode", ""},
		{"registration", "registration", ""},
		{"sign-in is required", "signIn", ""},
		{"sign-in, account rests", "signIn", "No account is free: Recorder 1 rests until 14:00 UTC on 2026-12-01."},
		{"sign-in, account is used up", "signIn", "No account is free: Recorder 1 is in 1 of 1 meetings."},
		{"link is wrong", "notFound", ""},
	}
}

// captured is what a detail says about a capture.
var captured = regexp.MustCompile(` A capture of the page is among the job's files: \S+`)

// doorsHead begins docs/reference/doors.md.
const doorsHead = `# What a bot does at each door

How meetings receive a bot, what the bot does, how long after the page has decided it says so, and what you read in the job's explanation.
The command make doors sends bots to generated pages with these doors and writes this table; the pages are modeled on descriptions of the live ones.
In the second rows of the sign-in doors, the job may sign in. With a free account, the bot joins with it.

| door | platform | the bot | told after | you read |
|---|---|---|---|---|
`

// nextSteps are words of which one is in what tells customers the next step.
var nextSteps = []string{"admit", "account", "host", "invitation", "link", "passcode", "rests until", "is in 1 of 1 meetings"}

// TestDoors sends a bot to each door on each platform that has it, and prints a table of what it does, how long after the page has
// decided it says so, and what the customer reads: most are recorded, or end at once with the next step.
func TestDoors(t *testing.T) {
	t.Parallel()
	requireTools(t)
	var mu sync.Mutex
	var rows []string
	good, all := 0, 0
	slots := make(chan struct{}, 2)
	var running sync.WaitGroup
	for _, d := range doors() {
		at := slices.IndexFunc(Scenarios(), func(s Scenario) bool { return s.Name == d.scenario })
		for _, platform := range Platforms() {
			if at < 0 || !Scenarios()[at].on(platform) {
				continue
			}
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				plan := Describe(platform, d.scenario, "en", 1)
				r := attend(t, plan, d.noAccount)
				told := r.toldAfter()
				e := outcome.Explain(job.Job{Platform: platform, State: job.State{Status: job.Failed, FailureCode: r.code, FailureDetail: r.detail}}, "", "", false)
				reads := cmp.Or(strings.TrimSpace(r.detail+" "+e.Action), "-")
				ok := r.right() && r.code == ""
				if r.code != "" {
					ok = r.right() && told <= 10*time.Second && strings.Contains(reads, d.noAccount) &&
						slices.ContainsFunc(nextSteps, func(step string) bool { return strings.Contains(reads, step) })
				}
				mu.Lock()
				defer mu.Unlock()
				all++
				if ok {
					good++
				} else {
					t.Logf("%s on %s: %v", d.name, platform, r)
				}
				if r.code == "" {
					reads = ""
				}
				rows = append(rows, fmt.Sprintf("| %s | %s | %s | %.1f s | %s |", d.name, platform.Name(), r.outcome(), told.Seconds(),
					captured.ReplaceAllString(reads, "")))
			})
		}
	}
	running.Wait()
	slices.Sort(rows)
	table := doorsHead + strings.Join(rows, "\n") + "\n"
	fmt.Print(table)
	if path := os.Getenv("STANDIN_TEST_DOORS"); path != "" {
		if err := os.WriteFile(path, []byte(table), 0o644); err != nil {
			t.Error(err)
		}
	}
	if good*100 < all*95 {
		t.Errorf("%d of %d doors end in a recording or in the next step within ten seconds", good, all)
	}
}

// toldAfter returns how long after the page has decided the bot said so: after the page was over, after the bot's own limit, or
// after the page was opened.
func (r result) toldAfter() time.Duration {
	if len(r.truth) == 0 || len(r.events) == 0 {
		return time.Hour
	}
	exited := r.events[len(r.events)-1].EmittedAt
	decided := r.truth[0].At
	if over, found := lastBefore(r.truth, exited, "over"); found {
		decided = over.At
	} else if r.code == job.LobbyTimeout || r.code == job.WaitingForHost {
		if asked, found := lastBefore(r.truth, exited, "asked"); found {
			decided = asked.At.Add(entryDelay(r.plan))
		}
	}
	return exited.Sub(decided)
}
