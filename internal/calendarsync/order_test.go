package calendarsync_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/job"
)

// TestAnyOrder publishes versions of two meetings in two calendars in random order, also
// older ones again, while bots stand at doors and the clock passes. There is never more
// than one bot for a time, and the jobs end as the newest versions say.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	runs := 60
	if testing.Short() {
		runs = 3
	}
	starts := []string{friday, later, "DTSTART;TZID=Europe/Berlin:20261130T090000|DURATION:PT30M|", "DTSTART;VALUE=DATE:20261127|", "DTSTART:20261125T100000Z|DURATION:PT1H|"}
	endings := []string{meet, meet, meet2, "LOCATION:Room 5", "STATUS:CANCELLED|" + meet}
	wanted := map[string]string{friday: "11-27 09:00", later: "11-27 14:00", starts[2]: "11-30 08:00"}
	for seed := range runs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), 46))
			h := newSQLiteHarness(t)
			paths := []string{"/ann.ics", "/cleo.ics"}
			meetings := []string{planning, review}
			versions := make([][]string, len(meetings)) // of each meeting, the oldest first
			var want []string
			for m, text := range meetings {
				start, ending := "", ""
				for n := range 1 + random.IntN(5) {
					start, ending = starts[random.IntN(len(starts))], endings[random.IntN(len(endings))]
					versions[m] = append(versions[m], fmt.Sprintf("%sSEQUENCE:%d|%s%s", text, n, start, ending))
				}
				if at := wanted[start]; at != "" && (ending == meet || ending == meet2) {
					want = append(want, at+" "+ending[strings.LastIndexByte(ending, '/')+1:])
				}
			}
			slices.Sort(want)
			want = slices.Compact(want) // both are the same meeting
			for _, path := range paths {
				h.set(path)
				h.connect(t, path, nil)
			}
			calendars, err := h.Calendars(t.Context(), h.caller)
			if err != nil {
				t.Fatal(err)
			}
			check := func() {
				t.Helper()
				seen := map[string]bool{}
				for _, line := range h.scheduled(t) {
					place := strings.Join(strings.Fields(line)[:3], " ")
					if seen[place] {
						t.Errorf("two bots for %s", place)
					}
					seen[place] = true
				}
			}
			for range 12 {
				path := random.IntN(len(paths))
				var events []string
				for m := range meetings {
					if n := random.IntN(len(versions[m]) + 1); n < len(versions[m]) { // else it is gone
						events = append(events, versions[m][n])
					}
				}
				h.set(paths[path], events...)
				h.sync(t, calendars[path].ID)
				if random.IntN(4) == 0 {
					for _, j := range h.all(t) {
						if j.Status == job.Scheduled {
							h.setStatus(t, j.ID, job.EnteringLobby)
							break
						}
					}
				}
				h.pass(time.Minute)
				check()
			}
			for _, n := range random.Perm(len(paths)) {
				h.set(paths[n], versions[0][len(versions[0])-1], versions[1][len(versions[1])-1])
				h.sync(t, calendars[n].ID)
			}
			check()
			var jobs []string
			for _, line := range h.scheduled(t) {
				jobs = append(jobs, strings.Join(strings.Fields(line)[:3], " "))
			}
			if !slices.Equal(jobs, want) {
				t.Errorf("jobs %q, want %q after %q", jobs, want, versions)
			}
		})
	}
}
