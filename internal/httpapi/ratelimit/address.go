package ratelimit

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the networks of trusted proxies. Each proxy must set X-Forwarded-For
// or Forwarded itself.
type Proxies []netip.Prefix

// ParseProxies parses networks and addresses separated by commas, for example
// 10.0.0.0/8,192.0.2.7.
func ParseProxies(text string) (Proxies, error) {
	var proxies Proxies
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			address, err := netip.ParseAddr(item)
			if err != nil {
				return nil, fmt.Errorf("a trusted proxy must be a network or an address, for example 10.0.0.0/8 or 192.0.2.7; got %q", item)
			}
			prefix = netip.PrefixFrom(plain(address), plain(address).BitLen())
		}
		if prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("the trusted proxy %q must be written as an IPv4 network", item)
		}
		proxies = append(proxies, prefix.Masked())
	}
	return proxies, nil
}

// Address returns the address of the client of a request. It is the address of the
// connection, or, behind trusted proxies, the last forwarded address that is not a
// trusted proxy. Addresses before it may be forged by the client. It is the zero
// Addr for a connection without an address.
//
// A proxy passes on a header that it does not set itself. If X-Forwarded-For and
// Forwarded disagree, one of them may be forged, and Address returns the address
// of the proxy.
func (p Proxies) Address(r *http.Request) netip.Addr {
	peer := peerAddress(r.RemoteAddr)
	if !p.trusts(peer) {
		return peer
	}
	listed, standard := r.Header.Values("X-Forwarded-For"), r.Header.Values("Forwarded")
	switch {
	case len(standard) == 0:
		return p.client(peer, listedHops(listed))
	case len(listed) == 0:
		return p.client(peer, forwardedHops(standard))
	}
	client := p.client(peer, listedHops(listed))
	if client != p.client(peer, forwardedHops(standard)) {
		return peer
	}
	return client
}

// client returns the last hop that is not a trusted proxy. It stops at a hop that is
// not an address.
func (p Proxies) client(peer netip.Addr, hops []string) netip.Addr {
	client := peer
	for i := len(hops) - 1; i >= 0 && p.trusts(client); i-- {
		hop, ok := hopAddress(hops[i])
		if !ok {
			return client
		}
		client = hop
	}
	return client
}

func (p Proxies) trusts(address netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// AddressKey returns the key of a client address: an IPv4 address, or an IPv6 /64,
// because a customer gets at least a /64 and can use any address in it (RFC 6177).
func AddressKey(address netip.Addr) string {
	address = plain(address)
	if !address.Is6() {
		return address.String() // "invalid IP" for the zero Addr
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}

// peerAddress parses the RemoteAddr of an http.Request.
func peerAddress(remote string) netip.Addr {
	port, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return plain(port.Addr())
}

// hopAddress parses an address with or without a port.
func hopAddress(hop string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]")); err == nil {
		return plain(address), true
	}
	if port, err := netip.ParseAddrPort(hop); err == nil {
		return plain(port.Addr()), true
	}
	return netip.Addr{}, false
}

// plain returns the canonical form of an address.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
