package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
)

// contractCalendarBody connects a calendar that cannot be read.
const contractCalendarBody = `{"name":"Ada","icsUrl":"http://127.0.0.1:1/secret.ics"}`

// connectCalendar connects a calendar and returns its ID.
func (h *contractHarness) connectCalendar(t testing.TB) string {
	t.Helper()
	return h.call(t, 201, h.ada, "createCalendar", contractCalendarBody).text(t, "id")
}

// contractCalendars connects a calendar, follows its meeting, and tests what is refused.
func contractCalendars(t *testing.T, h *contractHarness) {
	start := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w,
			"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:contract\r\nSUMMARY:Budget\r\nDTSTART:%s\r\nDURATION:PT1H\r\nATTENDEE:mailto:Invited@example.com\r\nATTENDEE;PARTSTAT=ACCEPTED:mailto:ada@example.com\r\nLOCATION:https://meet.google.com/cal-enda-rsx\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
			start.Format("20060102T150405Z"))
	}))
	t.Cleanup(feed.Close)
	created := h.call(t, 201, h.ada, "createCalendar", `{"name":"Ada","icsUrl":"`+feed.URL+`/secret.ics","email":"Ada@example.com","rules":{"record":["external"]},"job":{"displayName":"Notes","autoLeave":{"afterSoloSeconds":7},"transcript":{"enabled":false},"streams":[{"url":"wss://agent.example.com/"}],"output":{"camera":{"nameCard":true}}}}`)
	id := created.text(t, "id")
	if ignored := created.header.Get("X-Ignored-Fields"); ignored != "" {
		t.Errorf("the service ignores %s", ignored)
	}
	if text := string(created.body); strings.Contains(text, "secret") || created.header.Get("Location") != "/api/v1/calendars/"+id {
		t.Errorf("the new calendar: %s", text)
	}
	in := []string{id}
	h.call(t, 200, h.ada, "syncCalendar", "", in...)
	event := func() (text, eventID string) {
		t.Helper()
		text = string(h.call(t, 200, h.ada, "listCalendarEvents", "", in...).body)
		_, rest, _ := strings.Cut(text, `"id":"`)
		eventID, _, _ = strings.Cut(rest, `"`)
		return text, eventID
	}
	if text, _ := event(); !strings.Contains(text, `"reason":"not recorded: nobody of another organization takes part"`) ||
		!strings.Contains(text, `"jobId":null`) {
		t.Errorf("the event: %s", text)
	}
	h.call(t, 200, h.ada, "patchCalendar", `{"rules":{"record":["all"]}}`, in...)
	h.call(t, 200, h.ada, "syncCalendar", "", in...)
	text, eventID := event()
	_, rest, _ := strings.Cut(text, `"jobId":"`)
	jobID, _, found := strings.Cut(rest, `"`)
	if !found || !strings.Contains(text, `"record":true,"reason":"recorded: the calendar records all meetings"`) {
		t.Fatalf("the event: %s", text)
	}
	settings := h.call(t, 200, h.ada, "getJobSettings", "", jobID)
	j := h.call(t, 200, h.ada, "getJob", "", jobID)
	if !settings.has(`"displayName":"Notes"`) || !settings.has(`"nameCard":true`) || !settings.has("wss://agent.example.com/") ||
		!j.has(`"afterSoloSeconds":7`) || !j.has(`"afterMaxSeconds":14400`) {
		t.Errorf("the job: %s %s", j.body, settings.body)
	}
	reset := h.call(t, 200, h.ada, "patchCalendar", `{"rules":{"record":null}}`, in...)
	if !reset.has(`"record":["accepted","public"]`) {
		t.Errorf("the rules by default: %s", reset.body)
	}
	h.call(t, 200, h.ada, "patchCalendar", `{"rules":{"record":["all"]}}`, in...)
	h.call(t, 200, h.ada, "syncCalendar", "", in...)
	again := h.call(t, 200, h.ada, "createJob", fmt.Sprintf(
		`{"externalId":%q,"meetingUrl":"https://meet.google.com/cal-enda-rsx?authuser=1","joinAt":%q,"dedupe":true}`, uuid.NewString(), start.Format(time.RFC3339)))
	details := h.call(t, 200, h.ada, "getJobDetails", "", jobID)
	if again.text(t, "id") != jobID || fmt.Sprint(details.field(t, "sources")) != "[api feed]" {
		t.Errorf("the same meeting by the API: %s; details %s", again.body, details.body)
	}
	invited := h.call(t, 201, h.ada, "createAccount", contractAccount("Invited")).text(t, "id")
	h.call(t, 200, h.ada, "patchAccount", `{"address":"invited@example.com"}`, invited)
	if text, _ := event(); !strings.Contains(text, `"account":"Invited"`) {
		t.Errorf("the account on the invitation: %s", text)
	}
	if lent := h.call(t, 200, contractToken(jobID, 0), "borrowAccount", `{"jobId":"`+jobID+`","attempt":0}`); lent.text(t, "account") != "Invited" ||
		lent.text(t, "reason") != "its address is on the invitation" {
		t.Errorf("the invited account was not lent: %s", lent.body)
	}
	off := h.call(t, 200, h.ada, "patchCalendarEvent", `{"override":false}`, id, eventID)
	if got := h.call(t, 200, h.ada, "getJob", "", jobID).text(t, "status"); got != "cancelled" || !off.has("it was switched off") {
		t.Errorf("after it was switched off: the job is %s, %s", got, off.body)
	}
	h.call(t, 200, h.ada, "getCalendar", "", in...)
	h.call(t, 200, h.ada, "listCalendars", "")

	for _, body := range []string{
		`{}`, `{"name":"x","icsUrl":"ftp://example.com/"}`, `{"name":"x","icsUrl":"https:///x"}`,
		`{"name":"x","icsUrl":"https://example.com/","pollSeconds":59}`,
		`{"name":"x","icsUrl":"https://example.com/","rules":{"record":["accepted"]}}`,
		`{"name":"x","icsUrl":"https://example.com/","rules":{"record":[]}}`,
		`{"name":"x","icsUrl":"https://example.com/","rules":{"titleMatches":"("}}`,
		`{"name":"x","icsUrl":"https://example.com/","job":{"output":{"camera":{}}}}`,
	} {
		h.call(t, 400, h.ada, "createCalendar", body)
	}
	h.call(t, 400, h.ada, "patchCalendar", `{"email":null,"rules":{"record":["organized"]}}`, in...)
	h.call(t, 400, h.ada, "patchCalendar", `{"job":{"output":{"onJoin":{}}}}`, in...)
	h.call(t, 400, h.ada, "patchCalendarEvent", `{}`, id, eventID)
	h.call(t, 400, h.ada, "listCalendarEvents?from=yesterday", "", in...)
	h.call(t, 409, h.adasTest, "createCalendar", contractCalendarBody)
	for _, op := range []string{"getCalendar", "patchCalendar", "deleteCalendar", "syncCalendar", "listCalendarEvents", "patchCalendarEvent"} {
		request := contractRequest{op: op, in: []string{id, eventID}, bearer: h.bob, body: `{"name":"x","override":true}`}
		if op != "patchCalendarEvent" {
			request.in = in
		}
		h.expect(t, 404, request)
	}
	h.call(t, 404, h.ada, "patchCalendarEvent", `{"override":true}`, id, id)
	h.call(t, 204, h.ada, "deleteCalendar", "", in...)
	h.call(t, 404, h.ada, "getCalendar", "", in...)

	collector, _ := h.newKey(t, "collector", job.Live)
	for range calendarsync.MaxCalendars {
		h.call(t, 201, collector, "createCalendar", contractCalendarBody)
	}
	full := h.call(t, 409, collector, "createCalendar", contractCalendarBody)
	if got := full.text(t, "message"); got != "100 calendars are connected, and there can be no more." {
		t.Errorf("one calendar too many: %s", got)
	}
}

// contractPages checks that the pages of each list have all of its entries once, in its order.
func contractPages(t *testing.T, h *contractHarness) {
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "BEGIN:VCALENDAR\r\n")
		for i := range 3 { // two begin at the same time, and the one that begins first comes last
			start := time.Now().Add(time.Duration(2-i/2) * 24 * time.Hour).UTC().Format("20060102T150405Z")
			fmt.Fprintf(w, "BEGIN:VEVENT\r\nUID:%d\r\nSUMMARY:%d\r\nDTSTART:%s\r\nDURATION:PT1H\r\nEND:VEVENT\r\n", i, i, start)
		}
		fmt.Fprint(w, "END:VCALENDAR\r\n")
	}))
	t.Cleanup(feed.Close)
	key, first := h.newKey(t, "pages", job.Live)
	keys, calendars := []string{first.String()}, []string{}
	for range 2 {
		keys = append(keys, h.call(t, 201, key, "createKey", `{"name":"page"}`).text(t, "id"))
		calendars = append(calendars, h.call(t, 201, key, "createCalendar", `{"name":"Ada","icsUrl":"`+feed.URL+`"}`).text(t, "id"))
	}
	slices.Reverse(keys)
	h.call(t, 200, key, "syncCalendar", "", calendars[0])
	if events := h.call(t, 200, key, "listCalendarEvents?limit=1", "", calendars[0]); !events.has(`"title":"2"`) {
		t.Errorf("the first event: %s", events.body)
	}
	for op, want := range map[string][]string{"listKeys": keys, "listCalendars": calendars, "listCalendarEvents": nil} {
		var in []string
		if op == "listCalendarEvents" {
			in = calendars[:1]
		}
		all := listedIDs(t, h.call(t, 200, key, op, "", in...))
		if want != nil && !slices.Equal(all, want) || len(all) < 2 {
			t.Errorf("%s: %v, want %v", op, all, want)
		}
		var paged []string
		for query := "?limit=1"; query != ""; {
			page := h.call(t, 200, key, op+query, "", in...)
			paged, query = append(paged, listedIDs(t, page)...), ""
			if next, _ := page.field(t, "nextCursor").(string); next != "" {
				query = "?limit=1&cursor=" + next
			}
		}
		if !slices.Equal(paged, all) {
			t.Errorf("%s in pages of one: %v, want %v", op, paged, all)
		}
		h.call(t, 400, key, op+"?cursor=x", "", in...)
		h.call(t, 400, key, op+"?limit=101", "", in...)
	}
	for range 20 {
		h.call(t, 200, key, "patchCalendar", `{}`, calendars[1])
	}
	if entries := listedIDs(t, h.call(t, 200, key, "listAuditLog", "")); len(entries) != 20 {
		t.Errorf("a page of the audit log has %d entries", len(entries))
	}
}

// listedIDs returns the IDs of the entries of a page.
func listedIDs(t *testing.T, page contractResponse) (ids []string) {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(page.body, &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "nextCursor")
	for _, encoded := range fields {
		var entries []struct{ ID string }
		if err := json.Unmarshal(encoded, &entries); err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			ids = append(ids, entry.ID)
		}
	}
	return ids
}
