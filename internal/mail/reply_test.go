package mail

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// outgoing is an SMTP host that keeps what it is sent.
type outgoing struct {
	mu       sync.Mutex
	from, to []string
	messages [][]byte
	refuse   int // of the next messages

	mechanism string                        // of OAuth; empty for a password
	accepts   func(user, token string) bool // of OAuth
	url       *url.URL
	client    *tls.Config
}

func newOutgoing(t *testing.T) *outgoing {
	t.Helper()
	config, client := certificate(t)
	o := &outgoing{client: client}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &outgoingSession{host: o}, nil }))
	server.TLSConfig = config
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }() // ends when the server is closed
	t.Cleanup(func() { _ = server.Close() })
	o.url = &url.URL{Scheme: "smtp", User: url.User("notes"), Host: listener.Addr().String()}
	return o
}

type outgoingSession struct {
	host     *outgoing
	from, to string
	signedIn bool
}

func (s *outgoingSession) AuthMechanisms() []string {
	return []string{cmp.Or(s.host.mechanism, sasl.Plain)}
}

func (s *outgoingSession) Auth(mechanism string) (sasl.Server, error) {
	signIn := func(user, token string) error {
		if s.signedIn = s.host.accepts(user, token); !s.signedIn {
			return smtp.ErrAuthFailed
		}
		return nil
	}
	switch mechanism {
	case "XOAUTH2":
		return &xoauth2Server{signIn: signIn}, nil
	case sasl.OAuthBearer:
		return sasl.NewOAuthBearerServer(func(o sasl.OAuthBearerOptions) *sasl.OAuthBearerError {
			if signIn(o.Username, o.Token) != nil {
				return &sasl.OAuthBearerError{Status: "invalid_token"}
			}
			return nil
		}), nil
	}
	return sasl.NewPlainServer(func(_, user, password string) error {
		if s.signedIn = user == "notes" && password == "secret"; !s.signedIn {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (s *outgoingSession) Mail(from string, _ *smtp.MailOptions) error {
	if s.from = from; !s.signedIn {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *outgoingSession) Rcpt(to string, _ *smtp.RcptOptions) error { s.to = to; return nil }

func (s *outgoingSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	if s.host.refuse > 0 {
		s.host.refuse--
		return &smtp.SMTPError{Code: 451, Message: "later"}
	}
	s.host.from, s.host.to, s.host.messages = append(s.host.from, s.from), append(s.host.to, s.to), append(s.host.messages, raw)
	return nil
}

func (s *outgoingSession) Reset()        {}
func (s *outgoingSession) Logout() error { return nil }

// replying returns a worker that sends replies.
func replying(t *testing.T) (*harness, *outgoing) {
	t.Helper()
	host := newOutgoing(t)
	h := newHarness(t, func(s *Settings) {
		s.Reply = ReplySettings{URL: host.url, Password: "secret", From: "notes@bots.example.test", BaseURL: "https://standin.example.test", TLS: host.client}
	})
	return h, host
}

// last returns the header and the text of the last reply.
func (o *outgoing) last(t *testing.T) (mail.Header, string) {
	t.Helper()
	if len(o.messages) == 0 {
		t.Fatal("no reply")
	}
	reader, err := mail.CreateReader(bytes.NewReader(o.messages[len(o.messages)-1]))
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
	header, text := host.last(t)
	link := "  https://standin.example.test/jobs/" + h.service.jobs[0].id.String()
	if want := "Scheduled: Jour fixe, Monday, October 26, 2026 at 15:00 (Europe/Berlin)\r\n" + link; !strings.Contains(text, want) {
		t.Errorf("the reply is %q, want %q", text, want)
	}
	original, _ := parseMessage(sample(t, "google-zone"), nil)
	inReplyTo, _ := header.MsgIDList("In-Reply-To")
	references, _ := header.MsgIDList("References")
	subject, _ := header.Subject()
	if len(inReplyTo) != 1 || inReplyTo[0] != original.id || len(references) != 1 || references[0] != original.id || subject != "Re: Einladung: Jour fixe" ||
		header.Get("Auto-Submitted") != "auto-replied" || host.from[0] != "" || host.to[0] != "ada@example.test" {
		t.Errorf("the reply has %v, from %q to %q", header.Map(), host.from, host.to)
	}
	for _, test := range []struct{ message, want string }{
		{"google-single", "Scheduled: Weekly review, Wednesday, October 21, 2026 at 13:00 (UTC)"},
		{"google-update", "Moved: Weekly review, Thursday, October 22, 2026 at 14:00 (UTC)"},
		{"google-cancel", "Cancelled: Weekly review, Thursday, October 22, 2026 at 14:00 (UTC)"},
		{"google-allday", "Nothing was scheduled.\r\n\r\n“Off site” lasts all day."},
		{"forwarded-html-only", "no calendar (.ics) that says when the meeting takes place"},
	} {
		before := len(host.messages)
		h.process(t, sample(t, test.message))
		if _, text := host.last(t); len(host.messages) != before+1 || !strings.Contains(text, test.want) {
			t.Errorf("%s: %d replies, the last is %q", test.message, len(host.messages)-before, text)
		}
	}
	records, err := h.store.Records(t.Context(), 0, 1)
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
		"newsletter": sample(t, "newsletter"), "auto-reply": sample(t, "auto-reply"), "bounce": sample(t, "bounce"), "Zoom's no-reply": sample(t, "zoom-invite"),
		"a list": with("List-Id: <list.example.test>"), "bulk": with("Precedence: bulk"), "an auto-reply": with("Auto-Submitted: auto-replied (vacation)"),
		"suppressed": with("X-Auto-Response-Suppress: DR, AutoReply"), "no return path": with("Return-Path: <>"),
		"a reply to a reply": with("In-Reply-To: <standin.4.1792396800000@bots.example.test>"),
		"its own address":    bytes.ReplaceAll(invitation, []byte("juergen@example.test"), []byte("notes@bots.example.test")),
	}
	for name, raw := range tests {
		if got := h.process(t, raw); got.Reply != "" || len(host.messages) != 0 {
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
	if len(host.messages) != 1 {
		t.Errorf("%d replies to one message", len(host.messages))
	}
}

// TestReplyIsRetried checks that a reply that is refused for now is sent later.
func TestReplyIsRetried(t *testing.T) {
	t.Parallel()
	h, host := replying(t)
	host.refuse = 2
	for range 4 {
		if len(host.messages) == 0 {
			h.process(t, sample(t, "outlook-single"))
			h.now = h.now.Add(time.Minute)
		}
	}
	if len(host.messages) != 1 {
		t.Fatalf("%d replies", len(host.messages))
	}
	if records, err := h.store.Records(t.Context(), 0, 1); err != nil || records[0].Reply != "sent" || len(h.service.jobs) != 1 {
		t.Errorf("%+v, %v", records, err)
	}
}

// TestReplyLimit checks that one address gets a bounded number of replies a day.
func TestReplyLimit(t *testing.T) {
	t.Parallel()
	h, host := replying(t)
	raw := sample(t, "outlook-single")
	for i := range maxReplies + 5 {
		h.process(t, bytes.Replace(raw, []byte("Message-ID: <"), []byte("Message-ID: <"+strings.Repeat("x", i+1)), 1))
	}
	if len(host.messages) != maxReplies {
		t.Errorf("%d replies", len(host.messages))
	}
}

// TestSend sends a message for operators to two addresses.
func TestSend(t *testing.T) {
	t.Parallel()
	host := newOutgoing(t)
	settings := ReplySettings{URL: host.url, Password: "secret", From: "notes@example.com", TLS: host.client}
	if err := settings.Send(t.Context(), []string{"ada@example.com", "ben@example.com"}, "Disk full", "95 %\nof the disk\n"); err != nil {
		t.Fatal(err)
	}
	message, err := mail.CreateReader(bytes.NewReader(host.messages[0]))
	if err != nil {
		t.Fatal(err)
	}
	part, err := message.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(part.Body)
	to, _ := message.Header.AddressList("To")
	if subject, _ := message.Header.Subject(); err != nil || subject != "Disk full" || len(to) != 2 || host.from[0] != "" || !strings.Contains(string(text), "95 %") {
		t.Errorf("%v, %q to %v from %q: %s", err, subject, to, host.from[0], text)
	}
}
