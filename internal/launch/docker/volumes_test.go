package docker_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/jobfiles"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/testing/launchtest"
)

// TestSpoolsOfKilledBots: the files of a job include the volumes that its bots leave in
// the engine, and deleting them spares those of running bots, other jobs and others.
func TestSpoolsOfKilledBots(t *testing.T) {
	t.Parallel()
	named := func(s *docker.Settings) { s.Volume, s.Instance = "spools", "i1" }
	h, engine := newFakeHarness(t, named)
	host := "tcp://" + engine.Listener.Addr().String()
	anonymous := newHarness(t, host, instance("i1"))
	stranger := newHarness(t, host, func(s *docker.Settings) { s.Volume = "spools-of-others" })
	files := jobfiles.Files{DataDir: t.TempDir(), Volumes: h.launcher}
	stop := func(h *harness, assignments ...launch.Assignment) {
		t.Helper()
		for _, a := range assignments {
			h.launch(t, a)
			if err := h.Stop(t.Context(), a.JobID, a.Attempt); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect := func(when string, want ...uuid.UUID) {
		t.Helper()
		jobs, err := files.LocalJobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		compare := func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }
		slices.SortFunc(want, compare)
		if got := slices.SortedFunc(maps.Keys(jobs), compare); !slices.Equal(got, want) {
			t.Errorf("%s the engine has the spools of %v, want %v", when, got, want)
		}
		for id, created := range jobs {
			if age := time.Since(created); age < -time.Minute || age > time.Minute {
				t.Errorf("the spool of %s was created at %v", id, created)
			}
		}
	}

	killed, other, cut, running := launchtest.Assignment(), launchtest.Assignment(), launchtest.Assignment(), launchtest.Assignment()
	again := killed
	again.Attempt++
	stop(h, killed, again, other)
	stop(stranger, launchtest.Assignment())
	stop(anonymous, launchtest.Assignment()) // its volume goes with its container
	h.launch(t, running)
	anonymous.launch(t, cut)
	engine.mu.Lock()
	maps.DeleteFunc(engine.containers, func(_ string, c *fakeContainer) bool { return c.request.Labels["standin.job"] == cut.JobID.String() })
	engine.mu.Unlock()
	expect("after the ends of bots", killed.JobID, other.JobID, cut.JobID, running.JobID)

	for _, a := range []launch.Assignment{killed, cut, running, launchtest.Assignment()} {
		for range 2 {
			if err := files.DeleteLocal(t.Context(), a.JobID); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect("after a deletion", other.JobID, running.JobID)
	if err := h.Stop(t.Context(), running.JobID, running.Attempt); err != nil {
		t.Fatal(err)
	}
	if err := files.DeleteLocal(t.Context(), running.JobID); err != nil {
		t.Fatal(err)
	}
	expect("after the last bot", other.JobID)
	engine.mu.Lock()
	defer engine.mu.Unlock()
	if len(engine.volumes) != 2 {
		t.Errorf("the engine has %d volumes, want one of another job and one of others", len(engine.volumes))
	}
}
