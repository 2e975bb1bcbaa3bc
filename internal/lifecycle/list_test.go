package lifecycle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/testing/world"
	"standin/internal/webhook"
)

// TestJobs checks that a caller's own jobs are listed in pages, newest first.
func TestJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		var want []uuid.UUID
		for range 7 {
			want = append(want, h.newJob(t))
		}
		slices.Reverse(want)
		for _, limit := range []int{0, 1, 3, 7, lifecycle.MaxPage} {
			var got []uuid.UUID
			page := lifecycle.Page{Limit: limit}
			for {
				jobs, next, err := h.Jobs(t.Context(), h.Caller, job.Filter{}, page)
				if err != nil {
					t.Fatal(err)
				}
				for _, j := range jobs {
					got = append(got, j.ID)
				}
				if page.Cursor = next; next == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d: %v, want %v", limit, got, want)
			}
		}
		for who, stranger := range h.otherCallers(t) {
			if jobs, next, err := h.Jobs(t.Context(), stranger, job.Filter{}, lifecycle.Page{}); err != nil || len(jobs) != 0 || jobs == nil || next != "" {
				t.Errorf("%s lists %d jobs, %q, %v", who, len(jobs), next, err)
			}
		}
		filtered, _, err := h.Jobs(t.Context(), h.Caller, job.Filter{Statuses: []job.Status{job.Completed}}, lifecycle.Page{})
		if err != nil || len(filtered) != 0 {
			t.Errorf("completed: %d, %v", len(filtered), err)
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

// TestInvalidPagesAndFilters checks that invalid pages and filters are rejected.
func TestInvalidPagesAndFilters(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		id := h.newJob(t)
		lists := map[string]func(lifecycle.Page) error{
			"jobs": func(p lifecycle.Page) error {
				_, _, err := h.Jobs(t.Context(), h.Caller, job.Filter{}, p)
				return err
			},
			"timeline": func(p lifecycle.Page) error {
				_, _, err := h.Timeline(t.Context(), h.Caller, id, p)
				return err
			},
			"deliveries": func(p lifecycle.Page) error {
				_, _, err := h.Deliveries(t.Context(), h.Caller, id, p)
				return err
			},
		}
		wrong := map[string]lifecycle.Page{
			"limit":  {Limit: -1},
			"cursor": {Cursor: "x"},
		}
		for list, call := range lists {
			for field, page := range wrong {
				if err := call(page); !job.ErrorIs(err, job.InvalidInput) || asJobError(err).Path[0] != field {
					t.Errorf("%s of %+v: %v", list, page, err)
				}
			}
			if err := call(lifecycle.Page{Limit: lifecycle.MaxPage + 1}); !job.ErrorIs(err, job.InvalidInput) {
				t.Errorf("%s with a limit above the maximum: %v", list, err)
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

// TestTimeline checks that only the job's consumer can list the timeline, with applied
// and rejected events and their reasons.
func TestTimeline(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		id := h.begun(t)
		h.walk(t, id, job.BotJoined, job.BotInMeeting)
		h.ingest(t, botEvent(id, 0, 1, job.BotInMeeting, ""))
		h.ingest(t, botEvent(id, 0, 2, job.BotEnteringLobby, `{"why":"late"}`))
		type entryView struct {
			source  job.Source
			kind    job.Trigger
			applied bool
			reason  job.Reason
			data    string
		}
		want := []entryView{
			{job.SourceService, job.AttemptStarted, true, "", ""},
			{job.SourceBot, job.BotJoined, true, "", ""},
			{job.SourceBot, job.BotInMeeting, true, "", ""},
			{job.SourceBot, job.BotInMeeting, false, job.Duplicate, ""},
			{job.SourceBot, job.BotEnteringLobby, false, job.OutOfOrder, `{"why":"late"}`},
		}
		for _, limit := range []int{0, 1, 2} {
			var got []entryView
			page := lifecycle.Page{Limit: limit}
			for {
				entries, next, err := h.Timeline(t.Context(), h.Caller, id, page)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					got = append(got, entryView{e.Source, e.Kind, e.Applied, e.Reason, string(e.Data)})
					if e.Source == job.SourceBot && (e.EmittedAt.Before(started) || e.EmittedAt.After(started.Add(time.Minute)) || e.ReceivedAt.Equal(e.EmittedAt)) {
						t.Errorf("%s: emitted at %v, received at %v", e.Kind, e.EmittedAt, e.ReceivedAt)
					}
				}
				if page.Cursor = next; next == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %d: %+v\nwant %+v", limit, got, want)
			}
		}
		for who, stranger := range h.otherCallers(t) {
			if _, _, err := h.Timeline(t.Context(), stranger, id, lifecycle.Page{}); !job.ErrorIs(err, job.NotFound) {
				t.Errorf("%s: %v", who, err)
			}
			if _, _, err := h.Deliveries(t.Context(), stranger, id, lifecycle.Page{}); !job.ErrorIs(err, job.NotFound) {
				t.Errorf("deliveries, %s: %v", who, err)
			}
		}
	})
}

// TestDeliveriesAndRedelivery checks that a consumer can list its webhook deliveries
// and redeliver one.
func TestDeliveriesAndRedelivery(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		id := h.begun(t)
		h.walk(t, id, job.BotJoined, job.BotInMeeting)
		list := func(limit int) []webhook.DeliveryRecord {
			t.Helper()
			var all []webhook.DeliveryRecord
			page := lifecycle.Page{Limit: limit}
			for {
				deliveries, next, err := h.Deliveries(t.Context(), h.Caller, id, page)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, deliveries...)
				if page.Cursor = next; next == "" {
					return all
				}
			}
		}
		all := list(2)
		if len(all) != 3 || len(list(0)) != 3 {
			t.Fatalf("%d deliveries, want one for each transition", len(all))
		}
		for i, d := range all {
			if d.Sequence != int64(i+1) || d.URL != world.StatusURL || d.State != webhook.DeliveryWaiting || d.Event != webhook.JobStatusChanged {
				t.Errorf("delivery %d: %+v", i, d)
			}
		}
		first := all[0].ID
		if _, err := h.Redeliver(t.Context(), h.Caller, id, first); !job.ErrorIs(err, job.InvalidState) {
			t.Errorf("redeliver a pending delivery: %v", err)
		}
		claimed, _, err := webhook.ClaimDeliveries(t.Context(), h.Store, webhook.Claim{Now: time.Now(), Lease: time.Minute, Limit: 10})
		if err != nil || len(claimed) != 1 || claimed[0].ID != first {
			t.Fatalf("claimed %+v, %v", claimed, err)
		}
		try := webhook.Try{DeliveryID: first, Number: 1, StartedAt: time.Now(), Latency: time.Second, StatusCode: 410, ResponseBody: []byte("gone")}
		gone := webhook.Result{Delivery: claimed[0], Try: try, Verdict: webhook.Verdict{Outcome: webhook.PermanentFailure, Reason: "410"}}
		if _, err := h.Store.RecordTries(t.Context(), []webhook.Result{gone}); err != nil {
			t.Fatal(err)
		}
		if d := list(0)[0]; d.State != webhook.DeliveryFailed || len(d.Tries) != 1 || d.Tries[0].StatusCode != 410 || string(d.Tries[0].ResponseBody) != "gone" {
			t.Errorf("failed delivery: %+v", d)
		}

		sent := h.sent.Load()
		for who, stranger := range h.otherCallers(t) {
			if _, err := h.Redeliver(t.Context(), stranger, id, first); !job.ErrorIs(err, job.NotFound) {
				t.Errorf("%s: %v", who, err)
			}
		}
		for _, unknown := range []string{"", "dlv_unknown", "dlv_\x00", strings.Repeat("x", 10_000)} {
			if _, err := h.Redeliver(t.Context(), h.Caller, id, unknown); !job.ErrorIs(err, job.NotFound) {
				t.Errorf("delivery %.40q: %v", unknown, err)
			}
		}
		if _, err := h.Redeliver(t.Context(), h.Caller, h.newJob(t), first); !job.ErrorIs(err, job.NotFound) {
			t.Errorf("delivery of another job: %v", err)
		}
		if h.sent.Load() != sent {
			t.Error("a rejected redelivery woke the sender")
		}
		again, err := h.Redeliver(t.Context(), h.Caller, id, first)
		if err != nil || again.State != webhook.DeliveryWaiting || again.Attempt != 1 || len(again.Tries) != 1 || again.NextTryAt.IsZero() {
			t.Errorf("redelivered: %+v, %v", again, err)
		}
		if h.sent.Load() == sent {
			t.Error("the sender was not woken")
		}
	})
}
