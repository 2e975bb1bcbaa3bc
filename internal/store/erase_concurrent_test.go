package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/store"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"standin/internal/testing/storetest"
)

// TestDeleteWhileInserting deletes jobs and their consumer while other transactions
// insert jobs of the consumer and timeline entries and deliveries of the jobs.
func TestDeleteWhileInserting(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		rounds, rows := 10, 50
		if testing.Short() {
			rounds, rows = 2, 20
		}
		for range rounds {
			consumer := newConsumer(t, s).ID
			first := newJob(consumer)
			insert(t, s, first)
			var inserts sync.WaitGroup
			for range 4 {
				inserts.Go(func() {
					for range rows {
						if _, _, err := createJob(ctx, s, newJob(consumer)); err != nil {
							return // the consumer is deleted
						}
					}
				})
				inserts.Go(func() {
					for n := range int64(rows) {
						err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
							if _, err := tx.LockJob(ctx, first.ID); err != nil {
								return err
							}
							err := storetest.AddEntry(ctx, tx, job.TimelineEntry{
								ID: uuid.Must(uuid.NewV7()), JobID: first.ID, Source: job.SourceBot, Kind: job.BotJoined, EmittedAt: now, ReceivedAt: now,
							})
							return errors.Join(err, tx.InsertDelivery(ctx, newDelivery(first, n, "https://a.test/")))
						})
						if err != nil && !job.ErrorIs(err, job.NotFound) {
							t.Error(err)
						}
					}
				})
			}
			deleteAll := func() error {
				ids, err := s.ConsumerJobs(ctx, consumer, uuid.Nil, 1000)
				for _, id := range ids {
					err = errors.Join(err, s.DeleteJob(ctx, id))
				}
				if err != nil {
					t.Fatal(err)
				}
				return s.DeleteConsumer(ctx, consumer)
			}
			inserted := make(chan struct{})
			go func() { inserts.Wait(); close(inserted) }()
			for deleted, last := false, false; !deleted && !last; {
				select {
				case <-inserted:
					last = true
				default:
				}
				err := deleteAll()
				if deleted = err == nil; last && !deleted {
					t.Errorf("delete the consumer without concurrent inserts: %v", err)
				}
			}
			<-inserted
			if _, err := s.Consumer(ctx, consumer); !job.ErrorIs(err, job.NotFound) {
				t.Errorf("the deleted consumer: %v", err)
			}
		}
	})
}

// TestDeleteWaitsForNewJob deletes a consumer whose new job is inserted and not yet
// committed.
func TestDeleteWaitsForNewJob(t *testing.T) {
	t.Parallel()
	address := cluster.Fresh(t)
	s := storetest.Open(t, address)
	admin := connectAdmin(t, address)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	r := newJob(newConsumer(t, s).ID)
	inserted, commit := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	release := sync.OnceFunc(func() { close(commit) })
	defer release()
	all.Go(func() {
		err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.InsertJob(ctx, r)
			close(inserted)
			<-commit
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inserted
	deleted := make(chan struct{})
	all.Go(func() {
		defer close(deleted)
		if err := s.DeleteConsumer(ctx, r.ConsumerID); !job.ErrorIs(err, job.InvalidState) {
			t.Errorf("delete the consumer of a new job: %v, want %s", err, job.InvalidState)
		}
	})
	awaitBlocked(t, admin, deleted)
	release()
	all.Wait()
	if _, err := s.Job(ctx, r.ID); err != nil {
		t.Errorf("the new job: %v", err)
	}
}

// TestDeleteWaitsForHistory deletes a job while rows that refer to it are inserted and
// not yet committed.
func TestDeleteWaitsForHistory(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"try": { // as RecordTries
			`UPDATE deliveries SET attempt = 1 WHERE job_id = $1`,
			`INSERT INTO delivery_tries (delivery_id, number, started_at, latency_ms, status_code, error, response_body)
				SELECT id, 1, 0, 0, 500, '', '' FROM deliveries WHERE job_id = $1`,
		},
		"transcription piece": {`INSERT INTO transcription_pieces (job_id, piece, response) VALUES ($1, 'a', '{}')`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := cluster.Fresh(t)
			s := storetest.Open(t, address)
			r := newJob(newConsumer(t, s).ID)
			insert(t, s, r)
			post(t, s, newDelivery(r, 1, "https://a.test/"))
			writer, err := connectAdmin(t, address).Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range statements {
				if _, err := writer.Exec(t.Context(), statement, r.ID); err != nil {
					t.Fatal(err)
				}
			}
			deleted := make(chan struct{})
			var all sync.WaitGroup
			all.Go(func() {
				defer close(deleted)
				if err := s.DeleteJob(t.Context(), r.ID); err != nil {
					t.Error(err)
				}
			})
			awaitBlocked(t, connectAdmin(t, address), deleted)
			if err := writer.Commit(t.Context()); err != nil {
				t.Error(err)
			}
			all.Wait()
		})
	}
}

// awaitBlocked waits until a statement waits for a lock, or ended is closed.
func awaitBlocked(t *testing.T, admin *pgx.Conn, ended <-chan struct{}) {
	t.Helper()
	for blocked := 0; blocked == 0; {
		select {
		case <-ended:
			return
		default:
		}
		err := admin.QueryRow(t.Context(), `SELECT COUNT(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
			WHERE NOT granted AND datname = current_database()`).Scan(&blocked)
		if err != nil {
			t.Error(err)
			return
		}
	}
}
