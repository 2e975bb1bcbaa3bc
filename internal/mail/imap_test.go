package mail

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
)

// imapHost is an IMAP server with one mailbox.
type imapHost struct {
	user     *imapmemserver.User
	server   *imapserver.Server
	listener net.Listener
	config   *tls.Config // of the server
	client   *tls.Config
	certFile string
}

// newIMAPHost starts a server with TLS.
func newIMAPHost(t *testing.T) *imapHost {
	t.Helper()
	certFile, keyFile, client := certificate(t)
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	host := &imapHost{user: imapmemserver.NewUser("notes", "secret"), config: &tls.Config{Certificates: []tls.Certificate{pair}}, client: client, certFile: certFile}
	if err := host.user.Create("INBOX", nil); err != nil {
		t.Fatal(err)
	}
	host.start(t, "127.0.0.1:0")
	t.Cleanup(func() { _ = host.server.Close() })
	return host
}

// start starts the server on an address.
func (h *imapHost) start(t *testing.T, address string) {
	t.Helper()
	memory := imapmemserver.New()
	memory.AddUser(h.user)
	h.server = imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return memory.NewSession(), nil, nil
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
func (h *imapHost) deliver(t *testing.T, raw []byte) {
	t.Helper()
	if _, err := h.user.Append("INBOX", literal{bytes.NewReader(raw), int64(len(raw))}, &imap.AppendOptions{}); err != nil {
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

// TestIMAP checks that messages of a mailbox are processed at once, marked as seen
// when they are stored, and read once, also after the connection was lost.
func TestIMAP(t *testing.T) {
	t.Parallel()
	host := newIMAPHost(t)
	host.deliver(t, sample(t, "google-single"))
	address := host.listener.Addr().String()
	h := newHarness(t, func(s *Settings) {
		s.IMAP = IMAPSettings{URL: &url.URL{Scheme: "imaps", User: url.User("notes"), Host: address}, Password: "secret", MaxMessage: 64 << 10, Interval: 100 * time.Millisecond, TLS: host.client}
		s.Policy.AuthservIDs = []string{"mx.example.test"}
	})
	trusted := func(name string) []byte {
		return append([]byte("Authentication-Results: mx.example.test; dmarc=pass header.from=example.test\r\n"), sample(t, name)...)
	}
	h.start(t)
	h.awaitRecord(t, func(r Record) bool { return r.Verdict == refused }) // it is not authenticated
	host.deliver(t, trusted("google-update"))
	h.awaitRecord(t, func(r Record) bool { return r.Verdict == accepted && r.Auth == "DMARC, checked by mx.example.test" })
	host.deliver(t, bytes.Repeat([]byte("X: y\r\n"), 20<<10)) // too large: it stays unread
	host.deliver(t, trusted("outlook-single"))
	h.awaitRecord(t, func(r Record) bool { return r.Subject == "Jour fixe" && r.Verdict == accepted })

	if err := host.server.Close(); err != nil {
		t.Fatal(err)
	}
	host.deliver(t, trusted("google-cancel"))
	host.start(t, address)
	h.awaitRecord(t, func(r Record) bool {
		return r.Verdict == accepted && len(r.Changes) == 1 && r.Changes[0].Kind == "cancelled"
	})
	if got, want := host.seen(t), []bool{true, true, false, true, true}; !slices.Equal(got, want) {
		t.Errorf("seen %v, want %v", got, want)
	}
	records, err := h.store.Records(t.Context(), 0, 100)
	if err != nil || len(records) != 4 {
		t.Errorf("%d messages, %v, want each once", len(records), err)
	}
	_, last, err := h.store.mailbox(t.Context(), "notes@"+address+"/INBOX")
	if err != nil || last != 5 {
		t.Errorf("the last UID is %d, %v", last, err)
	}
	if jobs := h.service.scheduled(); len(jobs) != 1 {
		t.Errorf("jobs %q", jobs)
	}
}

// TestIMAPIdle checks that the server's announcements are used.
func TestIMAPIdle(t *testing.T) {
	t.Parallel()
	host := newIMAPHost(t)
	h := newHarness(t, func(s *Settings) {
		s.IMAP = IMAPSettings{URL: &url.URL{Scheme: "imaps", User: url.User("notes"), Host: host.listener.Addr().String()}, Password: "secret", Interval: time.Hour, TLS: host.client}
	})
	host.deliver(t, sample(t, "newsletter"))
	h.start(t)
	h.awaitRecord(t, func(r Record) bool {
		host.deliver(t, sample(t, "newsletter"))
		return r.ID > 1
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
