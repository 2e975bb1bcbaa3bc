package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-smtp"
	"golang.org/x/net/netutil"

	"standin/internal/httpmw"
)

// DefaultMaxMessage is the default of SMTPSettings.MaxMessage.
const DefaultMaxMessage = 10 << 20

const (
	maxConnections = 50
	maxReceiving   = 8 // messages that are received at once, each in memory
	maxRecipients  = 50
	commandTime    = time.Minute
)

// SMTPSettings configure the SMTP server.
type SMTPSettings struct {
	Listen     string      // address and port
	Hostname   string      // name in the greeting
	Recipients []string    // addresses, or @ and a domain, for which mail is accepted
	MaxMessage int64       // bytes; DefaultMaxMessage when 0
	Rate       httpmw.Rate // messages of each client address; off when zero
	CertFile   string      // enables STARTTLS, together with KeyFile
	KeyFile    string
}

// check returns an error for settings that cannot work.
func (s SMTPSettings) check() error {
	if len(s.Recipients) == 0 {
		return errors.New("STANDIN_MAIL_RECIPIENTS must be set: the addresses for which the SMTP server accepts mail")
	}
	for _, recipient := range s.Recipients {
		if local, domain, found := strings.Cut(recipient, "@"); !found || !isDomain(domain) || strings.ContainsAny(local, " <>") {
			return fmt.Errorf("a recipient must be an address, or @ and a domain; got %q", recipient)
		}
	}
	if (s.CertFile == "") != (s.KeyFile == "") {
		return errors.New("STANDIN_MAIL_TLS_CERT and STANDIN_MAIL_TLS_KEY must be set together")
	}
	return nil
}

// accepts reports whether mail for an address is accepted. An address also
// accepts mail for its subaddresses, such as notes+weekly@example.com.
func (s SMTPSettings) accepts(address string) bool {
	local, domain, found := strings.Cut(strings.ToLower(address), "@")
	local, _, _ = strings.Cut(local, "+")
	return found && slices.ContainsFunc(s.Recipients, func(recipient string) bool {
		recipient = strings.ToLower(recipient)
		return recipient == local+"@"+domain || recipient == "@"+domain
	})
}

// smtpServer receives messages by SMTP.
type smtpServer struct {
	worker   *Worker
	settings SMTPSettings
	limiter  *httpmw.Limiter
	slots    chan struct{} // one for each message that is being received
	listener net.Listener
	server   *smtp.Server
}

// newSMTPServer opens the listener.
func newSMTPServer(ctx context.Context, w *Worker, settings SMTPSettings) (*smtpServer, error) {
	if settings.MaxMessage == 0 {
		settings.MaxMessage = DefaultMaxMessage
	}
	s := &smtpServer{worker: w, settings: settings, slots: make(chan struct{}, maxReceiving), limiter: httpmw.NewLimiter(httpmw.LimiterSettings{Rate: settings.Rate, Now: w.settings.Now})}
	s.server = smtp.NewServer(s)
	s.server.Domain = settings.Hostname
	s.server.MaxMessageBytes, s.server.MaxRecipients = settings.MaxMessage, maxRecipients
	s.server.ReadTimeout, s.server.WriteTimeout = commandTime, commandTime
	s.server.EnableSMTPUTF8 = true
	s.server.ErrorLog = slog.NewLogLogger(w.settings.Log.Handler(), slog.LevelDebug)
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
		return nil, fmt.Errorf("listen for mail on %s: %w", settings.Listen, err)
	}
	s.listener = netutil.LimitListener(listener, maxConnections)
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
		s.worker.settings.Log.Error("the SMTP server has stopped", "error", err)
	}
	for range cap(s.slots) {
		s.slots <- struct{}{} // waits for messages that are being received
	}
}

// NewSession implements smtp.Backend.
func (s *smtpServer) NewSession(c *smtp.Conn) (smtp.Session, error) {
	remote := netip.Addr{}
	if address, err := netip.ParseAddrPort(c.Conn().RemoteAddr().String()); err == nil {
		remote = address.Addr().Unmap()
	}
	return &smtpSession{server: s, remote: remote}, nil
}

// smtpSession is a connection.
type smtpSession struct {
	server *smtpServer
	remote netip.Addr
	from   string
}

// The responses to clients.
var (
	errRate      = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "Too many messages, try again later"}
	errRecipient = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such mailbox here"}
	errBusy      = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "Cannot store the message now, try again later"}
	errNoSpace   = &smtp.SMTPError{Code: 452, EnhancedCode: smtp.EnhancedCode{4, 3, 1}, Message: "Insufficient storage, try again later"}
)

// Mail implements smtp.Session.
func (s *smtpSession) Mail(from string, _ *smtp.MailOptions) error {
	if ok, _ := s.server.limiter.Allow(httpmw.AddressKey(s.remote)); !ok {
		return errRate
	}
	s.from = from
	return nil
}

// Rcpt implements smtp.Session.
func (s *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if !s.server.settings.accepts(to) {
		return errRecipient
	}
	return nil
}

// Data implements smtp.Session. The message is on disk when it returns nil.
func (s *smtpSession) Data(r io.Reader) error {
	select {
	case s.server.slots <- struct{}{}:
		defer func() { <-s.server.slots }()
	default:
		return errBusy
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return err // the size limit, or a lost connection
	}
	// The return path is kept as a field, as mailboxes do (RFC 5321, section 4.4).
	raw = append(fmt.Appendf(nil, "Return-Path: <%s>\r\n", printable(s.from, maxSubject)), raw...)
	// The end of the worker does not interrupt this; smtpServer.run waits for it.
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	err = s.server.worker.receive(ctx, received{source: "smtp", remote: s.remote.String(), raw: raw})
	if errors.Is(err, errFull) {
		s.server.worker.settings.Log.Error("mail is refused", "error", err)
		return errNoSpace
	}
	if err != nil {
		s.server.worker.settings.Log.Error("store a message", "error", err)
		return errBusy
	}
	return nil
}

// Reset implements smtp.Session.
func (s *smtpSession) Reset() { s.from = "" }

// Logout implements smtp.Session.
func (s *smtpSession) Logout() error { return nil }
