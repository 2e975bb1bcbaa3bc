package service_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// contractCalendarBody connects a calendar that cannot be read.
const contractCalendarBody = `{"name":"Ada","icsUrl":"http://127.0.0.1:1/secret.ics"}`

// connectCalendar connects a calendar and returns its ID.
func (h *contractHarness) connectCalendar(t testing.TB) string {
	t.Helper()
	return h.expect(t, 201, contractRequest{op: "createCalendar", bearer: h.ada, body: contractCalendarBody}).text(t, "id")
}

// contractCalendars connects a calendar, follows its meeting, and tests what is refused.
func contractCalendars(t *testing.T, h *contractHarness) {
	start := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:contract\r\nSUMMARY:Budget\r\nDTSTART:%s\r\nDURATION:PT1H\r\nLOCATION:https://meet.google.com/cal-enda-rsx\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
			start.Format("20060102T150405Z"))
	}))
	t.Cleanup(feed.Close)
	created := h.expect(t, 201, contractRequest{op: "createCalendar", bearer: h.ada, body: `{"name":"Ada","icsUrl":"` + feed.URL + `/secret.ics","email":"Ada@example.com","rules":{"record":"external"},"job":{"displayName":"Notes","autoLeave":{"afterSoloSeconds":7},"transcript":{"enabled":false},"streams":[{"url":"wss://agent.example.com/"}],"output":{"camera":{"nameCard":true}}}}`})
	id := created.text(t, "id")
	if ignored := created.header.Get("X-Ignored-Fields"); ignored != "" {
		t.Errorf("the service ignores %s", ignored)
	}
	if text := string(created.body); strings.Contains(text, "secret") || created.header.Get("Location") != "/api/v1/calendars/"+id {
		t.Errorf("the new calendar: %s", text)
	}
	in := []string{id}
	h.expect(t, 200, contractRequest{op: "syncCalendar", in: in, bearer: h.ada})
	event := func() (text, eventID string) {
		t.Helper()
		text = string(h.expect(t, 200, contractRequest{op: "listCalendarEvents", in: in, bearer: h.ada}).body)
		_, rest, _ := strings.Cut(text, `"id":"`)
		eventID, _, _ = strings.Cut(rest, `"`)
		return text, eventID
	}
	if text, _ := event(); !strings.Contains(text, `"reason":"not recorded: nobody of another organization takes part"`) || !strings.Contains(text, `"jobId":null`) {
		t.Errorf("the event: %s", text)
	}
	h.expect(t, 200, contractRequest{op: "patchCalendar", in: in, bearer: h.ada, body: `{"rules":{"record":"all"}}`})
	h.expect(t, 200, contractRequest{op: "syncCalendar", in: in, bearer: h.ada})
	text, eventID := event()
	_, rest, _ := strings.Cut(text, `"jobId":"`)
	jobID, _, found := strings.Cut(rest, `"`)
	if !found || !strings.Contains(text, `"record":true,"reason":"recorded: the calendar records all meetings"`) {
		t.Fatalf("the event: %s", text)
	}
	settings := h.expect(t, 200, contractRequest{op: "getJobSettings", in: []string{jobID}, bearer: h.ada})
	j := h.expect(t, 200, contractRequest{op: "getJob", in: []string{jobID}, bearer: h.ada})
	if !strings.Contains(string(settings.body), `"displayName":"Notes"`) || !strings.Contains(string(settings.body), `"nameCard":true`) || !strings.Contains(string(settings.body), "wss://agent.example.com/") || !strings.Contains(string(j.body), `"afterSoloSeconds":7`) || !strings.Contains(string(j.body), `"afterMaxSeconds":14400`) {
		t.Errorf("the job: %s %s", j.body, settings.body)
	}
	again := h.expect(t, 200, contractRequest{op: "createJob", bearer: h.ada, body: fmt.Sprintf(
		`{"externalId":%q,"meetingUrl":"https://meet.google.com/cal-enda-rsx?authuser=1","joinAt":%q,"dedupe":true}`, uuid.NewString(), start.Format(time.RFC3339))})
	details := h.expect(t, 200, contractRequest{op: "getJobDetails", in: []string{jobID}, bearer: h.ada})
	if again.text(t, "id") != jobID || fmt.Sprint(details.field(t, "sources")) != "[api feed]" {
		t.Errorf("the same meeting by the API: %s; details %s", again.body, details.body)
	}
	off := h.expect(t, 200, contractRequest{op: "patchCalendarEvent", in: []string{id, eventID}, bearer: h.ada, body: `{"override":false}`})
	if got := h.expect(t, 200, contractRequest{op: "getJob", in: []string{jobID}, bearer: h.ada}).text(t, "status"); got != "cancelled" || !strings.Contains(string(off.body), "it was switched off") {
		t.Errorf("after it was switched off: the job is %s, %s", got, off.body)
	}
	h.expect(t, 200, contractRequest{op: "getCalendar", in: in, bearer: h.ada})
	h.expect(t, 200, contractRequest{op: "listCalendars", bearer: h.ada})

	for _, body := range []string{
		`{}`, `{"name":"x","icsUrl":"ftp://example.com/"}`, `{"name":"x","icsUrl":"https:///x"}`, `{"name":"x","icsUrl":"https://example.com/","pollSeconds":59}`,
		`{"name":"x","icsUrl":"https://example.com/","rules":{"record":"accepted"}}`, `{"name":"x","icsUrl":"https://example.com/","rules":{"titleMatches":"("}}`,
		`{"name":"x","icsUrl":"https://example.com/","job":{"output":{"camera":{}}}}`,
	} {
		h.expectCode(t, 400, "invalid_input", contractRequest{op: "createCalendar", bearer: h.ada, body: body})
	}
	h.expect(t, 400, contractRequest{op: "patchCalendar", in: in, bearer: h.ada, body: `{"email":null,"rules":{"record":"organized"}}`})
	h.expect(t, 400, contractRequest{op: "patchCalendar", in: in, bearer: h.ada, body: `{"job":{"output":{"onJoin":{}}}}`})
	h.expect(t, 400, contractRequest{op: "patchCalendarEvent", in: []string{id, eventID}, bearer: h.ada, body: `{}`})
	h.expect(t, 400, contractRequest{op: "listCalendarEvents", in: in, query: "from=yesterday", bearer: h.ada})
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "createCalendar", bearer: h.adasTest, body: contractCalendarBody})
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "patchCalendar", in: in, bearer: h.adasTest, body: `{"name":"x"}`})
	for _, op := range []string{"getCalendar", "patchCalendar", "deleteCalendar", "syncCalendar", "listCalendarEvents", "patchCalendarEvent"} {
		request := contractRequest{op: op, in: []string{id, eventID}, bearer: h.bob, body: `{"name":"x","override":true}`}
		if op != "patchCalendarEvent" {
			request.in = in
		}
		h.expectCode(t, 404, "not_found", request)
	}
	h.expect(t, 404, contractRequest{op: "patchCalendarEvent", in: []string{id, id}, bearer: h.ada, body: `{"override":true}`})
	h.expect(t, 204, contractRequest{op: "deleteCalendar", in: in, bearer: h.ada})
	h.expect(t, 404, contractRequest{op: "getCalendar", in: in, bearer: h.ada})
}
