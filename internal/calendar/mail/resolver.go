package mail

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"standin/internal/calendar/calendarsync"
)

const (
	lookupTime    = 5 * time.Second // limit of all DNS lookups for a message
	failureTime   = time.Minute     // how long a domain is not asked again whose name servers do not answer
	maxFailures   = 10_000          // domains that are remembered
	dkimSeparator = "._domainkey."
)

// resolver looks up TXT records, and remembers domains whose name servers do not
// answer. Its methods may be called from any goroutine.
type resolver struct {
	lookup func(ctx context.Context, name string) ([]string, error)
	now    func() time.Time

	mu     sync.Mutex
	failed map[string]time.Time // organizational domains, and when they may be asked again
}

// newResolver returns a resolver that uses lookup, or the system's name servers if it
// is nil.
func newResolver(lookup func(ctx context.Context, name string) ([]string, error), now func() time.Time) *resolver {
	if lookup == nil {
		lookup = net.DefaultResolver.LookupTXT
	}
	return &resolver{lookup: lookup, now: now, failed: make(map[string]time.Time)}
}

// txt returns the TXT records of a name.
func (r *resolver) txt(ctx context.Context, name string) ([]string, error) {
	domain := calendarsync.Organization(name)
	r.mu.Lock()
	until := r.failed[domain]
	r.mu.Unlock()
	if r.now().Before(until) {
		return nil, &net.DNSError{Err: "the name servers did not answer a minute ago", Name: name, IsTemporary: true}
	}
	records, err := r.lookup(ctx, name)
	if failure, ok := errors.AsType[*net.DNSError](err); ok && failure.Temporary() && !errors.Is(ctx.Err(), context.Canceled) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.failed) >= maxFailures {
			clear(r.failed)
		}
		r.failed[domain] = r.now().Add(failureTime)
	}
	return records, err
}
