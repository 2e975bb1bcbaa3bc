package meeting

import (
	"net/url"
	"regexp"
	"strings"

	"standin/internal/job"
	"standin/internal/meetinglink"
)

const (
	// zoomClientHost is the host of Zoom's web client.
	zoomClientHost = "app.zoom.us"
	// zoomEventsHost redirects to the web client.
	zoomEventsHost = "events.zoom.us"
)

// zoom returns the platform of Zoom's web client.
func zoom() platform {
	return platform{
		name:                 job.ZoomWeb,
		elements:             []string{launchApp, useBrowser, passcodeInput, joinAudio, moreButton, recordButton, requestPermission, closePermission},
		resolve:              resolveZoom,
		hasPermissionRequest: true,
	}
}

// zoomHosts are Zoom's domains. Customers' names are subdomains.
func zoomHosts() []string { return []string{"zoom.us", "zoom.com"} }

// zoomNumberPattern matches the meeting's number in a path: /j/<number>, /w/ for
// webinars, /s/ for those who may start it, and the web client's own forms.
var zoomNumberPattern = regexp.MustCompile(`^/(?:j|w|s|wc/join|wc)/(\d{9,12})(?:/(?:join|start)?)?/?$`)

// ZoomNumber returns the meeting number in the path of a Zoom URL, or "".
func ZoomNumber(path string) string {
	found := zoomNumberPattern.FindStringSubmatch(strings.ReplaceAll(path, "-", ""))
	if found == nil {
		return ""
	}
	return found[1]
}

// resolveZoom returns the URL of the web client, past the launcher page, when
// the URL holds the number of a meeting on Zoom's own hosts. Any other URL, also
// that of a personal name or a company's own host, is opened unchanged, and Join
// passes its launcher page. The web client needs two of the parameters: the
// passcode and the registrant's token.
func resolveZoom(address *url.URL) (Address, error) {
	host := meetinglink.HostOf(address)
	query := address.Query()
	passcode := firstValue(query, "pwd")
	if !meetinglink.InDomain(host, zoomHosts()...) {
		return newAddress(address, passcode)
	}
	address.Scheme, address.Host = "https", host
	if host == zoomEventsHost {
		return newAddress(address, passcode)
	}
	if strings.Trim(address.Path, "/") == "" {
		return Address{}, &AddressError{Reason: "it holds no meeting number"}
	}
	number := ZoomNumber(address.Path)
	if number == "" {
		return newAddress(address, passcode)
	}
	kept := url.Values{}
	for _, parameter := range []string{"pwd", "tk"} {
		if value := firstValue(query, parameter); value != "" {
			kept.Set(parameter, value)
		}
	}
	return newAddress(&url.URL{
		Scheme: "https", Host: zoomClientHost, Path: "/wc/" + number + "/join", RawQuery: kept.Encode(),
	}, passcode)
}
