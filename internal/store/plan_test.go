package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// TestHotPlans checks that frequent queries, and one that counts for five weeks, find their rows in an index.
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
		"causes of failures": {func(ctx context.Context, s *store.Store) error {
			_, err := s.FailureCauses(ctx, now, 50)
			return err
		}, []string{
			"SEARCH attempt_ends USING INDEX attempt_ends_failed (at>?)",
			"SEARCH e USING COVERING INDEX attempt_ends_all (platform=? AND account=? AND at>?)",
		}, true},
		"bots that were not scheduled": {func(ctx context.Context, s *store.Store) error {
			_, err := s.Unscheduled(ctx, now, time.Hour)
			return err
		}, []string{"SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id>? AND id<?)"}, false},
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

// TestPlans checks that the statements that run more than once a second touch few rows and blocks
// on PostgreSQL, whatever it knows about the tables: new ones have no statistics in their first minutes.
func TestPlans(t *testing.T) {
	t.Parallel()
	const due = 60 // jobs, and deliveries
	for name, test := range map[string]struct {
		ended    int // jobs
		analyzed bool
	}{"empty": {}, "new": {ended: 180}, "never analyzed": {ended: 3000}, "large": {ended: 10_000, analyzed: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := cluster.Fresh(t)
			s, admin := storetest.Open(t, address), connectAdmin(t, address)
			owner := newConsumer(t, s)
			caller := live(owner.ID)
			r := newJob(owner.ID)
			insert(t, s, r)
			d := newDelivery(r, 1, "https://a.test/")
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				return tx.SaveJob(ctx, store.JobChange{Record: r, Now: now, Deliveries: []webhook.Delivery{d}, Entries: []job.TimelineEntry{{
					ID: uuid.Must(uuid.NewV7()), JobID: r.ID, Source: job.SourceBot, Kind: job.BotJoined, EmittedAt: now, ReceivedAt: now,
				}}})
			})
			_, err := admin.Exec(t.Context(), fmt.Sprintf(`DO $$
				DECLARE name text;
				BEGIN
					FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
						EXECUTE format('ALTER TABLE %%I SET (autovacuum_enabled = false)', name);
					END LOOP;
					CREATE TEMP TABLE n AS SELECT n, n > %[1]d AS ended, lpad(to_hex(n), 32, '0')::uuid::text AS id FROM generate_series(1, %[1]d + %[2]d) n;
					INSERT INTO jobs SELECT (jsonb_populate_record(j, jsonb_build_object('id', n.id, 'external_id', n.id, 'external_hash', n.id,
						'meeting_key', n.id) || CASE WHEN n.ended THEN '{"status": "cancelled", "wake_at": null}' ELSE '{}' END::jsonb)).* FROM n, jobs j;
					INSERT INTO timeline SELECT (jsonb_populate_record(e, jsonb_build_object('id', n.id, 'job_id', n.id))).* FROM n, timeline e;
					INSERT INTO deliveries SELECT (jsonb_populate_record(d, jsonb_build_object('id', 'dlv_' || n.id, 'job_id', n.id, 'subject', n.id) ||
						CASE WHEN n.ended THEN '{"state": "delivered", "due_at": null}' ELSE '{}' END::jsonb)).* FROM n, deliveries d;
					PERFORM pg_stat_force_next_flush();
				END $$`, due, test.ended))
			if err != nil {
				t.Fatal(err)
			}
			if test.analyzed {
				if _, err := admin.Exec(t.Context(), `VACUUM ANALYZE`); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.AnalyzeGrown(t.Context()); err != nil { // as the service does every few seconds
				t.Fatal(err)
			}
			claim := job.Claim{Node: "a", Now: now, Lease: time.Minute, Limit: 20, Capacity: 20, Prelaunch: time.Second, PerConsumer: 1000}
			e := s.ExplainedOnPostgres(func(query, plan string, blocks, rows int) {
				if blocks > 1000 || rows > 700 {
					t.Errorf("%d blocks and %d rows: %s\n%s", blocks, rows, query, plan)
				}
			})
			err = e.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				started := newJob(owner.ID)
				for name, run := range map[string]func() error{
					"key": func() error {
						if _, err := tx.KeyByHash(ctx, "none"); !job.ErrorIs(err, job.NotFound) {
							return err
						}
						return nil
					},
					"texts": func() error {
						_, err := tx.AppendTexts(ctx, r.ID, []job.MeetingText{{Kind: job.ChatText, ID: "1", StartedAt: now, EndedAt: now}})
						return err
					},
					"lease":           func() error { _, err := tx.ExtendLease(ctx, r.ID, "none", now); return err },
					"wake":            func() error { return tx.WakeJob(ctx, r.ID, now) },
					"timeline":        func() error { _, err := tx.Timeline(ctx, r.ID); return err },
					"job":             func() error { _, err := tx.LockJob(ctx, r.ID); return err },
					"job by ID":       func() error { _, err := tx.JobView(ctx, r.ID); return err },
					"job by external": func() error { _, err := tx.JobByExternalID(ctx, caller, r.ExternalID); return err },
					"other job": func() error {
						_, _, err := tx.JobForMeeting(ctx, owner.ID, job.Live, r.MeetingURL, now.Add(-26*time.Hour), now.Add(time.Hour), r.ID)
						return err
					},
					"list":   func() error { _, _, err := tx.ListJobs(ctx, caller, job.Filter{}, job.Cursor{}, 20); return err },
					"create": func() error { _, err := tx.InsertJob(ctx, started); return err },
					"save": func() error {
						return tx.SaveJob(ctx, store.JobChange{Record: r, Now: now, Usage: job.Usage{Completed: 1}, Ended: true})
					},
					"consumer":   func() error { _, err := tx.Team(ctx, owner.ID); return err },
					"event":      func() error { _, err := tx.HasEvent(ctx, r.ID, 0, job.BotJoined, now); return err },
					"commands":   func() error { _, err := tx.PendingCommands(ctx, r.ID); return err },
					"heartbeats": func() error { _, err := tx.BotJob(ctx, r.ID); return err },
					"heartbeat":  func() error { return tx.SaveHeartbeat(ctx, r.ID, now, nil) },
					"can claim":  func() error { _, err := tx.CanClaim(ctx, claim); return err },
					"next wake":  func() error { _, _, err := tx.NextWake(ctx, "a", now, time.Second); return err },
					"claim":      func() error { _, err := tx.ClaimJobs(ctx, claim); return err },
					"deliveries": func() error { _, err := tx.DueDeliveries(ctx, now, 20); return err },
					"next":       func() error { _, _, err := tx.NextDelivery(ctx, now); return err },
					"taken":      func() error { _, err := tx.SaveClaim(ctx, []webhook.Delivery{d}, nil); return err },
				} {
					if err := run(); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			_, err = e.RecordTry(t.Context(), webhook.Result{
				Delivery: d, Try: webhook.Try{DeliveryID: d.ID, Number: 1, StartedAt: now}, Verdict: webhook.Verdict{Outcome: webhook.Delivered},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
