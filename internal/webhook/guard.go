package webhook

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
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
}

// dialTimeout leaves some of a try's time for the request itself.
const dialTimeout = 10 * time.Second

// DialContext connects like net.Dialer, to allowed addresses only; a refusal is
// a *BlockedError. Of a host with several addresses, refused ones are passed
// over.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("read the webhook's host: %w", err)
	}
	if kind := refusedHost(host); kind != "" {
		return nil, &BlockedError{Host: host, Kind: kind}
	}
	dialer := net.Dialer{
		Timeout: dialTimeout,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return g.check(host, address)
		},
	}
	return dialer.DialContext(ctx, network, address)
}

// check refuses a resolved address that is neither public nor allowed.
func (g Guard) check(host, address string) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return &BlockedError{Host: host, Addr: address, Kind: "malformed"}
	}
	// A prefix contains no address with a zone, so a zone is never allowed.
	for _, prefix := range g.Allow {
		if prefix.Contains(target.Addr()) {
			return nil
		}
	}
	if kind := notPublic(target.Addr()); kind != "" {
		return &BlockedError{Host: host, Addr: target.Addr().String(), Kind: kind}
	}
	return nil
}

// refusedHost says why a host is refused before it is resolved, or nothing.
// Resolvers read "2130706433", "0x7f.1" and "0177.0.0.1" as 127.0.0.1; like
// the URL Standard ("ends in a number"), a host whose last label is a number
// must be an IPv4 address in the usual form.
func refusedHost(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		switch {
		case addr.Zone() != "":
			return "it is an address with a zone"
		case addr.Is4In6(): // the dialer would turn it into plain IPv4 unseen
			return "it is a v4-mapped IPv6 address"
		}
		return ""
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	if last := labels[len(labels)-1]; isNumber(last) {
		return "a number is no host name, and IPv4 addresses are written as four decimal numbers"
	}
	return ""
}

// isNumber tells decimal, octal and hexadecimal numbers of any size from names.
func isNumber(label string) bool {
	digits, isHex := strings.CutPrefix(label, "0x")
	if isHex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// notPublic says which kind of special address it is, or nothing for one that
// the public internet routes.
func notPublic(addr netip.Addr) string {
	if addr.Zone() != "" {
		return "zoned"
	}
	for _, special := range specialNetworks {
		if special.prefix.Contains(addr) {
			return special.kind
		}
	}
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return "not globally routed"
	}
	return ""
}

// globalUnicast is all of IPv6 that is routed (RFC 4291, section 2.4; the
// IANA IPv6 global unicast registry).
var globalUnicast = netip.MustParsePrefix("2000::/3")

// specialNetworks are the IANA special-purpose registries (RFC 6890 and its
// updates), and what else must never be reached through a webhook.
var specialNetworks = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier NAT"}, // RFC 6598; one cloud's metadata service is in it
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "metadata"}, // Azure's platform address, public by its number
	{netip.MustParsePrefix("169.254.169.254/32"), "metadata"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"}, // IETF protocol assignments
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},

	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "v4-mapped"},
	{netip.MustParsePrefix("::/96"), "v4-compatible"},
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "NAT64"},
	{netip.MustParsePrefix("100::/64"), "discard"},
	{netip.MustParsePrefix("2001::/32"), "Teredo"},
	{netip.MustParsePrefix("2001:2::/48"), "benchmarking"},
	{netip.MustParsePrefix("2001::/23"), "reserved"}, // IETF protocol assignments
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("2002::/16"), "6to4"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
	{netip.MustParsePrefix("fc00::/7"), "unique local"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
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
