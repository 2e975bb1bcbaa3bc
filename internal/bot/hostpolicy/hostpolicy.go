// Package hostpolicy says where a bot may go: to the platforms' own hosts, and to
// those that its operator has allowed. It decides about addresses and opens
// none.
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

// platformHosts are the platforms' own: each with all hosts below it
// (platforms, URL forms).
func platformHosts() []string {
	return []string{
		"meet.google.com",
		"teams.microsoft.com", "teams.live.com", "teams.microsoft.us",
		"zoom.us", "zoom.com", "zoomgov.com",
	}
}

// Check returns an error, for people, when the bot may not open the
// address, which is the very one that the browser would be given: redirectors
// around it are gone. An entry is a host, and allows those below it; with a
// port it allows that very host and port.
func Check(address string, added []string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return errors.New("the meeting address cannot be read")
	}
	host := strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
	for _, entry := range append(platformHosts(), added...) {
		if admits(strings.ToLower(strings.TrimSpace(entry)), host, portOf(parsed)) {
			return nil
		}
	}
	return fmt.Errorf("the host %s is no meeting platform's own; an operator who trusts it adds it to %s", host, AllowedHostsSetting)
}

// admits reports whether an entry of allowed hosts covers a host and port.
func admits(entry, host, port string) bool {
	if name, entryPort, err := net.SplitHostPort(entry); err == nil {
		return name == host && entryPort == port
	}
	entry = strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]") // an IPv6 address as it stands in a URL
	return entry != "" && (host == entry || strings.HasSuffix(host, "."+entry))
}

// portOf is the port that an address leads to.
func portOf(address *url.URL) string {
	switch {
	case address.Port() != "":
		return address.Port()
	case address.Scheme == "http":
		return "80"
	}
	return "443"
}

// Origin returns scheme, host and port of an address.
func Origin(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

// wallHosts are where a platform sends a visitor whom it wants to sign in.
func wallHosts() []string {
	return []string{"accounts.google.com", "login.microsoftonline.com", "login.microsoftonline.us", "login.live.com"}
}

// NavigationAllowed reports whether a meeting's page may go to an address: to a venue,
// and to a platform's sign-in page, so that the wall is seen for what it is.
func NavigationAllowed(address string, added []string) bool {
	return Check(address, slices.Concat(wallHosts(), added)) == nil
}

// HostPort returns the host and port that an address leads to.
func HostPort(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(parsed.Hostname(), portOf(parsed))
}
