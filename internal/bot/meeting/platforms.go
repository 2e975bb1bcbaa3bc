package meeting

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"standin/internal/base/meetinglink"
)

// resolveTeams takes the meeting out of the URL of Teams' launcher page, whose
// parameter holds it as a path on the same host, and removes repeated
// percent-encoding from paths. Other forms are opened unchanged.
func resolveTeams(address *url.URL) (Address, error) {
	// The government clouds are subdomains of the last, and the first is the new host of the web client.
	own := meetinglink.InDomain(meetinglink.HostOf(address),
		"teams.cloud.microsoft", "teams.microsoft.com", "teams.live.com", "teams.microsoftonline.cn", "teams.microsoft.us")
	if own {
		address.Scheme, address.Host = "https", meetinglink.HostOf(address)
	}
	for range maxWrappings {
		path, isLauncher := launchedPath(address)
		if !isLauncher {
			break
		}
		if err := replacePath(address, path); err != nil {
			return Address{}, err
		}
	}
	if _, isLauncher := launchedPath(address); isLauncher {
		return Address{}, &AddressError{Reason: "it is wrapped in too many launchers"}
	}
	// Each program that forwarded a link may have encoded it again:
	// /l/meetup-join/19%253ameeting_….
	for range maxEncodings {
		decoded, err := url.PathUnescape(address.Path)
		if err != nil || decoded == address.Path {
			break
		}
		address.Path, address.RawPath = decoded, ""
	}
	if decoded, err := url.PathUnescape(address.Path); err != nil || decoded != address.Path {
		return Address{}, &AddressError{Reason: "its path is encoded too often or wrongly"}
	}
	if meetinglink.ContainsURL(address.Path) {
		return Address{}, errTwoAddresses
	}
	query := address.Query()
	if context := query.Get("context"); strings.HasPrefix(context, "%") {
		for range maxEncodings {
			if decoded, err := url.QueryUnescape(context); err == nil && strings.HasPrefix(context, "%") {
				context = decoded
			}
		}
		if strings.HasPrefix(context, "%") {
			return Address{}, &AddressError{Reason: "its context is encoded too often or wrongly"}
		}
		query.Set("context", context)
		address.RawQuery = query.Encode()
	}
	// newAddress removes punctuation that was encoded.
	if own && strings.Trim(meetinglink.Clean(address.Path), "/") == "" && address.Fragment == "" {
		return Address{}, &AddressError{Reason: "it holds no meeting"}
	}
	// The passcode is parameter p, also behind the # of the web client, or in a light meeting's coordinates.
	passcode := cmp.Or(query["p"]...)
	if coordinates := query.Get("coords"); passcode == "" && coordinates != "" {
		// In a query a plus sign means a space, and padding may be lost.
		plain := strings.NewReplacer(" ", "+", "-", "+", "_", "/").Replace(strings.TrimRight(coordinates, "="))
		decoded, err := base64.RawStdEncoding.DecodeString(plain)
		var meeting struct{ Passcode string }
		if err != nil || json.Unmarshal(decoded, &meeting) != nil {
			return Address{}, &AddressError{Reason: "the coordinates in it cannot be read"}
		}
		passcode = meeting.Passcode
	} else if inner, err := url.Parse(address.Fragment); passcode == "" && err == nil {
		passcode = cmp.Or(inner.Query()["p"]...)
	}
	return newAddress(address, passcode)
}

// launchedPath returns the path that a launcher page would open: of
// /dl/launcher/launcher.html?url=/_#/…, and of the older /_#/….
func launchedPath(address *url.URL) (path string, isLauncher bool) {
	switch strings.ToLower(strings.TrimRight(address.Path, "/")) {
	case "/dl/launcher/launcher.html":
		return address.Query().Get("url"), true
	case "/_":
		return address.EscapedFragment(), address.Fragment != ""
	}
	return "", false
}

// replacePath replaces the path and the query of a URL. Only a path on the same
// host is accepted: a launcher must not lead anywhere else.
func replacePath(address *url.URL, path string) error {
	for range maxEncodings {
		if strings.HasPrefix(path, "/") {
			break
		}
		decoded, err := url.PathUnescape(path)
		if err != nil || decoded == path {
			break
		}
		path = decoded
	}
	path = strings.TrimPrefix(strings.TrimPrefix(path, "/_"), "#")
	target, err := url.Parse(path)
	if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || target.Host != "" ||
		meetinglink.ContainsURL(target.Path) {
		return &AddressError{Reason: "the launcher in it names no meeting"}
	}
	address.Path, address.RawPath = target.Path, target.RawPath
	address.RawQuery, address.Fragment, address.RawFragment = target.RawQuery, target.Fragment, target.RawFragment
	return nil
}

// meetHost is the host of Google Meet.
const meetHost = "meet.google.com"

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

const (
	// zoomClientHost is the host of Zoom's web client.
	zoomClientHost = "app.zoom.us"
	// zoomEventsHost redirects to the web client.
	zoomEventsHost = "events.zoom.us"
)

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
	passcode := cmp.Or(query["pwd"]...)
	if !meetinglink.InDomain(host, "zoom.us", "zoom.com") {
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
		if value := cmp.Or(query[parameter]...); value != "" {
			kept.Set(parameter, value)
		}
	}
	return newAddress(&url.URL{
		Scheme: "https", Host: zoomClientHost, Path: "/wc/" + number + "/join", RawQuery: kept.Encode(),
	}, passcode)
}
