package mail

import (
	"github.com/google/uuid"

	"bytes"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-message/mail"

	"standin/internal/testing/mailhost"
	"standin/internal/testing/storetest"
)

// replySettings returns the settings of replies that a host sends.
func replySettings(host *mailhost.SMTP, from string) ReplySettings {
	_, client := mailhost.TLS()
	return ReplySettings{
		URL: &url.URL{Scheme: "smtp", User: url.User(mailhost.User), Host: host.Address}, Password: "secret", From: from, TLS: client,
	}
}

// replying returns a worker that sends replies, on PostgreSQL if it is installed: the other tests are on SQLite.
func replying(t *testing.T) (*harness, *mailhost.SMTP) {
	t.Helper()
	host := mailhost.NewSMTP(t, "secret")
	h := newHarness(t, func(s *Settings) {
		s.Reply = replySettings(host, "notes@bots.example.test")
		s.Reply.BaseURL = "https://standin.example.test"
		if Cluster != nil {
			s.Store = storetest.Open(t, Cluster.Fresh(t))
		}
	})
	return h, host
}

// lastReply returns the header and the text of the last message that a host has sent.
func lastReply(t *testing.T, host *mailhost.SMTP) (mail.Header, string) {
	t.Helper()
	sent := host.Messages()
	if len(sent) == 0 {
		t.Fatal("no reply")
	}
	reader, err := mail.CreateReader(bytes.NewReader(sent[len(sent)-1].Raw))
	if err != nil {
		t.Fatal(err)
	}
	p, err := reader.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(p.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reader.Header, string(text)
}

// TestReply checks the replies to invitations, moves and cancellations, and to
// messages that lack something.
func TestReply(t *testing.T) {
	t.Parallel()
	h, host := replying(t)
	h.process(t, sample(t, "google-zone"))
	header, text := lastReply(t, host)
	link := "  https://standin.example.test/jobs/" + h.jobs(t)[0].ID.String()
	if want := "Scheduled: Jour fixe, Monday, October 26, 2026 at 15:00 (Europe/Berlin, UTC+1)\r\n" + link; !strings.Contains(text, want) {
		t.Errorf("the reply is %q, want %q", text, want)
	}
	original, _ := parseMessage(sample(t, "google-zone"), nil)
	inReplyTo, _ := header.MsgIDList("In-Reply-To")
	references, _ := header.MsgIDList("References")
	subject, _ := header.Subject()
	if len(inReplyTo) != 1 || inReplyTo[0] != original.id || len(references) != 1 || references[0] != original.id ||
		subject != "Re: Einladung: Jour fixe" ||
		header.Get("Auto-Submitted") != "auto-replied" || host.Messages()[0].From != "" || host.Messages()[0].To != "ada@example.test" {
		t.Errorf("the reply has %v: %+v", header.Map(), host.Messages()[0])
	}
	for _, test := range []struct{ message, want string }{
		{"google-single", "Scheduled: Weekly review, Wednesday, October 21, 2026 at 13:00 (UTC)"},
		{"google-update", "Moved: Weekly review, Thursday, October 22, 2026 at 14:00 (UTC)"},
		{"google-cancel", "Cancelled: Weekly review, Thursday, October 22, 2026 at 14:00 (UTC)"},
		{"google-allday", "Nothing was scheduled.\r\n\r\n“Off site” lasts all day."},
		{"forwarded-html-only", "no calendar (.ics) that says when the meeting takes place"},
	} {
		before := len(host.Messages())
		h.process(t, sample(t, test.message))
		if _, text := lastReply(t, host); len(host.Messages()) != before+1 || !strings.Contains(text, test.want) {
			t.Errorf("%s: %d replies, the last is %q", test.message, len(host.Messages())-before, text)
		}
	}
	records, err := h.store.Records(t.Context(), uuid.Nil, 1)
	if err != nil || records[0].Reply != "sent" {
		t.Errorf("%+v, %v", records, err)
	}
}

// TestNoReply checks that lists, automatic messages, bounces, replies to the
// worker's own messages and unauthenticated senders get no reply, and that a
// message gets one.
func TestNoReply(t *testing.T) {
	t.Parallel()
	h, host := replying(t)
	invitation := sample(t, "outlook-single")
	with := func(fields string) []byte { return append([]byte(fields+"\r\n"), invitation...) }
	tests := map[string][]byte{
		"newsletter": sample(t, "newsletter"), "auto-reply": sample(t, "auto-reply"), "bounce": sample(t, "bounce"), "Zoom's no-reply": sample(t,
			"zoom-invite"),
		"a list": with("List-Id: <list.example.test>"), "bulk": with("Precedence: bulk"),
		"an auto-reply": with("Auto-Submitted: auto-replied (vacation)"),
		"suppressed":    with("X-Auto-Response-Suppress: DR, AutoReply"), "no return path": with("Return-Path: <>"),
		"a reply to a reply": with("In-Reply-To: <standin.4.1792396800000@bots.example.test>"),
		"its own address":    bytes.ReplaceAll(invitation, []byte("juergen@example.test"), []byte("notes@bots.example.test")),
	}
	for name, raw := range tests {
		if got := h.process(t, raw); got.Reply != "" || len(host.Messages()) != 0 {
			t.Errorf("%s: %q", name, got.Reply)
		}
	}
	if got := h.processFrom(t, "smtp", "203.0.113.9", invitation); got.Verdict != refused || got.Reply != "" {
		t.Errorf("a forged message: %+v", got)
	}
	for range 3 { // copies by other paths
		h.process(t, invitation)
		invitation = append(invitation, '\n')
	}
	if len(host.Messages()) != 1 {
		t.Errorf("%d replies to one message", len(host.Messages()))
	}
}

// TestReplyIsRetried checks that a reply that is refused for now is sent later, also if its message was processed
// again, or received by several nodes at once, on both databases.
func TestReplyIsRetried(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, Cluster, func(t *testing.T, address string) {
		host := mailhost.NewSMTP(t, "secret")
		h := newHarness(t, func(s *Settings) {
			s.Store, s.Reply = storetest.Open(t, address), replySettings(host, "notes@bots.example.test")
		})
		host.Refuse = 2
		var nodes sync.WaitGroup
		for range 10 { // that read one mailbox
			nodes.Go(func() {
				m := received{source: "smtp", remote: "192.0.2.1", raw: sample(t, "outlook-single")}
				if err := h.receive(t.Context(), m); err != nil {
					t.Error(err)
				}
			})
		}
		nodes.Wait()
		r := h.process(t, sample(t, "outlook-single"))
		if err := h.store.Retry(t.Context(), r.ID, h.now); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			r = h.run(t)
			h.now = h.now.Add(time.Minute)
		}
		if sent := len(host.Messages()); sent != 1 || r.Verdict != accepted || r.Reply != "sent" || len(h.jobs(t)) != 1 {
			t.Errorf("%d replies to %+v", sent, r)
		}
	})
}

// TestReplyLimit checks that one address gets a bounded number of replies a day.
func TestReplyLimit(t *testing.T) {
	t.Parallel()
	h, host := replying(t)
	raw := sample(t, "outlook-single")
	for i := range maxReplies + 5 {
		h.process(t, bytes.Replace(raw, []byte("Message-ID: <"), []byte("Message-ID: <"+strings.Repeat("x", i+1)), 1))
	}
	if len(host.Messages()) != maxReplies {
		t.Errorf("%d replies", len(host.Messages()))
	}
}

// TestSend sends a message for operators to two addresses.
func TestSend(t *testing.T) {
	t.Parallel()
	host := mailhost.NewSMTP(t, "secret")
	settings := replySettings(host, "notes@example.com")
	if err := settings.Send(t.Context(), []string{"ada@example.com", "ben@example.com"}, "Disk full", "95 %\nof the disk\n"); err != nil {
		t.Fatal(err)
	}
	header, text := lastReply(t, host)
	to, _ := header.AddressList("To")
	if subject, err := header.Subject(); err != nil || subject != "Disk full" || len(to) != 2 || host.Messages()[0].From != "" ||
		!strings.Contains(text, "95 %") {
		t.Errorf("%v, %q to %v: %s", err, subject, to, text)
	}
}
