package fieldpages

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testbrowser"
)

const (
	envMeetings = "STANDIN_TEST_MEETINGS" // number of generated meetings
	envFirst    = "STANDIN_TEST_FIRST"    // number of the first of them
	envSeed     = "STANDIN_TEST_SEED"     // seed of the generated meetings
	envMeeting  = "STANDIN_TEST_MEETING"  // these meetings instead, as Plan.String returns them
	envBots     = "STANDIN_TEST_BOTS"     // bots at a time
)

// requireTools skips a test with -short or if its tools are missing, which fails it in CI.
func requireTools(t *testing.T) {
	t.Helper()
	testbrowser.Full(t)
	switch err := mediacheck.Available(); {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
}

// tally counts results by what they are.
type tally map[string]int

func (t tally) add(r result) {
	captured := r.code == job.InternalError && r.captured
	for what, holds := range map[string]bool{
		"meetings": true, "right": r.right(), "false admissions": r.falseAdmission, "false ends": r.falseEnd, "devices on at join": r.devicesOn,
		"captured": captured, "uncaptured": r.code == job.InternalError && !captured, "unexplained": !r.right() && !captured,
	} {
		if holds {
			t[what]++
		}
	}
}

// TestSample runs a meeting of each platform, which have to be right.
func TestSample(t *testing.T) {
	t.Parallel()
	if os.Getenv(envMeetings) != "" || os.Getenv(envMeeting) != "" {
		t.Skip("TestFieldPages runs instead")
	}
	requireTools(t)
	sample := []Plan{Describe(job.Meet, "lobby", "en", 1), Describe(job.Teams, "removed", "en", 1), Describe(job.ZoomWeb, "straight", "en", 1)}
	for _, result := range runAll(t, sample) {
		if !result.right() {
			t.Errorf("%s was wrong", result.plan)
		}
	}
}

// TestFieldPages runs generated meetings and prints a table of the results. It is
// run by make fieldpages.
func TestFieldPages(t *testing.T) {
	t.Parallel()
	plans := requested(t)
	if len(plans) == 0 {
		t.Skipf("set %s to the number of meetings", envMeetings)
	}
	requireTools(t)
	results := runAll(t, plans)
	total, tallies := make(tally), make(map[string]tally)
	for _, result := range results {
		total.add(result)
		row := fmt.Sprintf("%s/%s", result.plan.Platform, result.plan.Scenario)
		if tallies[row] == nil {
			tallies[row] = make(tally)
		}
		tallies[row].add(result)
	}
	for _, row := range slices.Sorted(maps.Keys(tallies)) {
		fmt.Println(row, tallies[row])
	}
	fmt.Println("all", total)
	speech, checked, complete := tallySpeech(results)
	fmt.Printf("who spoke, recall/precision %s; complete rosters %d of %d\n", speech, complete, checked)
	if total["false admissions"] > 0 || total["false ends"] > 0 || total["unexplained"] > 0 || total["right"]*100 < total["meetings"]*98 {
		t.Errorf("want no false admission, no false end, 98%% right, and a capture for the rest; got %v", total)
	}
	if checked > 0 && (speech.recall() < 0.85 || speech.precision() < 0.98 || complete < checked) {
		t.Errorf("want speakers' recall 0.85, precision 0.98 and complete rosters; got %s and %d of %d rosters", speech, complete, checked)
	}
}

// requested returns the meetings that the environment asks for.
func requested(t *testing.T) []Plan {
	t.Helper()
	var plans []Plan
	for _, name := range strings.Fields(os.Getenv(envMeeting)) {
		parts := strings.Split(name, "/")
		seed, err := strconv.ParseUint(parts[len(parts)-1], 10, 32)
		if len(parts) != 4 || err != nil {
			t.Fatalf("%s: %s: want platform/scenario/language/seed", envMeeting, name)
		}
		plans = append(plans, Describe(job.Platform(parts[0]), parts[1], parts[2], uint32(seed)))
	}
	if len(plans) > 0 {
		return plans
	}
	count := number(t, envMeetings, 0)
	seed, first := number(t, envSeed, 1), number(t, envFirst, 0)
	for i := range count {
		plans = append(plans, Generate(uint64(seed), first+i))
	}
	return plans
}

func number(t *testing.T, variable string, fallback int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// runAll sends bots into meetings, a few at a time, as long as the test may run, and
// prints their mistakes.
func runAll(t *testing.T, plans []Plan) []result {
	t.Helper()
	var mutex sync.Mutex
	var results []result
	slots := make(chan struct{}, number(t, envBots, 2))
	var running sync.WaitGroup
	for i, plan := range plans {
		slots <- struct{}{}
		if deadline, ok := t.Deadline(); ok && time.Until(deadline) < attendTimeout/2 {
			t.Logf("%d of %d meetings were not run: the test's time is over", len(plans)-i, len(plans))
			break
		}
		running.Go(func() {
			defer func() { <-slots }()
			t.Run(plan.String(), func(t *testing.T) {
				result := attend(t, plan, "")
				if !result.right() || result.devicesOn {
					fmt.Println(result)
				}
				mutex.Lock()
				defer mutex.Unlock()
				results = append(results, result)
			})
		})
	}
	running.Wait()
	return results
}
