package meeting

import (
	"standin/internal/bot/browser"
	"standin/internal/job"
)

// BrowserMode returns the mode in which to open a platform's pages: the configured
// one or, if that is empty or Auto, the platform's default. Without a virtual display on
// this machine, the default is headless; fallback reports that.
//
// The reasons for the defaults are in docs/platforms.md.
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
