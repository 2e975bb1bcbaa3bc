package dialguard

import (
	"net/netip"
	"strings"
)

// globalUnicast is the routed part of IPv6 (RFC 4291, section 2.4; the IANA
// IPv6 global unicast registry).
var globalUnicast = netip.MustParsePrefix("2000::/3")

// SpecialNetwork is a network that is not public.
type SpecialNetwork struct {
	Prefix netip.Prefix
	Kind   string
}

// SpecialNetworks are the IANA special-purpose registries (RFC 6890 and its
// updates), and cloud metadata addresses.
var SpecialNetworks = parseSpecial(`
0.0.0.0/8 unspecified
10.0.0.0/8 private
100.64.0.0/10 carrier NAT # RFC 6598; includes a metadata service
127.0.0.0/8 loopback
168.63.129.16/32 metadata # Azure, although it is public
169.254.169.254/32 metadata
169.254.0.0/16 link-local
172.16.0.0/12 private
192.0.0.0/24 reserved # IETF protocol assignments
192.0.2.0/24 documentation
192.88.99.0/24 6to4 relay
192.168.0.0/16 private
198.18.0.0/15 benchmarking
198.51.100.0/24 documentation
203.0.113.0/24 documentation
224.0.0.0/4 multicast
255.255.255.255/32 broadcast
240.0.0.0/4 reserved
::/128 unspecified
::1/128 loopback
::ffff:0:0/96 v4-mapped
::/96 v4-compatible
64:ff9b::/96 NAT64
64:ff9b:1::/48 NAT64
100::/64 discard
2001::/32 Teredo
2001:2::/48 benchmarking
2001::/23 reserved # IETF protocol assignments
2001:db8::/32 documentation
2002::/16 6to4
3fff::/20 documentation
fc00::/7 unique local
fe80::/10 link-local
fec0::/10 site-local
ff00::/8 multicast
`)

func parseSpecial(table string) (networks []SpecialNetwork) {
	for row := range strings.Lines(strings.TrimSpace(table)) {
		row, _, _ = strings.Cut(row, "#")
		prefix, kind, _ := strings.Cut(strings.TrimSpace(row), " ")
		networks = append(networks, SpecialNetwork{netip.MustParsePrefix(prefix), kind})
	}
	return networks
}
