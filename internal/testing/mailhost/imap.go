package mailhost

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/emersion/go-sasl"
)

// IMAP is an IMAP server with TLS and one mailbox, INBOX.
type IMAP struct {
	SignIn
	Address string

	user     *imapmemserver.User
	server   *imapserver.Server
	listener net.Listener

	mu    sync.Mutex
	reads []string
}

// NewIMAP starts a server until the end of the test.
func NewIMAP(t *testing.T, password string) *IMAP {
	t.Helper()
	h := &IMAP{SignIn: SignIn{Password: password}, Address: "127.0.0.1:0"}
	h.Empty(t, "INBOX")
	h.Start(t)
	t.Cleanup(h.Stop)
	return h
}

// Empty replaces the mailboxes by new ones. Their numbers are their UIDVALIDITY.
func (h *IMAP) Empty(t *testing.T, mailboxes ...string) {
	t.Helper()
	h.user = imapmemserver.NewUser(User, h.Password)
	for _, name := range mailboxes {
		if err := h.user.Create(name, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// Start starts the server, at the same address after Stop.
func (h *IMAP) Start(t *testing.T) {
	t.Helper()
	user := h.user
	server := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return &imapSession{host: h, UserSession: imapmemserver.NewUserSession(user)}, nil, nil
		},
		Caps:   imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapIMAP4rev2: {}, imap.CapIdle: {}},
		Logger: log.New(io.Discard, "", 0),
	})
	config, _ := TLS()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", h.Address)
	if err != nil {
		t.Fatal(err)
	}
	h.Address, h.server, h.listener = listener.Addr().String(), server, listener
	go func() { _ = server.Serve(tls.NewListener(listener, config)) }() // ends when the server is closed
}

// Stop ends the server and all connections.
func (h *IMAP) Stop() {
	_, _ = h.server.Close(), h.listener.Close() // the server may not know the listener yet
}

// Restart ends all connections.
func (h *IMAP) Restart(t *testing.T) {
	t.Helper()
	h.Stop()
	h.Start(t)
}

// Deliver puts a message into the mailbox that was received at a time.
func (h *IMAP) Deliver(t *testing.T, raw []byte, at time.Time) {
	t.Helper()
	if _, err := h.user.Append("INBOX", literal{bytes.NewReader(raw), int64(len(raw))}, &imap.AppendOptions{Time: at}); err != nil {
		t.Fatal(err)
	}
}

type literal struct {
	io.Reader
	size int64
}

func (l literal) Size() int64 { return l.size }

// Seen returns which messages are marked as seen, by UID.
func (h *IMAP) Seen(t *testing.T) (found []bool) {
	t.Helper()
	_, config := TLS()
	c, err := imapclient.DialTLS(h.Address, &imapclient.Options{TLSConfig: config})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Login(User, h.Password).Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Select("INBOX", &imap.SelectOptions{ReadOnly: true}).Wait(); err != nil {
		t.Fatal(err)
	}
	all := imap.SeqSet{}
	all.AddRange(1, 0)
	messages, err := c.Fetch(all, &imap.FetchOptions{Flags: true}).Collect()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		found = append(found, slices.Contains(m.Flags, imap.FlagSeen))
	}
	return found
}

// Fetched returns the messages of each FETCH of sizes so far, and "body" for each FETCH of a body.
func (h *IMAP) Fetched() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.reads)
}

// imapSession records the FETCH commands.
type imapSession struct {
	*imapmemserver.UserSession
	host *IMAP
}

// Fetch implements imapserver.Session.
func (s *imapSession) Fetch(w *imapserver.FetchWriter, set imap.NumSet, options *imap.FetchOptions) error {
	s.host.mu.Lock()
	if options.RFC822Size {
		s.host.reads = append(s.host.reads, set.String())
	} else if len(options.BodySection) > 0 {
		s.host.reads = append(s.host.reads, "body")
	}
	s.host.mu.Unlock()
	return s.UserSession.Fetch(w, set, options)
}

// AuthenticateMechanisms implements imapserver.SessionSASL.
func (s *imapSession) AuthenticateMechanisms() []string { return []string{s.host.Mechanism} }

// Authenticate implements imapserver.SessionSASL.
func (s *imapSession) Authenticate(mechanism string) (sasl.Server, error) {
	if mechanism != s.host.Mechanism {
		return nil, &imap.Error{Type: imap.StatusResponseTypeNo, Text: "unknown mechanism"}
	}
	refused := &imap.Error{Type: imap.StatusResponseTypeNo, Code: imap.ResponseCodeAuthenticationFailed, Text: "no"}
	return s.host.SignIn.server(mechanism, refused, func() error { return s.Login(User, s.host.Password) }), nil
}
