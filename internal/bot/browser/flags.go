package browser

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

// silenceFile is the file in the profile directory that Chromium plays as the
// microphone.
const silenceFile = "silence.wav"

// allocatorOptions returns Chromium's command line and environment. chromedp adds
// --remote-debugging-pipe. --mute-audio is not set because it also mutes captured
// tabs.
func allocatorOptions(options Options) []chromedp.ExecAllocatorOption {
	flags := map[string]any{
		"window-position": "0,0",
		"lang":            "en-US",
		"accept-lang":     "en-US,en",
		// Infobars, for example the one about a tab capture, make the page
		// smaller.
		"disable-infobars":                        true,
		"hide-scrollbars":                         true,
		"autoplay-policy":                         "no-user-gesture-required",
		"auto-select-tab-capture-source-by-title": options.captureTitle,
		"use-fake-device-for-media-stream":        true,
		"use-file-for-fake-audio-capture":         filepath.Join(options.ProfileDir, silenceFile),
		// The windows of the recorder and of the meeting cover each other.
		// Neither may be throttled as a background window.
		"disable-background-timer-throttling":    true,
		"disable-backgrounding-occluded-windows": true,
		"disable-renderer-backgrounding":         true,

		// After the page could not run, WebRTC plays what has arrived meanwhile: late, and faster
		// than it was spoken until it has caught up. Sound that is late by more than this is left
		// out instead, and a busy machine is not taken for a slow network, so that what is recorded
		// stays at its time.
		"force-fieldtrials": "WebRTC-Audio-NetEqSmartFlushing/enabled:true,target_level_threshold_ms:240,target_level_multiplier:1/" +
			"WebRTC-Audio-NetEqDelayManagerConfig/quantile:0.5/",
		"disable-background-networking": true,
		"disable-breakpad":              true,
		"disable-component-update":      true,
		"disable-default-apps":          true,
		"disable-dev-shm-usage":         true,
		"disable-sync":                  true,
		"metrics-recording-only":        true,
		"no-default-browser-check":      true,
		"no-first-run":                  true,
		"password-store":                "basic",
		"use-mock-keychain":             true,
	}
	// A headed browser has no switch that pages could tell it from an ordinary one by: it
	// does not get chromedp's --enable-automation, and --remote-debugging-pipe does not set
	// navigator.webdriver.
	if options.Mode == Headed {
		flags["ozone-platform"] = "x11"
		flags["disable-blink-features"] = "AutomationControlled"
		flags["disable-search-engine-choice-screen"] = true
		// WebGL needs it on a machine without a GPU. Headless browsers have it.
		flags["enable-unsafe-swiftshader"] = true
	} else {
		flags["headless"] = "new"
		// The default screen is smaller than the window.
		flags["screen-info"] = fmt.Sprintf("{%dx%d}", options.Width, options.Height+barsHeight)
	}
	if options.LoopbackPeers {
		flags["allow-loopback-in-peer-connection"] = true
	}
	addIsolation(flags, options)
	allocator := append(environment(options), chromedp.ExecPath(options.Executable),
		chromedp.UserDataDir(options.ProfileDir), chromedp.WindowSize(options.Width, options.Height))
	for name, value := range flags {
		allocator = append(allocator, chromedp.Flag(name, value))
	}
	return allocator
}

// environment returns the environment variables that Chromium needs. It does not
// inherit the bot's environment, which can contain secrets.
func environment(options Options) []chromedp.ExecAllocatorOption {
	variables := []string{
		"HOME=" + options.ProfileDir,
		"TMPDIR=" + options.temporaryDir,
		"LANG=en_US.UTF-8",
		"LANGUAGE=en_US",
	}
	if options.display != nil {
		variables = append(variables, "DISPLAY="+options.display.name, "XAUTHORITY="+options.display.authority)
	}
	inherited := []string{"PATH", "TZ", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE"}
	if options.Proxy == "" {
		inherited = append(inherited,
			"http_proxy", "https_proxy", "all_proxy", "no_proxy",
			"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
		)
	}
	for _, name := range inherited {
		if value, set := os.LookupEnv(name); set {
			variables = append(variables, fmt.Sprintf("%s=%s", name, value))
		}
	}
	return []chromedp.ExecAllocatorOption{chromedp.NoInheritEnv, chromedp.Env(variables...)}
}
