package mail

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/emersion/go-sasl"
)

// imapHost is an IMAP server with one mailbox.
type imapHost struct {
	user     *imapmemserver.User
	server   *imapserver.Server
	listener net.Listener
	config   *tls.Config // of the server
	client   *tls.Config

	mechanism string                        // of OAuth; empty without
	accepts   func(user, token string) bool // access tokens

	mu      sync.Mutex
	fetches []string // the messages of each FETCH of sizes, and "body" for the others
}

// countedSession records the FETCH commands of a session.
type countedSession struct {
	*imapmemserver.UserSession
	host *imapHost
}

func (s *countedSession) Fetch(w *imapserver.FetchWriter, set imap.NumSet, options *imap.FetchOptions) error {
	s.host.mu.Lock()
	if options.RFC822Size {
		s.host.fetches = append(s.host.fetches, set.String())
	} else if len(options.BodySection) > 0 {
		s.host.fetches = append(s.host.fetches, "body")
	}
	s.host.mu.Unlock()
	return s.UserSession.Fetch(w, set, options)
}

// AuthenticateMechanisms implements imapserver.SessionSASL.
func (s *countedSession) AuthenticateMechanisms() []string { return []string{s.host.mechanism} }

// Authenticate implements imapserver.SessionSASL.
func (s *countedSession) Authenticate(mechanism string) (sasl.Server, error) {
	signIn := func(user, token string) error {
		if !s.host.accepts(user, token) {
			return &imap.Error{Type: imap.StatusResponseTypeNo, Code: imap.ResponseCodeAuthenticationFailed, Text: "no"}
		}
		return s.Login("notes", "secret")
	}
	switch {
	case mechanism != s.host.mechanism:
		return nil, &imap.Error{Type: imap.StatusResponseTypeNo, Text: "unknown mechanism"}
	case mechanism == sasl.OAuthBearer:
		return sasl.NewOAuthBearerServer(func(o sasl.OAuthBearerOptions) *sasl.OAuthBearerError {
			if signIn(o.Username, o.Token) != nil {
				return &sasl.OAuthBearerError{Status: "invalid_token"}
			}
			return nil
		}), nil
	}
	return &xoauth2Server{signIn: signIn}, nil
}

// xoauth2Server is the server of XOAUTH2.
type xoauth2Server struct {
	signIn func(user, token string) error
	failed error
}

// Next implements sasl.Server.
func (x *xoauth2Server) Next(response []byte) (challenge []byte, done bool, err error) {
	if x.failed != nil || response == nil {
		return nil, false, x.failed
	}
	var user, token string
	for field := range strings.SplitSeq(string(response), "\x01") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "user":
			user = value
		case "auth":
			token = strings.TrimPrefix(value, "Bearer ")
		}
	}
	x.failed = x.signIn(user, token)
	if x.failed == nil {
		return nil, true, nil
	}
	return []byte(`{"status":"400"}`), false, nil
}

// fetched returns the FETCH commands so far.
func (h *imapHost) fetched() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.fetches)
}

// newIMAPHost starts a server with TLS.
func newIMAPHost(t *testing.T) *imapHost {
	t.Helper()
	host := &imapHost{}
	host.config, host.client = certificate(t)
	host.createUser(t, "INBOX")
	host.start(t, "127.0.0.1:0")
	t.Cleanup(func() { _ = host.server.Close() })
	return host
}

// createUser replaces the user by one with new, empty mailboxes.
func (h *imapHost) createUser(t *testing.T, mailboxes ...string) {
	t.Helper()
	h.user = imapmemserver.NewUser("notes", "secret")
	for _, name := range mailboxes {
		if err := h.user.Create(name, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// start starts the server on an address.
func (h *imapHost) start(t *testing.T, address string) {
	t.Helper()
	user := h.user
	h.server = imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return &countedSession{host: h, UserSession: imapmemserver.NewUserSession(user)}, nil, nil
		},
		Caps:   imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapIMAP4rev2: {}, imap.CapIdle: {}},
		Logger: log.New(io.Discard, "", 0),
	})
	listener, err := tls.Listen("tcp", address, h.config)
	if err != nil {
		t.Fatal(err)
	}
	h.listener = listener
	server := h.server
	go func() { _ = server.Serve(listener) }() // ends when the server is closed
}

// deliver puts a message into the mailbox.
func (h *imapHost) deliver(t *testing.T, raw []byte) { h.deliverAt(t, raw, monday) }

// deliverAt puts a message into the mailbox that was received at a time.
func (h *imapHost) deliverAt(t *testing.T, raw []byte, at time.Time) {
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

// seen returns which messages are marked as seen, by UID.
func (h *imapHost) seen(t *testing.T) (found []bool) {
	t.Helper()
	c, err := imapclient.DialTLS(h.listener.Addr().String(), &imapclient.Options{TLSConfig: h.client})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Login("notes", "secret").Wait(); err != nil {
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

// settings returns those of a mailbox at this server.
func (h *imapHost) settings(interval time.Duration) IMAPSettings {
	return IMAPSettings{
		URL: &url.URL{Scheme: "imaps", User: url.User("notes"), Host: h.listener.Addr().String()}, Password: "secret",
		Interval: interval, Reconnect: 10 * time.Millisecond, TLS: h.client,
	}
}

// trusted returns a message of the corpus that a trusted mail host has
// authenticated.
func trusted(t *testing.T, name string) []byte {
	t.Helper()
	return append([]byte("Authentication-Results: mx.example.test; dmarc=pass header.from=example.test\r\n"), sample(t, name)...)
}

// tooLarge returns a message above the limit of imapHost.settings.
func tooLarge() []byte { return bytes.Repeat([]byte("X: y\r\n"), 20<<10) }

// awaitOpened waits until the worker has seen the mailbox.
func (h *harness) awaitOpened(t *testing.T, host *imapHost) mailbox {
	t.Helper()
	var box mailbox
	await(t, "the mailbox is opened", func() bool {
		var err error
		if box, err = h.store.mailbox(t.Context(), "notes@"+host.listener.Addr().String()+"/INBOX"); err != nil {
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
	host := newIMAPHost(t)
	host.deliver(t, trusted(t, "google-weekly"))
	address := host.listener.Addr().String()
	h := newHarness(t, func(s *Settings) {
		s.IMAP = host.settings(100 * time.Millisecond)
		s.Policy.AuthservIDs = []string{"mx.example.test"}
	})
	h.start(t)
	h.awaitOpened(t, host)
	host.deliver(t, sample(t, "google-single"))
	h.awaitRecord(t, func(r Record) bool { return r.Verdict == refused }) // it is not authenticated
	host.deliver(t, trusted(t, "google-update"))
	h.awaitRecord(t, func(r Record) bool { return r.Verdict == accepted && r.Auth == "DMARC, checked by mx.example.test" })
	host.deliver(t, tooLarge())
	host.deliver(t, trusted(t, "outlook-single"))
	h.awaitRecord(t, func(r Record) bool { return r.Subject == "Jour fixe" && r.Verdict == accepted })

	if err := host.server.Close(); err != nil {
		t.Fatal(err)
	}
	host.deliver(t, trusted(t, "google-cancel"))
	host.start(t, address)
	h.awaitRecord(t, func(r Record) bool {
		return r.Verdict == accepted && len(r.Changes) == 1 && r.Changes[0].Kind == "cancelled"
	})
	if got, want := host.seen(t), []bool{false, true, true, false, true, true}; !slices.Equal(got, want) {
		t.Errorf("seen %v, want %v", got, want)
	}
	records, err := h.store.Records(t.Context(), 0, 100)
	if err != nil || len(records) != 4 {
		t.Errorf("%d messages, %v, want each once", len(records), err)
	}
	if box := h.awaitOpened(t, host); box.uid != 6 || !box.firstSeen.Equal(monday) {
		t.Errorf("the mailbox is %+v", box)
	}
	if jobs := h.service.scheduled(); len(jobs) != 1 {
		t.Errorf("jobs %q", jobs)
	}
}

// TestIMAPChecks counts the commands of a mailbox with old unread messages and a
// large one: each check is one FETCH, and no message is looked at twice.
func TestIMAPChecks(t *testing.T) {
	t.Parallel()
	host := newIMAPHost(t)
	for range 5 {
		host.deliver(t, sample(t, "newsletter"))
	}
	h := newHarness(t, func(s *Settings) { s.IMAP = host.settings(time.Millisecond) })
	h.start(t)
	h.awaitOpened(t, host)
	host.deliver(t, tooLarge())
	host.deliver(t, sample(t, "newsletter"))
	h.awaitRecord(t, func(r Record) bool { return r.Verdict != waiting })
	after := func() []string { // the commands after both messages
		fetched := host.fetched()
		if first := slices.Index(fetched, "8:*"); first >= 0 {
			return fetched[first:]
		}
		return nil
	}
	await(t, "the mailbox is checked five times", func() bool { return len(after()) > 5 })
	for _, fetched := range after() {
		if fetched != "8:*" {
			t.Errorf("a check fetches %s, want 8:*", fetched)
		}
	}
	bodies := slices.DeleteFunc(host.fetched(), func(fetched string) bool { return fetched != "body" })
	if len(bodies) != 1 {
		t.Errorf("%d messages were read, want 1", len(bodies))
	}
	if got, want := host.seen(t), []bool{false, false, false, false, false, false, true}; !slices.Equal(got, want) {
		t.Errorf("seen %v, want %v", got, want)
	}
}

// TestIMAPRenumbered checks that a mailbox with new UIDs loses no message: the
// unread ones are read, but not those from before the worker saw the mailbox.
func TestIMAPRenumbered(t *testing.T) {
	t.Parallel()
	host := newIMAPHost(t)
	address := host.listener.Addr().String()
	h := newHarness(t, func(s *Settings) { s.IMAP = host.settings(10 * time.Millisecond) })
	h.start(t)
	before := h.awaitOpened(t, host)
	if err := host.server.Close(); err != nil {
		t.Fatal(err)
	}
	host.createUser(t, "Other", "INBOX") // the numbers of mailboxes are their UIDVALIDITY
	host.deliverAt(t, sample(t, "google-single"), monday.Add(-time.Second))
	host.deliverAt(t, sample(t, "google-single"), monday.AddDate(0, -1, 0))
	host.deliverAt(t, sample(t, "newsletter"), monday.Add(time.Minute))
	host.start(t, address)
	h.awaitRecord(t, func(r Record) bool { return r.Verdict != waiting })
	host.deliverAt(t, sample(t, "outlook-single"), monday.AddDate(0, -1, 0)) // moved there from another mailbox
	h.awaitRecord(t, func(r Record) bool { return r.Subject == "Jour fixe" })
	records, err := h.store.Records(t.Context(), 0, 100)
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
	host := newIMAPHost(t)
	h := newHarness(t, func(s *Settings) { s.IMAP = host.settings(time.Hour) })
	h.start(t)
	h.awaitOpened(t, host)
	await(t, "messages are announced", func() bool {
		// The server does not announce one that arrives just before the worker waits.
		host.deliver(t, sample(t, "newsletter"))
		records, err := h.store.Records(t.Context(), 0, 2)
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
