package doctor

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"standin/internal/bot/meeting"
	"standin/internal/bot/notetaker"
	"standin/internal/job"
)

// checkBaseURL checks that consumers can use the URLs that the service gives
// them.
func checkBaseURL(settings Settings) Check {
	const name = checkName("base URL")
	const fix = "set STANDIN_BASE_URL to the URL of the service for consumers, such as https://standin.example.com"
	if settings.BaseURL == "" {
		if host, _, err := net.SplitHostPort(settings.Listen); err != nil {
			return name.fail(fmt.Sprintf("STANDIN_LISTEN is %q, which is not an address with a port", settings.Listen), "give it the form 127.0.0.1:8080")
		} else if !isLoopback(host) {
			return name.warn(fmt.Sprintf("not set, and the service listens on %s: links in webhooks and manifests use that address", settings.Listen), fix)
		}
		return name.ok("not set: http://%s, for consumers on this machine", settings.Listen)
	}
	parsed, err := url.Parse(settings.BaseURL)
	switch {
	case err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "":
		return name.fail("it is not an http or https address with a host", fix)
	case parsed.User != nil:
		return name.fail("it contains a user or password, which every consumer would see", fix)
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return name.fail(settings.BaseURL+" has a query or fragment, but paths are appended to it", fix)
	case isLoopback(parsed.Hostname()) && !isLoopback(hostOf(settings.Listen)):
		return name.warn(fmt.Sprintf("%s is each consumer's own machine, but the service listens on %s", settings.BaseURL, settings.Listen), fix)
	case parsed.Scheme == "http" && !isLoopback(parsed.Hostname()):
		return name.warn(settings.BaseURL+" is not encrypted: keys and recordings can be read in transit", "use https with a TLS proxy in front of the service")
	}
	return name.ok("%s", settings.BaseURL)
}

// hostOf returns the host of an address with a port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
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
		return name.fail(err.Error(), fix)
	}
	var platforms []job.Platform
	for platform := range profiles {
		platforms = append(platforms, platform)
	}
	slices.Sort(platforms)
	var versions []string
	for _, platform := range platforms {
		if _, err := meeting.New(platform, profiles); err != nil {
			return name.fail(err.Error(), fix)
		}
		versions = append(versions, fmt.Sprintf("%s version %d of %s", platform, profiles[platform].Version, profiles[platform].Date))
	}
	list, err := notetaker.Load(settings.Profiles)
	if err != nil {
		return name.fail(err.Error(), fix)
	}
	versions = append(versions, fmt.Sprintf("notetakers version %d of %s", list.Version, list.Date))
	return name.ok("%s (%s)", strings.Join(versions, ", "), source)
}
