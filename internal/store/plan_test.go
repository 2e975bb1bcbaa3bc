package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// TestHotPlans checks that the three most frequent queries that read many rows find them in an index.
func TestHotPlans(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		run   func(ctx context.Context, s *store.Store) error
		uses  []string
		sorts bool // a few rows
	}{
		"claim of due jobs": {func(ctx context.Context, s *store.Store) error {
			return s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ClaimJobs(ctx, job.Claim{Node: "a", Now: now, Lease: time.Minute, Limit: 10, Capacity: 10, Prelaunch: time.Second})
				return err
			})
		}, []string{"jobs USING INDEX jobs_wake_others (wake_at<?)", "jobs USING INDEX jobs_upcoming (join_at<?)"}, true},
		"claim of due deliveries": {func(ctx context.Context, s *store.Store) error {
			_, _, err := webhook.ClaimDeliveries(ctx, s, webhook.Claim{Now: now, Lease: time.Minute, Limit: 100})
			return err
		}, []string{
			"SEARCH d USING INDEX deliveries_due (due_at<?)",
			"SEARCH ahead USING INDEX deliveries_ahead (subject=? AND endpoint=? AND sequence<?)",
		}, false},
		"list of jobs, first page": {func(ctx context.Context, s *store.Store) error {
			_, _, err := s.ListJobs(ctx, account.Caller{ConsumerID: uuid.New(), Mode: job.Live}, job.Filter{}, job.Cursor{}, 20)
			return err
		}, []string{"SEARCH jobs USING COVERING INDEX jobs_created (consumer_id=? AND mode=?"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, steps := openSQLite(t).Explained()
			if err := test.run(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			plan := strings.Join(*steps, "\n")
			for _, want := range test.uses {
				if !strings.Contains(plan, want) {
					t.Errorf("want %s:\n%s", want, plan)
				}
			}
			for _, table := range []string{"jobs", "d", "ahead"} {
				if strings.Contains(plan+"\n", "SCAN "+table+"\n") || strings.Contains(plan, "SCAN "+table+" ") {
					t.Errorf("scans all of %s:\n%s", table, plan)
				}
			}
			if strings.Contains(plan, "TEMP B-TREE") && !test.sorts {
				t.Errorf("sorts:\n%s", plan)
			}
		})
	}
}
