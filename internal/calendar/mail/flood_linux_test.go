package mail_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"standin/internal/calendar/mail"
	"standin/internal/testing/await"
)

// floodTime is how long a message may take beside a flood: five seconds, and more with
// the race detector on a busy machine.
const floodTime = 20 * time.Second

// flood is a service with a mail worker that everyone may use. Clients have addresses
// of the loopback network.
type flood struct {
	*testing.T
	keys    mail.Keys
	address string
	service liveService
}

// startFlood starts a service with a mail worker.
func startFlood(t *testing.T) flood {
	t.Helper()
	s := startService(t)
	f := flood{T: t, service: s, keys: mail.NewKeys("good.test", "evil.test")}
	w, stop := s.startWorker(t, mail.Settings{
		Log: slog.New(slog.DiscardHandler),
		Policy: mail.Policy{
			Senders: []mail.Sender{{From: "*"}}, DomainMeetings: 20, Recipients: []string{"notes@bots.example.test"},
			LookupTXT: f.keys.Lookup,
		},
		SMTP: mail.SMTPSettings{Listen: "127.0.0.1:0", Hostname: "localhost"},
	})
	f.address = w.SMTPAddr()
	t.Cleanup(stop)
	return f
}

// dial connects from an address.
func (f flood) dial(from string) (*smtp.Client, error) {
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(f.Context(), "tcp", f.address)
	if err != nil {
		return nil, err
	}
	f.Cleanup(func() { _ = conn.Close() })
	c := smtp.NewClient(conn)
	return c, c.Hello("client.test")
}

// send sends a message.
func (f flood) send(from string, raw []byte) error {
	c, err := f.dial(from)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.SendMail("sender@client.test", []string{"notes@bots.example.test"}, bytes.NewReader(raw))
}

// invite returns a signed message with a calendar.
func (f flood) invite(author, calendar string) []byte {
	_, domain, _ := strings.Cut(author, "@")
	return f.keys.Sign(f,
		fmt.Appendf(nil,
			"From: %s\r\nTo: notes@bots.example.test\r\nSubject: %s\r\nContent-Type: text/calendar; charset=utf-8\r\n\r\nBEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\n%sEND:VCALENDAR\r\n",
			author, author, calendar), domain)
}

// event returns an event in a minute.
func event(uid, author, lines string) string {
	if lines == "" {
		lines = "DTSTART:" + time.Now().Add(time.Minute).UTC().Format("20060102T150405Z")
	}
	return fmt.Sprintf("BEGIN:VEVENT\r\nUID:%s\r\nORGANIZER:mailto:%s\r\n%s\r\nDURATION:PT1H\r\nLOCATION:https://meet.google.com/abc-defg-hij\r\nEND:VEVENT\r\n", uid, author, lines)
}

// goodMessage sends an invitation from another client, as often as it is refused for
// now, and checks that it is processed in time.
func (f flood) goodMessage() {
	f.Helper()
	began := time.Now()
	raw := f.invite("boss@good.test", event("good", "boss@good.test", ""))
	await.Until(f.T, "an accepted message", func() bool { return f.send("127.0.0.3", raw) == nil })
	var found mail.Record
	await.Until(f.T, "its record", func() bool {
		records, err := f.service.records.Records(f.Context(), uuid.Nil, 500)
		if err != nil {
			f.Fatal(err)
		}
		for _, r := range records {
			if r.Sender == "boss@good.test" && r.Verdict != "waiting" {
				found = r
			}
		}
		return found.ID != uuid.Nil
	})
	took := time.Since(began)
	f.Logf("the good message took %s", took)
	if found.Verdict != "accepted" || len(found.Changes) != 1 || took > floodTime {
		f.Errorf("the good message took %s: %+v", took, found)
	}
}

// TestAttackMailFlood floods a service with expensive invitations, messages whose name
// servers do not answer, slow connections and meetings, and sends a message of somebody
// else meanwhile.
func TestAttackMailFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	const attacker = "127.0.0.2"
	t.Run("expensive calendars", func(t *testing.T) {
		f := startFlood(t)
		var zone strings.Builder
		for i := range 20 {
			fmt.Fprintf(&zone,
				"BEGIN:STANDARD\r\nDTSTART:19700101T%02d0000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+02%02d\r\nRRULE:FREQ=YEARLY\r\nEND:STANDARD\r\n", i,
				i)
		}
		for i := range 30 {
			author := fmt.Sprintf("eve%d@evil.test", i)
			lines := []string{
				"DTSTART;TZID=Own:19700101T100000\r\nRRULE:FREQ=DAILY;COUNT=39000", "DTSTART;TZID=Own:19700101T100000\r\nRRULE:FREQ=DAILY",
				"DTSTART;TZID=Europe/Berlin:19700101T100000\r\nRRULE:FREQ=YEARLY;BYMONTHDAY=1,2,3,4,5,6,7,8,9;BYMONTH=1,2,3,4,5,6,7,8,9,10,11,12",
			}[i%3]
			calendar := "BEGIN:VTIMEZONE\r\nTZID:Own\r\n" + zone.String() + "END:VTIMEZONE\r\n"
			for uid := range 190 {
				calendar += event(fmt.Sprint(uid%20), author, lines)
			}
			if err := f.send(attacker, f.invite(author, calendar)); err != nil {
				t.Fatal(err)
			}
		}
		f.goodMessage()
	})
	t.Run("dead name servers", func(t *testing.T) {
		f := startFlood(t)
		var clients sync.WaitGroup
		defer clients.Wait()
		for i := range 30 {
			author := fmt.Sprintf("eve@dead%d.test", i)
			raw := f.invite(author, event("1", author, ""))
			clients.Go(func() { _ = f.send(attacker, raw) }) // it is refused, at once or after the lookup
		}
		f.goodMessage()
	})
	t.Run("slow connections", func(t *testing.T) {
		f := startFlood(t)
		for range 60 {
			c, err := f.dial(attacker)
			if err != nil {
				continue // too many connections
			}
			if err := errors.Join(c.Mail("eve@evil.test", nil), c.Rcpt("notes@bots.example.test", nil)); err != nil {
				t.Fatal(err)
			}
			if data, err := c.Data(); err == nil {
				_, _ = io.WriteString(data, "From: eve@evil.test\r\n")
			}
		}
		f.goodMessage()
	})
	t.Run("meetings", func(t *testing.T) {
		f := startFlood(t)
		for i := range 15 {
			author, calendar := fmt.Sprintf("eve%d@evil.test", i), ""
			for uid := range 20 {
				calendar += event(fmt.Sprint(uid), author, "")
			}
			if err := f.send(attacker, f.invite(author, calendar)); err != nil {
				t.Fatal(err)
			}
		}
		f.goodMessage()
	})
}
