package meetinglink

import (
	"encoding/base64"
	"iter"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// scheme begins a link within another one.
var scheme = regexp.MustCompile(`(?i)(https?|zoommtg|zoomus)(:/|%(25)*3a)`)

// unwrapped returns the link to a meeting that a URL on another host contains. Mail filters,
// calendars and chats put their own address around links, and new ones appear each year, so
// their hosts are not known. A link on a platform's host that nobody can join is the second
// choice. tries limits the links that are examined.
func unwrapped(address *url.URL, allowedHosts []string, depth int, tries *int) (found Link, ok bool) {
	if depth == 0 {
		return Link{}, false
	}
	for target := range targets(address) {
		if *tries--; *tries < 0 {
			break
		}
		link, err := resolve(Clean(target), allowedHosts, depth-1, tries)
		switch {
		case err != nil:
		case link.Warning == "":
			return link, true
		case !ok && IsKnown(link.URL):
			found, ok = link, true
		}
	}
	return found, ok
}

// targets yields what may be links in the parameters and the path of a URL.
func targets(address *url.URL) iter.Seq[string] {
	return func(yield func(string) bool) {
		values := []string{wrappedPath(address), address.Fragment}
		for parameter := range strings.SplitSeq(address.RawQuery, "&") {
			_, value, _ := strings.Cut(parameter, "=")
			if decoded, err := url.QueryUnescape(value); err == nil {
				values = append(values, decoded)
			}
		}
		for _, value := range values {
			// Version 2 of Proofpoint's URL Defense replaces % by - and / by _.
			if strings.Contains(value, "-3A__") {
				value = strings.NewReplacer("-", "%", "_", "/").Replace(value)
			}
			if at := scheme.FindStringIndex(value); at != nil && !yield(value[at[0]:]) {
				return
			}
		}
		for _, value := range append(values, strings.Split(address.Path, "/")...) {
			value = strings.NewReplacer("-", "+", "_", "/", " ", "+").Replace(strings.TrimRight(value, "="))
			decoded, err := base64.RawStdEncoding.DecodeString(value)
			if err != nil || !utf8.Valid(decoded) {
				continue
			}
			if at := scheme.FindIndex(decoded); at != nil {
				if link, _, _ := strings.Cut(string(decoded[at[0]:]), `"`); !yield(link) { // in JSON
					return
				}
			}
		}
	}
}

// wrappedPath returns the path and query of a URL, in which a link may end with ___, or with
// __; and the characters that version 3 of Proofpoint's URL Defense has replaced by *.
func wrappedPath(address *url.URL) string {
	at := scheme.FindStringIndex(address.Path)
	if at == nil {
		return ""
	}
	text := singleSlash.ReplaceAllString(address.Path[at[0]:], "$1://")
	if address.RawQuery != "" && !strings.Contains(text, "?") {
		text += "?" + address.RawQuery
	}
	target, suffix, ended := strings.Cut(text, "__;")
	if !ended {
		target, _, _ = strings.Cut(target, "___")
		return target
	}
	encoded, _, _ := strings.Cut(suffix, "!")
	replaced, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil {
		replaced = nil
	}
	return restoreStars(target, replaced)
}

// singleSlash is what cleaning a path makes of the slashes of a link in it.
var singleSlash = regexp.MustCompile(`^(?i)(https?):/+`)

// restoreStars replaces each * of a v3 target by the next replaced character, and
// each **X by a run of them, whose length X encodes.
func restoreStars(target string, replaced []byte) string {
	const lengths = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var b strings.Builder
	for i := 0; i < len(target); i++ {
		if target[i] != '*' || len(replaced) == 0 {
			b.WriteByte(target[i])
			continue
		}
		n := 1
		if i+2 < len(target) && target[i+1] == '*' {
			n = 2 + strings.IndexByte(lengths, target[i+2])
			i += 2
		}
		n = min(n, len(replaced))
		b.Write(replaced[:n])
		replaced = replaced[n:]
	}
	return b.String()
}
