package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCanaryFlags checks what the command refuses, before it starts a browser.
func TestCanaryFlags(t *testing.T) {
	t.Parallel()
	const meeting = "https://meet.google.com/abc-defg-hij"
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"":                    {exitUsage, "--meeting"},
		"--every 5s":          {exitUsage, "less than 1m0s"},
		"--webhook https://x": {exitUsage, "STANDIN_CANARY_WEBHOOK_SECRET"},
		"--once --webhook-allow-cidrs nonsense --no-sandbox":                {exitFailed, "STANDIN_WEBHOOK_ALLOW_CIDRS"},
		"--once --no-sandbox --browser /no/such/browser":                    {exitFailed, "/no/such/browser"},
		"--once --no-sandbox --metrics-listen 256.0.0.1:1":                  {exitFailed, "listen for metrics"},
		"--once --no-sandbox --profiles /no/such/folder --platform teams":   {exitFailed, "profiles folder"},
		"--once --no-sandbox --platform skype --browser-mode headless":      {exitFailed, "skype"},
		"--once --no-sandbox --browser-mode fullscreen --platform zoom-web": {exitUsage, "browser-mode"},
	} {
		command := append([]string{"canary"}, strings.Fields(args)...)
		if args != "" {
			command = append(command, "--meeting", meeting)
		}
		var out, err bytes.Buffer
		if code := run(command, &out, &err); code != want.code || !strings.Contains(err.String(), want.text) {
			t.Errorf("standin canary %s: code %d\n%s", args, code, err.String())
		}
	}
}
