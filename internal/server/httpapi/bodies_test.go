package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/server/httpapi"
)

// TestStrangersKeepOnlyStrangersOut fills the memory for bodies without credentials. The client
// who does that is told that the service is busy; others, and whoever has credentials, do not
// notice it, also at the same address.
func TestStrangersKeepOnlyStrangersOut(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.TrustedProxies = 1
		settings.Timeouts = httpapi.Timeouts{ReadJSON: 6 * testTimeout}
	})
	from := func(address string) map[string]string { return map[string]string{"X-Forwarded-For": address} }
	const size = 1 << 20
	busy := make(chan answer, 9)
	for range cap(busy) { // more than there is memory for
		connection := s.dial(strings.Replace(head("POST", ingest.EventPath, "guessed", size), "\r\n", "\r\nX-Forwarded-For: 192.0.2.1\r\n", 1))
		go func() {
			_, _ = io.WriteString(connection, strings.Repeat("x", size-1)) // the service may refuse it earlier
			got, err := io.ReadAll(connection)
			busy <- answer{body: string(got) + fmt.Sprint(err)}
		}()
	}
	if got := (<-busy).body; !strings.HasPrefix(got, "HTTP/1.1 503 ") || !strings.Contains(got, "Retry-After: ") ||
		!strings.Contains(got, "The service is too busy for this request; try again.") {
		t.Errorf("the client with the most: %s", got)
	}
	beat := `{"jobId":"` + newAdaJob.String() + `","attempt":0}`
	said := from("192.0.2.1")
	said[ingest.AttemptHeader] = newAdaJob.String() + ":0"
	for name, test := range map[string]struct {
		request request
		status  int
	}{
		"a job from there": {request{"POST", jobsPath, adasKey, from("192.0.2.1"), `{"externalId":"x","meetingUrl":"https://meet.google.com/abc"}`}, 201},
		"a bot from there": {request{"POST", ingest.HeartbeatPath, token(newAdaJob, 0), said, beat}, 200},
		"another bot":      {request{"POST", ingest.HeartbeatPath, token(newAdaJob, 0), from("192.0.2.2"), beat}, 200},
		"another stranger": {request{"POST", completeRoute, "", from("192.0.2.2"), `{"nonce":"x","apiKey":"k"}`}, 410},
	} {
		if got := s.send(t, test.request); got.status != test.status {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

type otherCalendars = httpapi.Calendars

// notified is the part of httpapi.Calendars that receives notifications.
type notified struct {
	otherCalendars
	lapsed []bool
}

func (n *notified) IsNotifySecret(id uuid.UUID, secret string) bool {
	return id == adasJob && secret == "secret"
}

func (n *notified) Notify(_ context.Context, _ uuid.UUID, lapsed bool) error {
	n.lapsed = append(n.lapsed, lapsed)
	return nil
}

// TestCalendarNotifications sends what providers send, and what they do not. Without the secret,
// nothing of a body is read.
func TestCalendarNotifications(t *testing.T) {
	t.Parallel()
	calendars := &notified{}
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Calendars, settings.Timeouts = calendars, httpapi.Timeouts{ReadJSON: short}
	})
	path := "/webhooks/calendars/" + adasJob.String()
	for _, test := range []struct {
		name, path string
		google     bool
		body       string
		status     int
		notified   string
	}{
		{"Google", path + "/secret", true, "", 202, "[false]"},
		{"Microsoft", path + "/secret", false, `{"value":[{"changeType":"updated"},{"resource":"x"}]}`, 202, "[false]"},
		{"a lapsed subscription", path + "/secret", false, `{"value":[{},{"lifecycleEvent":"missed"}]}`, 202, "[true]"},
		{"Microsoft's test", path + "/secret?validationToken=tested", false, "", 200, ""},
		{"another secret", path + "/guessed", false, `{"value":[{}]}`, 404, ""},
		{"a test with another secret", path + "/guessed?validationToken=tested", false, "", 404, ""},
		{"another calendar", "/webhooks/calendars/" + bobsJob.String() + "/secret", true, "", 404, ""},
		{"no secret", path, true, "", 404, ""},
		{"no notification", path + "/secret", false, `{"value":[]}`, 400, ""},
		{"no JSON", path + "/secret", false, "{", 400, ""},
		{"too large", path + "/secret", false, padded(64<<10 + 1), 413, ""},
	} {
		header := map[string]string{}
		if test.google {
			header["X-Goog-Channel-Id"] = "channel"
		}
		calendars.lapsed = nil
		got := s.send(t, request{"POST", test.path, "", header, test.body})
		said := ""
		if len(calendars.lapsed) > 0 {
			said = "[" + strconv.FormatBool(calendars.lapsed[0]) + "]"
		}
		if got.status != test.status || said != test.notified || test.status == http.StatusOK && got.body != "tested" {
			t.Errorf("%s: %d %q, notified %q", test.name, got.status, got.body, said)
		}
	}
	unread := s.dial("POST " + path + "/guessed HTTP/1.1\r\nHost: standin\r\nContent-Length: 65536\r\n\r\n")
	if got := readAnswer(t, unread); got.status != http.StatusNotFound { // 408 if it was read
		t.Errorf("another secret without a body: %d", got.status)
	}
}
