package network

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"standin/internal/base/meetinglink"
)

// AllowedHostsSetting is the operator's setting that adds meeting hosts.
const AllowedHostsSetting = "STANDIN_ALLOWED_MEETING_HOSTS"

// CheckHost returns an error, with a message for people, when the bot may not open
// an address. The address must be the one that the browser will open, without
// redirectors around it. meetinglink.HostAllowed describes the entries of allowed.
func CheckHost(address string, allowed []string) error {
	return checkHost(address, platformHosts, allowed)
}

// checkHost is CheckHost for a list of the platforms' domains.
func checkHost(address string, domains, allowed []string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return errors.New("the meeting address cannot be parsed")
	}
	if meetinglink.HostAllowed(parsed, allowed) {
		return nil
	}
	host := meetinglink.HostOf(parsed)
	if meetinglink.InDomain(host, domains...) {
		if parsed.Scheme == "https" && (parsed.Port() == "" || parsed.Port() == "443") {
			return nil
		}
		return fmt.Errorf("the host %s is opened over https on port 443 only", host)
	}
	return fmt.Errorf("the host %s does not belong to a meeting platform; an operator who trusts it adds it to %s", host, AllowedHostsSetting)
}

// NavigationAllowed reports whether a meeting page may navigate to an address: an
// allowed host, or a platform's sign-in page, so that the page can be recognized
// as a sign-in wall.
func NavigationAllowed(address string, allowed []string) bool {
	return checkHost(address, slices.Concat(platformHosts, []string{
		"accounts.google.com", "login.microsoftonline.com", "login.microsoftonline.us", "login.live.com",
	}), allowed) == nil
}

// platformHosts are the platforms' domains, which include their subdomains.
var platformHosts = []string{
	"meet.google.com",
	"teams.microsoft.com", "teams.live.com", "teams.microsoft.us", "teams.cloud.microsoft", "teams.microsoftonline.cn",
	"zoom.us", "zoom.com", "zoomgov.com", "zoom.com.cn",
}

// Origin returns the scheme, host and port of an address.
func Origin(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}
