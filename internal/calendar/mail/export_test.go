package mail

import (
	"context"
	"testing"

	"standin/internal/testing/mailhost"
	"standin/internal/testing/storetest"
)

// Cluster is the PostgreSQL server that the tests share; nil if it is not installed.
var Cluster *storetest.Cluster

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

// AwaitOpened waits until the worker has seen the mailbox.
func (w *Worker) AwaitOpened(t *testing.T, host *mailhost.IMAP) {
	t.Helper()
	(&harness{Worker: w}).awaitOpened(t, host)
}

// CloseSMTPServer closes the SMTP server as the end of Run does.
func (w *Worker) CloseSMTPServer() { _ = w.server.server.Close() }
