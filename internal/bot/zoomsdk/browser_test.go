package zoomsdk_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
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

// sharedBrowser returns the browser that the tests share, and a context for one test.
func sharedBrowser(t *testing.T) (context.Context, *browser.Browser) {
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
	ctx, cancel := context.WithTimeout(t.Context(), browserTestTime)
	t.Cleanup(cancel)
	return ctx, shared.running
}

// newAdapter returns an adapter for the SDK's files in a folder. It is closed with
// the test.
func newAdapter(t *testing.T, dir string) *zoomsdk.Adapter {
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

// pageScript records violations of the page's policy, and shortens the pause before the
// page joins again.
const pageScript = `window.violations = [];
document.addEventListener("securitypolicyviolation", v => window.violations.push(v.effectiveDirective + " " + v.blockedURI));
const wait = window.setTimeout;
window.setTimeout = (act, ms, ...rest) => wait(act, ms === 15e3 ? 300 : ms, ...rest);`

// openMeeting opens the adapter's page for the test's meeting.
func openMeeting(t *testing.T, ctx context.Context, running *browser.Browser, adapter *zoomsdk.Adapter) *browser.Page {
	t.Helper()
	page, err := running.NewPage(ctx)
	if err != nil {
		t.Fatalf("opening a page: %v", err)
	}
	t.Cleanup(page.Close)
	if err := page.EvalOnNewDocument(ctx, pageScript); err != nil {
		t.Fatalf("preparing the page: %v", err)
	}
	address, err := adapter.Address(testURL)
	if err != nil {
		t.Fatalf("reading the meeting's address: %v", err)
	}
	if err := page.Navigate(ctx, address.URL); err != nil {
		t.Fatalf("opening the page: %v", err)
	}
	return page
}

// await observes the page until a condition holds.
func (s *stage) await(what string, wanted func(meeting.Observation) bool) meeting.Observation {
	s.t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	var last meeting.Observation
	for {
		observation, err := s.adapter.Observe(s.ctx, s.page)
		if err == nil {
			last = observation
			if wanted(observation) {
				return observation
			}
		}
		select {
		case <-s.ctx.Done():
			s.t.Fatalf("timeout waiting for %s; the page shows %+v (last error %v)", what, last, err)
		case <-again.C:
		}
	}
}
