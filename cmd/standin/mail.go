package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar/mail"
	"standin/internal/launch"
	"standin/internal/server/service"
	"standin/internal/store"
)

// Environment variables with secrets. There are no flags for them because other
// users of the machine can read process arguments.
const (
	envIMAPPassword  = "STANDIN_MAIL_IMAP_PASSWORD"
	envOAuthSecret   = "STANDIN_MAIL_IMAP_OAUTH_CLIENT_SECRET"
	envReplyPassword = "STANDIN_MAIL_REPLY_PASSWORD"
)

type mailCommand struct {
	Run   mailRunCommand   `cmd:"" default:"withargs" help:"Receive calendar invitations by mail."`
	Test  mailTestCommand  `cmd:"" help:"Explain what would happen to a message."`
	List  mailListCommand  `cmd:"" help:"List received messages."`
	Retry mailRetryCommand `cmd:"" help:"Process a received message again."`
	Login mailLoginCommand `cmd:"" help:"Permit the worker to read a mailbox with OAuth 2.0."`
}

// meetingHostFlags extend the hosts of meeting links, outside of standin serve, which
// has them for all its parts.
type meetingHostFlags struct {
	MeetingHosts []string `env:"STANDIN_ALLOWED_MEETING_HOSTS" name:"allowed-meeting-hosts" help:"Hosts of meetings in addition to the meeting platforms' hosts, as in the service."`
}

// imapFlags configure the mailbox. The URLs are texts, because Kong shows values that
// cannot be parsed, and these may contain a password by mistake.
type imapFlags struct {
	mail.IMAPSettings
	IMAPURL string `env:"STANDIN_MAIL_IMAP_URL" name:"imap-url" placeholder:"imaps://user@host/INBOX" help:"Mailbox to read. The password comes from the environment variable STANDIN_MAIL_IMAP_PASSWORD. Default: none."`
}

// settings returns the settings of the mailbox; without a URL if there is none.
func (f imapFlags) settings() (settings mail.IMAPSettings, err error) {
	settings = f.IMAPSettings
	if settings.Password, err = secretOf(envIMAPPassword); err != nil {
		return settings, err
	}
	if settings.OAuth.ClientSecret, err = secretOf(envOAuthSecret); err != nil {
		return settings, err
	}
	settings.URL, err = mailURL("STANDIN_MAIL_IMAP_URL", f.IMAPURL)
	return settings, err
}

// mailFlags configure the mail worker.
type mailFlags struct {
	mail.Policy
	mail.SMTPSettings
	imapFlags
	replyFlags
}

// settings returns the settings of a worker, without what it works on.
func (f mailFlags) settings(baseURL string, meetingHosts []string, log *slog.Logger) (settings mail.Settings, err error) {
	settings = mail.Settings{Log: log, Policy: f.Policy, SMTP: f.SMTPSettings}
	if settings.IMAP, err = f.imapFlags.settings(); err != nil {
		return settings, err
	}
	if settings.Reply, err = f.replySettings(baseURL); err != nil {
		return settings, err
	}
	settings.Reply.OAuth = repliesWithOAuth(settings.IMAP, settings.Reply)
	settings.IMAP.OAuth.Send, settings.Policy.MeetingHosts = settings.Reply.OAuth, meetingHosts
	if f.Listen == "" && settings.IMAP.URL == nil {
		return settings, errors.New("there is nothing to receive mail from: set STANDIN_MAIL_SMTP_LISTEN or STANDIN_MAIL_IMAP_URL")
	}
	if settings.IMAP.URL != nil && len(f.Recipients) == 0 && strings.Contains(settings.IMAP.URL.User.Username(), "@") {
		settings.Policy.Recipients = []string{settings.IMAP.URL.User.Username()}
	}
	return settings, nil
}

// replyFlags configure outgoing mail.
type replyFlags struct {
	mail.ReplySettings
	ReplyURL string `env:"STANDIN_MAIL_REPLY_URL" name:"reply-url" placeholder:"smtps://user@host" help:"Outgoing mail host for replies. The password comes from the environment variable STANDIN_MAIL_REPLY_PASSWORD. Default: no replies."`
}

// replySettings returns the settings of outgoing mail.
func (f replyFlags) replySettings(baseURL string) (settings mail.ReplySettings, err error) {
	settings = f.ReplySettings
	settings.BaseURL = strings.TrimRight(baseURL, "/")
	if settings.Password, err = secretOf(envReplyPassword); err != nil {
		return settings, err
	}
	settings.URL, err = mailURL("STANDIN_MAIL_REPLY_URL", f.ReplyURL)
	return settings, err
}

// repliesWithOAuth reports whether replies are sent with the OAuth permission of the mailbox: as a user, without a password.
func repliesWithOAuth(mailbox mail.IMAPSettings, reply mail.ReplySettings) bool {
	return mailbox.OAuth.Provider != "" && reply.URL != nil && reply.URL.User != nil && reply.Password == ""
}

// checkMail returns an error for settings with which the worker cannot start.
func (f mailFlags) checkMail() error {
	settings, err := f.settings("", nil, nil)
	if err != nil {
		return err
	}
	return settings.Check()
}

// mailURL parses the URL in a setting; nil if it is empty. Its error does not show the
// URL, which may contain a password.
func mailURL(setting, text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return nil,
			fmt.Errorf("%s is not a URL such as imaps://user@host or smtps://user@host; write special characters of the user as percent-encodings",
				setting)
	}
	return parsed, nil
}

type mailRunCommand struct {
	dataFlags
	service.KeySettings
	service.EventSettings
	BaseURL string `env:"STANDIN_BASE_URL" help:"URL of the dashboard, for links in replies. Default: no links."`
	mailFlags
	meetingHostFlags
	launch.LogSettings
}

// Run receives mail until a signal arrives.
func (c *mailRunCommand) Run(ctx context.Context, to terminal) error {
	log := c.Logger(to.Err)
	settings, err := c.settings(c.BaseURL, c.MeetingHosts, log)
	if err != nil {
		return err
	}
	s, err := c.ProvideStore(ctx)
	if err != nil {
		return err
	}
	if settings.Sealer, err = c.Sealer(c.DataSettings); err != nil {
		return err
	}
	settings.Store, settings.Jobs = s, c.Scheduler(s)
	w, err := mail.Open(ctx, settings)
	if err != nil {
		return err
	}
	defer w.Close()
	if address := w.SMTPAddr(); address != "" {
		fmt.Fprintf(to.Out, "standin mail receiving on %s\n", address)
	}
	w.Run(ctx)
	return nil
}

type mailTestCommand struct {
	File   string    `arg:"" type:"existingfile" help:"Message in a file (.eml)."`
	Remote string    `placeholder:"192.0.2.1" help:"Address of the SMTP client that sent the message. Default: the message is from the mailbox."`
	Now    time.Time `placeholder:"TIME" help:"When the message is received. Default: now."`
	mail.Policy
	meetingHostFlags
}

// Run explains a message.
func (c *mailTestCommand) Run(ctx context.Context, to terminal) error {
	raw, err := readInput(c.File, 64<<20)
	if err != nil {
		return err
	}
	if c.Now.IsZero() {
		c.Now = time.Now()
	}
	c.Policy.MeetingHosts = c.meetingHostFlags.MeetingHosts
	explanation, err := mail.Explain(ctx, c.Policy, raw, c.Remote, c.Now)
	if err != nil {
		return err
	}
	return explanation.WriteText(to.Out)
}

type mailListCommand struct {
	dataFlags
	outputFlags
	Limit int `default:"50" help:"Maximum number of messages."`
}

// Run lists the newest messages.
func (c *mailListCommand) Run(ctx context.Context, to terminal, s *store.Store) error {
	records, err := (&mail.Store{DB: s}).Records(ctx, uuid.Nil, c.Limit)
	return printTable(c.outputFlags, to, "ID|RECEIVED|FROM|SUBJECT|VERDICT|JOBS|REASON", records, err, func(r mail.Record) []string {
		return []string{
			r.ID.String(), to.time(r.ReceivedAt), r.Sender, r.Subject, r.Verdict, strconv.Itoa(len(r.Changes)), r.Detail,
		}
	})
}

type mailRetryCommand struct {
	dataFlags
	ID uuid.UUID `arg:"" help:"ID of the message in standin mail list."`
}

// Run marks a message for processing.
func (c *mailRetryCommand) Run(ctx context.Context, s *store.Store) error {
	return (&mail.Store{DB: s}).Retry(ctx, c.ID, time.Now())
}

type mailLoginCommand struct {
	dataFlags
	service.KeySettings
	imapFlags
	replyFlags
}

// Run asks the user to sign in.
func (c *mailLoginCommand) Run(ctx context.Context, to terminal) error {
	settings, err := c.settings()
	if err != nil {
		return err
	}
	reply, err := c.replySettings("")
	if err != nil {
		return err
	}
	settings.OAuth.Send = repliesWithOAuth(settings, reply)
	s, err := c.ProvideStore(ctx)
	if err != nil {
		return err
	}
	sealer, err := c.Sealer(c.DataSettings)
	if err == nil {
		err = (&mail.Store{DB: s, Sealer: sealer}).Login(ctx, settings, func(instruction string) { fmt.Fprintln(to.Out, instruction) })
	}
	if err == nil {
		fmt.Fprintln(to.Out, "The mail worker can read the mailbox.")
	}
	return err
}
