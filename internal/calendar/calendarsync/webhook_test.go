package calendarsync_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// TestWebhooks checks that an endpoint which takes the events of calendars is told about
// meetings that get a bot, are moved or lose it, and about a calendar that cannot be read.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	err := h.store.RegisterEndpoint(t.Context(), webhook.Endpoint{
		ConsumerID: h.caller.ConsumerID, URL: "https://hooks.test/", Mode: job.Live, Events: []string{"calendar.*"}, Enabled: true,
		CreatedAt: november,
	})
	if err != nil {
		t.Fatal(err)
	}
	h.set("/ann.ics", planning+friday+meet, review+friday+"LOCATION:Room 5")
	id := h.connect(t, "/ann.ics", nil)
	h.sync(t, id)
	h.set("/ann.ics", planning+later+"SEQUENCE:1|"+meet, review+friday+"LOCATION:Room 6")
	h.sync(t, id)
	h.sync(t, id)
	h.set("/ann.ics")
	h.sync(t, id)
	h.status = http.StatusForbidden
	for range 2 {
		if _, _, err := h.SyncNow(t.Context(), h.caller, id); err != nil {
			t.Fatal(err)
		}
	}
	log, _, err := h.store.DeliveryLog(t.Context(), account.Caller{ConsumerID: h.caller.ConsumerID, Mode: job.Live}, webhook.LogFilter{}, webhook.LogCursor{}, 100, november)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(log, func(a, b webhook.DeliveryRecord) int { return int(a.Sequence - b.Sequence) })
	want := []struct{ event, part string }{
		{webhook.CalendarEventScheduled, `"startsAt":"2026-11-27T09:00:00.000Z"`}, {webhook.CalendarStateChanged, `"previous":"waiting"`},
		{webhook.CalendarEventUpdated, `"startsAt":"2026-11-27T14:00:00.000Z"`}, {webhook.CalendarEventCancelled, `"record":false`},
		{webhook.CalendarStateChanged, `"state":"failing"`},
	}
	if len(log) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(log), len(want), log)
	}
	for n, one := range want {
		sent, err := h.store.DeliveryRequest(t.Context(), account.Caller{ConsumerID: h.caller.ConsumerID, Mode: job.Live}, log[n].ID)
		if err != nil || log[n].Event != one.event || !strings.Contains(string(sent.Data), one.part) {
			t.Errorf("event %d is %s %s, want %s with %s (%v)", n, log[n].Event, sent.Data, one.event, one.part, err)
		}
	}
}
