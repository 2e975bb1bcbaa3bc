package dashboard_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// maxP95 bounds the 95th percentile of response times, for any number of jobs.
const maxP95 = 200 * time.Millisecond

// TestScale checks the number of rows on pages of jobs, deliveries and matches. With
// STANDIN_TEST_JOBS (make scale-dashboard) it creates that many jobs, with a delivery, a text, and
// an entry of the audit log for each, and also checks the response times of every page.
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
	last := fillJobs(h, ada, jobs)
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
	endpoint := "&endpoint=" + webhook.EndpointID(ada.ConsumerID, job.Live, scaleURL).String()
	const jobRow, deliveryRow, match, entry,
		failure = `id="job-`, `<td data-name="Event"`, `<li><a href="/jobs/`, `<td data-name="Who"`, `<td data-name="Why"`
	for _, one := range []struct {
		name, path, row string
		rows            int // -1: any
	}{
		{"first page", "/jobs", jobRow, 25},
		{"page 21", deep, jobRow, 25},
		{"a common status", "/jobs?status=completed", jobRow, 25},
		{"a rare status", "/jobs?status=cancelled", jobRow, 1},
		{"an unused status", "/jobs?status=joining", jobRow, 0},
		{"a platform", "/jobs?platform=teams", jobRow, 25},
		{"a day", "/jobs?from=2026-01-01&to=2026-01-01", jobRow, 25},
		{"a year", "/jobs?from=2026-01-01&to=2026-12-31&status=completed", jobRow, 25},
		{"a day without jobs", "/jobs?from=2031-01-01&to=2031-01-02", jobRow, 0},
		{"a status and a day", "/jobs?status=failed&from=2026-01-01&to=2026-01-01", jobRow, -1},
		{"a full external ID", "/jobs?search=external-" + strconv.Itoa(jobs/2), jobRow, 1},
		{"a part of an ID", "/jobs?search=xternal-" + strconv.Itoa(jobs-1), jobRow, 1},
		{"a text without a match", "/jobs?search=" + url.QueryEscape("no such %_! text"), jobRow, 0},
		{"a job", "/jobs/" + last.String(), `class="what"`, -1},
		{"a common word", "/search?q=budget", match, 100},
		{"a rare word", "/search?q=word" + strconv.Itoa(jobs/2), match, 1},
		{"a common beginning", "/search?q=wor", match, 100},
		{"a rare speaker", "/search?q=budget&speaker=nobody", match, 0},
		{"words of a day", "/search?q=budget&from=2031-01-01&to=2031-01-02", match, 0},
		{"usage", "/usage?from=2026-01-01&to=2026-12-31", `<td data-name="Day"`, 365},
		{"usage of teams", "/usage?by=team&from=2026-01-01&to=2026-12-31", `<td data-name="Team"`, 1},
		{"a usage file", "/usage.csv?from=2026-01-01&to=2026-12-31", "2026-", 365},
		{"the audit log", "/team/audit", entry, 100},
		{"failures", "/operator/failures", failure, min(50, jobs/20)},
		{"failures of a day", "/operator/failures?hours=24&code=lobby_timeout&platform=meet", failure, -1},
		{"a code without failures", "/operator/failures?code=quota_exceeded", failure, 0},
		{"deliveries", "/webhooks/deliveries", deliveryRow, 25},
		{"failed deliveries", "/webhooks/deliveries?state=failed", deliveryRow, 25},
		{"waiting deliveries", "/webhooks/deliveries?state=waiting", deliveryRow, 25},
		{"deliveries of an event", "/webhooks/deliveries?event=job.finalized", deliveryRow, 25},
		{"deliveries of an unused event", "/webhooks/deliveries?event=chat.message", deliveryRow, 0},
		{"deliveries of an endpoint", "/webhooks/deliveries?event=job.finalized" + endpoint, deliveryRow, 25},
		{"an unused event of an endpoint", "/webhooks/deliveries?event=chat.message" + endpoint, deliveryRow, 0},
		{"failed deliveries of an endpoint", "/webhooks/deliveries?state=failed" + endpoint, deliveryRow, 25},
		{"deliveries of a job", "/webhooks/deliveries?job=" + last.String(), deliveryRow, -1},
		{"deliveries of a day", "/webhooks/deliveries?from=2031-01-01&to=2031-01-02", deliveryRow, 0},
		{"webhooks", "/webhooks", `<td data-name="Endpoint"`, 2},
		{"a dead endpoint", "/webhooks/endpoints/" + webhook.EndpointID(ada.ConsumerID, job.Live, deadURL).String(), deliveryRow, 25},
		{"an endpoint", "/webhooks/endpoints/" + webhook.EndpointID(ada.ConsumerID, job.Live, scaleURL).String(), deliveryRow, 25},
		{"operator", "/operator", failure, min(6, jobs/20)},
		{"running bots", "/operator/bots", `<td data-name="Last heartbeat"`, 0},
		{"alerts", "/operator/alerts", `<td data-name="Rule"`, 6},
		{"a new job", "/jobs/new", "<form", -1},
		{"keys", "/keys", "<form", -1}, {"team", "/team", "<form", -1}, {"calendars", "/calendars", "<form", -1}, {
			"system", "/operator/system", `<td data-name="By week"`, 1,
		},
	} {
		const tries = 40
		var took []time.Duration
		for range tries {
			began := time.Now()
			got := p.get(one.path)
			took = append(took, time.Since(began))
			if rows := strings.Count(got.body, one.row); got.status != http.StatusOK || one.rows >= 0 && rows != one.rows {
				t.Fatalf("%s: %d with %d rows, want %d", one.name, got.status, rows, one.rows)
			}
			if !measured {
				break
			}
		}
		slices.Sort(took)
		p95 := took[len(took)*95/100]
		t.Logf("%-32s median %8s  p95 %8s", one.name, took[len(took)/2].Round(10*time.Microsecond), p95.Round(10*time.Microsecond))
		if measured && p95 > maxP95 {
			t.Errorf("%s: p95 is %s, want at most %s", one.name, p95, maxP95)
		}
	}
}

// The receivers of the deliveries. For one in ten jobs, a delivery waits for the dead one.
const scaleURL, deadURL = "https://hooks.example.test/", "https://dead.example.test/"

// fillJobs creates jobs with creation times within nine hours, so that they are all on
// the same day, and returns the last one. All but one in twenty are completed. The failed ones
// failed within the last two weeks. Each has a text, a delivery and an entry of the audit log, and
// each day of the year has usage. The jobs, and what belongs to them, are of one team.
func fillJobs(h *harness, ada account.User, jobs int) (last uuid.UUID) {
	h.Helper()
	const group = 2000
	start, now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Now()
	for from := 0; from < jobs; from += group {
		err := h.Store().Write(h.Context(), func(ctx context.Context, tx *store.Tx) error {
			for i := from; i < min(from+group, jobs); i++ {
				at := start.Add(time.Duration(i) * time.Minute / time.Duration(max(1, jobs/500)))
				r := job.Record{Job: job.Job{
					ID: uuid.Must(uuid.NewV7()), ConsumerID: ada.ConsumerID, Mode: job.Live, ExternalID: "external-" + strconv.Itoa(i),
					MeetingURL: fmt.Sprintf("https://meet.google.com/abc-%d", i), Platform: job.Meet, DisplayName: "Standin",
					JoinAt: at, CreatedAt: at, Metadata: []byte(`{"team":"crew"}`), AutoLeave: job.DefaultAutoLeave(), State: job.State{
						Status: job.Completed, Attempts: 1,
					},
				}, StatusSince: at}
				switch i % 20 {
				case 7:
					r.Platform = job.Teams
				case 9:
					r.Status, r.FailureCode, r.FailureDetail = job.Failed, job.LobbyTimeout, "Nobody let the bot in."
					r.StatusSince = now.Add(-14 * 24 * time.Hour * time.Duration(i) / time.Duration(jobs))
				}
				if i == jobs/3 {
					r.Status = job.Cancelled
				}
				last = r.ID
				if _, err := tx.InsertJob(ctx, r); err != nil {
					return err
				}
				if r.FailureCode != "" {
					if err := tx.SaveJob(ctx, store.JobChange{Record: r}); err != nil {
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
	db, err := sql.Open("sqlite", "file:"+filepath.Join(h.dir, "standin.db")+"?_pragma=busy_timeout(60000)")
	if err != nil {
		h.Fatal(err)
	}
	defer db.Close()
	owner, later := ada.ConsumerID.String(), now.AddDate(10, 0, 0).UnixMilli()
	key, deadKey := webhook.EndpointKey(ada.ConsumerID, job.Live, scaleURL), webhook.EndpointKey(ada.ConsumerID, job.Live, deadURL)
	for _, statement := range []struct {
		text string
		args []any
	}{
		{`INSERT INTO deliveries (id, job_id, subject, consumer_id, mode, url, endpoint, event, sequence, emitted_at, version, data, state,
			attempt, ended_at)
			SELECT 'dlv_' || id, id, id, consumer_id, mode, ?, ?, CASE status WHEN 'failed' THEN 'job.failed' ELSE 'job.finalized' END, 1,
			created_at, 2, '{}',
				CASE status WHEN 'failed' THEN 'failed' ELSE 'delivered' END, 1, created_at FROM jobs`, []any{scaleURL, key}},
		{`INSERT INTO delivery_tries (delivery_id, number, started_at, latency_ms, status_code, error, response_body)
			SELECT id, 1, emitted_at, 12, 200, '', '' FROM deliveries`, nil},
		{`INSERT INTO deliveries (id, job_id, subject, consumer_id, mode, url, endpoint, event, sequence, emitted_at, version, data, due_at,
			attempt, failures)
			SELECT 'dlv_d' || id, id, id, consumer_id, mode, ?, ?, 'job.status_changed', 2, created_at, 2, '{}', ?, 5, 5 FROM jobs
			WHERE rowid % 10 = 0`,
			[]any{deadURL, deadKey, later}},
		{`INSERT INTO webhook_endpoints (key, id, consumer_id, mode, url, last_try_at, failures, failing_since, probe_at)
			VALUES (?, ?, ?, 'live', ?, 1, 0, NULL, NULL), (?, ?, ?, 'live', ?, 1, 9, 1, ?)`,
			[]any{
				key, webhook.EndpointID(ada.ConsumerID, job.Live, scaleURL).String(), owner, scaleURL, deadKey,
				webhook.EndpointID(ada.ConsumerID, job.Live, deadURL).String(), owner, deadURL, later,
			}},
		{`INSERT INTO attempt_ends (job_id, attempt, at, platform, account, code, cause, capture)
			SELECT id, 0, ? - rowid * 3000000000 / ?, platform, '', failure_code, CASE status WHEN 'failed' THEN 'lobby_unanswered' ELSE '' END, ''
			FROM jobs`, []any{now.UnixMilli(), jobs}},
		{`INSERT INTO audit_log (id, consumer_id, at, actor, action, target)
			SELECT id, consumer_id, created_at, 'ada@example.test', 'sent a bot', id FROM jobs`, nil},
		{`INSERT INTO search_texts (id, job_id, owner, kind, start_ms, speaker, text)
			SELECT created_at * 1048576 + rowid % 1048576, id, ?, 'caption', 0, 'Bob', 'The budget of word' || SUBSTR(external_id, 10)
			FROM jobs`, []any{hex.EncodeToString(ada.ConsumerID[:]) + "live"}},
		{`WITH RECURSIVE days (day) AS (SELECT 20454 UNION ALL SELECT day + 1 FROM days WHERE day < 20454 + 364)
			INSERT INTO usage_days (consumer_id, mode, day, completed, failed, cancelled, recorded_ms, bot_ms, stored_bytes, deleted_bytes)
			SELECT ?, 'live', day, 95, 5, 0, 3600000, 7200000, 100000000, 0 FROM days`, []any{owner}},
	} {
		if _, err := db.ExecContext(h.Context(), statement.text, statement.args...); err != nil {
			h.Fatalf("%s: %v", statement.text, err)
		}
	}
	return last
}
