package mail

import (
	"github.com/google/uuid"

	"bytes"
	"net/url"
	"slices"
	"testing"
	"time"

	"standin/internal/testing/await"
	"standin/internal/testing/mailhost"
)

// imapSettings returns those of a mailbox.
func imapSettings(host *mailhost.IMAP, interval time.Duration) IMAPSettings {
	_, client := mailhost.TLS()
	return IMAPSettings{
		URL: &url.URL{Scheme: "imaps", User: url.User(mailhost.User), Host: host.Address}, Password: "secret",
		Interval: interval, Reconnect: 10 * time.Millisecond, TLS: client,
	}
}

// trusted returns a message of the corpus that a trusted mail host has
// authenticated.
func trusted(t *testing.T, name string) []byte {
	t.Helper()
	return append([]byte("Authentication-Results: mx.example.test; dmarc=pass header.from=example.test\r\n"), sample(t, name)...)
}

// tooLarge returns a message above the limit of newHarness.
func tooLarge() []byte { return bytes.Repeat([]byte("X: y\r\n"), 20<<10) }

// awaitOpened waits until the worker has seen the mailbox.
func (h *harness) awaitOpened(t *testing.T, host *mailhost.IMAP) mailbox {
	t.Helper()
	var box mailbox
	await.Until(t, "the mailbox is opened", func() bool {
		var err error
		if box, err = h.store.mailbox(t.Context(), "notes@"+host.Address+"/INBOX"); err != nil {
			t.Fatal(err)
		}
		return !box.firstSeen.IsZero()
	})
	return box
}

// TestIMAP checks that messages that arrive in a mailbox are processed at once,
// marked as seen when they are stored, and read once, also after the connection
// was lost. Older messages and large ones stay unread.
func TestIMAP(t *testing.T) {
	t.Parallel()
	host := mailhost.NewIMAP(t, "secret")
	host.Deliver(t, trusted(t, "google-weekly"), monday)
	h := newHarness(t, func(s *Settings) {
		s.IMAP = imapSettings(host, 100*time.Millisecond)
		s.Policy.AuthservIDs = []string{"mx.example.test"}
	})
	h.start(t)
	h.awaitOpened(t, host)
	host.Deliver(t, sample(t, "google-single"), monday)
	h.awaitRecord(t, func(r Record) bool { return r.Verdict == refused }) // it is not authenticated
	host.Deliver(t, trusted(t, "google-update"), monday)
	h.awaitRecord(t, func(r Record) bool { return r.Verdict == accepted && r.Auth == "DMARC, checked by mx.example.test" })
	host.Deliver(t, tooLarge(), monday)
	host.Deliver(t, trusted(t, "outlook-single"), monday)
	h.awaitRecord(t, func(r Record) bool { return r.Subject == "Jour fixe" && r.Verdict == accepted })

	host.Stop()
	host.Deliver(t, trusted(t, "google-cancel"), monday)
	host.Start(t)
	h.awaitRecord(t, func(r Record) bool {
		return r.Verdict == accepted && len(r.Changes) == 1 && r.Changes[0].Kind == "cancelled"
	})
	if got, want := host.Seen(t), []bool{false, true, true, false, true, true}; !slices.Equal(got, want) {
		t.Errorf("seen %v, want %v", got, want)
	}
	records, err := h.store.Records(t.Context(), uuid.Nil, 100)
	if err != nil || len(records) != 4 {
		t.Errorf("%d messages, %v, want each once", len(records), err)
	}
	if box := h.awaitOpened(t, host); box.uid != 6 || !box.firstSeen.Equal(monday) {
		t.Errorf("the mailbox is %+v", box)
	}
	if jobs := h.scheduled(t); len(jobs) != 1 {
		t.Errorf("jobs %q", jobs)
	}
}

// TestIMAPChecks counts the commands of a mailbox with old unread messages and a
// large one: each check is one FETCH, and no message is looked at twice.
func TestIMAPChecks(t *testing.T) {
	t.Parallel()
	host := mailhost.NewIMAP(t, "secret")
	for range 5 {
		host.Deliver(t, sample(t, "newsletter"), monday)
	}
	h := newHarness(t, func(s *Settings) { s.IMAP = imapSettings(host, time.Millisecond) })
	h.start(t)
	h.awaitOpened(t, host)
	host.Deliver(t, tooLarge(), monday)
	host.Deliver(t, sample(t, "newsletter"), monday)
	h.awaitRecord(t, func(r Record) bool { return r.Verdict != waiting })
	after := func() []string { // the commands after both messages
		fetched := host.Fetched()
		if first := slices.Index(fetched, "8:*"); first >= 0 {
			return fetched[first:]
		}
		return nil
	}
	await.Until(t, "the mailbox is checked five times", func() bool { return len(after()) > 5 })
	for _, fetched := range after() {
		if fetched != "8:*" {
			t.Errorf("a check fetches %s, want 8:*", fetched)
		}
	}
	bodies := slices.DeleteFunc(host.Fetched(), func(fetched string) bool { return fetched != "body" })
	if len(bodies) != 1 {
		t.Errorf("%d messages were read, want 1", len(bodies))
	}
	if got, want := host.Seen(t), []bool{false, false, false, false, false, false, true}; !slices.Equal(got, want) {
		t.Errorf("seen %v, want %v", got, want)
	}
}

// TestIMAPRenumbered checks that a mailbox with new UIDs loses no message: the
// unread ones are read, but not those from before the worker saw the mailbox.
func TestIMAPRenumbered(t *testing.T) {
	t.Parallel()
	host := mailhost.NewIMAP(t, "secret")
	h := newHarness(t, func(s *Settings) { s.IMAP = imapSettings(host, 10*time.Millisecond) })
	h.start(t)
	before := h.awaitOpened(t, host)
	host.Stop()
	host.Empty(t, "Other", "INBOX")
	host.Deliver(t, sample(t, "google-single"), monday.Add(-time.Second))
	host.Deliver(t, sample(t, "google-single"), monday.AddDate(0, -1, 0))
	host.Deliver(t, sample(t, "newsletter"), monday.Add(time.Minute))
	host.Start(t)
	h.awaitRecord(t, func(r Record) bool { return r.Verdict != waiting })
	host.Deliver(t, sample(t, "outlook-single"), monday.AddDate(0, -1, 0)) // moved there from another mailbox
	h.awaitRecord(t, func(r Record) bool { return r.Subject == "Jour fixe" })
	records, err := h.store.Records(t.Context(), uuid.Nil, 100)
	if err != nil || len(records) != 2 {
		t.Errorf("%d messages, %v, want 2", len(records), err)
	}
	if box := h.awaitOpened(t, host); box.validity == before.validity || !box.firstSeen.Equal(before.firstSeen) {
		t.Errorf("the mailbox was %+v and is %+v", before, box)
	}
}

// TestIMAPIdle checks that the server's announcements are used.
func TestIMAPIdle(t *testing.T) {
	t.Parallel()
	host := mailhost.NewIMAP(t, "secret")
	h := newHarness(t, func(s *Settings) { s.IMAP = imapSettings(host, time.Hour) })
	h.start(t)
	h.awaitOpened(t, host)
	await.Until(t, "messages are announced", func() bool {
		// The server does not announce one that arrives just before the worker waits.
		host.Deliver(t, sample(t, "newsletter"), monday)
		records, err := h.store.Records(t.Context(), uuid.Nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		return len(records) == 2
	})
}

// TestIMAPSettings checks the URL of the mailbox and that its password is not in
// it.
func TestIMAPSettings(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"imaps://notes@mail.example.test": true, "imap://notes@mail.example.test/Invites": true,
		"imaps://notes:secret@mail.example.test": false, "https://notes@mail.example.test": false, "imaps://mail.example.test": false,
	} {
		parsed, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := (IMAPSettings{URL: parsed, Password: "secret"}).check(); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
