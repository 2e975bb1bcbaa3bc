package meetinglink

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
)

// redirector is a service that mail programs, calendars and chats put around
// links.
type redirector struct {
	matches func(host, path string) bool
	target  func(address *url.URL) string // "" if the link does not contain it
}

var redirectors = []redirector{
	{ // Google Calendar and Gmail
		func(host, path string) bool { return path == "/url" && googleHost.MatchString(host) },
		parameter("q", "url"),
	},
	{ // Outlook Safe Links
		func(host, _ string) bool {
			return InDomain(host, "safelinks.protection.outlook.com", "safelinks.protection.office365.us", "safelinks.protection.partner.outlook.cn")
		},
		parameter("url"),
	},
	{ // Safe Links in Teams
		func(host, path string) bool {
			return InDomain(host, "statics.teams.cdn.office.net", "teams.public.onecdn.static.microsoft") &&
				strings.Contains(strings.ToLower(path), "safelinks")
		},
		parameter("url"),
	},
	{ // Proofpoint URL Defense
		func(host, path string) bool {
			return InDomain(host, "urldefense.proofpoint.com", "urldefense.com", "urldefense.us") && proofpointPath.MatchString(path)
		},
		proofpointTarget,
	},
	{ // Barracuda
		func(host, path string) bool { return host == "linkprotect.cudasvc.com" && path == "/url" },
		parameter("a"),
	},
	{ // Slack
		func(host, path string) bool { return host == "slack-redir.net" && path == "/link" },
		parameter("url"),
	},
	{ // Mimecast, whose links usually contain only a token
		func(host, _ string) bool { return InDomain(host, "mimecast.com", "mimecastprotect.com") },
		parameter("url", "u"),
	},
}

var (
	googleHost     = regexp.MustCompile(`^(www\.)?google\.[a-z]{2,3}(\.[a-z]{2})?$`)
	proofpointPath = regexp.MustCompile(`^/v[123]/`)
)

func redirectorOf(address *url.URL) *redirector {
	host := HostOf(address)
	for i := range redirectors {
		if redirectors[i].matches(host, address.Path) {
			return &redirectors[i]
		}
	}
	return nil
}

func isRedirector(address *url.URL) bool { return redirectorOf(address) != nil }

// redirectTarget returns the target of a redirector. isRedirect is false if the
// URL is none, or if its target is not in the link.
func redirectTarget(address *url.URL) (target string, isRedirect bool) {
	r := redirectorOf(address)
	if r == nil {
		return "", false
	}
	target = r.target(address)
	return target, target != "" || !InDomain(HostOf(address), "mimecast.com", "mimecastprotect.com")
}

// parameter returns the target in the first of the query parameters that is not
// empty.
func parameter(names ...string) func(*url.URL) string {
	return func(address *url.URL) string {
		query := address.Query()
		for _, name := range names {
			if value := query.Get(name); value != "" {
				return value
			}
		}
		return ""
	}
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
