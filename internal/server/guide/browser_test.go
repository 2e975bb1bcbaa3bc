package guide

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"standin/api"
	"standin/docs"
	"standin/internal/testing/testbrowser"
)

// browserTab is a tab with the guide.
type browserTab struct {
	*testing.T
	ctx  context.Context
	base string
}

// openGuide serves the guide and opens a browser.
func openGuide(t *testing.T) browserTab {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	description, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(Handler(docs.Files, About{Version: "v1.2.3", Description: description.JSON()}, http.NotFoundHandler()))
	t.Cleanup(server.Close)
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(testbrowser.ForPages(t)), chromedp.UserDataDir(t.TempDir()), chromedp.Headless,
		chromedp.Flag("disable-background-networking", true),
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	// The tab closes when the context of its first use ends.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return browserTab{t, ctx, server.URL + Path}
}

// do runs actions.
func (b browserTab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// until waits until a condition in JavaScript holds.
func (b browserTab) until(condition string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	script := "new Promise(resolve => { const look = () => (" + condition + ") ? resolve(true) : setTimeout(look, 50); look() })"
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)); err != nil {
		// for the message
		state, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.activeElement?.id + " | " + document.getElementById("words")?.value + " | " + document.getElementById("count")?.textContent + " | " + [...document.querySelectorAll("#results li")].map(one => one.ariaSelected)`))
		b.Fatalf("%s: %v; the search has %s", condition, err, state)
	}
}

// find opens the search and types words.
func (b browserTab) find(words string) {
	b.Helper()
	b.until(`document.readyState === "complete"`)
	b.until(`(document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true})), true)`)
	b.until(`document.getElementById("search").open`)
	b.do(chromedp.KeyEvent(words))
}

// TestSearch opens the search by its key, chooses results by arrow keys and Enter, and sees that there
// are none. It also changes the language of code, which the next page remembers.
func TestSearch(t *testing.T) {
	t.Parallel()
	b := openGuide(t)
	b.do(chromedp.Navigate(b.base))
	b.find("zzzz")
	b.until(`document.getElementById("count").textContent === "No results for “zzzz”"`)
	b.do(chromedp.Navigate(b.base))
	for words, want := range map[string]string{
		"rotate secret": "Rotate the secret", "cancel job": "Cancel a job", "jobs create": "standin jobs create",
		"lobby_timeout": "lobby_timeout",
	} {
		b.do(chromedp.Navigate(b.base))
		b.find(words)
		b.until(`[...document.querySelectorAll("#results strong")].slice(0, 5).some(one => one.textContent === ` + strconv.Quote(want) + `)`)
	}
	b.do(chromedp.Navigate(b.base))
	b.find("verify webhook")
	b.until(`document.querySelectorAll("#results li").length > 1 && document.querySelector("#results mark") !== null`)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.until(`document.querySelectorAll("#results li")[1].ariaSelected === "true"`)
	b.do(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname.endsWith("/webhooks.html") && location.hash === "#verify"`)
	b.until(`document.querySelector(".tabs [role=tab]") !== null && document.querySelectorAll(".copy").length > 3`)
	b.until(`([...document.querySelectorAll(".tabs [role=tab]")].find(one => one.textContent === "JavaScript").click(), true)`)
	b.do(chromedp.Navigate(b.base + "jobs.html"))
	b.until(`document.querySelector(".tabs .code:not([hidden])")?.dataset.language === "JavaScript"`)
	b.until(`document.querySelector(".version").textContent === "v1.2.3" && document.querySelectorAll(".here a").length > 3`)
	b.until(`document.querySelector(".around [rel=next]").pathname.endsWith("/api.html")`)
	b.find("STANDIN_RETENTION")
	b.until(`document.querySelectorAll("#results li").length > 0`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.getElementById("search").open`)
}

// TestGuideScreenshots writes screenshots of pages and of the search to the folder in
// STANDIN_SCREENSHOTS, in three widths, light and dark.
func TestGuideScreenshots(t *testing.T) {
	folder := os.Getenv("STANDIN_SCREENSHOTS")
	if folder == "" {
		t.Skip("STANDIN_SCREENSHOTS is not set")
	}
	b := openGuide(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 768, 390} {
			b.do(chromedp.EmulateViewport(width, 900))
			if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			}); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{
				"index", "how-it-works", "webhooks", "reference/configuration", "reference/events", "tutorials/receive-webhooks", "search",
			} {
				if name == "search" {
					b.do(chromedp.Navigate(b.base + "index.html"))
					b.find("verify webhook")
					b.until(`document.querySelectorAll("#results li").length > 1`)
				} else {
					b.do(chromedp.Navigate(b.base + name + ".html"))
					b.until(`document.readyState === "complete"`)
				}
				b.until(`document.documentElement.scrollWidth <= innerWidth`)
				picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
				if err != nil {
					t.Fatal(err)
				}
				file := strings.ReplaceAll(name, "/", "-") + "-" + scheme + "-" + strconv.FormatInt(width, 10) + ".png"
				if err := os.WriteFile(filepath.Join(folder, file), picture, 0o644); err != nil { //nolint:gosec // pictures of public pages
					t.Fatal(err)
				}
			}
		}
	}
}
