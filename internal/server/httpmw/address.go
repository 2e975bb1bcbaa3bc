package httpmw

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// TrustedProxies is the number of reverse proxies in front of the service. Each
// must append the address of its client to X-Forwarded-For.
type TrustedProxies int

// Check returns an error for a number that cannot be right.
func (n TrustedProxies) Check() error {
	const most = 100
	if n < 0 || n > most {
		return fmt.Errorf("STANDIN_TRUSTED_PROXIES must be a number of proxies from 0 to %d, not %d", most, n)
	}
	return nil
}

// ClientAddress returns the address of the client that sent a request. Without
// trusted proxies, it is the address of the connection. With n trusted proxies, it
// is the nth address of X-Forwarded-For from the end; a client can forge only those
// before it. If there is no such address, it is the address of the connection,
// which is the zero Addr for a connection that has none.
func (n TrustedProxies) ClientAddress(r *http.Request) netip.Addr {
	peer := connectionAddress(r.RemoteAddr)
	if n == 0 {
		return peer
	}
	entries := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	if len(entries) < int(n) {
		return peer
	}
	entry := strings.TrimSpace(entries[len(entries)-int(n)]) // which some proxies write with a port or in brackets
	if client, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]")); err == nil {
		return plain(client)
	}
	return cmp.Or(connectionAddress(entry), peer)
}

// WarnUnknownProxy serves requests by next. If no proxy is trusted, it logs once that a
// peer on a loopback or private address sends X-Forwarded-For, as proxies do.
func (n TrustedProxies) WarnUnknownProxy(log *slog.Logger, next http.Handler) http.Handler {
	if n > 0 {
		return next
	}
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if peer := connectionAddress(r.RemoteAddr); r.Header.Get("X-Forwarded-For") != "" && (peer.IsLoopback() || peer.IsPrivate()) {
			once.Do(func() {
				log.Warn("requests come through a reverse proxy, but STANDIN_TRUSTED_PROXIES is 0: all clients of the proxy share the limits of one address",
					"proxy", peer)
			})
		}
		next.ServeHTTP(w, r)
	})
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

// connectionAddress parses an address with a port, such as the RemoteAddr of an http.Request; the zero Addr if it is none.
func connectionAddress(remote string) netip.Addr {
	address, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return plain(address.Addr())
}

// plain returns the canonical form of an address.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
