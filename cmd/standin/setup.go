package main

import "standin/internal/launch"

// setupFlags say what bots work with: the same for a service that launches
// them and for one bot by hand.
type setupFlags struct {
	Browser       string `env:"STANDIN_BROWSER" help:"The Chromium that bots start. Default: found on PATH."`
	NoSandbox     bool   `env:"STANDIN_NO_SANDBOX" help:"Run Chromium without its own sandbox, where the system does not allow one. As root it always runs without."`
	Profiles      string `env:"STANDIN_PROFILES" placeholder:"DIR" help:"Folder of page profiles that replace the embedded ones."`
	SignIn        string `env:"STANDIN_SIGN_IN" placeholder:"DIR" help:"Folder of cookies and browser profiles for meetings that demand a signed-in visitor. Default: bots are never signed in."`
	ZoomSDKDir    string `env:"STANDIN_ZOOM_SDK_DIR" name:"zoom-sdk-dir" placeholder:"DIR" help:"Files of Zoom's Meeting SDK for Web, for the platform zoom-sdk. Default: that platform's jobs fail."`
	ZoomSDKKey    string `env:"STANDIN_ZOOM_SDK_KEY" name:"zoom-sdk-key" help:"Key (client id) of the Meeting SDK app."`
	ZoomSDKSecret string `env:"STANDIN_ZOOM_SDK_SECRET" name:"zoom-sdk-secret" help:"Secret of the Meeting SDK app. Better in the environment than on the command line."`
}

// setup is what the flags say, as bots are told it.
func (f setupFlags) setup() launch.Setup {
	return launch.Setup{
		Browser: f.Browser, NoSandbox: f.NoSandbox, Profiles: f.Profiles, SignIn: f.SignIn,
		ZoomSDK: launch.ZoomSDK{Dir: f.ZoomSDKDir, Key: f.ZoomSDKKey, Secret: f.ZoomSDKSecret},
	}
}
