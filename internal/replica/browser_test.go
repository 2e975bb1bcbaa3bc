package replica

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"standin/internal/testing/testbrowser"
)

// waitTimeout is how long a test waits for a condition on a busy machine.
const waitTimeout = 2 * time.Minute

// devicesGranted is whether pages have access to microphone and camera.
type devicesGranted bool

// testBrowsers are the browsers of the package's tests. The headless shell has no
// permissions for devices: a flag answers all requests.
var testBrowsers = map[devicesGranted]*testbrowser.Pages{true: newBrowser("accept"), false: newBrowser("deny")}

// newBrowser returns a browser that answers requests for devices.
func newBrowser(answer string) *testbrowser.Pages {
	return &testbrowser.Pages{Flags: map[string]any{
		"allow-loopback-in-peer-connection": true, "use-fake-device-for-media-stream": true, "use-fake-ui-for-media-stream": answer,
		"mute-audio": false, "window-size": "1280,720",
	}}
}

// tab is a tab of one of them.
type tab struct{ *testbrowser.Tab }

// openTab opens a tab in a browser with or without devices.
func openTab(t *testing.T, devices devicesGranted) *tab {
	t.Helper()
	return &tab{testBrowsers[devices].Open(t)}
}

func (p *tab) waitVisible(selector string) {
	p.Helper()
	p.Do("see "+selector, chromedp.WaitVisible(chromedp.CSS(selector), testbrowser.Retry))
}

// moveMouse makes the controls of the call visible.
func (p *tab) moveMouse() {
	p.Helper()
	x := 500 + rand.IntN(200)
	p.Do("move the mouse", chromedp.MouseEvent("mouseMoved", float64(x), 400))
}

func (p *tab) count(selector string) int {
	p.Helper()
	return testbrowser.Eval[int](p.Tab, "document.querySelectorAll("+testbrowser.Quote(selector)+").length")
}

// join enters the name and asks to join.
func (p *tab) join(m *Meeting, name string) {
	p.Helper()
	p.Open(m.URL() + "?hl=en")
	p.Fill(`input[type="text"][aria-label="Your name"]`, name)
	p.Until(`!document.querySelector("[data-join]").disabled`)
	p.Click("[data-join]")
}

// playsMedia requires that the video in an element, given by a JavaScript expression,
// plays at full size and that its audio is not silent.
func playsMedia(p *tab, element string) {
	p.Helper()
	p.Until(element + `?.querySelector("video")?.videoWidth === ` + fmt.Sprint(testQuality.width))
	if high := testbrowser.Eval[int](p.Tab, element+`.querySelector("video").videoHeight`); high != testQuality.height {
		p.Errorf("the picture is %d high", high)
	}
	before := testbrowser.Eval[float64](p.Tab, element+`.querySelector("video").currentTime`)
	p.Until(element + `.querySelector("video").currentTime > ` + fmt.Sprint(before) + ` + 1`)
	p.Until(element + `.querySelector("audio").currentTime > 1`)
	meter(p, element)
	p.Until(`window.loudness() > 0.02`)
}

// meter measures the audio of an element: window.loudness() returns its recent peak.
func meter(p *tab, element string) {
	p.Helper()
	testbrowser.Eval[bool](p.Tab, `(() => {
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
