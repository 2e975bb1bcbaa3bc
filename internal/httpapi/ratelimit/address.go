package ratelimit

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the networks whose word is taken for whom they forward; none by
// default. Each of them must write X-Forwarded-For or Forwarded itself.
type Proxies []netip.Prefix

// ParseProxies reads networks and addresses divided by commas, as in
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
				return nil, fmt.Errorf("a trusted proxy is a network or an address, as in 10.0.0.0/8 or 192.0.2.7; got %q", item)
			}
			prefix = netip.PrefixFrom(plain(address), plain(address).BitLen())
		}
		if prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("write the trusted proxies' network %q as an IPv4 network", item)
		}
		proxies = append(proxies, prefix.Masked())
	}
	return proxies, nil
}

// Address is the address of the client behind a request: the connection's,
// unless that is a trusted proxy's. Then it is the last address of those
// forwarded that no trusted proxy has: what stands before it was written by
// the client, who may write anything. It is the zero Addr for a connection
// without an address.
//
// A header that the proxy does not write is passed on as the client sent it,
// and nothing tells which of the two the proxy writes. So when there are both
// and they disagree, neither is believed and the answer is the proxy's
// address, whose bucket such clients share.
func (p Proxies) Address(r *http.Request) netip.Addr {
	peer := peerAddress(r.RemoteAddr)
	if !p.trust(peer) {
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

// client follows the hops back from the peer as far as trusted proxies tell of
// them. A hop that is no address ends the way: it is the proxy's before it.
func (p Proxies) client(peer netip.Addr, hops []string) netip.Addr {
	client := peer
	for i := len(hops) - 1; i >= 0 && p.trust(client); i-- {
		hop, ok := hopAddress(hops[i])
		if !ok {
			return client
		}
		client = hop
	}
	return client
}

func (p Proxies) trust(address netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// AddressKey is what clients are counted by: an IPv4 address, or an IPv6 /64,
// which is the least that a network gives to one customer (RFC 6177), who can
// use any address in it.
func AddressKey(address netip.Addr) string {
	address = plain(address)
	if !address.Is6() {
		return address.String() // "invalid IP" for the zero Addr: all of those share a bucket
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}

// peerAddress reads an http.Request's RemoteAddr.
func peerAddress(remote string) netip.Addr {
	port, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return plain(port.Addr())
}

// hopAddress reads an address that may have a port, as proxies write it.
func hopAddress(hop string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]")); err == nil {
		return plain(address), true
	}
	if port, err := netip.ParseAddrPort(hop); err == nil {
		return plain(port.Addr()), true
	}
	return netip.Addr{}, false
}

// plain is the one form of an address that can be written in several.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
