package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"standin/internal/dialguard"
)

// AllowSetting is the setting that lets deliveries into networks the guard
// refuses (contract, Starting it).
const AllowSetting = "STANDIN_WEBHOOK_ALLOW_CIDRS"

// BlockedError says that a receiver's address was refused before any packet
// went there.
type BlockedError struct {
	Host string // as the webhook's URL names it
	Addr string // what it resolved to; empty when the host was refused as it stands
	Kind string // what makes the address no public one
}

func (e *BlockedError) Error() string {
	if e.Addr == "" {
		return fmt.Sprintf("webhook host %q is refused: %s", e.Host, e.Kind)
	}
	return fmt.Sprintf("webhook host %q is refused: %s is a %s address; %s names the networks that are allowed",
		e.Host, e.Addr, e.Kind, AllowSetting)
}

// Guard keeps deliveries out of the networks of the service itself. It looks
// at the address that is about to be connected to, after name resolution, so
// that a name which resolves differently the next time gains nothing.
type Guard struct {
	Allow []netip.Prefix // networks allowed although they are not public
	Proxy *url.URL       // the operator's forward proxy, which may stand anywhere; nil for none

	Resolver *net.Resolver // of names; nil for the machine's
}

// dialTimeout leaves some of a try's time for the request itself.
const dialTimeout = 5 * time.Second

// DialContext connects like net.Dialer, to allowed addresses only; a refusal is
// a *BlockedError. Of a host with several addresses, refused ones are passed
// over.
func (g Guard) DialContext(ctx context.Context, network, receiver string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(receiver)
	if err != nil {
		return nil, fmt.Errorf("read the webhook's host: %w", err)
	}
	dialer := net.Dialer{Timeout: dialTimeout, Resolver: g.Resolver}
	if g.Proxy != nil {
		return dialer.DialContext(ctx, network, receiver) // only ever the proxy
	}
	if kind := dialguard.RefusedHost(host); kind != "" {
		return nil, &BlockedError{Host: host, Kind: kind}
	}
	dialer.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		return g.check(host, resolved)
	}
	return dialer.DialContext(ctx, network, receiver)
}

// CheckProxied refuses what can be refused of an address that a proxy will
// resolve: hosts that are refused as they stand, and addresses written out. What
// a name resolves to, only the proxy knows: it has to be one that guards.
func (g Guard) CheckProxied(target *url.URL) error {
	host := target.Hostname()
	if kind := dialguard.RefusedHost(host); kind != "" {
		return &BlockedError{Host: host, Kind: kind}
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
		return &BlockedError{Host: host, Addr: resolved, Kind: "malformed"}
	}
	// A prefix contains no address with a zone, so a zone is never allowed.
	for _, prefix := range g.Allow {
		if prefix.Contains(target.Addr()) {
			return nil
		}
	}
	if kind := dialguard.Special(target.Addr()); kind != "" {
		return &BlockedError{Host: host, Addr: target.Addr().String(), Kind: kind}
	}
	return nil
}

// ParseAllow reads the setting: CIDRs or single addresses, with commas
// between.
func ParseAllow(setting string) ([]netip.Prefix, error) {
	var allow []netip.Prefix
	for part := range strings.SplitSeq(setting, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if !strings.Contains(part, "/") {
			if addr, err := netip.ParseAddr(part); err == nil {
				part += "/" + strconv.Itoa(addr.BitLen())
			}
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", AllowSetting, err)
		}
		allow = append(allow, prefix.Masked())
	}
	return allow, nil
}

// ParseProxy reads the address of a forward proxy; nil for none.
func ParseProxy(setting string) (*url.URL, error) {
	if setting == "" {
		return nil, nil
	}
	proxy, err := url.Parse(setting)
	if err != nil || proxy.Host == "" || proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, errors.New("the proxy of webhooks is no http or https URL") // it may hold a password
	}
	return proxy, nil
}
