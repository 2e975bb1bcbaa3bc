package calendarsync_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/calendar"
	"standin/internal/jobs/job"
)

// TestAnyOrder publishes versions of two meetings in two calendars in random order, also
// older ones again, while newer and newer ones arrive by mail, bots stand at doors and the
// clock passes. There is never more than one bot for a time, and the jobs end as the newest
// versions say.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	runs := 60
	if testing.Short() {
		runs = 3
	}
	starts := []string{
		friday, later, "DTSTART;TZID=Europe/Berlin:20261130T090000|DURATION:PT30M|", "DTSTART;VALUE=DATE:20261127|",
		"DTSTART:20261125T100000Z|DURATION:PT1H|",
	}
	endings := []string{meet, meet, meet2, "LOCATION:Room 5", "STATUS:CANCELLED|" + meet}
	wanted := map[string]time.Time{friday: at(27, 9), later: at(27, 14), starts[2]: at(30, 8)}
	for seed := range runs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), 46))
			h := newSQLiteHarness(t)
			paths := []string{"/ann.ics", "/cleo.ics"}
			meetings := []string{planning, review}
			versions := make([][]string, len(meetings)) // of each meeting, the oldest first
			invites := make([][]calendar.Invite, len(meetings))
			var want []string
			for m, text := range meetings {
				start, ending := "", ""
				for n := range 1 + random.IntN(5) {
					start, ending = starts[random.IntN(len(starts))], endings[random.IntN(len(endings))]
					versions[m] = append(versions[m], fmt.Sprintf("%sSEQUENCE:%d|%s%s", text, n, start, ending))
					invites[m] = append(invites[m], calendar.Invite{
						OrganizerEmail: "crew@example.test", MeetingURL: strings.TrimPrefix(ending, "LOCATION:"), Platform: job.Meet, JoinAt: wanted[start],
						ICalUID: []string{"planning", "review"}[m], Cancelled: wanted[start].IsZero() ||
							ending != meet && ending != meet2,
					})
				}
				if at := wanted[start]; !at.IsZero() && (ending == meet || ending == meet2) {
					want = append(want, at.Format("01-02 15:04 ")+ending[strings.LastIndexByte(ending, '/')+1:])
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
			mailed := make([]int, len(meetings)) // versions
			mail := func(m int) {
				t.Helper()
				before := calendar.Invite{Cancelled: true}
				if mailed[m] > 0 {
					before = invites[m][mailed[m]-1]
				}
				next := invites[m][mailed[m]]
				mailed[m]++
				if next.Cancelled {
					if before.Cancelled {
						invites[m][mailed[m]-1] = before
						return
					}
					next.MeetingURL, next.JoinAt = before.MeetingURL, before.JoinAt
				}
				h.pass(time.Second)
				if _, err := h.invites.Schedule(t.Context(), next); err != nil && !job.ErrorIs(err, job.NotFound) {
					t.Fatal(err)
				}
			}
			for range 12 {
				if m := random.IntN(2 * len(meetings)); m < len(meetings) && mailed[m] < len(invites[m]) {
					mail(m)
					check()
				}
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
			for m := range meetings {
				for mailed[m] < len(invites[m]) {
					mail(m)
				}
			}
			h.pass(time.Second)
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
