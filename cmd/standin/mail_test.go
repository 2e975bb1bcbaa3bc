package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"standin/internal/mail"
)

// invitationFile writes an invitation to a meeting tomorrow.
func invitationFile(t *testing.T) string {
	t.Helper()
	raw := "From: Ada <ada@example.test>\r\nSubject: Review\r\nContent-Type: text/calendar; charset=utf-8\r\n\r\nBEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:review-1\r\n" +
		"DTSTART:" + time.Now().Add(24*time.Hour).UTC().Format("20060102T150405Z") + "\r\nDURATION:PT1H\r\nSUMMARY:Review\r\nORGANIZER:mailto:ada@example.test\r\n" +
		"LOCATION:https://meet.google.com/abc-defg-hij\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	path := filepath.Join(t.TempDir(), "invitation.eml")
	if err := os.WriteFile(path, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMailTest checks the explanation of a message.
func TestMailTest(t *testing.T) {
	t.Parallel()
	file := invitationFile(t)
	var out, stderr bytes.Buffer
	if got := run([]string{"mail", "test", "--senders=*", file}, &out, &stderr); got != 0 || !strings.Contains(out.String(), "it has no DKIM signature") || !strings.Contains(out.String(), "If it were accepted:") {
		t.Errorf("%d: %s%s", got, out.String(), stderr.String())
	}
	out.Reset()
	if got := run([]string{"mail", "test", "--senders=*", "--remote=192.0.2.1", "--networks=192.0.2.0/24", file}, &out, &stderr); got != 0 ||
		!strings.Contains(out.String(), "Accepted: network 192.0.2.1") || !strings.Contains(out.String(), "Schedule “Review” for ada@example.test\n  meeting:   https://meet.google.com/abc-defg-hij (meet)") {
		t.Errorf("%d: %s%s", got, out.String(), stderr.String())
	}
}

// TestMailTestNow checks the explanation of a message at another time, and with a meeting
// host of the operator.
func TestMailTestNow(t *testing.T) {
	t.Parallel()
	file := invitationFile(t)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(raw, []byte("meet.google.com"), []byte("meet.example.test"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(72 * time.Hour).UTC().Format(time.RFC3339)
	for want, args := range map[string][]string{
		"join at: ":         {"--allowed-meeting-hosts=meet.example.test"},
		"has no link":       {},
		"“Review” is over.": {"--allowed-meeting-hosts=meet.example.test", "--now=" + later},
	} {
		var out, stderr bytes.Buffer
		if got := run(append([]string{"mail", "test", "--senders=*", "--remote=192.0.2.1", "--networks=192.0.2.0/24", file}, args...), &out, &stderr); got != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%q: %d: %s%s", args, got, out.String(), stderr.String())
		}
	}
}

// TestMailSettings checks that settings that cannot work are refused.
func TestMailSettings(t *testing.T) {
	t.Setenv(envIntakeSecret, "secret")
	dir := t.TempDir()
	smtp := []string{"--smtp-listen=127.0.0.1:0", "--senders=*", "--recipients=notes@example.test"}
	for want, args := range map[string][]string{
		"there is nothing to receive mail from":       nil,
		"STANDIN_MAIL_SENDERS must be set":            {"--smtp-listen=127.0.0.1:0", "--recipients=notes@example.test"},
		"STANDIN_MAIL_RECIPIENTS must be set":         {"--smtp-listen=127.0.0.1:0", "--senders=*"},
		"the addresses that people invite":            {"--imap-url=imaps://notes@example.test", "--senders=*"},
		"STANDIN_MAIL_IMAP_OAUTH must be microsoft":   {"--imap-url=imaps://notes%40example.test@example.test", "--senders=*", "--imap-oauth=x"},
		"STANDIN_MAIL_IMAP_OAUTH_CLIENT_ID must be":   {"--imap-url=imaps://notes%40example.test@example.test", "--senders=*", "--imap-oauth=google"},
		"must be set together":                        append(slices.Clone(smtp), "--tls-cert=/dev/null"),
		"STANDIN_MAIL_IMAP_PASSWORD must be set":      {"--imap-url=imaps://notes%40example.test@example.test", "--senders=*"},
		"must not contain the password":               append(slices.Clone(smtp), "--imap-url=imaps://notes:hunter2@example.test"),
		"STANDIN_MAIL_IMAP_URL is not a URL":          append(slices.Clone(smtp), "--imap-url=imaps://notes:hunter2%@example.test"),
		"STANDIN_MAIL_REPLY_URL is not a URL":         append(slices.Clone(smtp), "--reply-url=smtps://notes:hunter2@example.test:port"),
		"STANDIN_MAIL_REPLY_FROM must be":             append(slices.Clone(smtp), "--reply-url=smtps://example.test"),
		"STANDIN_MAIL_WINDOW must be from":            append(slices.Clone(smtp), "--window=1s"),
		"STANDIN_MAIL_MAX_MESSAGE must be from 1":     append(slices.Clone(smtp), "--max-message=0"),
		"a sender must be an address, a domain or *":  {"--smtp-listen=127.0.0.1:0", "--senders=a b"},
		"a recipient must be an address, or @ and a ": {"--smtp-listen=127.0.0.1:0", "--senders=*", "--recipients=notes"},
	} {
		var out, stderr bytes.Buffer
		got := run(append([]string{"mail", "--data-dir=" + dir}, args...), &out, &stderr)
		if got == 0 || !strings.Contains(stderr.String(), want) || strings.Contains(stderr.String(), "hunter2") {
			t.Errorf("%q: exit code %d, %s, want %q", args, got, stderr.String(), want)
		}
	}
	for _, name := range []string{"STANDIN_MAIL_IMAP_URL", "STANDIN_MAIL_REPLY_URL"} {
		t.Setenv(name, "imaps://notes:hunter2%@example.test")
		var out, stderr bytes.Buffer
		if got := run(append([]string{"mail", "--data-dir=" + dir}, smtp...), &out, &stderr); got == 0 || !strings.Contains(stderr.String(), name) || strings.Contains(stderr.String(), "hunter2") {
			t.Errorf("%s with a password that is not encoded: %d, %s", name, got, stderr.String())
		}
		t.Setenv(name, "")
	}
	t.Setenv(envIntakeSecret, "")
	var out, stderr bytes.Buffer
	if got := run([]string{"mail", "--data-dir=" + dir}, &out, &stderr); got == 0 || !strings.Contains(stderr.String(), "STANDIN_INTAKE_SECRET must be set") {
		t.Errorf("without a secret: %d, %s", got, stderr.String())
	}
}

// TestServeMail sends an invitation to a service with a mail worker, and lists and
// retries it.
func TestServeMail(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
	defer stop()
	serve := exec.CommandContext(ctx, os.Args[0], "serve", "--listen=127.0.0.1:0", "--launcher=manual", "--data-dir="+dir, "--mail",
		"--mail-smtp-listen=127.0.0.1:0", "--mail-recipients=notes@bots.example.test", "--mail-senders=*", "--mail-networks=127.0.0.0/8")
	output, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	for lines := bufio.NewScanner(output); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "standin mail receiving on ")
	}
	raw, err := os.ReadFile(invitationFile(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := smtp.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SendMail("ada@example.test", []string{"notes@bots.example.test"}, bytes.NewReader(raw)); err != nil {
		t.Fatal(err)
	}
	awaitVerdict := func() mail.Record {
		t.Helper()
		for {
			var out, stderr bytes.Buffer
			var records []mail.Record
			if got := run([]string{"mail", "list", "--json", "--data-dir=" + dir}, &out, &stderr); got != 0 {
				t.Fatalf("%d: %s", got, stderr.String())
			}
			if err := json.Unmarshal(out.Bytes(), &records); err != nil {
				t.Fatal(err)
			}
			if len(records) == 1 && records[0].Verdict != "waiting" {
				return records[0]
			}
			if ctx.Err() != nil {
				t.Fatalf("the messages are %+v", records)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	if got := awaitVerdict(); got.Verdict != "accepted" || got.Subject != "Review" || len(got.Changes) != 1 || got.Changes[0].Kind != "scheduled" {
		t.Errorf("the message is %+v", got)
	}
	var out, stderr bytes.Buffer
	if got := run([]string{"mail", "list", "--data-dir=" + dir}, &out, &stderr); got != 0 || !strings.Contains(out.String(), "REASON") || !strings.Contains(out.String(), "accepted") {
		t.Errorf("list: %d, %s%s", got, out.String(), stderr.String())
	}
	if got := run([]string{"mail", "retry", "1", "--data-dir=" + dir}, &out, &stderr); got != 0 {
		t.Errorf("retry: %d, %s", got, stderr.String())
	}
	if got := awaitVerdict(); got.Verdict != "accepted" || len(got.Changes) != 1 {
		t.Errorf("after the retry: %+v", got)
	}
	if got := run([]string{"mail", "retry", "2", "--data-dir=" + dir}, &out, &stderr); got == 0 {
		t.Error("a message that does not exist is retried")
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		t.Errorf("the service after a signal: %v", err)
	}
}
