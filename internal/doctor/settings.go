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

// checkBaseURL looks whether consumers can do anything with the addresses that
// the service gives them.
func checkBaseURL(settings Settings) Check {
	const name = verdict("base URL")
	const form = "set STANDIN_BASE_URL to how consumers reach the service, as in https://standin.example.com"
	if settings.BaseURL == "" {
		if host, _, err := net.SplitHostPort(settings.Listen); err != nil {
			return name.fail(fmt.Sprintf("STANDIN_LISTEN is %q, which is no address and port", settings.Listen), "give it the form 127.0.0.1:8080")
		} else if !loopback(host) {
			return name.warn(fmt.Sprintf("not set, and the service listens on %s: links in webhooks and manifests lead to that address", settings.Listen), form)
		}
		return name.ok("not set: http://%s, for consumers on this machine", settings.Listen)
	}
	parsed, err := url.Parse(settings.BaseURL)
	switch {
	case err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "":
		return name.fail("it is no http or https address with a host", form)
	case parsed.User != nil:
		return name.fail("it holds a user or password, which every consumer would see", form)
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return name.fail(settings.BaseURL+" has a query or fragment, and paths are put behind it", form)
	case loopback(parsed.Hostname()) && !loopback(hostOf(settings.Listen)):
		return name.warn(fmt.Sprintf("%s leads to each consumer's own machine, while the service listens on %s", settings.BaseURL, settings.Listen), form)
	case parsed.Scheme == "http" && !loopback(parsed.Hostname()):
		return name.warn(settings.BaseURL+" is not encrypted: keys and recordings can be read on the way", "put a proxy with TLS in front and use https")
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

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}

// checkProfiles reads the page profiles and the list of notetakers.
func checkProfiles(settings Settings) Check {
	const name = verdict("profiles")
	from := "the embedded ones"
	if settings.Profiles != "" {
		from = settings.Profiles + ", the embedded ones for the rest"
	}
	mend := "mend what is named, or take the file out of " + settings.Profiles
	profiles, err := meeting.Load(settings.Profiles)
	if err != nil {
		return name.fail(err.Error(), mend)
	}
	var platforms []job.Platform
	for platform := range profiles {
		platforms = append(platforms, platform)
	}
	slices.Sort(platforms)
	var told []string
	for _, platform := range platforms {
		if _, err := meeting.New(platform, profiles); err != nil {
			return name.fail(err.Error(), mend)
		}
		told = append(told, fmt.Sprintf("%s version %d of %s", platform, profiles[platform].Version, profiles[platform].Date))
	}
	list, err := notetaker.Load(settings.Profiles)
	if err != nil {
		return name.fail(err.Error(), mend)
	}
	told = append(told, fmt.Sprintf("notetakers version %d of %s", list.Version, list.Date))
	return name.ok("%s (%s)", strings.Join(told, ", "), from)
}
