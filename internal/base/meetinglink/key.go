package meetinglink

import (
	"strings"
)

// Key identifies the meeting that a link leads to: links with the same key, such as one
// with a redirector or another spelling, lead to the same meeting. The passcode is not
// part of it. A link that cannot be resolved is its own key.
func Key(text string) string {
	link, err := Resolve(text)
	if err != nil {
		return strings.TrimSpace(text)
	}
	address, host := link.URL, HostOf(link.URL)
	path := strings.TrimRight(address.Path, "/")
	switch {
	case InDomain(host, meetHosts...) && meetingCode(path) != "":
		return "meet " + path
	case InDomain(host, zoomHosts...):
		if parts := zoomNumber.FindStringSubmatch(path); parts != nil {
			labels := strings.Split(host, ".")
			return "zoom " + strings.Join(labels[max(0, len(labels)-2):], ".") + " " + parts[2] // accounts share the numbers
		}
	case InDomain(host, teamsHosts...) && (strings.HasPrefix(path, "/l/meetup-join/") || strings.HasPrefix(path, "/meet/")):
		return "teams " + path
	}
	key := host + ":" + address.Port() + path
	if query := address.Query().Encode(); query != "" {
		key += "?" + query
	}
	return key
}

// Passcode returns the passcode in a link; empty without one.
func Passcode(text string) string {
	link, err := Resolve(text)
	if err != nil {
		return ""
	}
	query := link.URL.Query()
	return query.Get("pwd") + query.Get("p") // of Zoom, and of Teams
}

// Same reports whether two links lead to the same meeting. One of them may be the
// beginning of the other that a program has cut off.
func Same(a, b string) bool {
	a, b = Key(a), Key(b)
	return a == b || isCutOff(a, b) || isCutOff(b, a)
}

// MoreComplete reports whether a link has what another one to the same meeting lacks:
// the passcode, or its end.
func MoreComplete(link, other string) bool {
	if key, otherKey := Key(link), Key(other); key != otherKey {
		return isCutOff(otherKey, key)
	}
	if passcode, otherPasscode := Passcode(link), Passcode(other); passcode != otherPasscode {
		return strings.HasPrefix(passcode, otherPasscode)
	}
	return link != other && strings.HasPrefix(link, other)
}

// isCutOff reports whether the key of a link is that of another one without its end.
// The names of personal rooms may begin with each other.
func isCutOff(key, whole string) bool {
	return (strings.HasPrefix(key, "zoom ") || strings.HasPrefix(key, "teams ")) && strings.HasPrefix(whole, key)
}
