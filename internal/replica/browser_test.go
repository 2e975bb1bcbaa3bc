package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"standin/internal/testing/testbrowser"
)

// waitTimeout is how long a test waits for a condition on a busy machine.
const waitTimeout = 2 * time.Minute

// retryInterval is how often a test asks a page for an element or a condition.
const retryInterval = 100 * time.Millisecond

// retry is an option of queries. The default, 5 ms, keeps a busy machine busy.
var retry = chromedp.RetryInterval(retryInterval)

// tab is a browser page that is controlled with input events.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// devicesGranted is whether pages have access to microphone and camera.
type devicesGranted bool

// openTab opens a page with its own profile in a browser with or without devices.
func openTab(t *testing.T, devices devicesGranted) *tab {
	t.Helper()
	path := testbrowser.ForPages(t)
	running, err := testBrowsers[devices].launch(path, devices)
	if err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	ctx, closeTab := chromedp.NewContext(running, chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	// The tab is tied to the context of its first use.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a window: %v", err)
	}
	// Only one window has the focus, and without it pages ignore input.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatalf("give the window the focus: %v", err)
	}
	return &tab{t: t, ctx: ctx}
}

// sharedBrowser is a browser of the package's tests, chosen by testbrowser.ForPages and
// started once.
type sharedBrowser struct {
	once   sync.Once
	folder string
	ctx    context.Context
	stop   context.CancelFunc
	err    error
}

// testBrowsers are the browsers of the package's tests. The headless shell has no
// permissions for devices: a flag answers all requests.
var testBrowsers = map[devicesGranted]*sharedBrowser{true: {}, false: {}}

// launch starts the browser on the first call, with the flags that bots use and one that
// answers requests for devices.
func (b *sharedBrowser) launch(path string, devices devicesGranted) (context.Context, error) {
	b.once.Do(func() {
		answer := "deny"
		if devices {
			answer = "accept"
		}
		if b.folder, b.err = os.MkdirTemp("", "replica-browser-"); b.err != nil {
			return
		}
		options := []chromedp.ExecAllocatorOption{
			chromedp.ExecPath(path), chromedp.UserDataDir(filepath.Join(b.folder, "profile")),
			chromedp.Env("TMPDIR=" + b.folder),
			chromedp.Flag("headless", "new"),
			chromedp.Flag("autoplay-policy", "no-user-gesture-required"),
			chromedp.Flag("allow-loopback-in-peer-connection", true),
			chromedp.Flag("use-fake-device-for-media-stream", true),
			chromedp.Flag("disable-background-networking", true),
			chromedp.Flag("disable-background-timer-throttling", true),
			chromedp.Flag("disable-backgrounding-occluded-windows", true),
			chromedp.Flag("disable-features", "WebUIOmniboxPopup,WebUIOmniboxAimPopup"),
			chromedp.Flag("disable-renderer-backgrounding", true),
			chromedp.Flag("disable-component-update", true),
			chromedp.Flag("disable-sync", true),
			chromedp.Flag("mute-audio", false),
			chromedp.Flag("use-fake-ui-for-media-stream", answer),
			chromedp.Flag("no-first-run", true),
			chromedp.Flag("password-store", "basic"),
			chromedp.Flag("use-mock-keychain", true),
			chromedp.Flag("lang", "en-US"),
			chromedp.Flag("window-size", "1280,720"),
		}
		if os.Geteuid() == 0 {
			options = append(options, chromedp.NoSandbox)
		}
		allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, closeBrowser := chromedp.NewContext(allocator)
		b.ctx, b.stop = ctx, func() { closeBrowser(); stop() }
		b.err = chromedp.Do(ctx)
	})
	return b.ctx, b.err
}

// close stops the browser and removes its files.
func (b *sharedBrowser) close() {
	if b.stop != nil {
		b.stop()
	}
	if b.folder != "" {
		os.RemoveAll(b.folder)
	}
}

func (p *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, waitTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v; the page shows: %s", what, err, p.text())
	}
}

func (p *tab) open(url string) { p.t.Helper(); p.do("open "+url, chromedp.Navigate(url)) }

func (p *tab) click(selector string) {
	p.t.Helper()
	p.do("click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible, retry))
}

// clickText clicks the button with the text.
func (p *tab) clickText(text string) {
	p.t.Helper()
	search := chromedp.Search(`//button[normalize-space()="` + text + `"]`)
	p.do("click "+text, chromedp.Click(search, chromedp.NodeVisible, retry))
}

func (p *tab) waitVisible(selector string) {
	p.t.Helper()
	p.do("see "+selector, chromedp.WaitVisible(chromedp.CSS(selector), retry))
}

// waitUntil waits until a JavaScript expression, which may be a promise, is true.
func (p *tab) waitUntil(condition string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, waitTimeout)
	defer cancel()
	ticker := time.NewTicker(retryInterval)
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

// evalAs evaluates an expression, which may be a promise.
func evalAs[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, waitTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return value
}

// waitForText waits until the page's visible text contains the text.
func (p *tab) waitForText(text string) {
	p.t.Helper()
	quoted, _ := json.Marshal(text)
	p.waitUntil(fmt.Sprintf("document.body.innerText.includes(%s)", quoted))
}

// moveMouse makes the controls of the call visible.
func (p *tab) moveMouse() {
	p.t.Helper()
	x := 500 + rand.IntN(200)
	p.do("move the mouse", chromedp.MouseEvent("mouseMoved", float64(x), 400))
}

func (p *tab) count(selector string) int {
	p.t.Helper()
	quoted, _ := json.Marshal(selector)
	return evalAs[int](p, fmt.Sprintf("document.querySelectorAll(%s).length", quoted))
}

// text returns the page's visible text.
func (p *tab) text() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return text
}

// join enters the name and asks to join.
func (p *tab) join(m *Meeting, name string) {
	p.t.Helper()
	p.open(m.URL() + "?hl=en")
	p.do("type the name", chromedp.SendKeys(chromedp.CSS(`input[type="text"][aria-label="Your name"]`), name, retry))
	p.waitUntil(`!document.querySelector("[data-join]").disabled`)
	p.click("[data-join]")
}

// playsMedia requires that the video in an element, given by a JavaScript expression,
// plays at full size and that its audio is not silent.
func playsMedia(p *tab, element string) {
	p.t.Helper()
	p.waitUntil(element + `?.querySelector("video")?.videoWidth === ` + fmt.Sprint(testQuality.width))
	if high := evalAs[int](p, element+`.querySelector("video").videoHeight`); high != testQuality.height {
		p.t.Errorf("the picture is %d high", high)
	}
	before := evalAs[float64](p, element+`.querySelector("video").currentTime`)
	p.waitUntil(element + `.querySelector("video").currentTime > ` + fmt.Sprint(before) + ` + 1`)
	p.waitUntil(element + `.querySelector("audio").currentTime > 1`)
	meter(p, element)
	p.waitUntil(`window.loudness() > 0.02`)
}

// meter measures the audio of an element: window.loudness() returns its recent peak.
func meter(p *tab, element string) {
	p.t.Helper()
	evalAs[bool](p, `(() => {
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

func waitForEvent(t *testing.T, m *Meeting, kind EventKind) Event {
	t.Helper()
	event, err := m.Wait(deadline(t, waitTimeout), kind)
	if err != nil {
		t.Fatal(err)
	}
	return event
}
