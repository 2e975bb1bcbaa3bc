package dialguard

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// RefusedError reports a target that was refused before any packet was sent.
type RefusedError struct {
	Host    string // as the caller named it
	Address string // what the host resolved to; empty when the host itself was refused
	Kind    string // the kind of address, or why the host was refused
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("host %q is refused: %s", e.Host, e.Reason())
}

// Reason returns why the target was refused, without naming the host.
func (e *RefusedError) Reason() string {
	if e.Address == "" {
		return e.Kind
	}
	return fmt.Sprintf("%s is a %s address", e.Address, e.Kind)
}

// Guard dials public addresses and explicitly allowed networks. It checks the
// address that is about to be connected to, after name resolution, so a name
// that resolves to another address later cannot get around it.
type Guard struct {
	Allow    []netip.Prefix // networks that are allowed although they are not public
	Resolver *net.Resolver  // default: the system's
	Timeout  time.Duration  // of resolving and connecting; 0 for none
}

// DialContext connects like net.Dialer. If every address of the host is
// refused, the error is a *RefusedError.
func (g Guard) DialContext(ctx context.Context, network, target string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return nil, fmt.Errorf("parse dial target: %w", err)
	}
	if reason := RefusedHost(host); reason != "" {
		return nil, &RefusedError{Host: host, Kind: reason}
	}
	dialer := net.Dialer{
		Timeout:  g.Timeout,
		Resolver: g.Resolver,
		ControlContext: func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			return g.check(host, resolved)
		},
	}
	return dialer.DialContext(ctx, network, target)
}

// CheckHost refuses what can be refused without resolving the host: malformed
// hosts and literal addresses.
func (g Guard) CheckHost(host string) error {
	if reason := RefusedHost(host); reason != "" {
		return &RefusedError{Host: host, Kind: reason}
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return g.check(host, net.JoinHostPort(host, "0"))
	}
	return nil
}

// check refuses a resolved address that is neither public nor allowed.
func (g Guard) check(host, resolved string) error {
	target, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return &RefusedError{Host: host, Address: resolved, Kind: "malformed"}
	}
	// A prefix never contains an address with a zone.
	for _, prefix := range g.Allow {
		if prefix.Contains(target.Addr()) {
			return nil
		}
	}
	if kind := SpecialPurpose(target.Addr()); kind != "" {
		return &RefusedError{Host: host, Address: target.Addr().String(), Kind: kind}
	}
	return nil
}
