package zoomsdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/bot/zoomsdk"
)

// realSDK returns the folder of an operator's copy of the SDK. During the test all
// requests to other machines go to a closed port.
func realSDK(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(zoomsdk.DirSetting)
	if dir == "" {
		t.Skipf("%s names no copy of Zoom's Meeting SDK, which is not ours to ship", zoomsdk.DirSetting)
	}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:9")
	}
	return dir
}

// TestRealSDK starts the real SDK and lets it try to join without a network.
func TestRealSDK(t *testing.T) {
	dir := realSDK(t)
	ctx, running := launchBrowser(t)
	adapter := newAdapter(t, dir)
	page := openMeeting(t, ctx, running, adapter, testURL)
	await(t, ctx, adapter, page, "the SDK's own word that it has started", on(meeting.PreJoin))
	checkInterface(t, ctx, page)
	checkIsolation(t, ctx, page)

	joining, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	err := adapter.Join(joining, page, meeting.JoinOptions{Name: "Standin"})
	t.Logf("joining without a network: %v", err)
	if err == nil {
		t.Error("the SDK joined a meeting without a network")
	}
	await(t, ctx, adapter, page, "that Zoom cannot be reached", on(meeting.CannotConnect))
	checkViolations(t, ctx, page)
	if err := adapter.Leave(ctx, page); err != nil {
		t.Errorf("leaving: %v", err)
	}
}

// answerScript answers the SDK's first request in place of Zoom.
const answerScript = `(body => {
	const open = XMLHttpRequest.prototype.open, get = window.fetch, question = /zoom\.us\/api\/v1\/wc\/info/;
	window.fetch = (resource, options) => question.test(String(resource && resource.url || resource))
		? Promise.resolve(new Response(body, {headers: {"Content-Type": "application/json"}})) : get(resource, options);
	XMLHttpRequest.prototype.open = function (method, address, ...rest) {
		return question.test(address)
			? open.call(this, "GET", "data:application/json," + encodeURIComponent(body), ...rest) : open.call(this, method, address, ...rest);
	};
})`

// TestRealSDKRefusals checks the adapter's result for refusals that the test sends
// to the real SDK in place of Zoom.
func TestRealSDKRefusals(t *testing.T) {
	dir := realSDK(t)
	ctx, running := launchBrowser(t)
	for _, refusal := range []struct {
		code    int
		message string
		want    meeting.Screen // Unknown: the service's own credentials are refused
	}{
		{3004, "", meeting.NotFound},
		{3001, "", meeting.NotFound},
		{3100, "", meeting.SignInWall},
		{6024, "", meeting.SignInWall}, // the SDK shows its form
		{3113, "", meeting.BotWall},    // its captcha
		{3009, "", meeting.Removed},
		{200, "Invalid signature.", meeting.Unknown},
	} {
		adapter := newAdapter(t, dir)
		page, err := running.NewPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(map[string]any{"status": false, "errorCode": refusal.code, "errorMessage": refusal.message, "result": nil})
		if err != nil {
			t.Fatal(err)
		}
		if err := page.EvalOnNewDocument(ctx, fmt.Sprintf("%s(%q)", answerScript, body)); err != nil {
			t.Fatal(err)
		}
		address, err := adapter.Address(testURL)
		if err != nil {
			t.Fatal(err)
		}
		if err := page.Navigate(ctx, address.URL); err != nil {
			t.Fatal(err)
		}
		err = adapter.Join(ctx, page, meeting.JoinOptions{Name: "Standin"})
		var screen *meeting.ScreenError
		var refused *zoomsdk.RefusedError
		switch {
		case errors.As(err, &screen) && screen.Observation.Screen == refusal.want:
		case errors.As(err, &refused) && refusal.want == meeting.Unknown:
		default:
			t.Errorf("Zoom's refusal %d: joining ends with %v, want %s", refusal.code, err, refusal.want)
		}
		t.Logf("Zoom's refusal %d: %v", refusal.code, err)
		page.Close()
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
