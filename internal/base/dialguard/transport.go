package dialguard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Transport returns a transport that dials through the guard. It ignores the proxies of
// the environment, which would connect where the guard cannot check. If proxy is not
// nil, only the proxy is dialed: it resolves names, so that only literal addresses can
// be refused here.
func (g *Guard) Transport(proxy *url.URL) *http.Transport {
	transport := &http.Transport{
		DialContext:            g.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    g.Timeout,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if proxy != nil {
		transport.DialContext = (&net.Dialer{Timeout: g.Timeout, Resolver: g.Resolver}).DialContext
		transport.Proxy = func(r *http.Request) (*url.URL, error) { return proxy, g.CheckHost(r.Context(), r.URL.Hostname()) }
	}
	return transport
}

// Network is what the service may reach for its consumers.
type Network struct {
	Allow    []netip.Prefix // that are not public
	OwnHosts []string       // names of this machine
	Proxy    *url.URL       // nil: servers are dialed directly
}

// Transport returns a transport to what consumers name, which takes up to a timeout to connect.
func (n Network) Transport(timeout time.Duration) *http.Transport {
	guard := &Guard{Allow: n.Allow, OwnHosts: n.OwnHosts, Timeout: timeout}
	return guard.Transport(n.Proxy)
}

// NoRedirects is an http.Client.CheckRedirect that follows no redirect: what a request
// carries is for its host alone.
func NoRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// WithoutURL removes the URL, which may contain secrets, from the error of an http.Client.
func WithoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// ParseNetworks parses a setting for Guard.Allow: CIDRs or single addresses, separated
// by commas.
func ParseNetworks(setting string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for part := range strings.SplitSeq(setting, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if addr, err := netip.ParseAddr(part); err == nil {
			part += "/" + strconv.Itoa(addr.BitLen())
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("parse a network: %w", err)
		}
		networks = append(networks, prefix.Masked())
	}
	return networks, nil
}

// ParseProxy parses the URL of a forward proxy. It returns nil for an empty setting.
func ParseProxy(setting string) (*url.URL, error) {
	if setting == "" {
		return nil, nil
	}
	proxy, err := url.Parse(setting)
	if err != nil || proxy.Host == "" || proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, errors.New("the proxy is not an http or https URL") // the URL may contain a password
	}
	return proxy, nil
}

// ServerURL returns the URL of a path below /v1 of a server. name says which server it is in the
// error, which does not contain the URL, because that may have credentials.
func ServerURL(name, server, path string, schemes ...string) (*url.URL, error) {
	address, err := url.Parse(strings.TrimRight(server, "/"))
	if err != nil || !slices.Contains(schemes, address.Scheme) || address.Host == "" || address.User != nil {
		return nil, fmt.Errorf("%s must be a URL without credentials that starts with %s://", name, strings.Join(schemes, "://, "))
	}
	if !strings.HasSuffix(address.Path, "/v1") {
		address = address.JoinPath("v1")
	}
	return address.JoinPath(path), nil
}
