package main

import (
	"net/url"
	"testing"
	"time"

	"standin/internal/calendar/mail"
)

// invitation returns a message that invites to a meeting tomorrow.
func invitation(host string) string {
	return "From: Ada <ada@example.test>\r\nSubject: Review\r\nContent-Type: text/calendar; charset=utf-8\r\n\r\nBEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:review-1\r\n" +
		"DTSTART:" + time.Now().Add(24*time.Hour).UTC().Format("20060102T150405Z") +
		"\r\nDURATION:PT1H\r\nSUMMARY:Review\r\nORGANIZER:mailto:ada@example.test\r\n" +
		"LOCATION:https://" + host + "/abc-defg-hij\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
}

// TestMailTest checks the explanation of a message, also at another time and with a meeting
// host of the operator.
func TestMailTest(t *testing.T) {
	t.Parallel()
	c := &cli{
		t, nil,
		map[string]string{
			"ACCEPTED": "--senders=* --remote=192.0.2.1 --networks=192.0.2.0/24",
			"LATER":    time.Now().Add(72 * time.Hour).UTC().Format(time.RFC3339),
		},
	}
	c.values["FILE"], c.values["OWN"] = c.file("invitation.eml", invitation("meet.google.com")), c.file("own.eml",
		invitation("meet.example.test"))
	c.rows(
		row{"mail test --senders=* $FILE", 0, `it has no DKIM signature.*If it were accepted:`, ``},
		row{
			"mail test $ACCEPTED $FILE", 0,
			`Accepted: network 192\.0\.2\.1.*Schedule “Review” for ada@example\.test\n  meeting:   https://meet\.google\.com/abc-defg-hij \(meet\)`,
			``,
		},
		row{"mail test $ACCEPTED $OWN", 0, `has no link`, ``},
		row{"mail test $ACCEPTED $OWN --allowed-meeting-hosts=meet.example.test", 0, `join at: `, ``},
		row{"mail test $ACCEPTED $OWN --allowed-meeting-hosts=meet.example.test --now=$LATER", 0, `“Review” is over\.`, ``},
	)
}

// TestMailSettings checks that settings that cannot work are refused, and that errors have no
// password.
func TestMailSettings(t *testing.T) { // not parallel: it changes the environment
	c := newAdmin(t)
	c.values["SMTP"], c.values["IMAP"] = "--smtp-listen=127.0.0.1:0 --senders=* --recipients=notes@example.test",
		"--senders=* --imap-url=imaps://notes%40example.test@example.test"
	for flags, want := range map[string]string{
		"": "there is nothing to receive mail from",
		"--smtp-listen=127.0.0.1:0 --recipients=notes@example.test": "STANDIN_MAIL_SENDERS must be set",
		"--smtp-listen=127.0.0.1:0 --senders=*":                     "STANDIN_MAIL_RECIPIENTS must be set",
		"--imap-url=imaps://notes@example.test --senders=*":         "the addresses that people invite",
		"$IMAP --imap-oauth=x":                                      "STANDIN_MAIL_IMAP_OAUTH must be microsoft",
		"$IMAP --imap-oauth=google":                                 "STANDIN_MAIL_IMAP_OAUTH_CLIENT_ID must be",
		"$IMAP":                                                     "STANDIN_MAIL_IMAP_PASSWORD must be set",
		"$SMTP --tls-cert=/dev/null":                                "must be set together",
		"$SMTP --imap-url=imaps://notes:hunter2@example.test":       "must not contain the password",
		"$SMTP --imap-url=imaps://notes:hunter2%@example.test":      "STANDIN_MAIL_IMAP_URL is not a URL",
		"$SMTP --reply-url=smtps://notes:hunter2@example.test:port": "STANDIN_MAIL_REPLY_URL is not a URL",
		"$SMTP --reply-url=smtps://example.test":                    "STANDIN_MAIL_REPLY_FROM must be",
	} {
		c.rows(row{"mail " + flags, exitFailed, `^$`, want})
	}
	c.rows(
		row{"mail --smtp-listen=127.0.0.1:0 '--senders=a b'", exitUsage, `^$`, `a sender must be an address, a domain or \*`},
		row{"mail --smtp-listen=127.0.0.1:0 --senders=* --recipients=notes", exitFailed, `^$`, `a recipient must be an address, or @ and a `},
	)
	for _, name := range []string{"STANDIN_MAIL_IMAP_URL", "STANDIN_MAIL_REPLY_URL"} {
		t.Setenv(name, "imaps://notes:hunter2%@example.test")
		c.rows(row{"mail $SMTP", exitFailed, `^$`, name})
		t.Setenv(name, "")
	}
	t.Setenv(envIMAPPassword+"_FILE", "/no/such/file")
	c.rows(row{"mail $IMAP", exitFailed, ``, `read STANDIN_MAIL_IMAP_PASSWORD_FILE: .*/no/such/file`})
}

// TestRepliesWithOAuth checks that replies are sent with the permission of the mailbox if it uses OAuth and there is no
// password for them.
func TestRepliesWithOAuth(t *testing.T) {
	t.Parallel()
	withOAuth := mail.IMAPSettings{OAuth: mail.OAuthSettings{Provider: mail.Google}}
	user, nobody := &url.URL{Scheme: "smtps", User: url.User("a"), Host: "b"}, &url.URL{Scheme: "smtp", Host: "b"}
	for _, c := range []struct {
		mailbox mail.IMAPSettings
		reply   mail.ReplySettings
		want    bool
	}{
		{withOAuth, mail.ReplySettings{URL: user}, true},
		{withOAuth, mail.ReplySettings{URL: user, Password: "x"}, false},
		{withOAuth, mail.ReplySettings{URL: nobody}, false},
		{withOAuth, mail.ReplySettings{}, false},
		{mail.IMAPSettings{}, mail.ReplySettings{URL: user}, false},
	} {
		if got := repliesWithOAuth(c.mailbox, c.reply); got != c.want {
			t.Errorf("%+v: %v", c.reply, got)
		}
	}
}
