package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/store"
)

// TestHotPathPlans checks that frequent queries use an index.
func TestHotPathPlans(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	ctx := t.Context()
	for name, test := range map[string]struct {
		ask  func(*store.Queries) error
		want []string
	}{
		"claim": {func(q *store.Queries) error {
			_, err := q.CanClaim(ctx, job.Claim{Node: "a", Now: now, Lease: time.Minute, Limit: 10, Capacity: 10, Prelaunch: time.Second})
			return err
		}, []string{
			"SEARCH jobs USING INDEX jobs_upcoming (join_at<?)", "SEARCH jobs USING INDEX jobs_wake (wake_at<?)",
		}},
		"claim beside admissions": {func(q *store.Queries) error {
			_, err := q.DueWithoutAdmission(ctx, job.Claim{Node: "a", Now: now, Lease: time.Minute, Limit: 10})
			return err
		}, []string{"SEARCH jobs USING INDEX jobs_wake_others (wake_at<?)"}},
		"next": {func(q *store.Queries) error {
			_, _, err := q.NextWake(ctx, "a", now, time.Second)
			return err
		}, []string{"USING INDEX jobs_wake", "SEARCH jobs USING INDEX jobs_upcoming (join_at>?)"}},
		"upcoming": {func(q *store.Queries) error {
			_, err := q.CountUpcoming(ctx, now, now.Add(time.Hour), time.Minute)
			return err
		}, []string{"INDEX jobs_upcoming (join_at>? AND join_at<?)"}},
		"usage": {func(q *store.Queries) error {
			_, err := q.Usage(ctx, uuid.New(), now, now.Add(time.Hour))
			return err
		}, []string{"SEARCH jobs USING COVERING INDEX jobs_state (consumer_id=? AND mode=? AND status=? AND platform=? AND created_at>? AND created_at<?)"}},
		"unheard": {func(q *store.Queries) error {
			_, _, err := q.OldestHeartbeat(ctx)
			return err
		}, []string{"SEARCH jobs USING INDEX jobs_dispatched (status=?)"}},
		"bots of a node": {func(q *store.Queries) error {
			_, err := q.NodeJobs(ctx, "a")
			return err
		}, []string{"SEARCH jobs USING INDEX jobs_dispatched (status=?)", "SEARCH jobs USING INDEX jobs_prelaunched (node=?)"}},
		"bot statistics": {func(q *store.Queries) error {
			_, err := q.BotStats(ctx, "a")
			return err
		}, []string{"SEARCH jobs USING INDEX jobs_dispatched (status=?)"}},
		"bots to answer": {func(q *store.Queries) error {
			_, err := q.BotsToAnswer(ctx, []uuid.UUID{uuid.New(), uuid.New()})
			return err
		}, []string{"SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id=?)", "SEARCH commands USING INDEX commands_of_kind (job_id=?)"}},
	} {
		plan, err := s.QueryPlan(ctx, test.ask)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if !strings.Contains(plan, want) {
				t.Errorf("%s:\n%s\nwant %s", name, plan, want)
			}
		}
		if strings.Contains(plan, "TEMP B-TREE FOR ORDER BY") {
			t.Errorf("%s sorts:\n%s", name, plan)
		}
	}
}

// TestPlanOfSavedJobs checks that jobs that are saved together are found by their IDs.
func TestPlanOfSavedJobs(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	ctx := t.Context()
	consumer := newConsumer(t, s).ID
	var changes []store.JobChange
	for range 8 {
		r := newJob(consumer)
		insert(t, s, r)
		changes = append(changes, store.JobChange{Before: r, After: r})
	}
	err := s.Write(ctx, func(q *store.Queries) error {
		plan, err := q.QueryPlan(ctx, func(q *store.Queries) error { return q.SaveJobChanges(ctx, changes) })
		if want := "SEARCH jobs USING COVERING INDEX sqlite_autoindex_jobs_1 (id=?)"; err == nil && !strings.Contains(plan, want) {
			t.Errorf("%s\nwant %s", plan, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
