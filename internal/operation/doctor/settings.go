package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"standin/internal/bot/meeting"
	"standin/internal/bot/notetaker"
)

// checkBaseURL checks that consumers can use the URLs that the service gives
// them.
func checkBaseURL(settings Settings) Check {
	const name = checkName("base URL")
	const fix = "set STANDIN_BASE_URL to the URL of the service for consumers, such as https://standin.example.com"
	host, _, err := net.SplitHostPort(settings.Listen)
	if settings.BaseURL == "" {
		if err != nil {
			return name.fail("give it the form 127.0.0.1:8080",
				"STANDIN_LISTEN is %q, which is not an address with a port", settings.Listen)
		}
		if !isLoopback(host) {
			return name.warn(fix,
				"not set, and the service listens on %s: links in webhooks and manifests use that address", settings.Listen)
		}
		return name.ok("not set: http://%s, for programs on this machine", settings.Listen)
	}
	parsed, err := url.Parse(settings.BaseURL)
	switch {
	case err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "":
		return name.fail(fix, "it is not an http or https address with a host")
	case parsed.User != nil:
		return name.fail(fix,
			"it contains a user or password, which every program would see")
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return name.fail(fix,
			"%s has a query or fragment, but paths are appended to it", settings.BaseURL)
	case isLoopback(parsed.Hostname()) && !isLoopback(cmp.Or(host, settings.Listen)):
		return name.warn(fix,
			"%s is each consumer's own machine, but the service listens on %s", settings.BaseURL, settings.Listen)
	case parsed.Scheme == "http" && !isLoopback(parsed.Hostname()):
		return name.warn("use https with a TLS proxy in front of the service",
			"%s is not encrypted: keys and recordings can be read in transit", settings.BaseURL)
	}
	return name.ok("%s", settings.BaseURL)
}

// checkProxy says which forward proxy bots and the storage use.
func checkProxy() Check {
	const name = checkName("forward proxy")
	proxy, err := httpproxy.FromEnvironment().ProxyFunc()(&url.URL{Scheme: "https", Host: "meet.google.com"})
	switch {
	case err != nil || proxy != nil && proxy.Scheme != "http":
		return name.fail("set it to a URL such as http://proxy.example:3128", "HTTPS_PROXY is not an http:// URL")
	case proxy == nil:
		return name.ok("none: bots connect directly")
	}
	return name.ok("bots use %s", proxy.Host)
}

// probeBaseURL also checks that Standin answers at the base URL.
func probeBaseURL(ctx context.Context, settings Settings) Check {
	check := checkBaseURL(settings)
	if check.State != OK || settings.BaseURL == "" {
		return check
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(settings.BaseURL, "/")+"/healthz", http.NoBody) // a URL
	answer, err := http.DefaultClient.Do(request)
	if err == nil {
		_ = answer.Body.Close() // not read
		if answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
	}
	if err != nil {
		return checkName(check.Name).warn("start the service, or check STANDIN_BASE_URL, DNS, the reverse proxy and its certificate",
			"Standin does not answer at %s: %v", settings.BaseURL, err)
	}
	return check
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// checkProfiles loads the page profiles and the list of notetakers.
func checkProfiles(settings Settings) Check {
	const name = checkName("profiles")
	source := "embedded"
	if settings.Profiles != "" {
		source = settings.Profiles + ", embedded for the rest"
	}
	fix := "fix the mistake, or remove the file from " + settings.Profiles
	profiles, err := meeting.Load(settings.Profiles)
	if err != nil {
		return name.fail(fix, "%v", err)
	}
	var versions []string
	for _, platform := range slices.Sorted(maps.Keys(profiles)) {
		if _, err := meeting.New(platform, profiles); err != nil {
			return name.fail(fix, "%v", err)
		}
		versions = append(versions, fmt.Sprintf("%s version %d of %s", platform, profiles[platform].Version, profiles[platform].Date))
	}
	list, err := notetaker.Load(settings.Profiles)
	if err != nil {
		return name.fail(fix, "%v", err)
	}
	versions = append(versions, fmt.Sprintf("notetakers version %d of %s", list.Version, list.Date))
	return name.ok("%s (%s)", strings.Join(versions, ", "), source)
}

// checkMail reports the check of the mail worker's settings.
func checkMail(settings Settings) Check {
	const name = checkName("mail")
	switch {
	case !settings.Mail:
		return name.ok("no mail worker is configured")
	case settings.MailError != nil:
		return name.fail("see /docs/guide/mail.html of the service for the settings",
			"%v", settings.MailError)
	}
	return name.ok("the settings of the mail worker are complete")
}
