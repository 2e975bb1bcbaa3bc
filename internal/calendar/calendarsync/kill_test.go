package calendarsync_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/lifecycle"
	"standin/internal/store"
	"standin/internal/testing/storetest"
	"standin/internal/testing/testprocess"
)

// These environment variables make the test binary read the calendars that are due.
const (
	syncDatabase = "STANDIN_TEST_SYNC_DATABASE" // its address
	syncTime     = "STANDIN_TEST_SYNC_TIME"     // of the clock
	syncKill     = "STANDIN_TEST_SYNC_KILL"     // step at which the process kills itself; 0: none
)

// killer kills the process before or after a step of a sync.
type killer struct {
	calendarsync.Store
	calendarsync.Jobs
	left atomic.Int64 // steps
}

func (k *killer) step() {
	if k.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it is killed
	}
}

// SaveCalendarEvents implements calendarsync.Store.
func (k *killer) SaveCalendarEvents(ctx context.Context, c calendarsync.Calendar, events []calendarsync.Event) (bool, error) {
	k.step()
	defer k.step()
	return k.Store.SaveCalendarEvents(ctx, c, events)
}

// WriteSync implements calendarsync.Store.
func (k *killer) WriteSync(ctx context.Context, fn func(context.Context, calendarsync.SyncTx) error) error {
	k.step()
	return k.Store.WriteSync(ctx, fn)
}

// SyncMeetings implements calendarsync.Jobs, one after the other.
func (k *killer) SyncMeetings(ctx context.Context, meetings []calendarsync.Meeting) error {
	for _, m := range meetings {
		if err := k.Jobs.SyncMeetings(ctx, []calendarsync.Meeting{m}); err != nil {
			return err
		}
		k.step()
	}
	return nil
}

// runSync reads the calendars that are due.
func runSync(ctx context.Context, address string) error {
	now, err := time.Parse(time.RFC3339, os.Getenv(syncTime))
	if err != nil {
		return err
	}
	steps, err := strconv.ParseInt(os.Getenv(syncKill), 10, 64)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, address)
	if err != nil {
		return err
	}
	clock := func() time.Time { return now }
	jobs := newJobs(s, clock)
	k := &killer{Store: s, Jobs: &lifecycle.EventScheduler{Jobs: jobs, Plans: s}}
	k.left.Store(steps)
	settings, err := serviceSettings(k, k, clock)
	if err != nil {
		return err
	}
	w := calendarsync.New(settings)
	for w.RunNext(ctx) {
	}
	jobs.Close()
	return s.Close()
}

// TestKillDuringSync kills processes with SIGKILL before and after each kind of step of
// syncs, while meetings move, and checks that each has one job then, at its newest time.
func TestKillDuringSync(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	address := storetest.FreshSQLite(t)
	h := newHarness(t, address)
	const calendars, meetings, rounds = 4, 6, 14
	var want []string
	publish := func(version int) {
		want = nil
		for c := range calendars {
			var events []string
			for n := range meetings {
				owner := c
				if n == 0 {
					owner = 0 // all calendars have it
				}
				start := at(28, 0).Add(time.Duration(meetings*owner+n+24*version) * time.Hour)
				link := fmt.Sprintf("8%d%09d", owner, n)
				events = append(events, fmt.Sprintf("UID:%d-%d|SEQUENCE:%d|SUMMARY:Meeting|DTSTART:%s|DURATION:PT1H|LOCATION:https://zoom.us/j/%s",
					owner, n, version, start.Format("20060102T150405Z"), link))
				if owner == c {
					want = append(want, start.Format("01-02 15:04 ")+link+" Meeting")
				}
			}
			h.set(fmt.Sprintf("/%d.ics", c), events...)
		}
		slices.Sort(want)
	}
	publish(0)
	for c := range calendars {
		h.connect(t, fmt.Sprintf("/%d.ics", c), nil)
	}
	run := func(step int) int {
		t.Helper()
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), syncDatabase+"="+address, syncTime+"="+h.time().Format(time.RFC3339), syncKill+"="+strconv.Itoa(step))
		child.Stderr = os.Stderr
		exited, err := testprocess.Start(child, syscall.SIGKILL)
		if err != nil {
			t.Fatal(err)
		}
		<-exited
		h.pass(10 * time.Minute) // leases end
		return child.ProcessState.ExitCode()
	}
	for round := range rounds {
		if code := run(1 + round*5/2); code != -1 {
			t.Errorf("round %d: the process has ended with %d", round, code)
		}
		publish(1 + round)
	}
	if code := run(0); code != 0 {
		t.Fatalf("the process has ended with %d", code)
	}
	expect(t, "jobs", h.scheduled(t), want)
	if n := len(h.all(t)); n != len(want) {
		t.Errorf("%d jobs for %d meetings", n, len(want))
	}
}
