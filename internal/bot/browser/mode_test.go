package browser_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"standin/internal/bot/browser"
)

// launchIn starts a browser in a mode.
func launchIn(t *testing.T, options browser.Options) (context.Context, *browser.Browser) {
	t.Helper()
	switch err := browser.CheckMode(options.Mode); {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx, launchWith(t, ctx, options)
}

// environmentOf returns a variable of the browser's process.
func environmentOf(t *testing.T, b *browser.Browser, name string) string {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", b.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for variable := range strings.SplitSeq(string(content), "\x00") {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value
		}
	}
	return ""
}

// A headed browser looks like an ordinary one to pages. A headless one says what it
// is. The screen of both fits the window. A headed one ends with its display.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode      browser.Mode
		width     int // of a page
		webdriver bool
		product   string
		steps     int     // at least this many mouse events for a movement
		interval  float64 // at least this many milliseconds between keys
	}{
		{browser.Headless, 1280, true, "HeadlessChrome/", 1, 0},
		{browser.Headed, 1024, false, "Chrome/", 20, 75},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			t.Parallel()
			ctx := limited(t)
			var b *browser.Browser
			if test.mode == browser.Headless {
				b = shared.use(t)
			} else {
				ctx, b = launchIn(t, browser.Options{Mode: test.mode, Width: test.width, Height: 600})
			}
			page, _ := openPage(t, ctx, b, `<title>Mode</title><input id=name style="position:fixed;left:700px;top:400px">
				<script>
					const moves = [], keys = [];
					addEventListener("mousemove", event => moves.push([event.clientX, event.clientY]));
					addEventListener("keydown", event => keys.push(event.timeStamp));
				</script>`)
			var seen struct {
				Webdriver                 bool
				Agent                     string
				Width, Height             int
				OuterWidth, OuterHeight   int
				ScreenWidth, ScreenHeight int
				Left, Top                 int
				State                     string
				Focus                     bool
			}
			if err := page.EvalInPage(ctx, `({Webdriver: navigator.webdriver, Agent: navigator.userAgent, Width: innerWidth, Height: innerHeight,
				OuterWidth: outerWidth, OuterHeight: outerHeight, ScreenWidth: screen.width, ScreenHeight: screen.height,
				Left: screenX, Top: screenY, State: document.visibilityState, Focus: document.hasFocus()})`, &seen); err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", seen)
			if seen.Webdriver != test.webdriver || !strings.Contains(seen.Agent, " "+test.product) {
				t.Errorf("webdriver is %v, user agent %s; want %v and %s", seen.Webdriver, seen.Agent, test.webdriver, test.product)
			}
			if seen.Width != test.width {
				t.Errorf("the page has %dx%d", seen.Width, seen.Height)
			}
			if seen.Left < 0 || seen.Top < 0 || seen.Left+seen.OuterWidth > seen.ScreenWidth || seen.Top+seen.OuterHeight > seen.ScreenHeight {
				t.Errorf("a window of %dx%d at %d, %d is not on the screen of %dx%d",
					seen.OuterWidth, seen.OuterHeight, seen.Left, seen.Top, seen.ScreenWidth, seen.ScreenHeight)
			}
			if seen.State != "visible" || !seen.Focus {
				t.Errorf("the page is %s, focus %v", seen.State, seen.Focus)
			}

			if err := page.TypeInto(ctx, `document.querySelector("#name")`, "#name", "Standin"); err != nil {
				t.Fatal(err)
			}
			var input struct {
				Moves, Last, Keys int
				Interval          float64
			}
			if err := page.EvalInPage(ctx, `({Moves: moves.length, Last: Math.round(moves.at(-1)[0]), Keys: keys.length,
				Interval: (keys.at(-1) - keys[1]) / (keys.length - 2)})`, &input); err != nil {
				t.Fatal(err)
			}
			if input.Moves < test.steps || input.Last < 700 || input.Keys != len("aStandin") {
				t.Errorf("input %+v, want at least %d mouse events that end on the field", input, test.steps)
			}
			if input.Interval < test.interval {
				t.Errorf("%.0f ms between keys, want at least %.0f", input.Interval, test.interval)
			}
			arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", b.PID()))
			if err != nil || strings.Contains(string(arguments), "enable-automation") {
				t.Errorf("the browser runs with --enable-automation (%v)", err)
			}
			if test.mode == browser.Headed {
				checkEndsWithDisplay(t, ctx, b)
			}
		})
	}
}

// checkEndsWithDisplay kills the display of a browser, which then ends too.
func checkEndsWithDisplay(t *testing.T, ctx context.Context, b *browser.Browser) {
	t.Helper()
	servers := processIDsIn(t, environmentOf(t, b, "XAUTHORITY"))
	if len(servers) != 1 {
		t.Fatalf("display servers of the browser: %v, want one", servers)
	}
	if err := syscall.Kill(servers[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.Done():
	case <-ctx.Done():
		t.Fatal("the browser runs without its display")
	}
	if err := b.Err(); !strings.Contains(err.Error(), "display server ended") {
		t.Errorf("Err = %v, want the display", err)
	}
}
