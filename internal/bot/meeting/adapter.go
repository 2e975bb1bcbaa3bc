package meeting

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
)

// platforms returns the platforms that have an adapter.
func platforms() []platform {
	return []platform{
		{name: job.Meet, elements: []string{joinInDialog, captcha}, resolve: resolveMeet},
		{name: job.Teams, elements: []string{useBrowser, passcodeInput, computerAudio, captcha}, resolve: resolveTeams},
		{
			name:     job.ZoomWeb,
			elements: []string{launchApp, useBrowser, passcodeInput, joinAudio, moreButton, recordButton, requestPermission, closePermission},
			resolve:  resolveZoom,
		},
	}
}

// New returns the adapter of a platform.
func New(name job.Platform, profiles Profiles) (Adapter, error) {
	var supported []string
	for _, known := range platforms() {
		supported = append(supported, strconv.Quote(string(known.name)))
		if known.name != name {
			continue
		}
		profile, ok := profiles[name]
		if !ok {
			return nil, fmt.Errorf("no profile for platform %q is loaded", name)
		}
		return newSite(known, profile)
	}
	return nil, fmt.Errorf("this version of Standin has no adapter for platform %q; it can join %s", name, strings.Join(supported, ", "))
}

// platform holds what differs between platforms outside their profiles.
type platform struct {
	name     job.Platform
	elements []string // elements that the profile must define, besides those of every platform
	// resolve returns the address to open for an unwrapped URL.
	resolve func(*url.URL) (Address, error)
}

// BrowserMode returns the mode in which to open a platform's pages: the configured
// one or, if that is empty or Auto, the platform's default. Without a virtual display on
// this machine, the default is headless; fallback reports that.
//
// The reasons for the defaults are in docs/internals/platforms.md.
func BrowserMode(configured browser.Mode, platform job.Platform) (mode browser.Mode, fallback bool) {
	switch {
	case configured != "" && configured != browser.Auto:
		return configured, false
	case platform != job.Meet && platform != job.ZoomWeb:
		return browser.Headless, false
	case browser.CheckMode(browser.Headed) != nil:
		return browser.Headless, true
	}
	return browser.Headed, false
}
