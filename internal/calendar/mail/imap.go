package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"standin/internal/base/retry"
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
	URL       *url.URL      `kong:"-"` // imaps://user@host/mailbox, or imap:// for STARTTLS; the default mailbox is INBOX
	Password  string        `kong:"-"`
	OAuth     OAuthSettings `embed:""` // instead of the password
	Interval  time.Duration `kong:"-"` // between checks; mailboxInterval when 0
	Reconnect time.Duration `kong:"-"` // shortest pause before a new connection; reconnectMin when 0
	TLS       *tls.Config   `kong:"-"` // set by tests
}

func (s IMAPSettings) check() error {
	if s.URL == nil {
		return nil
	}
	if s.URL.Scheme != "imaps" && s.URL.Scheme != "imap" || s.URL.Hostname() == "" || s.URL.User.Username() == "" {
		return errors.New("STANDIN_MAIL_IMAP_URL must have the form imaps://user@host/mailbox")
	}
	if s.OAuth.Provider != "" {
		if s.Password != "" {
			return errors.New("STANDIN_MAIL_IMAP_PASSWORD and STANDIN_MAIL_IMAP_OAUTH must not be set together")
		}
		return errors.Join(checkPassword("STANDIN_MAIL_IMAP", s.URL, "-"), s.OAuth.check())
	}
	return checkPassword("STANDIN_MAIL_IMAP", s.URL, s.Password)
}

// name identifies the mailbox.
func (s IMAPSettings) name() string {
	return s.URL.User.Username() + "@" + s.URL.Host + "/" + s.mailbox()
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
	return cmp.Or(strings.Trim(s.URL.Path, "/"), "INBOX")
}

// address returns the host and port of a URL.
func address(u *url.URL, ports map[string]string) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme]))
}

// readMailbox reads the mailbox until ctx is cancelled, and reconnects when the
// connection is lost.
func (w *Worker) readMailbox(ctx context.Context) {
	pause := retry.Backoff{Min: cmp.Or(w.IMAP.Reconnect, reconnectMin), Max: reconnectMax}
	for ctx.Err() == nil {
		began := time.Now()
		err := w.mailboxSession(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > reconnectMax {
			pause.Reset()
		}
		if refused, ok := errors.AsType[*signInError](err); ok {
			w.Log.Error("the mailbox cannot be read: "+refused.advice, "host", w.IMAP.URL.Hostname(), "user",
				w.IMAP.URL.User.Username(), "error", err)
		} else {
			w.Log.Warn("mailbox connection lost", "host", w.IMAP.URL.Hostname(), "error", err)
		}
		_ = retry.Sleep(ctx, pause.Next()) // the loop checks ctx
	}
}

// mailboxSession connects and reads the mailbox until an error occurs.
func (w *Worker) mailboxSession(ctx context.Context) error {
	announced := retry.NewSignal()
	options := &imapclient.Options{
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{Mailbox: func(*imapclient.UnilateralDataMailbox) { announced.Send() }},
		TLSConfig:             w.IMAP.TLS, Dialer: &net.Dialer{Timeout: requestTime},
	}
	dial := imapclient.DialStartTLS
	if w.IMAP.URL.Scheme == "imaps" {
		dial = imapclient.DialTLS
	}
	client, err := dial(address(w.IMAP.URL, map[string]string{"imaps": "993", "imap": "143"}), options)
	if err != nil {
		return err
	}
	defer client.Close()
	stop := context.AfterFunc(ctx, func() { _ = client.Close() }) // ends the waiting command
	defer stop()
	if err := w.signIn(ctx, client); err != nil {
		return err
	}
	selected, err := client.Select(w.IMAP.mailbox(), nil).Wait()
	if err != nil {
		return fmt.Errorf("open the mailbox: %w", err)
	}
	w.Log.Info("reading a mailbox", "host", w.IMAP.URL.Hostname(), "mailbox", w.IMAP.mailbox())
	for {
		if err := w.readNew(ctx, client, selected); err != nil {
			return err
		}
		var idle *imapclient.IdleCommand // nil if the server cannot announce messages
		if client.Caps().Has(imap.CapIdle) {
			if idle, err = client.Idle(); err != nil {
				return fmt.Errorf("wait for mail: %w", err)
			}
		}
		select {
		case <-announced:
		case <-time.After(cmp.Or(w.IMAP.Interval, mailboxInterval)):
		case <-client.Closed():
		case <-ctx.Done():
		}
		if idle == nil {
			err = client.Noop().Wait()
		} else if err = idle.Close(); err == nil {
			err = idle.Wait()
		}
		if err != nil {
			return fmt.Errorf("wait for mail: %w", err)
		}
	}
}

// readNew reads the messages that arrived since the last call, or since the
// worker first saw the mailbox. It does not touch older messages. selected is the
// state of the mailbox when it was opened.
func (w *Worker) readNew(ctx context.Context, client *imapclient.Client, selected *imap.SelectData) error {
	name := w.IMAP.name()
	box, err := w.store.mailbox(ctx, name)
	if err != nil {
		return err
	}
	if box.validity != selected.UIDValidity {
		if selected.UIDNext == 0 {
			return errors.New("the server does not report the next UID of the mailbox")
		}
		if box.firstSeen.IsZero() {
			box.firstSeen = w.Now()
		} else if err := w.readRenumbered(ctx, client, name, selected.UIDValidity, box.firstSeen); err != nil {
			return err
		}
		box.validity, box.uid = selected.UIDValidity, uint32(selected.UIDNext)-1
		if err := w.store.saveMailbox(ctx, name, box); err != nil {
			return err
		}
	}
	after := imap.UIDSet{}
	after.AddRange(imap.UID(box.uid+1), 0) // 0 is the last message, which IMAP includes even if its UID is lower
	found, err := listMessages(ctx, client, after)
	if err != nil {
		return err
	}
	for _, m := range found {
		if uint32(m.UID) <= box.uid {
			continue
		}
		if err := w.readMessage(ctx, client, m, name, box.validity); err != nil {
			return err
		}
		box.uid = uint32(m.UID)
		if err := w.store.saveMailbox(ctx, name, box); err != nil {
			return err
		}
	}
	return nil
}

// readRenumbered reads a mailbox whose UIDs have changed, for example after it was
// restored from a backup: the unread messages that the server received since the
// worker first saw the mailbox.
func (w *Worker) readRenumbered(ctx context.Context, client *imapclient.Client, name string, validity uint32,
	firstSeen time.Time) error {
	// The search compares dates without regard to time and zone.
	criteria := &imap.SearchCriteria{NotFlag: []imap.Flag{imap.FlagSeen}, Since: firstSeen.AddDate(0, 0, -1)}
	unread, err := client.UIDSearch(criteria, nil).Wait()
	if err != nil {
		return fmt.Errorf("search the mailbox: %w", err)
	}
	if len(unread.AllUIDs()) == 0 {
		return nil
	}
	found, err := listMessages(ctx, client, imap.UIDSetNum(unread.AllUIDs()...))
	if err != nil {
		return err
	}
	for _, m := range found {
		if m.InternalDate.Before(firstSeen.Truncate(time.Second)) { // IMAP has whole seconds
			continue
		}
		if err := w.readMessage(ctx, client, m, name, validity); err != nil {
			return err
		}
	}
	return nil
}

// listMessages returns the UIDs, sizes and dates of messages that exist, by UID.
func listMessages(ctx context.Context, client *imapclient.Client, uids imap.UIDSet) ([]*imapclient.FetchMessageBuffer, error) {
	found, err := client.Fetch(uids, &imap.FetchOptions{UID: true, RFC822Size: true, InternalDate: true}).Collect()
	if err != nil {
		return nil, fmt.Errorf("list the messages: %w", err)
	}
	slices.SortFunc(found, func(a, b *imapclient.FetchMessageBuffer) int { return cmp.Compare(a.UID, b.UID) })
	return found, ctx.Err()
}

// readMessage stores a message and marks it as seen. It leaves a message that is too
// large unread.
func (w *Worker) readMessage(ctx context.Context, client *imapclient.Client, m *imapclient.FetchMessageBuffer, mailbox string,
	validity uint32) error {
	if m.RFC822Size > w.MaxMessage {
		w.Log.Warn("message in the mailbox is too large", "uid", m.UID, "bytes", m.RFC822Size)
		return nil
	}
	set := imap.UIDSetNum(m.UID)
	section := &imap.FetchItemBodySection{Peek: true}
	messages, err := client.Fetch(set, &imap.FetchOptions{UID: true, BodySection: []*imap.FetchItemBodySection{section}}).Collect()
	if err != nil {
		return fmt.Errorf("read a message: %w", err)
	}
	if len(messages) == 0 {
		return nil // it was deleted
	}
	origin := fmt.Sprintf("%s %d %d", mailbox, validity, m.UID)
	if err := w.receive(ctx, received{source: "imap", origin: origin, raw: messages[0].FindBodySection(section)}); err != nil {
		return fmt.Errorf("store a message: %w", err)
	}
	seen := imap.StoreFlags{Op: imap.StoreFlagsAdd, Flags: []imap.Flag{imap.FlagSeen}, Silent: true}
	if err := client.Store(set, &seen, nil).Close(); err != nil {
		return fmt.Errorf("mark a message as seen: %w", err)
	}
	return nil
}
