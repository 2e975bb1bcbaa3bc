// Package meetinglink resolves the meeting links that people paste: it removes
// redirectors and the punctuation of the text around a link, repairs common
// defects, and determines the platform and whether the link can lead to a
// meeting. It is pure and opens no connection.
package meetinglink

import (
	"errors"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"standin/internal/jobs/job"
)

// maxEncodings bounds repeated percent-encodings.
const maxEncodings = 3

// Link is a resolved link.
type Link struct {
	URL      *url.URL // without redirectors
	Platform job.Platform

	// Warning is a sentence that says why the link does not seem to lead to a meeting;
	// otherwise empty. Unsure reports whether only a bot can find out.
	Warning string
	Unsure  bool
}

// The errors of Resolve. They do not repeat the link, which may contain a
// passcode.
var (
	ErrTooLong  = errors.New("it is too long")
	ErrNoURL    = errors.New("it is not an http or https URL with a host")
	ErrManyURLs = errors.New("it contains more than one URL")
)

// Resolve resolves a link. allowedHosts are the operator's meeting hosts, as in
// STANDIN_ALLOWED_MEETING_HOSTS.
func Resolve(text string, allowedHosts ...string) (Link, error) {
	if len(text) > 8192 {
		return Link{}, ErrTooLong
	}
	tries := 50 // links within a link that are examined
	return resolve(Clean(text), allowedHosts, 5, &tries)
}

// resolve resolves a link of which up to depth levels of others are around the meeting's.
func resolve(text string, allowedHosts []string, depth int, tries *int) (Link, error) {
	parsed, err := parse(text)
	if err != nil {
		return Link{}, err
	}
	if !IsPlatform(parsed) && !HostAllowed(parsed, allowedHosts) {
		if link, ok := unwrapped(parsed, allowedHosts, depth, tries); ok {
			return link, nil
		}
	}
	if ContainsURL(parsed.Path) {
		return Link{}, ErrManyURLs
	}
	link := Link{URL: parsed, Platform: platformOf(parsed)}
	repair(&link)
	link.Warning, link.Unsure = warning(link, allowedHosts)
	return link, nil
}

// invisible removes characters that editors and chats insert into links.
var invisible = strings.NewReplacer(
	"\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "", "\u200e", "", "\u200f", "",
	"\u2010", "-", "\u2011", "-", "\u00a0", " ", "\u2028", " ", "\u2029", " ",
)

// Clean removes what surrounds a link in a text.
func Clean(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		text = invisible.Replace(text)
	}
	text = strings.TrimSpace(text)
	for {
		trimmed := strings.TrimRight(text, "#.,;:!*_>\"'”’»`| \t\r\n") // # is an empty fragment
		trimmed = strings.TrimLeft(trimmed, "*_<\"'“‘«`| \t\r\n")
		for _, pair := range []string{"()", "[]", "{}"} {
			// A bracket that was not opened inside the link belongs to the text.
			if strings.HasSuffix(trimmed, pair[1:]) && strings.Count(trimmed, pair[:1]) < strings.Count(trimmed, pair[1:]) {
				trimmed = trimmed[:len(trimmed)-1]
			}
			if strings.HasPrefix(trimmed, pair[:1]) {
				trimmed = trimmed[1:]
			}
		}
		if trimmed == text {
			return text
		}
		text = trimmed
	}
}

// desktopScheme begins the links that open Zoom's app.
var desktopScheme = regexp.MustCompile(`^(?i)(zoommtg|zoomus)://`)

// parse parses one absolute http or https URL. It removes percent-encodings that
// hide the scheme, and adds a missing scheme if the host is a platform's.
func parse(text string) (*url.URL, error) {
	for range maxEncodings {
		if hasWebScheme(text) {
			break
		}
		decoded, err := url.PathUnescape(text)
		if err != nil || decoded == text {
			break
		}
		text = decoded
	}
	text = desktopScheme.ReplaceAllString(text, "https://")
	if host, _, _ := strings.Cut(text, "/"); !strings.Contains(text, "://") && isPlatformHost(strings.ToLower(host)) {
		text = "https://" + text
	}
	text = encodeSpaces(text)
	if strings.ContainsAny(text, " \t\r\n<>") {
		return nil, ErrManyURLs
	}
	parsed, err := url.Parse(text)
	if err != nil || !hasWebScheme(text) {
		return nil, ErrNoURL
	}
	// The host is an IP address, or plain ASCII without percent-encoding, so that every parser reads it alike.
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	host := parsed.Hostname()
	if (strings.Trim(host, plain) != "" || strings.Trim(host, ".") == "") && net.ParseIP(host) == nil {
		return nil, ErrNoURL
	}
	return parsed, nil
}

// encodeSpaces encodes the spaces of a text that is one URL: in a Zoom number and
// in the JSON of a Teams context.
func encodeSpaces(text string) string {
	fields := strings.Fields(text)
	if len(fields) < 2 || slices.ContainsFunc(fields[1:], hasWebScheme) {
		return text
	}
	joined := strings.Join(fields, "%20")
	parsed, err := url.Parse(joined)
	if err != nil {
		return text
	}
	switch host := HostOf(parsed); {
	case InDomain(host, zoomHosts...) && zoomSpacedPath.MatchString(parsed.Path):
		return joined
	case InDomain(host, teamsHosts...) && strings.HasPrefix(parsed.Query().Get("context"), "{") &&
		strings.HasSuffix(parsed.Query().Get("context"), "}"):
		return joined
	}
	return text
}

func hasWebScheme(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// ContainsURL reports whether a text contains http:// or https://.
func ContainsURL(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "http://") || strings.Contains(text, "https://")
}

// HostOf returns the normalized host of a URL, without its port.
func HostOf(address *url.URL) string {
	return strings.TrimSuffix(strings.ToLower(address.Hostname()), ".")
}

// InDomain reports whether host is one of the domains or a subdomain of one.
func InDomain(host string, domains ...string) bool {
	return slices.ContainsFunc(domains, func(domain string) bool {
		rest, found := strings.CutSuffix(host, domain)
		return found && (rest == "" || strings.HasSuffix(rest, "."))
	})
}
