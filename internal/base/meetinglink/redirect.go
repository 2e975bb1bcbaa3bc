package meetinglink

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
)

var (
	googleHost     = regexp.MustCompile(`^(www\.)?google\.[a-z]{2,3}(\.[a-z]{2})?$`)
	proofpointPath = regexp.MustCompile(`^/v[123]/`)
	mimecastHosts  = []string{"mimecast.com", "mimecastprotect.com"}
)

// redirectTarget returns the target of a redirector, which is a service that mail programs,
// calendars and chats put around links. It is empty if the link does not contain it.
func redirectTarget(address *url.URL) (target string, isRedirector bool) {
	host, path, query := HostOf(address), address.Path, address.Query()
	switch {
	case path == "/url" && googleHost.MatchString(host): // Google Calendar and Gmail
		return cmp.Or(query.Get("q"), query.Get("url")), true
	case InDomain(host, "safelinks.protection.outlook.com", "safelinks.protection.office365.us", "safelinks.protection.partner.outlook.cn"),
		InDomain(host, "statics.teams.cdn.office.net", "teams.public.onecdn.static.microsoft") &&
			strings.Contains(strings.ToLower(path), "safelinks"), // Safe Links in Outlook and Teams
		host == "slack-redir.net" && path == "/link":
		return query.Get("url"), true
	case InDomain(host, "urldefense.proofpoint.com", "urldefense.com", "urldefense.us") && proofpointPath.MatchString(path):
		return proofpointTarget(address), true
	case host == "linkprotect.cudasvc.com" && path == "/url": // Barracuda
		return query.Get("a"), true
	case InDomain(host, mimecastHosts...):
		return cmp.Or(query.Get("url"), query.Get("u")), true
	}
	return "", false
}

// proofpointTarget decodes the three versions of URL Defense: v1 is a query
// parameter, v2 replaces % by - and / by _, and v3 replaces some characters by *
// and appends them in base64.
func proofpointTarget(address *url.URL) string {
	switch {
	case strings.HasPrefix(address.Path, "/v1/"):
		return address.Query().Get("u")
	case strings.HasPrefix(address.Path, "/v2/"):
		encoded := strings.NewReplacer("-", "%", "_", "/").Replace(address.Query().Get("u"))
		if decoded, err := url.PathUnescape(encoded); err == nil {
			return decoded
		}
		return ""
	}
	whole := address.String()
	_, rest, found := strings.Cut(whole, "/v3/__")
	target, suffix, ended := strings.Cut(rest, "__;")
	if !found || !ended {
		return ""
	}
	// Path cleaning turns the slashes of the target into one.
	target = singleSlash.ReplaceAllString(target, "$1://")
	encoded, _, _ := strings.Cut(suffix, "!")
	replaced, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil {
		replaced = nil
	}
	return restoreStars(target, replaced)
}

var singleSlash = regexp.MustCompile(`^(https?):/+`)

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
