package meeting

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/jobs/job"
	"standin/internal/testing/testbrowser"
)

// browserTestTimeout limits the browser's work in one test.
const browserTestTimeout = 15 * time.Minute

// observeInterval is how often a bot observes its page.
const observeInterval = 250 * time.Millisecond

// launchBrowser starts a browser for pages that is closed with the test. The adapters
// use only pages; package session tests them with the browser that bots use.
func launchBrowser(t testing.TB) (context.Context, *browser.Browser) {
	t.Helper()
	running := testbrowser.Launch(t, browser.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), browserTestTimeout)
	t.Cleanup(cancel)
	return ctx, running
}

// embeddedProfiles reads the built-in profiles once for all tests, and adapters makes the
// adapters of their platforms.
var (
	embeddedProfiles = sync.OnceValues(Embedded)
	adapters         = sync.OnceValues(func() (map[job.Platform]*site, error) {
		profiles, err := embeddedProfiles()
		all := make(map[job.Platform]*site)
		for _, platform := range platforms() {
			if err == nil {
				all[platform.name], err = newSite(platform, profiles[platform.name])
			}
		}
		return all, err
	})
)

// siteOf returns a new adapter of a platform with a copy of the built-in profile.
func siteOf(t testing.TB, platform job.Platform) *site {
	t.Helper()
	all, err := adapters()
	if err != nil {
		t.Fatalf("the embedded profiles are not valid: %v", err)
	}
	made, profile := all[platform], *all[platform].profile
	// A busy machine is slow.
	return &site{driver: made.driver, platform: made.platform, profile: &profile, languageTimeout: time.Minute}
}

// openDocument opens a page with a document.
func openDocument(t testing.TB, ctx context.Context, running *browser.Browser, document string) *browser.Page {
	t.Helper()
	page := openPage(t, ctx, running)
	showDocument(t, ctx, page, document)
	return page
}

// documentServer serves empty documents, for all tests of the package.
var documentServer = sync.OnceValue(func() string {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html>")
	})).URL
})

// showDocument shows a document with all its frames. One without frames is written
// over the document of a page that shows one, because to load it takes much longer.
func showDocument(t testing.TB, ctx context.Context, page *browser.Page, document string) {
	t.Helper()
	document = "<!doctype html><html lang=en><title>Meet</title>" + document
	if strings.Contains(document, "<iframe") {
		loadDocument(t, ctx, page, document)
		return
	}
	address, err := page.URL(ctx)
	if err == nil && address != documentServer()+"/" {
		err = page.Navigate(ctx, documentServer()+"/")
	}
	if err != nil {
		t.Fatalf("navigating: %v", err)
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	const write = `(text => {
		document.open();
		document.write(text);
		document.close();
	})`
	if err := page.EvalInPage(ctx, write+"("+string(text)+")", nil); err != nil {
		t.Fatalf("writing the document: %v", err)
	}
	awaitComplete(t, ctx, page)
}

// loadDocument loads a document with all its frames.
func loadDocument(t testing.TB, ctx context.Context, page *browser.Page, document string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/" {
			fmt.Fprint(w, document)
		}
	}))
	t.Cleanup(server.Close)
	if err := page.Navigate(ctx, server.URL+"/"); err != nil {
		t.Fatalf("navigating: %v", err)
	}
	awaitComplete(t, ctx, page)
}

// awaitComplete waits until the document and its frames are loaded.
func awaitComplete(t testing.TB, ctx context.Context, page *browser.Page) {
	t.Helper()
	const complete = `new Promise(done => document.readyState === "complete" ? done() : addEventListener("load", () => done()))`
	if err := page.EvalInPage(ctx, complete, nil); err != nil {
		t.Fatalf("waiting for the document: %v", err)
	}
}

// openPage opens a blank page that is closed with the test.
func openPage(t testing.TB, ctx context.Context, running *browser.Browser) *browser.Page {
	t.Helper()
	page, err := running.NewPage(ctx)
	if err != nil {
		t.Fatalf("opening a page: %v", err)
	}
	t.Cleanup(page.Close)
	return page
}

// await observes and tidies the page like a bot until a condition holds.
func await(t *testing.T, ctx context.Context, adapter Adapter, page Page, what string, wanted func(Observation) bool) Observation {
	t.Helper()
	again := time.NewTicker(observeInterval)
	defer again.Stop()
	for {
		observation, err := adapter.Observe(ctx, page)
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		if wanted(observation) {
			return observation
		}
		if err := adapter.HandleNotices(ctx, page, observation); err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("timeout waiting for %s; the page shows %+v", what, observation)
		case <-again.C:
		}
	}
}

// snapshotOf takes a snapshot of a page.
func snapshotOf(t *testing.T, ctx context.Context, site *site, page Page) Snapshot {
	t.Helper()
	snapshot, err := site.probe.snapshot(ctx, page)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// showsCall reports whether the bot was admitted before a page shows a screen.
func showsCall(shows string) bool {
	screen, _, _ := strings.Cut(shows, ",")
	return slices.Contains([]Screen{InMeeting, Removed, Ended, Reconnecting}, Screen(screen))
}

// on returns the condition that the page shows a screen.
func on(screen Screen) func(Observation) bool {
	return func(observation Observation) bool { return observation.Screen == screen }
}
