package store_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/store"
	"standin/internal/webhook"
)

// TestDeliveryPlans checks that the queries of the sender and of consumers use
// indexes.
func TestDeliveryPlans(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	ctx := t.Context()
	for what, test := range map[string]struct {
		ask   func(q *store.Queries) error
		uses  []string
		sorts bool // a few rows
	}{
		"claim": {func(q *store.Queries) error {
			return q.FindDue(ctx, webhook.Claim{Now: now, Limit: 100})
		}, []string{"deliveries_due", "deliveries_ahead"}, false},
		"next due time": {func(q *store.Queries) error {
			_, _, err := q.NextDelivery(ctx, now)
			return err
		}, []string{"deliveries_due"}, false},
		"backlog": {func(q *store.Queries) error {
			_, _, err := q.Backlog(ctx)
			return err
		}, []string{"deliveries_due"}, false},
		"endpoints of a consumer": {func(q *store.Queries) error {
			_, _, err := q.ListEndpoints(ctx, uuid.New(), "", 20)
			return err
		}, []string{"webhook_endpoints_consumer", "deliveries_ahead"}, false},
		"tries of a delivery": {func(q *store.Queries) error {
			_, err := q.Tries(ctx, "dlv_1")
			return err
		}, []string{"sqlite_autoindex_delivery_tries_1", "sqlite_autoindex_deliveries_1"}, true},
		"failed in a time range": {func(q *store.Queries) error {
			return q.FindFailed(ctx, uuid.New(), webhook.FailedFilter{From: now, URL: "https://a.test/"}, now)
		}, []string{"deliveries_gave_up"}, false},
	} {
		plan, err := s.QueryPlan(ctx, test.ask)
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range test.uses {
			if !strings.Contains(plan, index) {
				t.Errorf("%s does not use %s:\n%s", what, index, plan)
			}
		}
		if strings.Contains(plan, "TEMP B-TREE") && !test.sorts {
			t.Errorf("%s sorts:\n%s", what, plan)
		}
	}
}
