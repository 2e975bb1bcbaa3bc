package browser_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"standin/internal/bot/browser"
)

// hostileSite serves a page that replaces what scripts call.
func hostileSite(t *testing.T) *httptest.Server {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(`<!doctype html><title>Meeting</title><p>a text</p><script>
			window.huge = "x".repeat(150 * 2 ** 20);
			String.prototype.slice = JSON.stringify = Document.prototype.querySelector = () => window.huge;
		</script>`))
	}))
	t.Cleanup(site.Close)
	return site
}

// TestPageThatReplacesWhatScriptsCall reads a page that makes scripts of the bot return
// a huge text.
func TestPageThatReplacesWhatScriptsCall(t *testing.T) {
	t.Parallel()
	ctx := limited(t)
	p := openAt(t, ctx, shared.use(t), hostileSite(t).URL+"/")
	var read struct{ Text, Title string }
	err := p.Eval(ctx, `({Text: document.querySelector("p").textContent.slice(0, 6), Title: document.title, Secret: typeof huge})`, &read)
	if err != nil || read.Text != "a text" || read.Title != "Meeting" {
		t.Errorf("read %.100q, %v", read, err)
	}
	var text string
	var failed *browser.ScriptError
	if err := p.EvalInPage(ctx, `document.title.slice(0, 6)`, &text); !errors.As(err, &failed) || text != "" {
		t.Errorf("the page's own scripts return %d bytes, %v", len(text), err)
	}
	var huge *browser.ScriptError
	if err := p.EvalInPage(ctx, "Promise.reject({toString: () => huge})", nil); !errors.As(err, &huge) || len(huge.Description) > 10_000 {
		t.Errorf("an exception with a huge text: %.100v", err)
	}
}

// TestPageThatFillsTheDisk stores files without end. The browser ends with the reason.
func TestPageThatFillsTheDisk(t *testing.T) {
	t.Parallel()
	endsByScript(t, 64<<20, 4<<30, "the browser's files exceeded the limit of 64 MiB", `(async () => {
		const folder = await navigator.storage.getDirectory(), block = new Uint8Array(4 << 20);
		for (let i = 0; i < 4096; i++) {
			const file = await (await folder.getFileHandle("file" + i, {create: true})).createWritable();
			await file.write(block);
			await file.close();
		}
	})()`)
}

// TestPageThatFillsTheMemory starts a browser whose page uses more memory than it may.
func TestPageThatFillsTheMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("memory is limited on Linux only")
	}
	endsByScript(t, 1<<30, 500<<20, "memory of the bot and its browser exceeded the limit of 500 MiB",
		"(window.held = new Uint8Array(600 * 2 ** 20).fill(1), new Promise(() => {}))")
}

// endsByScript checks that a browser with these limits, in bytes, ends because of a script.
func endsByScript(t *testing.T, profile, memory int64, reason, script string) {
	t.Helper()
	ctx := limited(t)
	var options browser.Options
	browser.LimitResources(&options, profile, memory)
	b := launchWith(t, ctx, options)
	p := openAt(t, ctx, b, meetingPage(t).URL+"/")
	ran := make(chan error, 1)
	go func() { ran <- p.EvalInPage(ctx, script, nil) }()
	select {
	case <-b.Done():
	case <-ctx.Done():
		t.Fatal("the browser still runs")
	}
	var used *browser.ResourceError
	if err := <-ran; err == nil || !errors.As(b.Err(), &used) || !strings.Contains(b.Err().Error(), reason) {
		t.Errorf("the script ended with %v, and the browser with %v", err, b.Err())
	}
}
