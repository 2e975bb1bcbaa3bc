package guide

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"standin/api"
	"standin/docs"
	"standin/internal/testing/testbrowser"
)

// browserTab is a tab with the guide.
type browserTab struct {
	*testbrowser.Tab
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
	return browserTab{testbrowser.OpenTab(t), server.URL + Path}
}

// find opens the search and types words.
func (b browserTab) find(words string) {
	b.Helper()
	b.Until(`document.readyState === "complete"`)
	b.Until(`(document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true})), true)`)
	b.Until(`document.getElementById("search").open`)
	b.Press(words)
}

// TestSearch opens the search by its key, chooses results by arrow keys and Enter, and sees that there
// are none. It also changes the language of code, which the next page remembers.
func TestSearch(t *testing.T) {
	t.Parallel()
	b := openGuide(t)
	b.Open(b.base)
	b.find("zzzz")
	b.Until(`document.getElementById("count").textContent === "No results for “zzzz”"`)
	b.Open(b.base)
	for words, want := range map[string]string{
		"rotate secret": "Rotate the secret", "cancel job": "Cancel a job", "jobs create": "standin jobs create",
		"lobby_timeout": "lobby_timeout",
	} {
		b.Open(b.base)
		b.find(words)
		b.Until(`[...document.querySelectorAll("#results strong")].slice(0, 5).some(one => one.textContent === ` + strconv.Quote(want) + `)`)
	}
	b.Open(b.base)
	b.find("verify webhook")
	b.Until(`document.querySelectorAll("#results li").length > 1 && document.querySelector("#results mark") !== null`)
	b.Press(kb.ArrowDown)
	b.Until(`document.querySelectorAll("#results li")[1].ariaSelected === "true"`)
	b.Press(kb.ArrowUp)
	b.Press(kb.Enter)
	b.Until(`location.pathname.endsWith("/webhooks.html") && location.hash === "#verify"`)
	b.Until(`document.querySelector(".tabs [role=tab]") !== null && document.querySelectorAll(".copy").length > 3`)
	b.Until(`([...document.querySelectorAll(".tabs [role=tab]")].find(one => one.textContent === "JavaScript").click(), true)`)
	b.Open(b.base + "jobs.html")
	b.Until(`document.querySelector(".tabs .code:not([hidden])")?.dataset.language === "JavaScript"`)
	b.Until(`document.querySelector(".version").textContent === "v1.2.3" && document.querySelectorAll(".here a").length > 3`)
	b.Until(`document.querySelector(".around [rel=next]").pathname.endsWith("/api.html")`)
	b.find("STANDIN_RETENTION")
	b.Until(`document.querySelectorAll("#results li").length > 0`)
	b.Press(kb.Escape)
	b.Until(`!document.getElementById("search").open`)
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
			b.Do("set the size", chromedp.EmulateViewport(width, 900))
			if _, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			}); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{
				"index", "how-it-works", "webhooks", "reference/configuration", "reference/events", "tutorials/receive-webhooks", "search",
			} {
				if name == "search" {
					b.Open(b.base + "index.html")
					b.find("verify webhook")
					b.Until(`document.querySelectorAll("#results li").length > 1`)
				} else {
					b.Open(b.base + name + ".html")
					b.Until(`document.readyState === "complete"`)
				}
				b.Until(`document.documentElement.scrollWidth <= innerWidth`)
				picture, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
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
