package zoomsdk

import (
	"errors"
	"strings"
	"testing"

	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
)

// webAdapter returns the adapter of Zoom's web client.
func webAdapter(t *testing.T) meeting.Adapter {
	t.Helper()
	profiles, err := meeting.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	web, err := meeting.New(job.ZoomWeb, profiles)
	if err != nil {
		t.Fatal(err)
	}
	return web
}

func TestLocate(t *testing.T) {
	t.Parallel()
	web := webAdapter(t)
	for address, want := range map[string]location{
		"https://zoom.us/j/81234567890?pwd=abc":            {number: "81234567890", passcode: "abc"},
		"https://us02web.zoom.us/j/812-3456-7890":          {number: "81234567890"},
		"https://acme.zoom.us/wc/81234567890/join?pwd=abc": {number: "81234567890", passcode: "abc"},
		"https://app.zoom.us/wc/join/123456789":            {number: "123456789"},
		"https://zoom.us/w/81234567890?tk=token&pwd=abc": {
			number: "81234567890", passcode: "abc", token: "token",
		},
		"https://www.google.com/url?q=https%3A%2F%2Fzoom.us%2Fj%2F81234567890%3Fpwd%3Dabc": {number: "81234567890", passcode: "abc"},
		"https://meetings.example.com/j/81234567890?pwd=abc":                               {number: "81234567890", passcode: "abc"},
		"https://www.zoomgov.com/j/1612345678?pwd=abc": {
			number: "1612345678", passcode: "abc", service: "www.zoomgov.com",
		},
	} {
		got, err := locate(web, address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if !strings.HasPrefix(got.url, "https://") || strings.Contains(got.url, "google") {
			t.Errorf("%s: its own address is %q", address, got.url)
		}
		got.url = ""
		if got != want {
			t.Errorf("%s: got %#v, want %#v", address, got, want)
		}
	}
}

func TestLocateRefuses(t *testing.T) {
	t.Parallel()
	web := webAdapter(t)
	for _, address := range []string{
		"", "https://zoom.us/", "https://zoom.us/my/room", "https://zoom.us/j/12345",
		"https://zoom.us/j/1234567890123", "https://events.zoom.us/ev/abc", "https://zoom.us/j/81234567890 https://zoom.us/j/81234567891",
	} {
		var wrong *meeting.AddressError
		if got, err := locate(web, address); !errors.As(err, &wrong) {
			t.Errorf("%q: got %v, %v; want an AddressError", address, got, err)
		}
	}
}
