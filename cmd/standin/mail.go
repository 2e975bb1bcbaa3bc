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

	"standin/internal/calendar/mail"
	"standin/internal/launch"
	"standin/internal/server/service"
)

// Environment variables with secrets. There are no flags for them because other
// users of the machine can read process arguments.
const (
	envIntakeSecret  = "STANDIN_INTAKE_SECRET"
	envIMAPPassword  = "STANDIN_MAIL_IMAP_PASSWORD"
	envOAuthSecret   = "STANDIN_MAIL_IMAP_OAUTH_CLIENT_SECRET"
	envReplyPassword = "STANDIN_MAIL_REPLY_PASSWORD"
)

// maxTestMessage limits the file of standin mail test, in bytes.
const maxTestMessage = 64 << 20

type mailCommand struct {
	Run   mailRunCommand   `cmd:"" default:"withargs" help:"Receive calendar invitations by mail and pass them to the service."`
	Test  mailTestCommand  `cmd:"" help:"Explain what would happen to a message."`
	List  mailListCommand  `cmd:"" help:"List received messages."`
	Retry mailRetryCommand `cmd:"" help:"Process a received message again."`
	Login mailLoginCommand `cmd:"" help:"Permit the worker to read a mailbox with OAuth 2.0."`
}

// Help says where the flags of the default command are.
func (mailCommand) Help() string {
	return "Without a command, standin mail receives mail as standin mail run does. standin mail run --help shows the flags."
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

// settings returns the settings of a worker that passes invites to a service.
func (f mailFlags) settings(dataDir, serviceURL, baseURL, secret string, meetingHosts []string,
	log *slog.Logger) (settings mail.Settings, err error) {
	settings = mail.Settings{
		Dir: service.MailDir(dataDir), Log: log,
		Service: mail.NewClient(serviceURL, secret), Policy: f.Policy, SMTP: f.SMTPSettings,
	}
	if settings.IMAP, err = f.imapFlags.settings(); err != nil {
		return settings, err
	}
	if settings.Reply, err = f.replySettings(baseURL); err != nil {
		return settings, err
	}
	settings.Reply.OAuth, settings.Policy.MeetingHosts = f.IMAPSettings.OAuth.Send, meetingHosts
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

// checkMail returns an error for settings with which the worker cannot start.
func (f mailFlags) checkMail() error {
	settings, err := f.settings("", "", "", "", nil, nil)
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
	DataDir    string `env:"STANDIN_DATA_DIR" default:"./data" help:"Data directory. The worker uses the directory mail in it."`
	ServiceURL string `env:"STANDIN_URL" name:"url" default:"http://127.0.0.1:8080" help:"URL of the service."`
	BaseURL    string `env:"STANDIN_BASE_URL" help:"URL of the dashboard, for links in replies. Default: no links."`
	mailFlags
	meetingHostFlags
	launch.LogSettings
}

// Help explains how the worker relates to the service.
func (mailRunCommand) Help() string {
	return "Receives calendar invitations by SMTP or from an IMAP mailbox and passes them to the service, which must have the same " +
		"STANDIN_INTAKE_SECRET. standin serve --mail runs the same worker in the service's process. See the page Invitations by email of the guide."
}

// Run receives mail until a signal arrives.
func (c *mailRunCommand) Run(ctx context.Context, to terminal) error {
	secret, err := secretOf(envIntakeSecret)
	if err != nil {
		return err
	}
	if secret == "" {
		return errors.New("STANDIN_INTAKE_SECRET must be set, to the same value as for the service")
	}
	settings, err := c.settings(c.DataDir, c.ServiceURL, c.BaseURL, secret, c.MeetingHosts, c.Logger(to.Err))
	if err != nil {
		return err
	}
	w, err := mail.Open(ctx, settings)
	if err != nil {
		return err
	}
	if address := w.SMTPAddr(); address != "" {
		fmt.Fprintf(to.Out, "standin mail receiving on %s\n", address)
	}
	w.Run(ctx)
	return w.Close()
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
	raw, err := readInput(c.File, maxTestMessage)
	if err != nil {
		return err
	}
	now := c.Now
	if now.IsZero() {
		now = time.Now()
	}
	c.Policy.MeetingHosts = c.meetingHostFlags.MeetingHosts
	explanation, err := mail.Explain(ctx, c.Policy, raw, c.Remote, now)
	if err != nil {
		return err
	}
	return explanation.WriteText(to.Out)
}

// mailDirFlags locate the directory of a worker.
type mailDirFlags struct {
	envFileFlags
	DataDir string `env:"STANDIN_DATA_DIR" default:"./data" help:"Data directory of the worker."`
}

type mailListCommand struct {
	mailDirFlags
	outputFlags
	Limit int `default:"50" help:"Maximum number of messages."`
}

// Run lists the newest messages.
func (c *mailListCommand) Run(ctx context.Context, to terminal) error {
	if err := actAsOwner(c.DataDir); err != nil {
		return err
	}
	records, err := mail.Directory(service.MailDir(c.DataDir)).Records(ctx, 0, c.Limit)
	if err != nil {
		return err
	}
	return printTable(c.outputFlags, to, "ID|RECEIVED|FROM|SUBJECT|VERDICT|JOBS|REASON", records, func(r mail.Record) []string {
		return []string{
			strconv.FormatInt(r.ID, 10), to.time(r.ReceivedAt), r.Sender, r.Subject, r.Verdict, strconv.Itoa(len(r.Changes)), r.Detail,
		}
	})
}

type mailRetryCommand struct {
	mailDirFlags
	ID int64 `arg:"" help:"ID of the message in standin mail list."`
}

// Run marks a message for processing.
func (c *mailRetryCommand) Run(ctx context.Context, _ terminal) error {
	if err := actAsOwner(c.DataDir); err != nil {
		return err
	}
	return mail.Directory(service.MailDir(c.DataDir)).Retry(ctx, c.ID)
}

type mailLoginCommand struct {
	mailDirFlags
	imapFlags
}

// Run asks the user to sign in.
func (c *mailLoginCommand) Run(ctx context.Context, to terminal) error {
	if err := actAsOwner(c.DataDir); err != nil {
		return err
	}
	settings, err := c.settings()
	if err != nil {
		return err
	}
	show := func(instruction string) { fmt.Fprintln(to.Out, instruction) }
	if err := mail.Login(ctx, service.MailDir(c.DataDir), settings, show); err != nil {
		return err
	}
	fmt.Fprintln(to.Out, "The mail worker can read the mailbox.")
	return nil
}
