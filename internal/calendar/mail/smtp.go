package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/emersion/go-smtp"

	"standin/internal/base/budget"
	"standin/internal/server/httpmw"
)

const (
	maxConnections = 200
	connectionsOf  = 5  // of one client
	maxReceiving   = 12 // messages that are received at once, each in memory
	receivingOf    = 2  // of one client
	maxRecipients  = 50
	commandTime    = time.Minute
	dataTime       = 15 * time.Second
	dataSize       = 512 << 10
	maxLine        = 256 << 10 // bytes; programs send HTML and calendars without line breaks
)

// SMTPSettings configure the SMTP server.
type SMTPSettings struct {
	Listen   string        `env:"STANDIN_MAIL_SMTP_LISTEN" name:"smtp-listen" placeholder:":25" help:"Address and port of the SMTP server. Default: no SMTP server."`
	Hostname string        `kong:"-"` // of this host in SMTP; the host name when empty
	CertFile string        `env:"STANDIN_MAIL_TLS_CERT" name:"tls-cert" type:"existingfile" help:"Certificate chain for STARTTLS, in PEM format; read again for each connection. Default: no encryption."`
	KeyFile  string        `env:"STANDIN_MAIL_TLS_KEY" name:"tls-key" type:"existingfile" help:"Private key of the certificate."`
	Rate     httpmw.Rate   `kong:"-"` // of the messages of one SMTP client; 60 a minute when zero
	DataTime time.Duration `kong:"-"` // for a message, and for each dataSize of it; dataTime when 0
}

// check returns an error for settings that cannot work.
func (s SMTPSettings) check() error {
	if (s.CertFile == "") != (s.KeyFile == "") {
		return errors.New("STANDIN_MAIL_TLS_CERT and STANDIN_MAIL_TLS_KEY must be set together")
	}
	return nil
}

// smtpServer receives messages by SMTP.
type smtpServer struct {
	worker   *Worker
	settings SMTPSettings
	limiter  *httpmw.Limiter
	slots    *budget.Budget // for messages that are being received
	storing  sync.RWMutex   // read while one is
	listener net.Listener
	server   *smtp.Server
}

// newSMTPServer opens the listener.
func newSMTPServer(ctx context.Context, w *Worker) (*smtpServer, error) {
	settings := w.SMTP
	if settings.Hostname == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("find the host name: %w", err)
		}
		settings.Hostname = name
	}
	settings.Rate = cmp.Or(settings.Rate, httpmw.Rate{Requests: 60, Per: time.Minute})
	s := &smtpServer{
		worker: w, settings: settings, slots: budget.New(maxReceiving, receivingOf, 0),
		limiter: httpmw.NewLimiter(httpmw.LimiterSettings{Rate: settings.Rate, Now: w.Now}),
	}
	s.server = smtp.NewServer(s)
	s.server.Domain = settings.Hostname
	s.server.MaxMessageBytes, s.server.MaxRecipients = w.MaxMessage, maxRecipients
	s.server.ReadTimeout, s.server.WriteTimeout = commandTime, commandTime
	s.server.MaxLineLength = maxLine
	s.server.EnableSMTPUTF8 = true
	s.server.ErrorLog = slog.NewLogLogger(w.Log.Handler(), slog.LevelDebug)
	if settings.CertFile != "" {
		load := func() (*tls.Certificate, error) {
			certificate, err := tls.LoadX509KeyPair(settings.CertFile, settings.KeyFile)
			return &certificate, err
		}
		if _, err := load(); err != nil {
			return nil, fmt.Errorf("load the certificate of the SMTP server: %w", err)
		}
		// The files are read for each connection, so that they can be renewed.
		s.server.TLSConfig = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() },
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", settings.Listen)
	if err != nil {
		return nil, err
	}
	s.listener = &shareListener{Listener: listener, budget: budget.New(maxConnections, connectionsOf, 0), key: w.Policy.shareKey}
	return s, nil
}

func (s *smtpServer) close() { _ = s.listener.Close() }

// run serves until ctx is cancelled. No message is being stored when it returns.
func (s *smtpServer) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		_ = s.server.Close()
		s.close() // Serve may not have begun, so that the server does not know the listener
	})
	defer stop()
	if err := s.server.Serve(s.listener); err != nil && ctx.Err() == nil {
		s.worker.Log.Error("SMTP server stopped", "error", err)
	}
	s.storing.Lock() // for ever
}

// NewSession implements smtp.Backend.
func (s *smtpServer) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &smtpSession{server: s, conn: c.Conn(), remote: remoteAddress(c.Conn())}, nil
}

// smtpSession is a connection.
type smtpSession struct {
	server *smtpServer
	conn   net.Conn
	remote netip.Addr
	from   string
}

// The responses to clients.
var (
	errRate      = refusal(451, 4, 7, 1, "Too many messages, try again later")
	errRecipient = refusal(550, 5, 1, 1, "No such mailbox here")
	errBusy      = refusal(451, 4, 3, 0, "Cannot store the message now, try again later")
	errLookup    = refusal(451, 4, 4, 3, "Cannot authenticate the sender now: its name servers do not answer")
	errNoSpace   = refusal(452, 4, 3, 1, "Insufficient storage, try again later")
)

// refusal returns an answer with a code, and the class, subject and detail of its enhanced code (RFC 3463).
func refusal(code, class, subject, detail int, message string) *smtp.SMTPError {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{class, subject, detail}, Message: message}
}

// Mail implements smtp.Session.
func (s *smtpSession) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.limiter.Allow(httpmw.AddressKey(s.remote)) != nil {
		return errRate
	}
	s.from = from
	return nil
}

// Rcpt implements smtp.Session.
func (s *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if !s.server.worker.Policy.receives(to) {
		return errRecipient
	}
	return nil
}

// Data implements smtp.Session. The message is on disk when it returns nil. Its author
// is authenticated first, so that messages whose senders have no working name servers
// wait in the queues of those who sent them.
func (s *smtpSession) Data(r io.Reader) error {
	worker := s.server.worker
	if !s.server.storing.TryRLock() {
		return errBusy
	}
	defer s.server.storing.RUnlock()
	release, err := s.server.slots.TryAcquire(worker.Policy.shareKey(s.conn), 1)
	if err != nil {
		return errBusy
	}
	defer release()
	var raw bytes.Buffer // with the return path as a field, as in mailboxes (RFC 5321, section 4.4)
	fmt.Fprintf(&raw, "Return-Path: <%s>\r\n", printable(s.from, maxSubject))
	for err == nil {
		tooSlow := time.AfterFunc(cmp.Or(s.server.settings.DataTime, dataTime), func() { _ = s.conn.Close() })
		_, err = io.CopyN(&raw, r, dataSize)
		tooSlow.Stop()
	}
	if !errors.Is(err, io.EOF) {
		return err // the size limit, or a lost connection
	}
	// The end of the worker does not interrupt this; smtpServer.run waits for it.
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	m := received{source: "smtp", remote: s.remote.String(), raw: raw.Bytes(), at: worker.Now()}
	j, err := worker.judge(ctx, m)
	if err != nil {
		worker.Log.Warn("message refused temporarily", "remote", m.remote, "from", j.content.from, "error", err)
		return errLookup
	}
	m.judgment = &j
	switch err = worker.receive(ctx, m); {
	case err == nil:
		return nil
	case errors.Is(err, errFull):
		worker.Log.Error("message refused", "error", err)
		return errNoSpace
	case errors.Is(err, errBacklog):
		worker.Log.Warn("message refused temporarily", "remote", m.remote, "from", j.content.from, "error", err)
		return errRate
	}
	worker.Log.Error("cannot store message", "error", err)
	return errBusy
}

// Reset implements smtp.Session.
func (s *smtpSession) Reset() { s.from = "" }

// Logout implements smtp.Session.
func (s *smtpSession) Logout() error { return nil }
