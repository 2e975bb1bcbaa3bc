package meeting

import (
	"net/url"
	"regexp"
	"strings"

	"standin/internal/job"
)

const (
	// zoomClientHost is where Zoom's web client is.
	zoomClientHost = "app.zoom.us"
	// zoomEventsHost leads to the web client by itself.
	zoomEventsHost = "events.zoom.us"
)

// zoom is Zoom's web client (platforms, "Zoom web client").
func zoom() platform {
	return platform{
		name:       job.ZoomWeb,
		elements:   []string{launchApp, useBrowser, passcodeInput, moreButton, recordButton, requestPermission, closePermission},
		address:    zoomAddress,
		asksByPage: true,
	}
}

// zoomHosts are Zoom's own, with the customers' names below them.
func zoomHosts() []string { return []string{"zoom.us", "zoom.com"} }

// zoomNumber finds the meeting's number in a path: /j/<number>, /w/ for
// webinars, /s/ for those who may start it, and the web client's own forms.
func zoomNumber() *regexp.Regexp {
	return regexp.MustCompile(`^/(?:j|w|s|wc/join|wc)/(\d{9,12})(?:/(?:join|start)?)?/?$`)
}

// zoomAddress leads straight to the web client, past the launcher page, where
// the number of a meeting on Zoom's own hosts is known. Any other address, also
// that of a personal name and of a company's own host, is opened as it is, and
// its launcher page is passed. Of the parameters only the passcode and the
// registrant's token matter to the web client.
func zoomAddress(address *url.URL) (Address, error) {
	host := hostOf(address)
	query := address.Query()
	passcode := first(query, "pwd")
	if !below(host, zoomHosts()...) {
		return finish(address, passcode)
	}
	address.Scheme, address.Host = "https", host
	if host == zoomEventsHost {
		return finish(address, passcode)
	}
	if strings.Trim(address.Path, "/") == "" {
		return Address{}, &AddressError{Reason: "it holds no meeting number"}
	}
	found := zoomNumber().FindStringSubmatch(strings.ReplaceAll(address.Path, "-", ""))
	if found == nil {
		return finish(address, passcode)
	}
	kept := url.Values{}
	for _, parameter := range []string{"pwd", "tk"} {
		if value := first(query, parameter); value != "" {
			kept.Set(parameter, value)
		}
	}
	return finish(&url.URL{
		Scheme: "https", Host: zoomClientHost, Path: "/wc/" + found[1] + "/join", RawQuery: kept.Encode(),
	}, passcode)
}
