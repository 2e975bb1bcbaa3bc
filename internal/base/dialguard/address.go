// Package dialguard keeps connections to public addresses. Whatever the
// service or a bot connects to on behalf of a stranger passes a Guard, which
// refuses the addresses of this machine, of private networks and of cloud
// metadata services, and addresses that can hide one of these.
package dialguard

import (
	"net/netip"
	"strings"
)

// SpecialPurpose returns the kind of a special-purpose address, or "" for a
// public one.
func SpecialPurpose(address netip.Addr) string {
	if address.Zone() != "" {
		return "zoned"
	}
	for _, special := range SpecialNetworks {
		if special.Prefix.Contains(address) {
			return special.Kind
		}
	}
	if address.Is6() && !globalUnicast.Contains(address) {
		return "not globally routed"
	}
	return ""
}

// RefusedHost returns why a host is refused before it is resolved, or "".
// Resolvers read "2130706433", "0x7f.1" and "0177.0.0.1" as 127.0.0.1. So a
// host whose last label is a number must be an IPv4 address in dotted decimal
// form, as in the URL Standard.
func RefusedHost(host string) string {
	if address, err := netip.ParseAddr(host); err == nil {
		switch {
		case address.Zone() != "":
			return "it is an address with a zone"
		case address.Is4In6(): // the dialer would convert it to plain IPv4
			return "it is a v4-mapped IPv6 address"
		}
		return ""
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	last, digits := labels[len(labels)-1], "0123456789"
	number, isHex := strings.CutPrefix(last, "0x")
	if isHex {
		digits += "abcdef"
	}
	if last != "" && strings.Trim(number, digits) == "" {
		return "a number is not a host name; IPv4 addresses are four decimal numbers"
	}
	return ""
}
