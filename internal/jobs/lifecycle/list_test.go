package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/testing/world"
)

// TestLists checks that a caller lists its own jobs, newest first, and the timeline and the
// deliveries of a job, in pages, and that invalid pages and filters are rejected.
func TestLists(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		id := h.begun(t)
		h.walk(t, id, job.BotJoined, job.BotInMeeting)
		h.ingest(t, botEvent(id, 0, 1, job.BotInMeeting, ""))
		h.ingest(t, botEvent(id, 0, 2, job.BotEnteringLobby, `{"why":"late"}`))
		ids := []string{id.String()}
		for range 5 {
			ids = append(ids, h.begun(t).String())
		}
		slices.Reverse(ids)
		for name, list := range map[string]struct {
			page func(account.Caller, lifecycle.Page) (keys []string, next string, err error)
			want []string
		}{
			"jobs": {func(caller account.Caller, p lifecycle.Page) (keys []string, next string, err error) {
				jobs, next, err := h.Jobs(t.Context(), caller, job.Filter{}, p)
				for _, j := range jobs {
					keys = append(keys, j.ID.String())
				}
				return keys, next, err
			}, ids},
			"timeline": {func(caller account.Caller, p lifecycle.Page) (keys []string, next string, err error) {
				entries, next, err := h.Timeline(t.Context(), caller, id, p)
				for _, e := range entries {
					if e.Source == job.SourceBot && (e.EmittedAt.Before(started) || e.EmittedAt.After(started.Add(time.Minute))) {
						t.Errorf("%s was emitted at %v", e.Kind, e.EmittedAt)
					}
					keys = append(keys, fmt.Sprint(e.Source, " ", e.Kind, " ", e.Applied, " ", e.Reason, " ", string(e.Data)))
				}
				return keys, next, err
			}, []string{
				"service attempt_started true  ", "bot lifecycle.joined true  ", "bot lifecycle.in_meeting true  ",
				"bot lifecycle.in_meeting false duplicate ",
				`bot lifecycle.entering_lobby false out_of_order {"why":"late"}`,
			}},
			"deliveries": {func(caller account.Caller, p lifecycle.Page) (keys []string, next string, err error) {
				deliveries, next, err := h.Deliveries(t.Context(), caller, id, p)
				for _, d := range deliveries {
					keys = append(keys, fmt.Sprint(d.Sequence, " ", d.Event, " ", d.State, " ", d.URL))
				}
				return keys, next, err
			}, []string{
				"1 job.status_changed waiting " + world.StatusURL, "2 job.status_changed waiting " + world.StatusURL, "3 job.status_changed waiting " +
					world.StatusURL,
			}},
		} {
			for _, limit := range []int{0, 1, 2, lifecycle.MaxPage} {
				var got []string
				for page, more := (lifecycle.Page{Limit: limit}), true; more; more = page.Cursor != "" {
					keys, next, err := list.page(h.Caller, page)
					if err != nil {
						t.Fatal(err)
					}
					got, page.Cursor = append(got, keys...), next
				}
				if !slices.Equal(got, list.want) {
					t.Errorf("%s in pages of %d: %q, want %q", name, limit, got, list.want)
				}
			}
			for who, stranger := range h.otherCallers(t) {
				if got, _, err := list.page(stranger, lifecycle.Page{}); len(got) > 0 || (name == "jobs") != (err == nil) ||
					err != nil && !job.ErrorIs(err, job.NotFound) {
					t.Errorf("%s lists the %s %q: %v", who, name, got, err)
				}
			}
			for _, page := range []lifecycle.Page{{Limit: -1}, {Limit: lifecycle.MaxPage + 1}, {Cursor: "x"}} {
				field := "limit"
				if page.Cursor != "" {
					field = "cursor"
				}
				if _, _, err := list.page(h.Caller, page); !job.ErrorIs(err, job.InvalidInput) || asJobError(err).Path[0] != field {
					t.Errorf("%s of %+v: %v", name, page, err)
				}
			}
		}
		for field, filter := range map[string]job.Filter{"status": {Statuses: []job.Status{"x\x00"}}, "platform": {Platform: "x\x00"}} {
			_, _, err := h.Jobs(t.Context(), h.Caller, filter, lifecycle.Page{})
			if !job.ErrorIs(err, job.InvalidInput) || asJobError(err).Path[0] != field {
				t.Errorf("filter %+v: %v", filter, err)
			}
		}
	})
}

// TestJobsByLargeMetadata filters many jobs with much metadata. A page examines a part of
// them, and its cursor leads to the rest.
func TestJobsByLargeMetadata(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	create := func(metadata string) uuid.UUID {
		t.Helper()
		wanted := world.Request(uuid.NewString())
		wanted.Metadata = []byte(metadata)
		j, _, err := h.Create(t.Context(), h.Caller, wanted)
		if err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	wanted := create(`{"team":"blue"}`)
	for range 45 {
		create(`{"note":"` + strings.Repeat("x", 250<<10) + `"}`)
	}
	var got []uuid.UUID
	pages, page := 0, lifecycle.Page{}
	for more := true; more; more = page.Cursor != "" {
		found, next, err := h.Jobs(t.Context(), h.Caller, job.Filter{Metadata: map[string]string{"team": "blue"}}, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range found {
			got = append(got, j.ID)
		}
		pages++
		page.Cursor = next
	}
	if !slices.Equal(got, []uuid.UUID{wanted}) || pages < 2 {
		t.Errorf("%d pages found %v, want %v on one of several pages", pages, got, wanted)
	}
}

// TestRedelivery checks that what is sent again wakes the sender, and that nothing else does.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.begun(t)
	claimed, _, err := webhook.ClaimDeliveries(t.Context(), h.Store, webhook.Claim{Now: time.Now(), Lease: time.Minute, Limit: 10})
	if err != nil || len(claimed) != 1 {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	first, sent := claimed[0].ID, h.sent.Load()
	for _, unknown := range []string{"", "dlv_unknown", "dlv_\x00", strings.Repeat("x", 10_000)} {
		if _, err := h.Redeliver(t.Context(), h.Caller, id, unknown); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("delivery %.40q: %v", unknown, err)
		}
	}
	if _, err := h.Redeliver(t.Context(), h.Caller, h.newJob(t), first); !job.ErrorIs(err, job.NotFound) || h.sent.Load() != sent {
		t.Errorf("delivery of another job: %v, woken %t", err, h.sent.Load() != sent)
	}
	gone := webhook.Result{
		Delivery: claimed[0], Try: webhook.Try{DeliveryID: first, Number: 1, StartedAt: time.Now()},
		Verdict: webhook.Verdict{Outcome: webhook.PermanentFailure, Reason: "410"},
	}
	if _, err := h.Store.RecordTry(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	again, err := h.Redeliver(t.Context(), h.Caller, id, first)
	if err != nil || again.State != webhook.DeliveryWaiting || len(again.Tries) != 1 || again.NextTryAt.IsZero() || h.sent.Load() == sent {
		t.Errorf("redelivered %+v, %v, woken %t", again, err, h.sent.Load() != sent)
	}
}
