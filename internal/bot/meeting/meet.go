package meeting

import (
	"net/url"
	"strings"

	"standin/internal/job"
	"standin/internal/meetinglink"
)

// meetHost is the host of Google Meet.
const meetHost = "meet.google.com"

// meet returns the platform Google Meet.
func meet() platform {
	return platform{name: job.Meet, elements: []string{joinInDialog, captcha}, resolve: resolveMeet}
}

// resolveMeet requests the page in English, because the profile's texts are
// English.
func resolveMeet(address *url.URL) (Address, error) {
	if meetinglink.HostOf(address) == meetHost {
		if strings.Trim(address.Path, "/") == "" {
			return Address{}, &AddressError{Reason: "it holds no meeting code"}
		}
		address.Scheme, address.Host = "https", meetHost
		address.Path, address.RawPath = strings.ToLower(address.Path), ""
	}
	query := address.Query()
	query.Set("hl", "en")
	address.RawQuery = query.Encode()
	return newAddress(address, "")
}

// IsHomePage reports whether a host is a platform's public site, to which its
// meeting pages send visitors whom they do not serve at the moment.
func IsHomePage(host string) bool { return host == "workspace.google.com" }
