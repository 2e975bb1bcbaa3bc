package launch

import (
	"slices"
	"strconv"
)

// Names of the environment variables that tell a bot what its operator has
// set for all bots. Secrets are in the environment alone: arguments are seen by
// everybody on the machine.
const (
	EnvBrowser       = "STANDIN_BROWSER"
	EnvNoSandbox     = "STANDIN_NO_SANDBOX"
	EnvProfiles      = "STANDIN_PROFILES"
	EnvSignIn        = "STANDIN_SIGN_IN"
	EnvZoomSDKDir    = "STANDIN_ZOOM_SDK_DIR"
	EnvZoomSDKKey    = "STANDIN_ZOOM_SDK_KEY"
	EnvZoomSDKSecret = "STANDIN_ZOOM_SDK_SECRET"
	EnvSpoolLimit    = "STANDIN_SPOOL_LIMIT"
)

// Setup is what the operator has set for all bots of a service.
type BotSettings struct {
	Browser   string // the browser to start; found when empty
	NoSandbox bool   // Chromium runs without its own sandbox
	Profiles  string // folder of page profiles that replace the embedded ones
	SignIn    string // folder of cookies and browser profiles for signed-in joining
	ZoomSDK   ZoomSDK
	Recording Recording
	SpoolMiB  int // of its recording that a bot may hold on its disk; 0: the bot's own default
}

// ZoomSDK is what joining with Zoom's Meeting SDK needs. The operator has it
// from Zoom.
type ZoomSDK struct {
	Dir    string // the SDK's files
	Key    string
	Secret string
}

// Environment returns the setup as environment variables.
func (s BotSettings) Environment() []string {
	var spool []string
	if s.SpoolMiB > 0 {
		spool = []string{EnvSpoolLimit + "=" + strconv.Itoa(s.SpoolMiB)}
	}
	return slices.Concat(s.Recording.Environment(), spool, []string{
		EnvBrowser + "=" + s.Browser,
		EnvNoSandbox + "=" + strconv.FormatBool(s.NoSandbox),
		EnvProfiles + "=" + s.Profiles,
		EnvSignIn + "=" + s.SignIn,
		EnvZoomSDKDir + "=" + s.ZoomSDK.Dir,
		EnvZoomSDKKey + "=" + s.ZoomSDK.Key,
		EnvZoomSDKSecret + "=" + s.ZoomSDK.Secret,
	})
}
