package storetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/store"
)

// Deliveries returns a job's deliveries with their data, ordered by event and
// URL.
func Deliveries(ctx context.Context, s *store.Store, jobID uuid.UUID) ([]webhook.Delivery, error) {
	records, _, err := s.ListDeliveries(ctx, jobID, webhook.DeliveryCursor{}, 10_000, time.Now())
	if err != nil || len(records) == 0 {
		return nil, err
	}
	j, err := s.JobView(ctx, jobID)
	if err != nil {
		return nil, err
	}
	deliveries := make([]webhook.Delivery, len(records))
	for i, r := range records {
		sent, err := s.DeliveryRequest(ctx, account.Caller{ConsumerID: j.ConsumerID, Mode: j.Mode}, r.ID)
		if err != nil {
			return nil, err
		}
		payload, err := webhook.Body(sent)
		if err != nil {
			return nil, err
		}
		var body struct {
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(payload, &body); err != nil {
			return nil, fmt.Errorf("decode delivery %s: %w", r.ID, err)
		}
		deliveries[i] = webhook.Delivery{
			ID: r.ID, JobID: r.JobID, URL: r.URL, Event: r.Event, Sequence: r.Sequence, EmittedAt: r.EmittedAt,
			Data: body.Data, Version: r.Version, Attempt: r.Attempt,
		}
	}
	slices.SortFunc(deliveries, func(a, b webhook.Delivery) int {
		return cmp.Or(cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.URL, b.URL))
	})
	return deliveries, nil
}

// AddEntry adds an entry to the timeline of its job.
func AddEntry(ctx context.Context, tx *store.Tx, e job.TimelineEntry) error {
	r, err := tx.LockJob(ctx, e.JobID)
	if err != nil {
		return err
	}
	return tx.SaveJob(ctx, store.JobChange{Record: r, Entries: []job.TimelineEntry{e}})
}
