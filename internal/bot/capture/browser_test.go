package capture

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/jobs/job"
	"standin/internal/testing/testbrowser"
)

// newViewer starts a browser for captured pages.
func newViewer(t *testing.T) *Viewer {
	t.Helper()
	viewer, err := NewViewer(t.Context(), BrowserSettings{Executable: testbrowser.ForPages(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := viewer.Close(); err != nil {
			t.Error(err)
		}
	})
	return viewer
}

// openPage opens a page like a bot.
func openPage(t *testing.T, ctx context.Context, running *browser.Browser, address string) *browser.Page {
	t.Helper()
	if err := running.GrantMicrophoneAndCamera(ctx, strings.Join(strings.SplitAfterN(address, "/", 4)[:3], "")); err != nil {
		t.Fatal(err)
	}
	page, err := running.NewPage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Close)
	if err := recorder.Prepare(ctx, page, recorder.Settings{}); err != nil {
		t.Fatal(err)
	}
	if err := page.Navigate(ctx, address); err != nil {
		t.Fatal(err)
	}
	return page
}

// serve serves documents, by path, until the test ends.
func serve(t *testing.T, documents map[string]string) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, documents[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// profileOf returns the embedded profile of a platform.
func profileOf(t testing.TB, platform job.Platform) *meeting.Profile {
	t.Helper()
	profiles, err := meeting.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return profiles[platform]
}
