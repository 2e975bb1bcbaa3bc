package dashboard_test

import (
	"fmt"
	"strings"
	"testing"

	"standin/internal/testing/testbrowser"

	"github.com/chromedp/chromedp/kb"
)

// TestFirstStart creates the first user with the link that serve prints, sends a bot,
// follows its job on the live page, and plays the recording.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	page := openTab(t)
	link := h.firstLink()
	page.Open(link)
	page.AwaitText("Welcome to Standin")
	page.Fill(`input[name="name"]`, "Ada")
	page.Fill(`input[name="email"]`, "Ada@Example.test")
	page.Fill(`input[name="consumer"]`, "crew")
	page.Fill(`input[name="password"]`, password)
	page.ClickText("Create account")
	page.at("/jobs")
	page.AwaitText("No jobs yet")

	h.person().get(strings.TrimPrefix(link, h.BaseURL())).want(t, "use the link again", 404)
	if _, ok, err := h.FirstUserLink(t.Context()); ok || err != nil {
		t.Errorf("there is a link for the first user although a user exists (%v)", err)
	}

	page.ClickText("Send a bot")
	page.Fill("#meetingUrl", "Join us: https://us02web.zoom.us/j/81200000123?pwd=x at noon")
	page.AwaitText("Zoom · https://us02web.zoom.us/j/81200000123?pwd=x")
	page.Click(`input[name="mode"][value="test"]`)
	page.ClickText("More options")
	page.Fill(`textarea[name="metadata"]`, `{"simulate": {"seconds": 20, "speed": 10}}`)
	page.ClickText("Send bot")
	page.at("/jobs/0")
	page.AwaitText("test job (simulated)")
	page.AwaitText("The host ended the meeting") // a live update, without a reload
	page.AwaitText("Recording ready")

	playsBack(page)
	if got := testbrowser.Eval[string](page.Tab, `document.querySelector(".files code").title`); len(got) != 64 {
		t.Errorf("the SHA-256 of the file is %q", got)
	}
	page.ClickText("Ada crew")
	page.ClickText("Sign out")
	page.at("/signin")
	page.AwaitText("You are signed out.")
}

// playsBack plays the recording on a job's page, and seeks with a speech row, a
// participant's name and the keyboard.
func playsBack(page *tab) {
	page.Helper()
	const video = `document.querySelector("video")`
	page.Until(video + ".readyState >= 1 && " + video + ".duration > 1")
	page.Click("h2#recorded")
	page.Press(" ")
	page.Until(video + ".currentTime > 0.3 && !" + video + ".paused && " + video + ".videoWidth > 0")
	page.Press(" ")
	page.Until(video + ".paused")

	page.clickAt(".lane", 0.75)
	page.Until("Math.abs(" + video + ".currentTime / " + video + ".duration - 0.75) < 0.05")
	page.Until(`Math.abs(Number(document.querySelector(".lane .now").getAttribute("x1")) / 1000 - ` + video + `.currentTime) < 0.05`)
	const speech = `document.querySelector(".speaker").dataset.next.trim().split(" ").map(Number)`
	page.clickAt(".lane", 0)
	page.Until(video + ".currentTime < 0.5")
	page.Click(".speaker") // seeks to the next speech of the first participant
	page.Until("Math.abs(" + video + ".currentTime * 1000 - " + speech + ".find(start => start > 500)) < 100")
	at := testbrowser.Eval[float64](page.Tab, video+".currentTime")
	page.Press(kb.ArrowLeft)
	page.Until(fmt.Sprintf("Math.abs(%s.currentTime - %f) < 0.1", video, at-5))
	page.Press("n") // seeks to the next speech of any participant
	page.Until(fmt.Sprintf("%s.currentTime > %f + 0.3", video, at-5))
}
