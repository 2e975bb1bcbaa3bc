package zoomsdk_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/bot/zoomsdk"
	"standin/internal/testing/testbrowser"
)

const (
	// browserTestTime limits the browser's work in one test.
	browserTestTime = 90 * time.Second

	testKey    = "the-apps-key"
	testSecret = "the-apps-secret-which-nobody-may-see"
	testURL    = "https://us02web.zoom.us/j/81234567890?pwd=right"
	testNumber = "81234567890"
)

// closers close what the tests share. TestMain calls them.
var closers []func() error

func TestMain(m *testing.M) {
	code := m.Run()
	for _, closeShared := range closers {
		if err := closeShared(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// shared is the browser that the tests share.
var shared struct {
	once    sync.Once
	running *browser.Browser
	err     error
}

// limited returns a context with the time limit of a test.
func limited(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), browserTestTime)
	t.Cleanup(cancel)
	return ctx
}

// sharedBrowser returns the browser that the tests share.
func sharedBrowser(t testing.TB) (context.Context, *browser.Browser) {
	t.Helper()
	executable := testbrowser.ForPages(t)
	shared.once.Do(func() {
		shared.running, shared.err = browser.Launch(context.Background(), browser.Options{Executable: executable, LoopbackPeers: true})
		if shared.err == nil {
			closers = append(closers, shared.running.Close)
		}
	})
	if shared.err != nil {
		t.Fatalf("launching the browser: %v", shared.err)
	}
	return limited(t), shared.running
}

// launchBrowser starts a browser with the test's environment. It is closed with the
// test.
func launchBrowser(t testing.TB) (context.Context, *browser.Browser) {
	t.Helper()
	ctx := limited(t)
	running, err := browser.Launch(ctx, browser.Options{
		Executable: testbrowser.Full(t), ProfileDir: filepath.Join(t.TempDir(), "profile"), LoopbackPeers: true,
	})
	if err != nil {
		t.Fatalf("launching the browser: %v", err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	return ctx, running
}

// newAdapter returns an adapter for the SDK's files in a folder. It is closed with
// the test.
func newAdapter(t testing.TB, dir string) *zoomsdk.Adapter {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	adapter, err := zoomsdk.New(t.Context(), zoomsdk.Settings{Dir: dir, Key: testKey, Secret: testSecret}, log)
	if err != nil {
		t.Fatalf("making the adapter: %v", err)
	}
	t.Cleanup(func() {
		if err := adapter.Close(); err != nil {
			t.Errorf("closing the adapter: %v", err)
		}
	})
	return adapter
}

// violationsScript records violations of the page's policy.
const violationsScript = `window.violations = [];
document.addEventListener("securitypolicyviolation", v => window.violations.push(v.effectiveDirective + " " + v.blockedURI));`

// openMeeting opens the adapter's page for a meeting's address.
func openMeeting(t testing.TB, ctx context.Context, running *browser.Browser, adapter *zoomsdk.Adapter, meetingURL string) *browser.Page {
	t.Helper()
	page, err := running.NewPage(ctx)
	if err != nil {
		t.Fatalf("opening a page: %v", err)
	}
	t.Cleanup(page.Close)
	if err := page.EvalOnNewDocument(ctx, violationsScript); err != nil {
		t.Fatalf("watching the page's policy: %v", err)
	}
	address, err := adapter.Address(meetingURL)
	if err != nil {
		t.Fatalf("reading the meeting's address: %v", err)
	}
	if err := page.Navigate(ctx, address.URL); err != nil {
		t.Fatalf("opening the page: %v", err)
	}
	return page
}

// await observes the page until a condition holds.
func await(t testing.TB, ctx context.Context, adapter *zoomsdk.Adapter, page *browser.Page, what string, wanted func(meeting.Observation) bool) meeting.Observation {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	var last meeting.Observation
	for {
		observation, err := adapter.Observe(ctx, page)
		if err == nil {
			last = observation
			if wanted(observation) {
				return observation
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("timeout waiting for %s; the page shows %+v (last error %v)", what, last, err)
		case <-again.C:
		}
	}
}

// on returns the condition that the page shows a screen.
func on(screen meeting.Screen) func(meeting.Observation) bool {
	return func(observation meeting.Observation) bool { return observation.Screen == screen }
}
