package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// patience is how long a test waits for what should come at once, on a machine
// that may be busy with much else.
const patience = 40 * time.Second

// chromium is the browser's name on this system, or the empty string.
func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// tab is a page in a real browser, driven by real input events.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// devicesGranted says whether the browser has microphone and camera for pages.
type devicesGranted bool

// openTab starts a browser with the flags that bots use.
func openTab(t *testing.T, devices devicesGranted) *tab {
	t.Helper()
	path := chromium()
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("Chromium is not installed, and CI must have it")
		}
		t.Skip("Chromium is not installed")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.Env("TMPDIR=" + t.TempDir()),
		chromedp.Flag("headless", "new"),
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"),
		chromedp.Flag("allow-loopback-in-peer-connection", true),
		chromedp.Flag("use-fake-device-for-media-stream", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-background-timer-throttling", true),
		chromedp.Flag("disable-backgrounding-occluded-windows", true),
		chromedp.Flag("disable-renderer-backgrounding", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("mute-audio", false),
		chromedp.Flag("no-first-run", true),
		chromedp.Flag("password-store", "basic"),
		chromedp.Flag("use-mock-keychain", true),
		chromedp.Flag("lang", "en-US"),
		chromedp.Flag("window-size", "1280,720"),
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewExecAllocator(deadline(t, 4*time.Minute), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	// The tab lives as long as the context that it is first used with.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	setting := browser.PermissionSettingDenied
	if devices {
		setting = browser.PermissionSettingGranted
	}
	for _, name := range []string{"microphone", "camera"} {
		if _, err := chromedp.CallBrowser(ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: setting,
		}); err != nil {
			t.Fatalf("set permission of the %s: %v", name, err)
		}
	}
	return &tab{t: t, ctx: ctx}
}

func (p *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v; the page shows: %s", what, err, p.text())
	}
}

func (p *tab) open(url string) { p.t.Helper(); p.do("open "+url, chromedp.Navigate(url)) }

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do("click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// clickText clicks the button of that text.
func (p *tab) clickText(text string) {
	p.t.Helper()
	search := chromedp.Search(`//button[normalize-space()="` + text + `"]`)
	p.do("click "+text, chromedp.Click(search, chromedp.NodeVisible))
}

func (p *tab) sees(selector string) {
	p.t.Helper()
	p.do("see "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// until waits for a JavaScript condition of the page, which may await.
func (p *tab) until(condition string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		holds, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("(async () => !!("+condition+"))()", chromedp.EvalAwaitPromise))
		if err == nil && holds {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			p.t.Fatalf("not so: %s (last error: %v); the page shows: %s", condition, err, p.text())
		}
	}
}

// reads evaluates an expression, which may be a promise.
func reads[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return value
}

// says waits until the page's visible text holds a text.
func (p *tab) says(text string) {
	p.t.Helper()
	quoted, _ := json.Marshal(text)
	p.until(fmt.Sprintf("document.body.innerText.includes(%s)", quoted))
}

// moveMouse brings out the controls of the call.
func (p *tab) moveMouse() {
	p.t.Helper()
	x := 500 + rand.IntN(200)
	p.do("move the mouse", chromedp.MouseEvent("mouseMoved", float64(x), 400))
}

func (p *tab) count(selector string) int {
	p.t.Helper()
	quoted, _ := json.Marshal(selector)
	return reads[int](p, fmt.Sprintf("document.querySelectorAll(%s).length", quoted))
}

// text is the page's visible text, for messages of failing tests.
func (p *tab) text() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return text
}

// join walks from the pre-join page to the request.
func (p *tab) join(m *Meeting, name string) {
	p.t.Helper()
	p.open(m.URL() + "?hl=en")
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(`input[type="text"][aria-label="Your name"]`), name))
	p.until(`!document.querySelector("[data-join]").disabled`)
	p.click("[data-join]")
}

// playsMedia checks that the picture and the sound within an element, given by a
// JavaScript expression, play: the picture moves at full size, and the sound is
// not silence.
func playsMedia(p *tab, element string) {
	p.t.Helper()
	p.until(element + `?.querySelector("video")?.videoWidth === 1280`)
	if high := reads[int](p, element+`.querySelector("video").videoHeight`); high != 720 {
		p.t.Errorf("the picture is %d high", high)
	}
	before := reads[float64](p, element+`.querySelector("video").currentTime`)
	p.until(element + `.querySelector("video").currentTime > ` + fmt.Sprint(before) + ` + 1`)
	p.until(element + `.querySelector("audio").currentTime > 1`)
	meter(p, element)
	p.until(`window.loudness() > 0.02`)
}

// meter measures the sound within an element: window.loudness() is its peak of
// the last moments.
func meter(p *tab, element string) {
	p.t.Helper()
	reads[bool](p, `(() => {
		const sound = new AudioContext();
		const meter = sound.createAnalyser();
		meter.fftSize = 32768;
		sound.createMediaStreamSource(`+element+`.querySelector("audio").srcObject).connect(meter);
		window.loudness = () => {
			const samples = new Float32Array(meter.fftSize);
			meter.getFloatTimeDomainData(samples);
			return Math.max(...samples.map(Math.abs));
		};
		return true;
	})()`)
}

// startServer serves a replica for the test.
func startServer(t *testing.T, media *Media) *Server {
	t.Helper()
	s, err := Start(context.Background(), Options{Media: media})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openMeeting(t *testing.T, s *Server, settings Settings) *Meeting {
	t.Helper()
	m, err := s.Open(settings)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func happens(t *testing.T, m *Meeting, kind EventKind) Event {
	t.Helper()
	event, err := m.Wait(deadline(t, patience), kind)
	if err != nil {
		t.Fatal(err)
	}
	return event
}
