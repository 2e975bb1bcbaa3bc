package mail

import (
	"bytes"
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

	"standin/internal/calendar"

	"github.com/google/uuid"

	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

const (
	maxReplies   = 30 // limit for one address in 24 hours
	replyTime    = 24 * time.Hour
	sendTime     = time.Minute
	maxListed    = 20 // jobs that a reply lists
	replyIDStart = "standin."
)

// ReplySettings configure replies.
type ReplySettings struct {
	From     string      `env:"STANDIN_MAIL_REPLY_FROM" name:"reply-from" placeholder:"notes@example.com" help:"Mail address of the replies."`
	URL      *url.URL    `kong:"-"` // smtps://user@host, or smtp:// for STARTTLS
	Password string      `kong:"-"`
	OAuth    bool        `kong:"-"` // instead of the password: with the permission of the mailbox
	BaseURL  string      `kong:"-"` // dashboard URL, for links to jobs; no links when empty
	TLS      *tls.Config `kong:"-"` // set by tests
}

// Check returns an error for settings that cannot work.
func (s ReplySettings) Check() error {
	if s.URL == nil {
		return nil
	}
	if s.URL.Scheme != "smtps" && s.URL.Scheme != "smtp" || s.URL.Hostname() == "" {
		return errors.New("STANDIN_MAIL_REPLY_URL must have the form smtps://user@host")
	}
	if _, err := mail.ParseAddress(s.From); err != nil {
		return errors.New("STANDIN_MAIL_REPLY_FROM must be the mail address of the replies")
	}
	password := s.Password
	if s.OAuth {
		password = "-"
	}
	return checkPassword("STANDIN_MAIL_REPLY", s.URL, password)
}

// wantsReply reports whether a person, or the calendar of one, has sent the message. Lists,
// automatic messages, bounces and replies to the worker's own messages get no reply (RFC 3834).
func (c *content) wantsReply() bool {
	for _, name := range []string{"List-Id", "List-Post", "List-Unsubscribe", "Feedback-Id", "X-Loop", "X-Autoreply", "X-Autorespond"} {
		if c.header.Has(name) {
			return false
		}
	}
	switch strings.ToLower(strings.TrimSpace(c.header.Get("Precedence"))) {
	case "bulk", "list", "junk", "auto_reply":
		return false
	}
	automatic, _, _ := strings.Cut(strings.ToLower(c.header.Get("Auto-Submitted")), ";")
	switch automatic = strings.TrimSpace(automatic); {
	case automatic == "" || automatic == "no":
	case automatic == "auto-generated" && len(c.calendars) > 0: // a calendar sends the invitation for its user
	default:
		return false
	}
	if suppressed := strings.ToLower(c.header.Get("X-Auto-Response-Suppress")); strings.Contains(suppressed, "all") ||
		strings.Contains(suppressed, "autoreply") {
		return false
	}
	if c.header.Has("Return-Path") && strings.Trim(c.header.Get("Return-Path"), "<> ") == "" {
		return false // a bounce
	}
	if kind, _, _ := c.header.ContentType(); kind == "multipart/report" {
		return false
	}
	local, _, _ := strings.Cut(c.from, "@")
	switch strings.NewReplacer("-", "", "_", "", ".", "").Replace(local) {
	case "mailerdaemon", "postmaster", "noreply", "donotreply", "bounce", "bounces", "notifications", "calendarnotification":
		return false
	}
	return !slices.ContainsFunc(c.refers, func(id string) bool { return strings.HasPrefix(id, replyIDStart) })
}

// dueReply is a reply to send.
type dueReply struct {
	message  uuid.UUID
	sender   string
	subject  string
	id       string
	verdict  string
	detail   string
	attempts int
	since    time.Time
}

// sendReply sends the reply to a message.
func (w *Worker) sendReply(ctx context.Context, id uuid.UUID) error {
	now := w.Now()
	var r dueReply
	ok, err := get(ctx, w.Store.Reader, []any{
		&r.message, &r.sender, &r.subject, &r.id, &r.verdict, &r.detail, &r.attempts, &r.since,
	}, `SELECT id, sender, subject, message_id, verdict, detail, reply_attempts, since FROM mail_messages WHERE id = $1`, id)
	if !ok || err != nil {
		return err
	}
	changes, err := w.store.changes(ctx, r.message)
	if err != nil {
		return err
	}
	subject := r.subject
	if !strings.HasPrefix(strings.ToLower(subject), "re:") {
		subject = "Re: " + subject
	}
	h := w.Reply.header([]string{r.sender}, subject, now)
	// The Message-ID is the same each time the reply is sent.
	h.SetMessageID(fmt.Sprintf("%s%s.%d@%s", replyIDStart, r.message, r.since.UnixMilli(), domainOf(w.Reply.From)))
	if r.id != "" {
		h.SetMsgIDList("In-Reply-To", []string{r.id})
		h.SetMsgIDList("References", []string{r.id})
	}
	h.Set("Auto-Submitted", "auto-replied")
	h.Set("X-Auto-Response-Suppress", "All")
	text, err := plainMessage(h, w.Reply.text(r, changes))
	if err == nil {
		err = w.Reply.deliver(ctx, []string{r.sender}, text, w.accessToken)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	state, next := "sent", any(nil)
	if err != nil {
		state = failed
		var final *smtp.SMTPError
		if at := now.Add(backoff(r.attempts)); at.Before(r.since.Add(retryTime)) && (!errors.As(err, &final) || final.Temporary()) {
			state, next = waiting, at
		}
		w.Log.Warn("cannot send reply", "message", r.message, "attempt", r.attempts+1, "error", err)
	}
	return w.store.exec(ctx, `UPDATE mail_messages SET reply = $2, reply_at = $3, reply_attempts = reply_attempts + 1
		WHERE id = $1`, r.message, state, next)
}

// header returns the header of a message.
func (s ReplySettings) header(to []string, subject string, now time.Time) (h mail.Header) {
	addresses := make([]*mail.Address, len(to))
	for i, address := range to {
		addresses[i] = &mail.Address{Address: address}
	}
	h.SetDate(now)
	h.SetAddressList("From", []*mail.Address{{Name: "Standin", Address: s.From}})
	h.SetAddressList("To", addresses)
	h.SetSubject(subject)
	return h
}

// plainMessage returns a message with a plain text.
func plainMessage(h mail.Header, text string) ([]byte, error) {
	h.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
	h.Set("Content-Transfer-Encoding", "quoted-printable")
	var b bytes.Buffer
	body, err := mail.CreateSingleInlineWriter(&b, h)
	if err != nil {
		return nil, fmt.Errorf("write a message: %w", err)
	}
	_, err = body.Write([]byte(text))
	return b.Bytes(), errors.Join(err, body.Close())
}

// text returns the body of a reply: what was scheduled, and why the rest was
// not.
func (s ReplySettings) text(r dueReply, changes []Change) string {
	var b strings.Builder
	for _, change := range changes[:min(len(changes), maxListed)] {
		what := strings.ToUpper(change.Kind[:1]) + change.Kind[1:]
		switch change.Kind {
		case "free_tier_exhausted":
			what = "Not scheduled, because this month's free meetings are used up"
		case "dismissed":
			what = "Not scheduled, because the bot for this meeting was cancelled by hand"
		}
		fmt.Fprintf(&b, "%s: %s, %s\r\n", what, cmp.Or(change.Summary, "meeting"), localTime(change.Start, change.Zone))
		if s.BaseURL != "" {
			fmt.Fprintf(&b, "  %s/jobs/%s\r\n", s.BaseURL, change.JobID)
		}
	}
	if more := len(changes) - maxListed; more > 0 {
		fmt.Fprintf(&b, "and %d more\r\n", more)
	}
	switch {
	case len(changes) > 0:
	case r.verdict == accepted && r.detail == "":
		b.WriteString("Nothing has changed: this invitation is already scheduled as it is.\r\n")
	case r.verdict == accepted:
		b.WriteString("No job has changed.\r\n")
	default:
		b.WriteString("Nothing was scheduled.\r\n")
	}
	if r.detail != "" {
		b.WriteString("\r\n" + strings.ReplaceAll(r.detail, "\n", "\r\n") + "\r\n")
	}
	return b.String()
}

// shortOffset shortens an offset, such as -07:00.
var shortOffset = strings.NewReplacer("+0", "+", "-0", "-", ":00", "")

// localTime returns a time in a zone and its offset, for people.
func localTime(at time.Time, zone string) string {
	location := calendar.Location(zone)
	name := location.String()
	if location != time.UTC {
		name += ", UTC" + shortOffset.Replace(at.In(location).Format("-07:00"))
	}
	return at.In(location).Format("Monday, January 2, 2006 at 15:04") + " (" + name + ")"
}

// deliver sends a message with an empty return path, so that it cannot bounce back. It gets an
// access token only with OAuth.
func (s ReplySettings) deliver(ctx context.Context, to []string, text []byte, accessToken func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	config := s.TLS.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.ServerName = s.URL.Hostname()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address(s.URL, map[string]string{"smtps": "465", "smtp": "587"}))
	if err != nil {
		return fmt.Errorf("connect to the outgoing mail host: %w", err)
	}
	var client *smtp.Client
	if s.URL.Scheme == "smtps" {
		client = smtp.NewClient(tls.Client(conn, config))
	} else if client, err = smtp.NewClientStartTLS(conn, config); err != nil {
		return fmt.Errorf("connect to the outgoing mail host: %w", err)
	}
	defer client.Close()
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	if user := s.URL.User.Username(); user != "" {
		mechanism := sasl.NewPlainClient("", user, s.Password)
		if s.OAuth {
			token, err := accessToken(ctx)
			if err != nil {
				return fmt.Errorf("sign in to the outgoing mail host: %w; run standin mail login", err)
			}
			mechanism = bearer(client.SupportsAuth(sasl.OAuthBearer), user, token)
		}
		if err := client.Auth(mechanism); err != nil {
			return fmt.Errorf("sign in to the outgoing mail host: %w", err)
		}
	}
	if err := client.SendMail("", to, bytes.NewReader(text)); err != nil {
		return fmt.Errorf("send a message: %w", err)
	}
	return client.Quit()
}

// Send sends a message for operators, with a password and not with OAuth.
func (s ReplySettings) Send(ctx context.Context, to []string, subject, body string) error {
	h := s.header(to, subject, time.Now())
	if err := h.GenerateMessageIDWithHostname(domainOf(s.From)); err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	h.Set("Auto-Submitted", "auto-generated")
	text, err := plainMessage(h, strings.ReplaceAll(body, "\n", "\r\n"))
	if err != nil {
		return err
	}
	return s.deliver(ctx, to, text, nil)
}
