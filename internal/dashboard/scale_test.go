package dashboard_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/store"
)

// maxP95 bounds the 95th percentile of response times, for any number of jobs.
const maxP95 = 100 * time.Millisecond

// TestScale checks the number of jobs on pages of the job list. With STANDIN_TEST_JOBS
// (make scale-dashboard) it creates that many jobs and also checks response times.
func TestScale(t *testing.T) {
	jobs, measured := 600, false
	if text := os.Getenv("STANDIN_TEST_JOBS"); text != "" {
		var err error
		if jobs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		measured = true
	}
	h := newHarness(t)
	ada := h.ada()
	began := time.Now()
	fillJobs(h, ada, jobs)
	t.Logf("created %d jobs in %s", jobs, time.Since(began).Round(time.Millisecond))
	p := h.signedIn(ada.Email)
	deep := "/jobs"
	for range 20 {
		next := regexp.MustCompile(`href="(/jobs\?[^"]*cursor[^"]*)" rel="next"`).FindStringSubmatch(p.get(deep).body)
		if next == nil {
			t.Fatalf("%s has no next page", deep)
		}
		deep = html.UnescapeString(next[1])
	}
	for name, one := range map[string]struct {
		path string
		rows int
	}{
		"first page":             {"/jobs", 25},
		"page 21":                {deep, 25},
		"a common status":        {"/jobs?status=completed", 25},
		"a rare status":          {"/jobs?status=cancelled", 1},
		"an unused status":       {"/jobs?status=joining", 0},
		"a platform":             {"/jobs?platform=teams", 25},
		"a day":                  {"/jobs?from=2026-01-01&to=2026-01-01", 25},
		"a year":                 {"/jobs?from=2026-01-01&to=2026-12-31&status=completed", 25},
		"a day without jobs":     {"/jobs?from=2031-01-01&to=2031-01-02", 0},
		"a status and a day":     {"/jobs?status=failed&from=2026-01-01&to=2026-01-01", -1},
		"a full external id":     {"/jobs?search=external-" + strconv.Itoa(jobs/2), 1},
		"a part of an id":        {"/jobs?search=xternal-" + strconv.Itoa(jobs-1), 1},
		"a text without a match": {"/jobs?search=" + url.QueryEscape("no such %_! text"), 0},
	} {
		const tries = 40
		var took []time.Duration
		for range tries {
			began := time.Now()
			got := p.get(one.path)
			took = append(took, time.Since(began))
			if rows := strings.Count(got.body, `id="job-`); got.status != http.StatusOK || one.rows >= 0 && rows != one.rows {
				t.Fatalf("%s: %d with %d rows, want %d", name, got.status, rows, one.rows)
			}
			if !measured {
				break
			}
		}
		slices.Sort(took)
		p95 := took[len(took)*95/100]
		t.Logf("%-24s median %8s  p95 %8s", name, took[len(took)/2].Round(10*time.Microsecond), p95.Round(10*time.Microsecond))
		if measured && p95 > maxP95 {
			t.Errorf("%s: p95 is %s, want at most %s", name, p95, maxP95)
		}
	}
	for _, path := range []string{"/usage", "/operator", "/jobs/new", "/keys", "/webhooks", "/webhooks/deliveries"} {
		began := time.Now()
		if got := p.get(path); got.status != http.StatusOK {
			t.Errorf("%s: %d", path, got.status)
		}
		t.Logf("%-24s %s", path, time.Since(began).Round(10*time.Microsecond))
	}
}

// fillJobs creates jobs with creation times within nine hours, so that they are all on
// the same day. All but one in twenty are completed.
func fillJobs(h *harness, ada account.User, jobs int) {
	h.Helper()
	const group = 2000
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for from := 0; from < jobs; from += group {
		err := h.Store().Write(h.Context(), func(ctx context.Context, tx *store.Tx) error {
			for i := from; i < min(from+group, jobs); i++ {
				at := start.Add(time.Duration(i) * time.Minute / time.Duration(max(1, jobs/500)))
				r := job.Record{Job: job.Job{
					ID: uuid.Must(uuid.NewV7()), ConsumerID: ada.ConsumerID, Mode: job.Live, ExternalID: "external-" + strconv.Itoa(i),
					MeetingURL: fmt.Sprintf("https://meet.google.com/abc-%d", i), Platform: job.Meet, DisplayName: "Standin",
					JoinAt: at, CreatedAt: at, Metadata: []byte(`{"team":"crew"}`), AutoLeave: job.DefaultAutoLeave(), State: job.State{Status: job.Completed, Attempts: 1},
				}, StatusSince: at}
				switch i % 20 {
				case 7:
					r.Platform = job.Teams
				case 9:
					r.Status, r.FailureCode, r.FailureDetail = job.Failed, job.LobbyTimeout, "Nobody let the bot in."
				}
				if i == jobs/3 {
					r.Status = job.Cancelled
				}
				if _, err := tx.InsertJob(ctx, r); err != nil {
					return err
				}
				if r.FailureCode != "" {
					if err := tx.SaveJob(ctx, r); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			h.Fatal(err)
		}
	}
}
