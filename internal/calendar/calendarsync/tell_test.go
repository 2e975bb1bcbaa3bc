package calendarsync_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/testing/calendartest"
)

// TestTellOrganizers checks who is told by mail that a bot comes: the organizer of a meeting that gets one, once, some minutes
// before, if a user of the team has an address of the same domain.
func TestTellOrganizers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) {
		users := account.NewUsers(account.UserSettings{Store: h.store, Now: h.time})
		token, _, err := users.FirstUserToken(t.Context())
		if err == nil {
			_, err = users.Accept(t.Context(), token, account.NewUser{
				Name: "Ada", Password: "correct horse battery", Email: "Ada@Example.org", Consumer: "crew",
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		event := func(id, organizer string, hour int) calendartest.Event {
			return planningEvent(func(e *calendartest.Event) {
				e.ID, e.UID, e.Organizer, e.Start, e.Title = id, id, organizer, at(27, hour), "<"+id+">\r\nBcc: all"
			})
		}
		declined := event("declined", "bob@example.org", 9)
		declined.Attendees, declined.Conference = map[string]string{calendartest.Owner: "declined"}, meetLink2
		h.apis.Set(calendartest.Main, event("own", "bob@example.org", 9), event("late", "bob@example.org", 12), declined,
			event("strangers", "eve@elsewhere.test", 14))
		id := h.connectAPI(t, "google", func(c *calendarsync.Connection) { c.Rules.TellOrganizer = 10 })
		h.sync(t, id)

		var sent []string
		h.invites.SendMail = func(_ context.Context, to []string, subject, body string) error {
			if !strings.Contains(body, "People") || !strings.Contains(body, "https://standin.test/calendars") {
				t.Errorf("the mail says %s", body)
			}
			sent = append(sent, strings.Join(to, ",")+" "+subject)
			return nil
		}
		tell := func(when time.Time, want ...string) {
			t.Helper()
			h.pass(when.Sub(h.time()))
			sent = nil
			if err := h.invites.TellOrganizers(t.Context()); err != nil {
				t.Error(err)
			}
			expect(t, "told at "+when.Format("15:04"), sent, want)
		}
		tell(at(27, 9).Add(-11 * time.Minute))
		tell(at(27, 9).Add(-9*time.Minute), "bob@example.org A recorder joins “<own> Bcc: all” at 10:00 CET")
		tell(at(27, 9).Add(-8 * time.Minute))
		tell(at(27, 14).Add(-time.Minute))
		tell(at(27, 12).Add(time.Minute))

		h.SendsMail = false
		_, err = h.Change(t.Context(), h.caller, id, calendarsync.Patch{Rules: []byte(`{"tellOrganizer":5}`)})
		if refused, ok := errors.AsType[*job.Error](err); !ok || refused.Code != job.InvalidInput {
			t.Errorf("a service that sends no mail: %v", err)
		}
	})
}
