package meeting

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"standin/internal/job"
)

// teams is Microsoft Teams (platforms, "Teams").
func teams() platform {
	return platform{
		name:     job.Teams,
		elements: []string{useBrowser, passcodeInput, computerAudio, captcha},
		address:  teamsAddress,
	}
}

// teamsHosts are Microsoft's own, each with all hosts below it: the government
// clouds stand below the last.
func teamsHosts() []string {
	return []string{"teams.microsoft.com", "teams.live.com", "teams.microsoft.us"}
}

// teamsAddress takes the meeting out of Teams' launcher page, whose parameter
// names it as a path on the same host, and takes off what hides a path behind
// repeated percent-encoding. The other forms are opened as they are.
func teamsAddress(address *url.URL) (Address, error) {
	own := below(hostOf(address), teamsHosts()...)
	if own {
		address.Scheme, address.Host = "https", hostOf(address)
	}
	for range maxWrappings {
		path, launched := teamsLaunched(address)
		if !launched {
			break
		}
		if err := teamsMove(address, path); err != nil {
			return Address{}, err
		}
	}
	if _, launched := teamsLaunched(address); launched {
		return Address{}, &AddressError{Reason: "it is wrapped in too many launchers"}
	}
	if err := teamsDecode(address); err != nil {
		return Address{}, err
	}
	if own && strings.Trim(address.Path, "/") == "" && address.Fragment == "" {
		return Address{}, &AddressError{Reason: "it holds no meeting"}
	}
	passcode, err := teamsPasscode(address)
	if err != nil {
		return Address{}, err
	}
	return finish(address, passcode)
}

// teamsLaunched returns the path of the meeting that a launcher page would
// open: of /dl/launcher/launcher.html?url=/_#/…, and of the older /_#/….
func teamsLaunched(address *url.URL) (path string, launched bool) {
	switch strings.ToLower(strings.TrimRight(address.Path, "/")) {
	case "/dl/launcher/launcher.html":
		return address.Query().Get("url"), true
	case "/_":
		return address.EscapedFragment(), address.Fragment != ""
	}
	return "", false
}

// teamsMove replaces the path and the parameters of an address. Only a path of
// the same host is taken: a launcher must not lead anywhere else.
func teamsMove(address *url.URL, path string) error {
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
	if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || target.Host != "" || holdsAddress(target.Path) {
		return &AddressError{Reason: "the launcher in it names no meeting"}
	}
	address.Path, address.RawPath = target.Path, target.RawPath
	address.RawQuery, address.Fragment, address.RawFragment = target.RawQuery, target.Fragment, target.RawFragment
	return nil
}

// teamsDecode takes percent-encodings off a path such as
// /l/meetup-join/19%253ameeting_…, in which the conversation's colon was
// encoded again with each program that passed the link on.
func teamsDecode(address *url.URL) error {
	for range maxEncodings {
		decoded, err := url.PathUnescape(address.Path)
		if err != nil || decoded == address.Path {
			break
		}
		address.Path, address.RawPath = decoded, ""
	}
	if decoded, err := url.PathUnescape(address.Path); err != nil || decoded != address.Path {
		return &AddressError{Reason: "its path is encoded too often or wrongly"}
	}
	if holdsAddress(address.Path) {
		return errTwoAddresses()
	}
	query := address.Query()
	if context := query.Get("context"); strings.HasPrefix(context, "%") {
		for range maxEncodings {
			if decoded, err := url.QueryUnescape(context); err == nil && strings.HasPrefix(context, "%") {
				context = decoded
			}
		}
		if strings.HasPrefix(context, "%") {
			return &AddressError{Reason: "its context is encoded too often or wrongly"}
		}
		query.Set("context", context)
		address.RawQuery = query.Encode()
	}
	return nil
}

// teamsPasscode finds the passcode that an address carries: as parameter p,
// also behind the # of the web client, or among a light meeting's coordinates.
func teamsPasscode(address *url.URL) (string, error) {
	query := address.Query()
	if passcode := first(query, "p"); passcode != "" {
		return passcode, nil
	}
	if coordinates := query.Get("coords"); coordinates != "" {
		return coordinatesPasscode(coordinates)
	}
	if inner, err := url.Parse(address.Fragment); err == nil {
		return first(inner.Query(), "p"), nil
	}
	return "", nil
}

// coordinatesPasscode reads a light meeting's coordinates, which are JSON in
// any of the alphabets of base64.
func coordinatesPasscode(coordinates string) (string, error) {
	// In a query a plus sign stands for a space, and padding gets lost.
	plain := strings.NewReplacer(" ", "+", "-", "+", "_", "/").Replace(strings.TrimRight(coordinates, "="))
	decoded, err := base64.RawStdEncoding.DecodeString(plain)
	var meeting struct {
		Passcode string `json:"passcode"`
	}
	if err != nil || json.Unmarshal(decoded, &meeting) != nil {
		return "", &AddressError{Reason: "the coordinates in it cannot be read"}
	}
	return meeting.Passcode, nil
}
