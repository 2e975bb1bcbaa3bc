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
	allocator := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(options.Executable),
		chromedp.UserDataDir(options.ProfileDir),
		chromedp.WindowSize(options.Width, options.Height),
		chromedp.Flag("window-position", "0,0"),
		chromedp.Flag("lang", "en-US"),
		chromedp.Flag("accept-lang", "en-US,en"),
		// Infobars, for example the one about a tab capture, make the page
		// smaller.
		chromedp.Flag("disable-infobars", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"),
		chromedp.Flag("auto-select-tab-capture-source-by-title", options.captureTitle),
		chromedp.Flag("use-fake-device-for-media-stream", true),
		chromedp.Flag("use-file-for-fake-audio-capture", filepath.Join(options.ProfileDir, silenceFile)),

		// The windows of the recorder and of the meeting cover each other.
		// Neither may be throttled as a background window.
		chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true),
		chromedp.Flag("disable-renderer-backgrounding", true),

		// After the page could not run, WebRTC plays what has arrived meanwhile: late, and faster
		// than it was spoken until it has caught up. Sound that is late by more than this is left
		// out instead, and a busy machine is not taken for a slow network, so that what is recorded
		// stays at its time.
		chromedp.Flag("force-fieldtrials",
			"WebRTC-Audio-NetEqSmartFlushing/enabled:true,target_level_threshold_ms:240,target_level_multiplier:1/"+
				"WebRTC-Audio-NetEqDelayManagerConfig/quantile:0.5/"),

		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-breakpad", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-default-apps", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("metrics-recording-only", true),
		chromedp.Flag("no-default-browser-check", true),
		chromedp.Flag("no-first-run", true),
		chromedp.Flag("password-store", "basic"),
		chromedp.Flag("use-mock-keychain", true),
	}
	allocator = append(allocator, modeFlags(options)...)
	if options.LoopbackPeers {
		allocator = append(allocator, chromedp.Flag("allow-loopback-in-peer-connection", true))
	}
	allocator = append(allocator, isolationFlags(options)...)
	return append(allocator, environment(options)...)
}

// modeFlags returns the flags for the mode. A headed browser has no switch that
// pages could tell it from an ordinary one by: it does not get chromedp's
// --enable-automation, and --remote-debugging-pipe does not set
// navigator.webdriver.
func modeFlags(options Options) []chromedp.ExecAllocatorOption {
	if options.Mode == Headed {
		return []chromedp.ExecAllocatorOption{
			chromedp.Flag("ozone-platform", "x11"),
			chromedp.Flag("disable-blink-features", "AutomationControlled"),
			chromedp.Flag("disable-search-engine-choice-screen", true),
			// WebGL needs it on a machine without a GPU. Headless browsers have it.
			chromedp.Flag("enable-unsafe-swiftshader", true),
		}
	}
	width, height := screenSize(options)
	return []chromedp.ExecAllocatorOption{
		chromedp.Flag("headless", "new"),
		// The default screen is smaller than the window.
		chromedp.Flag("screen-info", fmt.Sprintf("{%dx%d}", width, height)),
	}
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
	variables = append(variables, options.display.environment()...)
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
