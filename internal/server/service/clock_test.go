package service_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/testing/await"
	"standin/internal/testing/storetest"
)

// TestClockWasAhead checks that work goes on at once that a service left behind whose clock was 58 minutes
// ahead: a job under way and its webhooks. A scheduled job and a Retry-After keep their times.
func TestClockWasAhead(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		settings, driver := contractSettings(t), "sqlite"
		settings.DataDir = filepath.Dir(address)
		if strings.HasPrefix(address, "postgres") {
			settings, driver = contractSettings(t), "pgx"
			settings.DatabaseURL = address
		}
		var status, received, delayed atomic.Int64
		status.Store(http.StatusInternalServerError)
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/later" {
				delayed.Add(1)
				w.Header().Set("Retry-After", "72000")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			received.Add(1)
			w.WriteHeader(int(status.Load()))
		}))
		t.Cleanup(receiver.Close)
		h := openContractHarness(t, newContractCoverage(), settings)
		simulated := func(path, more string) string {
			return h.create(t, h.adasTest, contractJob(fmt.Sprintf(`,"webhooks":{"onStatusChange":"%s/%s"},
				"options":{"simulate":{"seconds":3600,"speed":50}}%s`, receiver.URL, path, more)))
		}
		simulated("later", "")
		scheduled := simulated("none", contractFuture)
		await.Until(t, "a Retry-After", func() bool { return delayed.Load() > 0 })
		id := simulated("soon", "")
		h.awaitStatus(t, h.adasTest, id, job.InMeeting)
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}

		db, err := sql.Open(driver, address)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		const jump = 58 * time.Minute
		for _, statement := range []string{
			`UPDATE jobs SET wake_at = wake_at + $1, heartbeat_at = heartbeat_at + $1, launched_at = launched_at + $1,
				attempt_started_at = attempt_started_at + $1, status_since = status_since + $1 WHERE attempts > 0`,
			`UPDATE deliveries SET due_at = due_at + $1 WHERE not_before IS NULL`,
			`INSERT INTO recording_tasks SELECT id, 'transcript', wake_at, wake_at + $1, '', 0, 0, '' FROM jobs WHERE attempts > 0`,
		} {
			if _, err := db.ExecContext(t.Context(), statement, jump.Milliseconds()); err != nil {
				t.Fatal(err)
			}
		}
		count := func(query string, args ...any) (n int) {
			if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+query, args...).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		status.Store(http.StatusNoContent)
		received.Store(0)
		h = openContractHarness(t, newContractCoverage(), settings)
		await.Until(t, "the webhooks", func() bool { return received.Load() > 1 })
		await.Until(t, "another bot", func() bool { return count(`jobs WHERE id = $1 AND attempts = 2`, id) > 0 })
		if n := count(`recording_tasks WHERE due_at > $1`, time.Now().Add(30*time.Minute).UnixMilli()); n > 0 {
			t.Errorf("%d transcriptions stand still", n)
		}
		if count(`jobs WHERE id = $1 AND wake_at = join_at`, scheduled) != 1 {
			t.Error("the scheduled job has another time")
		}
		if count(`deliveries WHERE due_at = not_before AND not_before > $1`, time.Now().Add(19*time.Hour).UnixMilli()) == 0 {
			t.Error("the Retry-After has ended")
		}
	})
}
