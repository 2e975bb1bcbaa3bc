package mail

import (
	"context"
	"crypto/tls"
	"net/url"
	"testing"
	"time"
)

// SetStep sets a function that is called between the steps of receiving.
func (w *Worker) SetStep(step func(name string)) { w.step = step }

// Keys has the DKIM keys of domains.
type Keys struct{ dnsKeys }

// NewKeys creates the keys of domains.
func NewKeys(domains ...string) Keys { return Keys{newKeys(domains...)} }

// Lookup implements Policy.LookupTXT. Name servers of domains that begin with dead do
// not answer.
func (k Keys) Lookup(ctx context.Context, name string) ([]string, error) {
	return (&deadDNS{keys: k.dnsKeys}).lookup(ctx, name)
}

// Sign signs a message for a domain.
func (k Keys) Sign(t testing.TB, raw []byte, domain string) []byte {
	return k.signFields(t, raw, domain, "From", "To", "Subject", "Content-Type")
}

// IMAPHost is an IMAP server with one mailbox.
type IMAPHost struct{ *imapHost }

// NewIMAPHost starts an IMAP server.
func NewIMAPHost(t *testing.T) IMAPHost { return IMAPHost{newIMAPHost(t)} }

// Deliver puts a message into the mailbox.
func (h IMAPHost) Deliver(t *testing.T, raw []byte) { h.deliver(t, raw) }

// Address returns the server's address.
func (h IMAPHost) Address() string { return h.listener.Addr().String() }

// CertFile returns the path of the server's certificate.
func (h IMAPHost) CertFile(t *testing.T) string {
	certFile, _ := certificateFiles(t)
	return certFile
}

// Unseen returns how many messages are not marked as seen.
func (h IMAPHost) Unseen(t *testing.T) (unseen int) {
	for _, seen := range h.seen(t) {
		if !seen {
			unseen++
		}
	}
	return unseen
}

// IMAPSettingsOf returns the settings of a reader of an IMAPHost's mailbox.
func IMAPSettingsOf(address string, trusted *tls.Config) IMAPSettings {
	return IMAPSettings{
		URL: &url.URL{Scheme: "imaps", User: url.User("notes"), Host: address}, Password: "secret",
		Interval: 50 * time.Millisecond, Reconnect: 50 * time.Millisecond, TLS: trusted,
	}
}

// AwaitOpened waits until the worker has seen the mailbox.
func (w *Worker) AwaitOpened(t *testing.T, host IMAPHost) {
	t.Helper()
	(&harness{Worker: w}).awaitOpened(t, host.imapHost)
}

// CloseSMTPServer closes the SMTP server as the end of Run does.
func (w *Worker) CloseSMTPServer() { _ = w.server.server.Close() }
