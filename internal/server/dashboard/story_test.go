package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestFirstStart creates the first user with the link that serve prints, sends a bot,
// follows its job on the live page, and plays the recording.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	page := openTab(t)
	link := h.firstLink()
	page.open(link)
	page.awaitText("Welcome to Standin")
	page.fill(`input[name="name"]`, "Ada")
	page.fill(`input[name="email"]`, "Ada@Example.test")
	page.fill(`input[name="consumer"]`, "crew")
	page.fill(`input[name="password"]`, password)
	page.clickText("Create account")
	page.at("/jobs")
	page.awaitText("No jobs yet")

	h.person().get(strings.TrimPrefix(link, h.BaseURL())).want(t, "use the link again", 404)
	if _, ok, err := h.FirstUserLink(t.Context()); ok || err != nil {
		t.Errorf("there is a link for the first user although a user exists (%v)", err)
	}

	page.clickText("Send a bot")
	page.fill("#meetingUrl", "Join us: https://us02web.zoom.us/j/123?pwd=x at noon")
	page.awaitText("Zoom · https://us02web.zoom.us/j/123?pwd=x")
	page.click(`input[name="mode"][value="test"]`)
	page.clickText("More options")
	page.fill(`textarea[name="metadata"]`, `{"simulate": {"seconds": 20, "speed": 10}}`)
	page.clickText("Send bot")
	page.at("/jobs/0")
	page.awaitText("test job (simulated)")
	page.awaitText("The host ended the meeting") // a live update, without a reload
	page.awaitText("Recording ready")

	playsBack(page)
	if got := reads[string](page, `document.querySelector(".files code").title`); len(got) != 64 {
		t.Errorf("the SHA-256 of the file is %q", got)
	}
	page.clickText("Ada crew")
	page.clickText("Sign out")
	page.at("/signin")
	page.awaitText("You are signed out.")
}

// playsBack plays the recording on a job's page, and seeks with a speech row, a
// participant's name and the keyboard.
func playsBack(page *tab) {
	page.Helper()
	const video = `document.querySelector("video")`
	page.until(video + ".readyState >= 1 && " + video + ".duration > 1")
	page.click("h2#recorded")
	page.press(" ")
	page.until(video + ".currentTime > 0.3 && !" + video + ".paused && " + video + ".videoWidth > 0")
	page.press(" ")
	page.until(video + ".paused")

	page.clickAt(".lane", 0.75)
	page.until("Math.abs(" + video + ".currentTime / " + video + ".duration - 0.75) < 0.05")
	page.until(`Math.abs(Number(document.querySelector(".lane .now").getAttribute("x1")) / 1000 - ` + video + `.currentTime) < 0.05`)
	const speech = `document.querySelector(".speaker").dataset.next.trim().split(" ").map(Number)`
	page.clickAt(".lane", 0)
	page.until(video + ".currentTime < 0.5")
	page.click(".speaker") // seeks to the next speech of the first participant
	page.until("Math.abs(" + video + ".currentTime * 1000 - " + speech + ".find(start => start > 500)) < 100")
	at := reads[float64](page, video+".currentTime")
	page.press(kb.ArrowLeft)
	page.until(fmt.Sprintf("Math.abs(%s.currentTime - %f) < 0.1", video, at-5))
	page.press("n") // seeks to the next speech of any participant
	page.until(fmt.Sprintf("%s.currentTime > %f + 0.3", video, at-5))
}
