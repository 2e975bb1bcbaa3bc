package zoomsdk_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/bot/zoomsdk"
)

// TestRealSDK starts an operator's copy of the SDK and lets it try to join. All requests to
// other machines go to a closed port.
func TestRealSDK(t *testing.T) {
	dir := os.Getenv(zoomsdk.DirSetting)
	if dir == "" {
		t.Skipf("%s names no copy of Zoom's Meeting SDK, which is not ours to ship", zoomsdk.DirSetting)
	}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:9")
	}
	ctx, running := sharedBrowser(t)
	adapter := newAdapter(t, dir)
	page := openMeeting(t, ctx, running, adapter)
	s := &stage{t: t, ctx: ctx, adapter: adapter, page: page}
	s.see(meeting.PreJoin) // by the SDK's own word
	checkInterface(t, ctx, page)
	checkIsolation(t, ctx, page)

	joining, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	err := adapter.Join(joining, page, meeting.JoinOptions{Name: "Standin"})
	t.Logf("joining without a network: %v", err)
	if err == nil {
		t.Error("the SDK joined a meeting without a network")
	}
	s.see(meeting.CannotConnect)
	checkViolations(t, ctx, page)
	if err := adapter.Leave(ctx, page); err != nil {
		t.Errorf("leaving: %v", err)
	}
}

// checkInterface checks that every function exists that the page calls.
func checkInterface(t *testing.T, ctx context.Context, page *browser.Page) {
	t.Helper()
	const script = `["setZoomJSLib", "preLoadWasm", "prepareWebSDK", "init", "join", "inMeetingServiceListener", "getAttendeeslist",
		"leaveMeeting", "sendChat", "operatePin", "mute", "mediaCapturePermission"].filter(name => typeof ZoomMtg[name] !== "function")`
	var missing []string
	if err := page.EvalInPage(ctx, script, &missing); err != nil {
		t.Fatalf("looking at the SDK's interface: %v", err)
	}
	if len(missing) > 0 {
		t.Errorf("the page calls what this SDK does not have: %s", strings.Join(missing, ", "))
	}
}

// checkIsolation checks that the SDK has shared memory and its WebAssembly, and
// that it does not get the page's secret path.
func checkIsolation(t *testing.T, ctx context.Context, page *browser.Page) {
	t.Helper()
	const script = `(async () => {
		const until = performance.now() + 30000;
		while (!(ZoomMtg.wasm.audio && ZoomMtg.wasm.video) && performance.now() < until) await new Promise(wake => setTimeout(wake, 100));
		return {isolated: window.crossOriginIsolated, shared: typeof SharedArrayBuffer === "function", wasm: ZoomMtg.wasm,
			path: location.pathname, version: document.body.dataset.version};
	})()`
	var state struct {
		Isolated, Shared bool
		Wasm             struct{ Audio, Video any }
		Path, Version    string
	}
	if err := page.EvalInPage(ctx, script, &state); err != nil {
		t.Fatalf("looking at the page: %v", err)
	}
	t.Logf("the SDK has started: %+v", state)
	if !state.Isolated || !state.Shared {
		t.Error("the page has no shared memory")
	}
	if state.Wasm.Audio != true || state.Wasm.Video != true {
		t.Errorf("the SDK did not get its WebAssembly: %v", state.Wasm)
	}
	if state.Path != "/" {
		t.Error("the SDK sees the page's secret path")
	}
}

// checkViolations checks that the page's policy blocked nothing of the bot's own.
func checkViolations(t *testing.T, ctx context.Context, page *browser.Page) {
	t.Helper()
	var violations []string
	if err := page.EvalInPage(ctx, "window.violations", &violations); err != nil {
		t.Fatalf("looking at the policy's violations: %v", err)
	}
	if len(violations) > 0 {
		t.Errorf("the page's policy refuses: %s", strings.Join(violations, "; "))
	}
}
