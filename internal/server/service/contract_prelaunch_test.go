package service_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/launch/process"
	"standin/internal/testing/await"
	"standin/internal/testing/storetest"
)

// cluster is the PostgreSQL of the tests; nil when it is not installed.
var cluster *storetest.Cluster

// TestMain runs the test binary as a bot when the launcher starts it.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "bot" {
		if err := waitAsBot(os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	// Many of these tests wait: for a stream in real time, a timeout or a closing handshake.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

// botPIDFile is the file in a bot's folder with the ID of its process.
const botPIDFile = "pid"

// waitAsBot runs a bot that does nothing until it is stopped.
func waitAsBot(config string) error {
	c, err := launch.ReadBotConfig(config)
	if err != nil {
		return err
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	lock, err := process.LockDir(c.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := os.WriteFile(filepath.Join(c.Dir, botPIDFile), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	select {
	case <-terminated:
	case <-time.After(5 * time.Minute): // the test is gone
	}
	return os.Remove(filepath.Join(c.Dir, botPIDFile))
}

// contractPrelaunch tests what shows of bots that are launched before joinAt: nothing.
func contractPrelaunch(t *testing.T, coverage *contractCoverage) {
	settings := contractSettings(t)
	settings.Launcher, settings.Executable, settings.Dispatch.Prelaunch = "process", os.Args[0], dispatch.Prelaunch(2*time.Minute)
	settings.Bots.Browser, settings.Bots.NoSandbox, settings.MaxBots = os.Args[0], true, 2
	h := openContractHarness(t, coverage, settings)
	hooks := newContractHooks(t, h.checker)

	joinAt := time.Now().Add(100 * time.Second).UTC().Truncate(time.Millisecond)
	id := h.create(t, h.ada, contractJob(`,"joinAt":"`+joinAt.Format(time.RFC3339Nano)+`","webhooks":{"onStatusChange":"`+hooks.URL+`"}`))
	runs := func(id string, attempt int) bool {
		pid, err := os.ReadFile(filepath.Join(settings.DataDir, "bots", launch.Key{
			JobID: uuid.MustParse(id), Attempt: attempt,
		}.String(), botPIDFile))
		return err == nil && len(pid) > 0
	}
	launched := func(id string, attempt int) func() bool {
		return func() bool {
			r, err := h.Store().Job(t.Context(), uuid.MustParse(id))
			return err == nil && r.Attempt == attempt && !r.LaunchedAt.IsZero() && r.Prelaunch == job.Prelaunched && runs(id, attempt)
		}
	}
	hidden := func() {
		t.Helper()
		reply := h.call(t, 200, h.ada, "getJob", "", id)
		if reply.text(t, "status") != "scheduled" || reply.field(t, "attempts") != 0.0 || reply.field(t, "startedAt") != nil {
			t.Errorf("before joinAt: %s", reply.body)
		}
		timeline := h.call(t, 200, h.ada, "listTimeline", "", id)
		if entries := strings.ReplaceAll(string(timeline.body), `"kind":"job_changed"`, ""); strings.Contains(entries, `"kind":`) {
			t.Errorf("the timeline before joinAt: %s", timeline.body)
		}
		if page := h.call(t, 200, h.ada, "listDeliveries", "", id); !page.has(`"deliveries":[]`) {
			t.Errorf("deliveries before joinAt: %s", page.body)
		}
	}
	event := func(attempt int) contractRequest { return contractEvent(id, attempt, "lifecycle.joined", "") }

	await.Until(t, "a bot before joinAt", launched(id, 0))
	hidden()
	h.expect(t, http.StatusTooEarly, event(0))
	h.call(t, http.StatusTooEarly, contractToken(id, 0), "ingestTexts", `{"jobId":"`+id+`","attempt":0`+contractTexts("m-1", "Hello")+`}`)
	hidden()
	h.call(t, 200, h.ada, "patchJob", `{"displayName":"Grace"}`, id)
	await.Until(t, "another bot before joinAt", launched(id, 1))
	hidden()
	if runs(id, 0) {
		t.Error("the bot that was launched for the old name still runs")
	}
	stale := h.expect(t, 200, event(0))
	if stale.text(t, "reason") != "stale_attempt" || !stale.has("leave_call") {
		t.Errorf("response to the bot that was stopped: %s", stale.body)
	}
	hidden()

	other := h.create(t, h.ada, contractJob(`,"joinAt":"`+joinAt.Format(time.RFC3339Nano)+`"`))
	await.Until(t, "a bot of the second job", launched(other, 0))
	h.call(t, 204, h.ada, "cancelJob", "", other)
	await.Until(t, "the end of the bot of a cancelled job", func() bool { return !runs(other, 0) })

	sooner := time.Now().Add(3 * time.Second).UTC().Truncate(time.Millisecond)
	h.call(t, 200, h.ada, "patchJob", `{"joinAt":"`+sooner.Format(time.RFC3339Nano)+`"}`, id)
	begun := h.awaitStatus(t, h.ada, id, job.Dispatching)
	if time.Now().Before(sooner) || begun.field(t, "attempts") != 1.0 {
		t.Errorf("at joinAt: %s", begun.body)
	}
	h.call(t, 409, h.ada, "patchJob", `{"displayName":"Ada"}`, id)
	await.Until(t, "the webhook at joinAt", func() bool { return hooks.has("job.status_changed") })
	if runs(id, 1) {
		t.Error("the bot that was launched for the old time still runs")
	}
	await.Until(t, "the bot of the attempt", func() bool { return runs(id, 2) })
	h.expect(t, 200, contractEvent(id, 2, "lifecycle.exited", `{"failureCode":"meeting_ended"}`))
	await.Until(t, "the end of the last bot", func() bool {
		pid, err := os.ReadFile(filepath.Join(settings.DataDir, "bots", launch.Key{JobID: uuid.MustParse(id), Attempt: 2}.String(), botPIDFile))
		if err != nil {
			return true
		}
		if process, err := strconv.Atoi(string(pid)); err == nil {
			_ = syscall.Kill(process, syscall.SIGTERM)
		}
		return false
	})
}
