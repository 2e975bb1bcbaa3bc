package mail

import (
	"github.com/google/uuid"

	"bytes"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"standin/internal/server/httpmw"
	"standin/internal/testing/await"
	"standin/internal/testing/mailhost"
)

// listening starts a worker with an SMTP server and returns it with the
// configuration of clients.
func listening(t *testing.T, change func(*Settings)) (*harness, *tls.Config) {
	t.Helper()
	_, client := mailhost.TLS()
	certFile, keyFile := mailhost.CertificateFiles(t)
	h := newHarness(t, func(s *Settings) {
		s.SMTP = SMTPSettings{
			Listen: "127.0.0.1:0", Hostname: "mail.example.test",
			CertFile: certFile, KeyFile: keyFile,
		}
		s.Policy.Networks = prefixes("127.0.0.0/8")
		if change != nil {
			change(s)
		}
	})
	h.start(t)
	return h, client
}

// dial connects to the SMTP server with STARTTLS.
func (h *harness) dial(t *testing.T, config *tls.Config) *smtp.Client {
	t.Helper()
	c, err := smtp.DialStartTLS(h.SMTPAddr(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// awaitRecord waits until the newest message satisfies a condition.
func (h *harness) awaitRecord(t *testing.T, ok func(Record) bool) Record {
	t.Helper()
	var records []Record
	await.Until(t, "the newest message is as expected", func() bool {
		var err error
		if records, err = h.store.Records(t.Context(), uuid.Nil, 1); err != nil {
			t.Fatal(err)
		}
		return len(records) == 1 && ok(records[0])
	})
	return records[0]
}

func code(err error) int {
	var smtpErr *smtp.SMTPError
	if errors.As(err, &smtpErr) {
		return smtpErr.Code
	}
	return 0
}

// TestSMTP checks a conversation: STARTTLS, recipients, the size limit, and a
// message that is stored and processed.
func TestSMTP(t *testing.T) {
	t.Parallel()
	h, config := listening(t, nil)
	c := h.dial(t, config)
	if size, ok := c.MaxMessageSize(); !ok || size != 64<<10 {
		t.Errorf("the server announces a size limit of %d", size)
	}
	if err := c.Mail("ada@example.test", nil); err != nil {
		t.Fatal(err)
	}
	for recipient, want := range map[string]int{
		"notes@bots.example.test": 0, "Notes+weekly@bots.example.test": 0, "anyone@record.example.test": 0,
		"other@bots.example.test": 550, "notes@example.org": 550,
	} {
		if err := c.Rcpt(recipient, nil); code(err) != want || (want == 0) != (err == nil) {
			t.Errorf("mail for %s: %v, want %d", recipient, err, want)
		}
	}
	if err := c.Reset(); err != nil {
		t.Fatal(err)
	}
	large := append(sample(t, "google-single"), bytes.Repeat([]byte("X: y\r\n"), 11<<10)...)
	if err := c.SendMail("ada@example.test", []string{"notes@bots.example.test"}, bytes.NewReader(large)); code(err) != 552 {
		t.Errorf("a message that is too large: %v", err)
	}
	c = h.dial(t, config)
	if err := c.SendMail("ada@example.test", []string{"notes@bots.example.test"}, bytes.NewReader(sample(t, "google-single"))); err != nil {
		t.Fatal(err)
	}
	got := h.awaitRecord(t, func(r Record) bool { return r.Verdict != waiting })
	if got.Verdict != accepted || got.Sender != "ada@example.test" || got.Auth != "network 127.0.0.1" ||
		!strings.HasPrefix(got.Subject, "Invitation: Weekly review") ||
		len(got.Changes) != 1 || got.Changes[0].Kind != "scheduled" || len(h.scheduled(t)) != 1 {
		t.Errorf("processed %+v", got)
	}
}

// TestSMTPLimits checks the rate limit, and that a message for which there is no
// space is not acknowledged.
func TestSMTPLimits(t *testing.T) {
	t.Parallel()
	h, config := listening(t, func(s *Settings) {
		s.SMTP.Rate = httpmw.Rate{Requests: 2, Per: time.Hour}
		s.MaxBytes = 5000
	})
	send := func(name string) error {
		return h.dial(t, config).SendMail("ada@example.test", []string{"notes@bots.example.test"}, bytes.NewReader(sample(t, name)))
	}
	if err := send("google-single"); err != nil {
		t.Fatal(err)
	}
	if err := send("outlook-single"); code(err) != 452 {
		t.Errorf("a message without space: %v", err)
	}
	if err := send("google-single"); code(err) != 451 {
		t.Errorf("a message above the rate: %v", err)
	}
}

// TestSpace checks that processed messages make space for new ones, except those
// that meetings come from.
func TestSpace(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(s *Settings) { s.MaxBytes = 9000 })
	h.process(t, sample(t, "google-weekly")) // its series continues
	for range 20 {
		raw := append(sample(t, "newsletter"), bytes.Repeat([]byte{byte('a' + len(h.jobs(t)))}, 1000)...)
		h.process(t, append(raw, rand.Text()...))
	}
	records, err := h.store.Records(t.Context(), uuid.Nil, 100)
	if err != nil || len(records) < 3 || len(records) > 8 || records[len(records)-1].Verdict != accepted {
		t.Errorf("%d messages, %v", len(records), err)
	}
	h.now = h.now.Add(7 * 24 * time.Hour)
	h.run(t)
	if jobs := h.scheduled(t); len(jobs) != 3 {
		t.Errorf("jobs %q", jobs)
	}
}

// TestSMTPLongLine checks that a message with lines longer than RFC 5321 permits is
// received.
func TestSMTPLongLine(t *testing.T) {
	t.Parallel()
	h, config := listening(t, func(s *Settings) { s.Now = func() time.Time { return november } })
	raw := bytes.Replace(sample(t, "link-no-scheme"), []byte("You have been invited."), bytes.Repeat([]byte("z"), 60_000), 1)
	c := h.dial(t, config)
	if err := c.SendMail("ann@example.test", []string{"notes@bots.example.test"}, bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	h.awaitRecord(t, func(r Record) bool { return r.Verdict == accepted })
}
