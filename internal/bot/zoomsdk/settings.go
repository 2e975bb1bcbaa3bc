package zoomsdk

import (
	"fmt"
	"log/slog"
	"strings"
)

// The operator's settings are environment variables, because every user of the
// machine can see command-line arguments.
const (
	DirSetting    = "STANDIN_ZOOM_SDK_DIR"
	KeySetting    = "STANDIN_ZOOM_SDK_KEY"
	SecretSetting = "STANDIN_ZOOM_SDK_SECRET"
)

// Settings are the operator's copy of the SDK and the credentials of an app.
type Settings struct {
	Dir    string // the SDK's files, as its npm package lays them out
	Key    string // SDK key or client ID of the app
	Secret string // secret of the app; used only to sign
}

// Validate returns an error that lists the settings that are not set. It checks no file: a
// service that only launches bots needs none.
func (s Settings) Validate() error {
	var missing []string
	for _, setting := range []struct{ name, value string }{
		{DirSetting, s.Dir}, {KeySetting, s.Key}, {SecretSetting, s.Secret},
	} {
		if strings.TrimSpace(setting.value) == "" {
			missing = append(missing, setting.name)
		}
	}
	if len(missing) > 0 {
		return notConfigured(fmt.Errorf("set %s", strings.Join(missing, ", ")))
	}
	return nil
}

// String returns the folder of the files, and neither key nor secret.
func (s Settings) String() string { return fmt.Sprintf("Zoom's Meeting SDK in %q", s.Dir) }

// GoString returns String, for %#v.
func (s Settings) GoString() string { return s.String() }

// LogValue returns String, for logs.
func (s Settings) LogValue() slog.Value { return slog.StringValue(s.String()) }

// notConfigured reports that the SDK cannot run because of its settings. Its message is
// meant for the operator and for the job's detail.
func notConfigured(cause error) error {
	return fmt.Errorf("platform zoom-sdk needs Zoom's Meeting SDK, which is not configured on this service: %w", cause)
}
