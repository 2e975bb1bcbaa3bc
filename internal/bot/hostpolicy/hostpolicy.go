// Package hostpolicy decides which hosts a bot may open: the platforms' own, and
// those that the operator allows. It opens no connection.
package hostpolicy

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// AllowedHostsSetting is the operator's setting that adds meeting hosts.
const AllowedHostsSetting = "STANDIN_ALLOWED_MEETING_HOSTS"

// Check returns an error, with a message for people, when the bot may not open
// an address. The address must be the one that the browser will open, without
// redirectors around it. An entry of allowed is a host, which includes its
// subdomains, or a host and port, which match exactly.
func Check(address string, allowed []string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return errors.New("the meeting address cannot be parsed")
	}
	host := strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
	for _, entry := range append(platformHosts(), allowed...) {
		if matches(strings.ToLower(strings.TrimSpace(entry)), host, portOf(parsed)) {
			return nil
		}
	}
	return fmt.Errorf("the host %s does not belong to a meeting platform; an operator who trusts it adds it to %s", host, AllowedHostsSetting)
}

// NavigationAllowed reports whether a meeting page may navigate to an address: an
// allowed host, or a platform's sign-in page, so that the page can be recognized
// as a sign-in wall.
func NavigationAllowed(address string, allowed []string) bool {
	return Check(address, slices.Concat(signInHosts(), allowed)) == nil
}

// platformHosts returns the platforms' domains, which include their subdomains.
func platformHosts() []string {
	return []string{
		"meet.google.com",
		"teams.microsoft.com", "teams.live.com", "teams.microsoft.us", "teams.cloud.microsoft", "teams.microsoftonline.cn",
		"zoom.us", "zoom.com", "zoomgov.com", "zoom.com.cn",
	}
}

// signInHosts returns the hosts of the platforms' sign-in pages.
func signInHosts() []string {
	return []string{"accounts.google.com", "login.microsoftonline.com", "login.microsoftonline.us", "login.live.com"}
}

// matches reports whether an entry of allowed hosts covers a host and port.
func matches(entry, host, port string) bool {
	if name, entryPort, err := net.SplitHostPort(entry); err == nil {
		return name == host && entryPort == port
	}
	entry = strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]") // an IPv6 address in URL form
	return entry != "" && (host == entry || strings.HasSuffix(host, "."+entry))
}

// portOf returns the port of a URL, or the default port of its scheme.
func portOf(address *url.URL) string {
	switch {
	case address.Port() != "":
		return address.Port()
	case address.Scheme == "http":
		return "80"
	}
	return "443"
}

// Origin returns the scheme, host and port of an address.
func Origin(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

// HostPort returns the host and port of an address, with the default port of its
// scheme when it has none.
func HostPort(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(parsed.Hostname(), portOf(parsed))
}
