// Package dialguard tells network addresses of the public internet from all
// others: those of this machine, of private networks, of cloud metadata
// services, and those behind which such an address can hide. What leaves the
// service or a bot for an address that a stranger named is held against it. It
// is pure: it resolves nothing and connects to nothing.
package dialguard

import (
	"net/netip"
	"strings"
)

// SpecialPurpose says which kind of special address it is, or nothing for one that
// the public internet routes.
func SpecialPurpose(address netip.Addr) string {
	if address.Zone() != "" {
		return "zoned"
	}
	for _, special := range specialNetworks {
		if special.prefix.Contains(address) {
			return special.kind
		}
	}
	if address.Is6() && !globalUnicast.Contains(address) {
		return "not globally routed"
	}
	return ""
}

// RefusedHost says why a host is refused before it is resolved, or nothing.
// Resolvers read "2130706433", "0x7f.1" and "0177.0.0.1" as 127.0.0.1; like
// the URL Standard ("ends in a number"), a host whose last label is a number
// must be an IPv4 address in the usual form.
func RefusedHost(host string) string {
	if address, err := netip.ParseAddr(host); err == nil {
		switch {
		case address.Zone() != "":
			return "it is an address with a zone"
		case address.Is4In6(): // the dialer would turn it into plain IPv4 unseen
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
