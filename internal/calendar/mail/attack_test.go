package mail

import (
	"standin/internal/jobs/job"

	"github.com/google/uuid"

	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// vevent returns a calendar with an event tomorrow.
func vevent(uid, organizer string, lines ...string) string {
	return "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:" + uid + "\r\nORGANIZER:mailto:" + organizer +
		"\r\nDTSTART:20261020T120000Z\r\nDURATION:PT1H\r\n" +
		"LOCATION:https://meet.google.com/abc-defg-hij\r\n" + strings.Join(append(lines, "END:VEVENT", "END:VCALENDAR"), "\r\n") + "\r\n"
}

// message returns a message with header fields and a body.
func messageOf(body string, fields ...string) []byte {
	return []byte(strings.Join(fields, "\r\n") + "\r\n\r\n" + body)
}

// attacked is a worker that verifies DKIM signatures of good.test.
func attacked(t *testing.T, change func(*Settings)) (*harness, dnsKeys) {
	t.Helper()
	keys := newKeys("good.test", "mail.good.test", "strict.test", "mail.strict.test", "evil.test")
	return newHarness(t, func(s *Settings) {
		s.Policy.LookupTXT = func(ctx context.Context, name string) ([]string, error) {
			if name == "_dmarc.strict.test" {
				return []string{"v=DMARC1; p=reject; adkim=s"}, nil
			}
			return keys.lookup(ctx, name)
		}
		s.Policy.AuthservIDs = []string{"mx.example.test"}
		if change != nil {
			change(s)
		}
	}), keys
}

// TestAttackReplayedInvitation sends an invitation of boss@good.test to somebody else
// to the bot, as its receiver can, with and without changes that a signature permits.
func TestAttackReplayedInvitation(t *testing.T) {
	t.Parallel()
	fields := []string{
		"From: boss@good.test", "To: eve@evil.test", "Subject: Board", "Date: Mon, 19 Oct 2026 07:00:00 +0000", "Content-Type: text/calendar",
	}
	all := []string{"From", "To", "Subject", "Date", "Content-Type"}
	others := messageOf(vevent("1", "boss@good.test", "ATTENDEE:mailto:eve@evil.test"), fields...)
	invited := messageOf(vevent("1", "boss@good.test", "ATTENDEE;CN=Notes:mailto:Notes@bots.example.test"), fields...)
	toBot := bytes.Replace(others, []byte("To: eve@evil.test"), []byte("To: Notes <notes+board@bots.example.test>"), 1)
	h, keys := attacked(t, nil)
	sign := func(raw []byte, fields ...string) []byte { return keys.signFields(t, raw, "good.test", fields...) }
	before := func(field string, raw []byte) []byte { return append([]byte(field+"\r\n"), raw...) }
	const passed = "Authentication-Results: mx.example.test; dkim=pass header.d=good.test"
	for name, test := range map[string]struct {
		raw    []byte
		source string
		want   string
	}{
		"as it is": {raw: sign(others, all...), want: "does not invite this address"},
		"with a second To field": {
			raw: before("To: notes@bots.example.test", sign(others, all...)), want: "does not invite this address",
		},
		"with a Cc field": {
			raw: before("Cc: notes@bots.example.test", sign(others, all...)), want: "does not invite this address",
		},
		"with a To field that is unsigned": {raw: sign(toBot, "From", "Subject", "Date", "Content-Type"), want: "does not invite this address"},
		"in the mailbox":                   {raw: before(passed, sign(others, all...)), source: "imap", want: "does not invite this address"},
		"in the mailbox, with a To field": {
			raw: before(passed, before("To: notes@bots.example.test", sign(others, all...))), source: "imap",
			want: "does not invite this address",
		},
		"with another signature of all fields": {
			raw: before(passed, before("DKIM-Signature: v=1; d=good.test; s=x; h=From:To:Subject:Date:Content-Type:To",
				before("To: notes@bots.example.test", sign(others, all...)))),
			source: "imap", want: "does not invite this address",
		},
		"with another subject": {
			raw:  bytes.Replace(sign(invited, "From", "To", "Date", "Content-Type"), []byte("Board"), []byte("Tea"), 1),
			want: "does not include the Subject field",
		},
		"with a second subject":        {raw: before("Subject: Tea", sign(invited, all...)), want: "does not include the Subject field"},
		"an invitation of the bot":     {raw: sign(invited, all...)},
		"an invitation to the bot":     {raw: sign(toBot, all...)},
		"an invitation in the mailbox": {raw: before(passed, sign(toBot, all...)), source: "imap"},
		"a host that has sent it to us": {
			raw: before("Authentication-Results: mx.example.test; spf=pass smtp.mailfrom=good.test", toBot), source: "imap",
		},
		"a host that has sent it to other": {
			raw: before("Authentication-Results: mx.example.test; spf=pass smtp.mailfrom=good.test", others), source: "imap",
			want: "does not invite this address",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := attacked(t, func(s *Settings) { s.Policy.LookupTXT = h.Policy.LookupTXT })
			got := h.processFrom(t, cmp.Or(test.source, "smtp"), "203.0.113.9", test.raw)
			if jobs := h.scheduled(t); (test.want == "") != (len(jobs) == 1) || !strings.Contains(got.Detail, test.want) {
				t.Errorf("%s by %q, %q, jobs %q", got.Verdict, got.Auth, got.Detail, jobs)
			}
		})
	}
}

// TestAttackOldSignature receives a message whose signature is older than a week.
func TestAttackOldSignature(t *testing.T) {
	t.Parallel()
	raw := messageOf(vevent("1", "boss@good.test", "RRULE:FREQ=DAILY"), "From: boss@good.test", "To: notes@bots.example.test",
		"Content-Type: text/calendar")
	h, keys := attacked(t, func(s *Settings) { s.Now = func() time.Time { return time.Now().Add(8 * 24 * time.Hour) } })
	signed := keys.signFields(t, raw, "good.test", "From", "To", "Content-Type") // now
	if got := h.processFrom(t, "smtp", "203.0.113.9", signed); got.Verdict != refused || !strings.Contains(got.Detail, "older than 7 days") {
		t.Errorf("%s: %s", got.Verdict, got.Detail)
	}
}

// TestAttackUnsignedContentType turns a signed text of boss@good.test that quotes lines
// of the attacker into an invitation.
func TestAttackUnsignedContentType(t *testing.T) {
	t.Parallel()
	quoted := vevent("1", "boss@good.test", "ATTENDEE:mailto:notes@bots.example.test")
	text := func(kind, body string) []byte {
		return messageOf(body, "From: boss@good.test", "To: notes@bots.example.test", "Subject: Re: What is this?",
			"Date: Mon, 19 Oct 2026 07:00:00 +0000", "Content-Type: "+kind)
	}
	part := "--b\r\nContent-Type: text/calendar\r\n\r\n" + quoted + "--b--\r\n"
	h, keys := attacked(t, nil)
	sign := func(raw []byte, fields ...string) []byte {
		return keys.signFields(t, raw, "good.test", append(fields, "From", "To", "Subject", "Date")...)
	}
	changed := func(raw []byte, from, to string) []byte {
		return bytes.Replace(raw, []byte("Content-Type: "+from), []byte("Content-Type: "+to), 1)
	}
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"the text": {raw: sign(text("text/plain", "What is this?\r\n"+quoted)), want: "not signed by the sender"},
		"as a calendar": {
			raw: changed(sign(text("text/plain", "What is this?\r\n"+quoted)), "text/plain", "text/calendar"), want: "not signed by the sender",
		},
		"that begins with the quote": {
			raw: changed(sign(text("text/plain", quoted)), "text/plain", "text/calendar"), want: "not signed by the sender",
		},
		"in another encoding": {
			raw:  append([]byte("Content-Transfer-Encoding: quoted-printable\r\n"), sign(text("text/calendar", quoted), "Content-Type")...),
			want: "not signed by the sender",
		},
		"with a second type": {
			raw:  append([]byte("Content-Type: text/calendar\r\n"), sign(text("text/plain", quoted), "Content-Type")...),
			want: "not signed by the sender",
		},
		"as parts": {
			raw:  changed(sign(text("text/plain", "What is this?\r\n"+part)), "text/plain", "multipart/mixed; boundary=b"),
			want: "not signed by the sender",
		},
		"as other parts": {
			raw: changed(sign(text("multipart/mixed; boundary=a", "--a\r\n\r\nWhat is this?\r\n"+part+"--a--\r\n")), "multipart/mixed; boundary=a",
				"multipart/mixed; boundary=b"),
			want: "not signed by the sender",
		},
		"a signed calendar with other text": {
			raw: sign(text("text/calendar", "What is this?\r\n"+quoted), "Content-Type"), want: "neither a calendar",
		},
		"a signed calendar":         {raw: sign(text("text/calendar", quoted), "Content-Type")},
		"parts that begin the body": {raw: sign(text(`multipart/mixed; boundary="b"`, "\r\n"+part))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := attacked(t, func(s *Settings) { s.Policy.LookupTXT = h.Policy.LookupTXT })
			got := h.processFrom(t, "smtp", "203.0.113.9", test.raw)
			if jobs := h.scheduled(t); (test.want == "") != (len(jobs) == 1) || !strings.Contains(got.Detail, test.want) || got.Auth == "" {
				t.Errorf("%s by %q, %q, jobs %q", got.Verdict, got.Auth, got.Detail, jobs)
			}
		})
	}
}

// TestAttackSubdomainVouches signs with the key of a subdomain whose organization has a
// strict DMARC policy, and with one whose organization has none.
func TestAttackSubdomainVouches(t *testing.T) {
	t.Parallel()
	for domain, want := range map[string]string{"strict.test": "whose DMARC policy is strict", "good.test": ""} {
		h, keys := attacked(t, nil)
		raw := messageOf(vevent("1", "ceo@"+domain), "From: ceo@"+domain, "To: notes@bots.example.test", "Content-Type: text/calendar")
		for signer, want := range map[string]string{"mail." + domain: want, domain: ""} {
			signed := keys.signFields(t, raw, signer, "From", "To", "Content-Type")
			if got := h.processFrom(t, "smtp", "203.0.113.9", signed); (got.Auth != "") != (want == "") || !strings.Contains(got.Detail, want) {
				t.Errorf("%s signs for %s: %q, %s", signer, domain, got.Auth, got.Detail)
			}
		}
	}
}

// TestAttackForeignSignatures checks that keys of domains that cannot vouch for the
// sender are not looked up.
func TestAttackForeignSignatures(t *testing.T) {
	t.Parallel()
	keys := newKeys("evil.test")
	var lookups atomic.Int32
	h := newHarness(t, func(s *Settings) {
		s.Policy.LookupTXT = func(ctx context.Context, name string) ([]string, error) {
			lookups.Add(1)
			return keys.lookup(ctx, name)
		}
	})
	raw := keys.sign(t, sample(t, "google-single"), "evil.test")
	if got := h.processFrom(t, "smtp", "203.0.113.9", raw); got.Verdict != refused || lookups.Load() != 0 {
		t.Errorf("%s: %s, after %d lookups", got.Verdict, got.Detail, lookups.Load())
	}
}

// deadDNS has name servers of dead.test domains that do not answer, and those of keys.
type deadDNS struct {
	keys    dnsKeys
	waiting atomic.Int32
	lookups atomic.Int32
}

func (d *deadDNS) lookup(ctx context.Context, name string) ([]string, error) {
	if !strings.Contains(name, "dead") {
		return d.keys.lookup(ctx, name)
	}
	d.lookups.Add(1)
	d.waiting.Add(1)
	<-ctx.Done()
	return nil, &net.DNSError{Err: "timeout", Name: name, IsTimeout: true, IsTemporary: true}
}

// TestAttackDeadNameServers puts messages into the mailbox whose keys are in name
// servers that do not answer, and checks that one behind them is not delayed.
func TestAttackDeadNameServers(t *testing.T) {
	t.Parallel()
	dns := &deadDNS{keys: newKeys("good.test")}
	h := newHarness(t, func(s *Settings) { s.Policy.LookupTXT = dns.lookup })
	for i := range authenticators - 1 {
		from := fmt.Sprintf("eve@dead%d.test", i)
		raw := dns.keys.sign(t, messageOf(vevent("1", from), "From: "+from, "To: notes@bots.example.test", "Subject: x", "Date: x"),
			fmt.Sprintf("dead%d.test", i))
		if err := h.receive(t.Context(), received{source: "imap", origin: from, raw: raw}); err != nil {
			t.Fatal(err)
		}
	}
	good := dns.keys.signFields(t, messageOf(vevent("1", "boss@good.test"), "From: boss@good.test", "To: notes@bots.example.test",
		"Content-Type: text/calendar"), "good.test", "From", "To", "Content-Type")
	if err := h.receive(t.Context(), received{source: "imap", raw: good}); err != nil {
		t.Fatal(err)
	}
	h.start(t)
	got := h.awaitRecord(t, func(r Record) bool { return r.Verdict != waiting })
	if got.Verdict != accepted || dns.waiting.Load() != authenticators-1 {
		t.Errorf("%s (%s) beside %d lookups", got.Verdict, got.Detail, dns.waiting.Load())
	}
}

// TestAttackDeadNameServersOverSMTP sends messages whose keys are in name servers that
// do not answer: the client is told to try again later, nothing is stored, and the
// domain is not asked again at once.
func TestAttackDeadNameServersOverSMTP(t *testing.T) {
	t.Parallel()
	dns := &deadDNS{keys: newKeys()}
	h, config := listening(t, func(s *Settings) {
		s.Policy.Networks = nil
		s.Policy.LookupTXT = func(ctx context.Context, name string) ([]string, error) {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			return dns.lookup(ctx, name)
		}
	})
	for i := range 5 {
		raw := dns.keys.sign(t, sample(t, "google-single"), fmt.Sprintf("dead%d.example.test", i))
		if err := h.dial(t, config).SendMail("ada@example.test", []string{"notes@bots.example.test"}, bytes.NewReader(raw)); code(err) != 451 {
			t.Errorf("message %d: %v", i, err)
		}
	}
	records, err := h.store.Records(t.Context(), uuid.Nil, 10)
	if err != nil || len(records) != 0 || dns.lookups.Load() != 1 {
		t.Errorf("%d messages are stored after %d lookups, %v", len(records), dns.lookups.Load(), err)
	}
}

// TestAttackStrangersStartBots schedules as many meetings as possible from one domain
// that only * admits, and concentrates them on one day.
func TestAttackStrangersStartBots(t *testing.T) {
	t.Parallel()
	h, _ := attacked(t, func(s *Settings) { s.Policy.DomainMeetings = 20 })
	send := func(from string, events int, day time.Time) Record {
		var calendar strings.Builder
		calendar.WriteString("BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\n")
		for i := range events {
			fmt.Fprintf(&calendar,
				"BEGIN:VEVENT\r\nUID:%s-%d\r\nSEQUENCE:%d\r\nORGANIZER:mailto:%s\r\nDTSTART:%s\r\n"+
					"DURATION:PT1H\r\nLOCATION:https://zoom.us/j/81234567%03d\r\nEND:VEVENT\r\n",
				from, i, day.YearDay(), from, day.Add(time.Duration(i)*time.Minute).Format("20060102T150405Z"), i)
		}
		calendar.WriteString("END:VCALENDAR\r\n")
		return h.process(t, messageOf(calendar.String(), "From: "+from, "Content-Type: text/calendar"))
	}
	organizers := func(domain string) (jobs int, organizers map[string]bool) {
		organizers = make(map[string]bool)
		for _, j := range h.jobs(t) {
			if j.Status != job.Cancelled && strings.HasSuffix(j.Email, domain) {
				jobs++
				organizers[j.Email] = true
			}
		}
		return jobs, organizers
	}
	tomorrow := monday.AddDate(0, 0, 1)
	var last Record
	for i := range 3 {
		last = send(fmt.Sprintf("eve%d@x%d.evil.org", i, i), 20, tomorrow)
	}
	if jobs, organizers := organizers("evil.org"); jobs != 20 || len(organizers) != 1 {
		t.Errorf("%d jobs of %d consumers", jobs, len(organizers))
	}
	if last.Verdict != refused || !strings.Contains(last.Detail, "the senders of evil.org may schedule 20 meetings a day") {
		t.Errorf("%s: %s", last.Verdict, last.Detail)
	}
	for i := range 3 { // a domain that the operator names
		send(fmt.Sprintf("a%d@example.test", i), 10, tomorrow)
	}
	if last := send("a@friend.org", 1, tomorrow); last.Verdict != accepted {
		t.Errorf("another domain: %s", last.Detail)
	}
	if jobs, _ := organizers("example.test"); jobs != 30 {
		t.Errorf("%d jobs of a domain that is named", jobs)
	}
	for day := range 2 { // then 20 meetings on each of two days, moved to one
		h.now = h.now.AddDate(0, 0, 2)
		send(fmt.Sprintf("moving%d@evil.org", day), 20, monday.AddDate(0, 0, 20+3*day))
	}
	for day := range 2 {
		h.now = h.now.AddDate(0, 0, 2)
		send(fmt.Sprintf("moving%d@evil.org", day), 20, monday.AddDate(0, 0, 40))
	}
	perDay := make(map[string]int)
	for _, j := range h.jobs(t) {
		if j.Status != job.Cancelled && strings.HasSuffix(j.Email, "evil.org") {
			perDay[j.JoinAt.Format(time.DateOnly)]++
		}
	}
	for day, jobs := range perDay {
		if jobs > 20 {
			t.Errorf("%d jobs on %s", jobs, day)
		}
	}
	if len(perDay) < 3 {
		t.Errorf("jobs by day: %v", perDay)
	}
}

// TestAttackQueue sends many messages from one domain before one of another, which is
// processed first or second.
func TestAttackQueue(t *testing.T) {
	t.Parallel()
	h, _ := attacked(t, nil)
	var verdicts []string
	for i := range 30 {
		raw := messageOf(vevent(fmt.Sprint("x-", i), fmt.Sprintf("eve%d@evil.test", i)), fmt.Sprintf("From: eve%d@evil.test", i),
			"Content-Type: text/calendar")
		if err := h.receive(t.Context(), received{source: "smtp", remote: "192.0.2.1", raw: raw}); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.receive(t.Context(), received{
		source: "smtp", remote: "192.0.2.1",
		raw: messageOf(vevent("good", "boss@good.test"), "From: boss@good.test", "Content-Type: text/calendar"),
	}); err != nil {
		t.Fatal(err)
	}
	h.SetStep(func(name string) {
		if name == "before jobs" {
			verdicts = append(verdicts, name)
		}
	})
	h.run(t)
	at := slices.IndexFunc(h.jobs(t), func(j scheduledJob) bool { return j.Email == "boss@good.test" })
	if at < 0 || at > 1 || len(verdicts) != 31 {
		t.Errorf("the message is processed after %d others of %d", at, len(verdicts))
	}
}

// TestAttackExpensiveMessages processes messages that combine what is expensive: each
// must be done in a second or two, with or without a result.
func TestAttackExpensiveMessages(t *testing.T) {
	t.Parallel()
	var events, zones strings.Builder
	for i := range 200 {
		fmt.Fprintf(&events, "BEGIN:VEVENT\r\nUID:%d\r\nDTSTART:20261020T120000Z\r\nEND:VEVENT\r\n", i%20)
	}
	for i := range 790 {
		fmt.Fprintf(&zones,
			"BEGIN:STANDARD\r\nDTSTART:19700101T%02d0000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY\r\nEND:STANDARD\r\n", i%24)
	}
	part := func(kind, body string) string { return "--b\r\nContent-Type: " + kind + "\r\n\r\n" + body + "\r\n" }
	series := func(i int, lines string) string {
		return fmt.Sprintf("BEGIN:VCALENDAR\r\nX-N:%d\r\n", i) + strings.Repeat("BEGIN:VEVENT\r\nUID:1\r\nLOCATION:https://zoom.us/j/1\r\n"+lines+
			"\r\nEND:VEVENT\r\n", 190) + "END:VCALENDAR\r\n"
	}
	many := func(lines string) (body string) {
		for i := range maxCalendars {
			body += part("text/calendar", series(i, lines))
		}
		return body
	}
	for name, body := range map[string]string{
		"texts and events without a link": part("text/calendar", "BEGIN:VCALENDAR\r\n"+events.String()+"END:VCALENDAR") +
			strings.Repeat(part("text/plain", strings.Repeat("x://", 20_000)), 60),
		"observances": part("text/calendar", "BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nTZID:x\r\n"+zones.String()+"END:VTIMEZONE\r\n"+
			strings.Repeat("BEGIN:VEVENT\r\nUID:1\r\nLOCATION:https://zoom.us/j/1\r\nDTSTART;TZID=x:20200101T100000\r\nRRULE:FREQ=DAILY\r\nEND:VEVENT\r\n", 20)+"END:VCALENDAR"),
		"counted series": many("DTSTART:19700101T000000Z\r\nRRULE:FREQ=DAILY;COUNT=39000"),
		"long series":    many("DTSTART;TZID=Europe/Berlin:19700101T000000\r\nRRULE:FREQ=DAILY"),
		"rare series":    many("DTSTART:19720229T000000Z\r\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=TU"),
		"addresses":      strings.Repeat(part("text/plain", strings.Repeat("https://zoom.us/j/1 ", 10_000)), 60),
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "counted series" && name != "addresses" {
				t.Skip("make check-long runs it")
			}
			t.Parallel()
			h := newHarness(t, nil)
			raw := messageOf(body+"--b--\r\n", "From: ada@example.test", "Content-Type: multipart/mixed; boundary=b")
			began := time.Now()
			got := h.process(t, raw)
			t.Logf("%d bytes: %s, %s (%.60s)", len(raw), time.Since(began), got.Verdict, got.Detail)
			if took := time.Since(began); took > 10*time.Second { // far more than a busy machine needs
				t.Errorf("%d bytes took %s", len(raw), took)
			}
		})
	}
}
