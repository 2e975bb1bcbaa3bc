package zoomsdk_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/bot/zoomsdk"
)

// doubleDir is the folder of the double of the SDK.
var doubleDir = filepath.Join("testdata", "double")

func TestWhatIsNotConfiguredIsNamed(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	partial := t.TempDir()
	if err := os.CopyFS(partial, os.DirFS(doubleDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(partial, "dist/lib/vendor/redux.min.js")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		settings zoomsdk.Settings
		names    []string // in the error
		not      []string
	}{
		"nothing": {zoomsdk.Settings{}, []string{zoomsdk.DirSetting, zoomsdk.KeySetting, zoomsdk.SecretSetting, "service: set "}, nil},
		"no folder": {zoomsdk.Settings{Key: "k", Secret: "s"}, []string{zoomsdk.DirSetting, "service: set "},
			[]string{zoomsdk.KeySetting, zoomsdk.SecretSetting}},
		"no key": {zoomsdk.Settings{Dir: doubleDir, Secret: "s"}, []string{zoomsdk.KeySetting, "service: set "},
			[]string{zoomsdk.DirSetting, zoomsdk.SecretSetting}},
		"no secret": {zoomsdk.Settings{Dir: doubleDir, Key: "k"}, []string{zoomsdk.SecretSetting, "service: set "},
			[]string{zoomsdk.DirSetting, zoomsdk.KeySetting}},
		"a secret of spaces": {zoomsdk.Settings{Dir: doubleDir, Key: "k", Secret: " "}, []string{zoomsdk.SecretSetting}, nil},
		"no such folder": {zoomsdk.Settings{Dir: filepath.Join(empty, "none"), Key: "k", Secret: "s"},
			[]string{zoomsdk.DirSetting, "cannot be used", "no such file"}, []string{zoomsdk.KeySetting}},
		"an empty folder": {zoomsdk.Settings{Dir: empty, Key: "k", Secret: "s"},
			[]string{zoomsdk.DirSetting, "cannot be used", "dist"}, []string{zoomsdk.KeySetting}},
		"a file is missing": {zoomsdk.Settings{Dir: partial, Key: "k", Secret: "s"},
			[]string{zoomsdk.DirSetting, "redux.min.js"}, []string{zoomsdk.SecretSetting}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			adapter, err := zoomsdk.New(t.Context(), test.settings, slog.New(slog.DiscardHandler))
			if err == nil {
				adapter.Close()
				t.Fatal("got no error")
			}
			for _, want := range append(test.names, "zoom-sdk") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not name %q", err, want)
				}
			}
			for _, unwanted := range test.not {
				if strings.Contains(err.Error(), unwanted) {
					t.Errorf("%q names %q, which is in order", err, unwanted)
				}
			}
		})
	}
}

func TestSettingsAreNotShown(t *testing.T) {
	t.Parallel()
	settings := zoomsdk.Settings{Dir: "/opt/sdk", Key: testKey, Secret: testSecret}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("started", "settings", settings)
	shown := fmt.Sprintf("%v %+v %#v %s %s", settings, settings, settings, settings, log.String())
	if strings.Contains(shown, testSecret) || strings.Contains(shown, testKey) {
		t.Errorf("the credentials are shown: %s", shown)
	}
	if !strings.Contains(log.String(), "/opt/sdk") {
		t.Errorf("the folder is not shown: %s", log.String())
	}
}
