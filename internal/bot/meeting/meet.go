package meeting

import (
	"net/url"
	"strings"

	"standin/internal/job"
)

// meetHost is where Google Meet's meetings are.
const meetHost = "meet.google.com"

// meet is Google Meet (platforms, "Meet").
func meet() platform {
	return platform{name: job.Meet, elements: []string{joinInDialog, captcha}, address: meetAddress}
}

// meetAddress asks for the page in English, because texts are recognised in
// English (platforms, "Rules that cost others dearly").
func meetAddress(address *url.URL) (Address, error) {
	if hostOf(address) == meetHost {
		if strings.Trim(address.Path, "/") == "" {
			return Address{}, &AddressError{Reason: "it holds no meeting code"}
		}
		address.Scheme, address.Host = "https", meetHost
		address.Path, address.RawPath = strings.ToLower(address.Path), ""
	}
	query := address.Query()
	query.Set("hl", "en")
	address.RawQuery = query.Encode()
	return finish(address, "")
}
