package browser_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// startProgramSite serves pages that try to start an external program.
func startProgramSite(t *testing.T) *httptest.Server {
	t.Helper()
	bodies := map[string]string{
		"/":         `<title>Meeting</title><button id=count style="position:fixed;top:300px;left:300px" onclick="clicks++">x</button><script>clicks = 0</script>`,
		"/script":   `<script>location = "zoommtg://zoom.us/join"</script>`,
		"/top":      `<script>top.location = "zoommtg://zoom.us/join"</script>`,
		"/frame":    `<iframe src="msteams:/l/meetup-join/1"></iframe>`,
		"/redirect": `<script>location = "/program"</script>`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/program" {
			w.Header().Set("Location", "zoommtg://zoom.us/join")
			w.WriteHeader(http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "<!doctype html>"+bodies[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return server
}

// No frame of a page can open the dialog that asks whether to start an external
// program. The page stays and receives clicks.
func TestFramesCannotStartPrograms(t *testing.T) {
	t.Parallel()
	ctx := limited(t)
	site := startProgramSite(t)
	frame := func(origin, path string) string {
		return fmt.Sprintf(`document.body.append(Object.assign(document.createElement("iframe"), {src: %q}))`, origin+path)
	}
	crossOrigin := strings.Replace(site.URL, "127.0.0.1", "localhost", 1)
	p, err := shared.use(t).NewPage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if err := p.GuardNavigation(ctx, func(address string) bool { return strings.HasPrefix(address, site.URL) }); err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"main frame":                    `location = "zoommtg://zoom.us/join"`,
		"link":                          `document.body.appendChild(Object.assign(document.createElement("a"), {href: "msteams:/l/meetup-join/1"})).click()`,
		"redirect":                      `location = "/program"`,
		"window":                        `open("zoommtg://zoom.us/join", "_blank")`,
		"frame":                         frame("", "msteams:/l/meetup-join/1"),
		"empty frame":                   `document.body.appendChild(document.createElement("iframe")).contentWindow.location = "zoommtg://zoom.us/join"`,
		"redirect of a frame":           frame("", "/program"),
		"redirect of a loaded frame":    frame("", "/redirect"),
		"cross-origin redirect":         frame(crossOrigin, "/program"),
		"cross-origin redirect, loaded": frame(crossOrigin, "/redirect"),
		"cross-origin script":           frame(crossOrigin, "/script"),
		"cross-origin nested frame":     frame(crossOrigin, "/frame"),
		"cross-origin, main frame":      frame(crossOrigin, "/top"),
	} {
		t.Run(name, func(t *testing.T) {
			if err := p.Navigate(ctx, site.URL+"/"); err != nil {
				t.Fatal(err)
			}
			if err := p.EvalWithGesture(ctx, script+", undefined", nil); err != nil {
				t.Fatal(err)
			}
			// The dialog opens within a second and then blocks all clicks.
			if err := p.EvalInPage(ctx, "new Promise(resolve => setTimeout(resolve, 1500))", nil); err != nil {
				t.Fatal(err)
			}
			if err := p.ClickElement(ctx, `document.querySelector("#count")`); err != nil {
				t.Fatal(err)
			}
			var clicks int
			if err := p.EvalInPage(ctx, "clicks", &clicks); err != nil || clicks != 1 {
				t.Fatalf("%d clicks, %v: a dialog is open or the page is gone", clicks, err)
			}
		})
	}
}
