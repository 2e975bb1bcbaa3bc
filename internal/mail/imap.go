package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"standin/internal/retry"
)

const (
	// mailboxInterval is the time between checks of a mailbox. Servers announce
	// messages with IDLE, but not those that arrive while it begins.
	mailboxInterval = time.Minute

	reconnectMin = 5 * time.Second
	reconnectMax = 5 * time.Minute
)

// IMAPSettings configure the mailbox that is read.
type IMAPSettings struct {
	URL        *url.URL // imaps://user@host/mailbox, or imap:// for STARTTLS; the default mailbox is INBOX
	Password   string
	MaxMessage int64         // bytes; larger messages are left unread; DefaultMaxMessage when 0
	Interval   time.Duration // mailboxInterval when 0
	TLS        *tls.Config   // for tests
}

func (s IMAPSettings) check() error {
	if s.URL == nil {
		return nil
	}
	if s.URL.Scheme != "imaps" && s.URL.Scheme != "imap" || s.URL.Hostname() == "" || s.URL.User.Username() == "" {
		return errors.New("STANDIN_MAIL_IMAP_URL must have the form imaps://user@host/mailbox")
	}
	return checkPassword("STANDIN_MAIL_IMAP", s.URL, s.Password)
}

// checkPassword checks that the password of an account is set, and not in its
// URL, which other users of the machine can read.
func checkPassword(setting string, account *url.URL, password string) error {
	if _, has := account.User.Password(); has {
		return fmt.Errorf("%s_URL must not contain the password: set %s_PASSWORD", setting, setting)
	}
	if account.User.Username() != "" && password == "" {
		return fmt.Errorf("%s_PASSWORD must be set", setting)
	}
	return nil
}

// mailbox returns the name of the mailbox.
func (s IMAPSettings) mailbox() string {
	if name := strings.Trim(s.URL.Path, "/"); name != "" {
		return name
	}
	return "INBOX"
}

// address returns the host and port of a URL.
func address(u *url.URL, ports map[string]string) string {
	port := u.Port()
	if port == "" {
		port = ports[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// mailboxReader receives the messages of a mailbox.
type mailboxReader struct {
	worker   *Worker
	settings IMAPSettings
}

// run reads the mailbox until ctx is cancelled, and reconnects when the
// connection is lost.
func (r *mailboxReader) run(ctx context.Context) {
	pause := retry.Backoff{Min: reconnectMin, Max: reconnectMax}
	for ctx.Err() == nil {
		began := time.Now()
		err := r.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > reconnectMax {
			pause.Reset()
		}
		r.worker.settings.Log.Warn("the connection to the mailbox is lost", "host", r.settings.URL.Hostname(), "error", err)
		_ = retry.Sleep(ctx, pause.Next()) // the loop checks ctx
	}
}

// session connects and reads the mailbox until an error occurs.
func (r *mailboxReader) session(ctx context.Context) error {
	announced := make(chan struct{}, 1)
	client, err := r.connect(&imapclient.UnilateralDataHandler{Mailbox: func(*imapclient.UnilateralDataMailbox) {
		select {
		case announced <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		return err
	}
	defer client.Close()
	stop := context.AfterFunc(ctx, func() { _ = client.Close() }) // which ends the waiting command
	defer stop()
	if err := client.Login(r.settings.URL.User.Username(), r.settings.Password).Wait(); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	selected, err := client.Select(r.settings.mailbox(), nil).Wait()
	if err != nil {
		return fmt.Errorf("open the mailbox: %w", err)
	}
	r.worker.settings.Log.Info("reading a mailbox", "host", r.settings.URL.Hostname(), "mailbox", r.settings.mailbox())
	for {
		if err := r.readNew(ctx, client, selected.UIDValidity); err != nil {
			return err
		}
		if err := waitForMail(ctx, client, announced, cmp.Or(r.settings.Interval, mailboxInterval)); err != nil {
			return err
		}
	}
}

// connect connects with TLS.
func (r *mailboxReader) connect(handler *imapclient.UnilateralDataHandler) (*imapclient.Client, error) {
	options := &imapclient.Options{UnilateralDataHandler: handler, TLSConfig: r.settings.TLS, Dialer: &net.Dialer{Timeout: requestTime}}
	host := address(r.settings.URL, map[string]string{"imaps": "993", "imap": "143"})
	if r.settings.URL.Scheme == "imaps" {
		return imapclient.DialTLS(host, options)
	}
	return imapclient.DialStartTLS(host, options)
}

// waitForMail returns when the server announces a message, and after an interval.
func waitForMail(ctx context.Context, client *imapclient.Client, announced <-chan struct{}, interval time.Duration) error {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	var idle *imapclient.IdleCommand
	if client.Caps().Has(imap.CapIdle) {
		var err error
		if idle, err = client.Idle(); err != nil {
			return fmt.Errorf("wait for mail: %w", err)
		}
	}
	select {
	case <-announced:
	case <-timer.C:
	case <-client.Closed():
	case <-ctx.Done():
	}
	if idle != nil {
		if err := idle.Close(); err != nil {
			return fmt.Errorf("wait for mail: %w", err)
		}
		return idle.Wait()
	}
	return client.Noop().Wait()
}

// readNew stores the messages that were not stored before, and marks each as
// seen once it is on disk. Messages are new if they are unread, or if their UID
// is higher than that of the last one.
func (r *mailboxReader) readNew(ctx context.Context, client *imapclient.Client, validity uint32) error {
	name := r.settings.URL.User.Username() + "@" + r.settings.URL.Host + "/" + r.settings.mailbox()
	known, last, err := r.worker.store.mailbox(ctx, name)
	if err != nil {
		return err
	}
	criteria := imap.SearchCriteria{NotFlag: []imap.Flag{imap.FlagSeen}}
	if known == validity {
		after := imap.UIDSet{}
		after.AddRange(imap.UID(last+1), 0) // 0 is the last one of the mailbox
		criteria = imap.SearchCriteria{Or: [][2]imap.SearchCriteria{{criteria, {UID: []imap.UIDSet{after}}}}}
	} else {
		last = 0
	}
	found, err := client.UIDSearch(&criteria, nil).Wait()
	if err != nil {
		return fmt.Errorf("search the mailbox: %w", err)
	}
	for _, uid := range found.AllUIDs() {
		stored, err := r.readOne(ctx, client, uid, fmt.Sprintf("%s %d %d", name, validity, uid), uint32(uid) > last)
		if err != nil {
			return err
		}
		if stored && uint32(uid) > last {
			last = uint32(uid)
			if err := r.worker.store.saveMailbox(ctx, name, validity, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// readOne stores a message and marks it as seen. It reports false for a message
// that no longer exists.
func (r *mailboxReader) readOne(ctx context.Context, client *imapclient.Client, uid imap.UID, origin string, isNew bool) (bool, error) {
	set := imap.UIDSetNum(uid)
	limit := r.settings.MaxMessage
	if limit == 0 {
		limit = DefaultMaxMessage
	}
	sizes, err := client.Fetch(set, &imap.FetchOptions{UID: true, RFC822Size: true}).Collect()
	if err != nil || len(sizes) == 0 {
		return false, err
	}
	if sizes[0].RFC822Size > limit {
		if isNew {
			r.worker.settings.Log.Warn("a message in the mailbox is too large", "uid", uid, "bytes", sizes[0].RFC822Size)
		}
		return true, nil // it stays unread
	}
	section := &imap.FetchItemBodySection{Peek: true}
	messages, err := client.Fetch(set, &imap.FetchOptions{UID: true, BodySection: []*imap.FetchItemBodySection{section}}).Collect()
	if err != nil || len(messages) == 0 {
		return false, err
	}
	if err := r.worker.receive(ctx, received{source: "imap", origin: origin, raw: messages[0].FindBodySection(section)}); err != nil {
		return false, fmt.Errorf("store a message: %w", err)
	}
	seen := imap.StoreFlags{Op: imap.StoreFlagsAdd, Flags: []imap.Flag{imap.FlagSeen}, Silent: true}
	if err := client.Store(set, &seen, nil).Close(); err != nil {
		return false, fmt.Errorf("mark a message as seen: %w", err)
	}
	return true, nil
}
