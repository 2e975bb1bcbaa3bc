package egress

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"standin/internal/dialguard"
)

// RefusedError says that a target was refused before any packet went there.
type RefusedError struct {
	Target string // host and port, as the browser named them
	Reason string
}

// Error names the target and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the browser may not reach %s: %s", e.Target, e.Reason)
}

// rules are the exceptions from what the proxy refuses.
type rules struct {
	mutex      sync.RWMutex
	exceptions map[string]string // path prefix by host and port; empty: all of it
}

func newRules() *rules { return &rules{exceptions: make(map[string]string)} }

// allow adds an exception and returns what takes it back.
func (r *rules) allow(hostPort, pathPrefix string) (withdraw func(), err error) {
	target, err := normal(hostPort)
	if err != nil {
		return nil, fmt.Errorf("allowing %q to the browser: %w", hostPort, err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.exceptions[target] = pathPrefix
	return func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		delete(r.exceptions, target)
	}, nil
}

// exception tells whether there is one for the target, and its path prefix.
func (r *rules) exception(target string) (pathPrefix string, found bool) {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	pathPrefix, found = r.exceptions[target]
	return pathPrefix, found
}

// admitTunnel judges a tunnel, which shows no path.
func (r *rules) admitTunnel(target string) error {
	if prefix, found := r.exception(target); found && prefix != "" {
		return &RefusedError{Target: target, Reason: "it is no place for this page"}
	}
	return nil
}

// admitPath judges a plain HTTP request. Whose path is not below the secret one
// is told nothing else than any other that may not reach the target.
func (r *rules) admitPath(target, path string) error {
	prefix, found := r.exception(target)
	if !found || len(path) >= len(prefix) && subtle.ConstantTimeCompare([]byte(path[:len(prefix)]), []byte(prefix)) == 1 {
		return nil
	}
	return &RefusedError{Target: target, Reason: "it is no place for this page"}
}

// AllowedTargets turns entries of allowed hosts, as an operator writes them, into what
// Settings.Allowed wants: an entry with a port is that very host and port, one
// without is the host's two ports of the web.
func AllowedTargets(entries []string) []string {
	var places []string
	for _, entry := range entries {
		entry = strings.TrimSpace(entry)
		if _, _, err := net.SplitHostPort(entry); err == nil {
			places = append(places, entry)
			continue
		}
		host := strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]") // an IPv6 address as it stands in a URL
		if host != "" {
			places = append(places, net.JoinHostPort(host, "443"), net.JoinHostPort(host, "80"))
		}
	}
	return places
}

// normal is the one form of a host and port: lower case, no trailing dot.
func normal(hostPort string) (string, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return "", fmt.Errorf("not a host and port: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if host = strings.TrimSuffix(strings.ToLower(host), "."); host == "" || err != nil || number == 0 {
		return "", fmt.Errorf("%q is not a host and port", hostPort)
	}
	return net.JoinHostPort(host, strconv.FormatUint(number, 10)), nil
}

// dialer connects to public addresses and to exceptions.
type dialer struct {
	rules    *rules
	resolver *net.Resolver
}

// dial connects to a target in its normal form. Targets without an exception
// pass the dial guard.
func (d dialer) dial(ctx context.Context, network, target string) (net.Conn, error) {
	if _, excepted := d.rules.exception(target); excepted {
		dialer := net.Dialer{Timeout: dialTimeout, Resolver: d.resolver}
		return dialer.DialContext(ctx, network, target)
	}
	conn, err := dialguard.Guard{Resolver: d.resolver, Timeout: dialTimeout}.DialContext(ctx, network, target)
	var refused *dialguard.RefusedError
	if errors.As(err, &refused) {
		return nil, &RefusedError{Target: target, Reason: refused.Reason()}
	}
	return conn, err
}
