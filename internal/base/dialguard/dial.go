package dialguard

import (
	"cmp"
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
// that resolves to another address later cannot get around it. It must not be
// copied after first use.
type Guard struct {
	Allow    []netip.Prefix // networks that are allowed although they are not public
	OwnHosts []string       // names of this machine; see own.go
	Resolver *net.Resolver  // default: the system's
	Timeout  time.Duration  // of resolving and connecting; 0 for none

	own ownAddresses
}

// DialContext connects like net.Dialer. If every address of the host is
// refused, the error is a *RefusedError.
func (g *Guard) DialContext(ctx context.Context, network, target string) (net.Conn, error) {
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
		ControlContext: func(ctx context.Context, _, resolved string, _ syscall.RawConn) error {
			return g.check(ctx, host, resolved)
		},
	}
	return dialer.DialContext(ctx, network, target)
}

// CheckHost refuses what can be refused without resolving the host: malformed
// hosts and literal addresses.
func (g *Guard) CheckHost(ctx context.Context, host string) error {
	if reason := RefusedHost(host); reason != "" {
		return &RefusedError{Host: host, Kind: reason}
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return g.check(ctx, host, net.JoinHostPort(host, "0"))
	}
	return nil
}

// check refuses a resolved address that is neither public nor allowed.
func (g *Guard) check(ctx context.Context, host, resolved string) error {
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
	kind, err := g.kind(ctx, target.Addr())
	if err != nil {
		return err
	}
	if kind != "" {
		return &RefusedError{Host: host, Address: target.Addr().String(), Kind: kind}
	}
	return nil
}

// IsPublic reports whether an address is public and not this machine's own,
// whatever Allow contains.
func (g *Guard) IsPublic(ctx context.Context, address netip.Addr) bool {
	kind, err := g.kind(ctx, address.Unmap())
	return kind == "" && err == nil
}

// kind returns the kind of an address that is not public, or "".
func (g *Guard) kind(ctx context.Context, address netip.Addr) (string, error) {
	if kind := SpecialPurpose(address); kind != "" {
		return kind, nil
	}
	own, err := g.own.contains(ctx, address, cmp.Or(g.Resolver, net.DefaultResolver), g.OwnHosts)
	if own {
		return "local machine", err
	}
	return "", err
}
