package mailhost

import (
	"cmp"
	"io"
	"log"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// SMTP is an outgoing SMTP host with STARTTLS that keeps what it is sent.
type SMTP struct {
	SignIn
	Address string
	Refuse  int // number of the next messages that are refused for now

	mu       sync.Mutex
	messages []Message
}

// Message is a message that was sent.
type Message struct {
	From, To string
	Raw      []byte
}

// NewSMTP starts a host until the end of the test.
func NewSMTP(t *testing.T, password string) *SMTP {
	t.Helper()
	h := &SMTP{SignIn: SignIn{Password: password}}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &smtpSession{host: h}, nil }))
	server.TLSConfig, _ = TLS()
	server.ErrorLog = log.New(io.Discard, "", 0)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.Address = listener.Addr().String()
	go func() { _ = server.Serve(listener) }() // ends when the server is closed
	t.Cleanup(func() { _ = server.Close() })
	return h
}

// Messages returns the messages so far.
func (h *SMTP) Messages() []Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.messages)
}

type smtpSession struct {
	host     *SMTP
	message  Message
	signedIn bool
}

func (s *smtpSession) AuthMechanisms() []string {
	return []string{cmp.Or(s.host.Mechanism, sasl.Plain)}
}

func (s *smtpSession) Auth(mechanism string) (sasl.Server, error) {
	return s.host.server(mechanism, smtp.ErrAuthFailed, func() error { s.signedIn = true; return nil }), nil
}

func (s *smtpSession) Mail(from string, _ *smtp.MailOptions) error {
	if s.message.From = from; !s.signedIn {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error { s.message.To = to; return nil }

func (s *smtpSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	if s.host.Refuse > 0 {
		s.host.Refuse--
		return &smtp.SMTPError{Code: 451, Message: "later"}
	}
	s.message.Raw = raw
	s.host.messages = append(s.host.messages, s.message)
	return nil
}

func (s *smtpSession) Reset()        {}
func (s *smtpSession) Logout() error { return nil }
