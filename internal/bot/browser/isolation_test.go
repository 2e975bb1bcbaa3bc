package browser_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/egress"
)

// tryTimeout bounds a page that tries: its attempts wait for answers that do not
// come.
const tryTimeout = 4 * time.Minute

// tryScript makes a page try to reach targets in every way a page has.
//
//go:embed testdata/try.js
var tryScript string

// forbidden is a place of this machine that no meeting page may reach. It
// listens on both loopback addresses, for TCP and UDP.
type forbidden struct {
	port    string // of TCP
	udpPort string

	mutex   sync.Mutex
	reached map[string]bool
}

// forbid opens such a place.
func forbid(t *testing.T) *forbidden {
	t.Helper()
	f := &forbidden{reached: make(map[string]bool)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.note("http " + strings.Trim(r.URL.Path, "/"))
		w.Header().Set("Content-Type", "text/html")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			f.note("tcp")
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	_, f.port, _ = net.SplitHostPort(server.Listener.Addr().String())
	if second, err := net.Listen("tcp", "[::1]:"+f.port); err == nil { // else this machine has no IPv6, or not that port
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Config.Serve(second) })
		t.Cleanup(func() { second.Close(); serving.Wait() })
	}
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, f.udpPort, _ = net.SplitHostPort(socket.LocalAddr().String())
	f.hear(t, socket)
	if second, err := net.ListenPacket("udp", "[::1]:"+f.udpPort); err == nil {
		f.hear(t, second)
	}
	return f
}

// hear notes each datagram.
func (f *forbidden) hear(t *testing.T, socket net.PacketConn) {
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for {
			if _, _, err := socket.ReadFrom(make([]byte, 2000)); err != nil {
				return
			}
			f.note("udp")
		}
	}()
	t.Cleanup(func() { socket.Close(); <-heard })
}

func (f *forbidden) note(what string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.reached[what] = true
}

// seen lists what reached the place.
func (f *forbidden) seen() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var seen []string
	for what := range f.reached {
		seen = append(seen, what)
	}
	slices.Sort(seen)
	return seen
}

// meetingPage serves a page that may be opened, and redirects of it.
func meetingPage(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		case "/download":
			w.Header().Set("Content-Disposition", `attachment; filename="client.deb"`)
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.WriteString(w, "a program")
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<!doctype html><title>Meeting</title><body>")
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// startProxy starts the browser's proxy, with one site allowed.
func startProxy(t *testing.T, ctx context.Context, allowed *httptest.Server) *egress.Proxy {
	t.Helper()
	proxy, err := egress.Start(ctx, egress.Settings{Allowed: []string{allowed.Listener.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("closing the proxy: %v", err)
		}
	})
	return proxy
}

// launchWith starts a browser with a profile of its own that is closed with the
// test.
func launchWith(t *testing.T, ctx context.Context, options browser.Options) *browser.Browser {
	t.Helper()
	options.Executable = executable(t)
	if options.ProfileDir == "" {
		options.ProfileDir = filepath.Join(t.TempDir(), "profile")
	}
	b, err := browser.Launch(ctx, options)
	if err != nil {
		t.Fatalf("launching: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	return b
}

// openAt opens a page at an address.
func openAt(t *testing.T, ctx context.Context, b *browser.Browser, address string) *browser.Page {
	t.Helper()
	p, err := b.NewPage(ctx)
	if err != nil {
		t.Fatalf("opening a page: %v", err)
	}
	t.Cleanup(p.Close)
	if err := p.Navigate(ctx, address); err != nil {
		t.Fatalf("navigating: %v", err)
	}
	return p
}

// try makes the page try everything on the hosts, and returns what answered. It
// holds microphone and camera meanwhile, as in a meeting: WebRTC then uses each
// of the machine's networks by itself.
func (f *forbidden) try(t *testing.T, ctx context.Context, p *browser.Page, hosts []string) []string {
	t.Helper()
	settings, err := json.Marshal(map[string]any{"hosts": hosts, "port": f.port, "udpPort": f.udpPort})
	if err != nil {
		t.Fatal(err)
	}
	err = p.Eval(ctx, "navigator.mediaDevices.getUserMedia({audio: true, video: true}).then(stream => { held = stream; })", nil)
	if err != nil {
		t.Fatalf("the page gets no microphone: %v", err)
	}
	var answered []string
	if err := p.EvalWithGesture(ctx, fmt.Sprintf("(%s)(%s)", strings.TrimSpace(tryScript), settings), &answered); err != nil {
		t.Fatalf("the page cannot try: %v", err)
	}
	return answered
}

// TestPageThatTries is a meeting page, allowed itself, that wants to reach this
// machine, its network and its cloud. Hosts that stand for no address at all mean
// this machine too, and are tried where UDP is off: Chromium's check of WebRTC
// leaves them out (isolation.go).
func TestPageThatTries(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		throughProxy bool
		hosts        []string
	}{
		"by any name or number": {false, []string{
			"127.0.0.1", "localhost", "sub.localhost", "[::1]", "2130706433", "0x7f000001", "017700000001", "127.1",
			"[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1", "192.168.0.1", "[fd00:ec2::254]",
		}},
		"without any UDP": {true, []string{"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]", "0", "10.0.0.1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), tryTimeout)
			defer cancel()
			meeting, place := meetingPage(t), forbid(t)
			proxy := startProxy(t, ctx, meeting)
			b := launchWith(t, ctx, browser.Options{Proxy: proxy.Address(), MediaThroughProxy: test.throughProxy})
			if err := b.GrantMicrophoneAndCamera(ctx, meeting.URL); err != nil {
				t.Fatal(err)
			}
			p := openAt(t, ctx, b, meeting.URL+"/")
			if answered := place.try(t, ctx, p, test.hosts); len(answered) > 0 {
				t.Errorf("answers came to %v", answered)
			}
			for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
				address := "http://" + host + ":" + place.port + "/navigation"
				if err := p.Navigate(ctx, meeting.URL+"/redirect?to="+url.QueryEscape(address)); err == nil {
					t.Errorf("a redirect to %s opens", address)
				}
			}
			if seen := place.seen(); len(seen) > 0 {
				t.Errorf("the forbidden place was reached by %v", seen)
			}
			var targets []string
			for _, refusal := range proxy.Refused() {
				targets = append(targets, refusal.Target)
			}
			for _, host := range test.hosts {
				target := net.JoinHostPort(strings.Trim(host, "[]"), place.port)
				// Other spellings reach the proxy as what they stand for.
				if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && !addr.Is4In6() && !slices.Contains(targets, target) {
					t.Errorf("nothing tried %s: the proxy refused only %v", target, targets)
				}
			}
		})
	}
}

// TestPageThatTriesReachesThingsWithoutWalls holds the attempts of
// TestPageThatTries against a browser without its proxy: they are real ones.
func TestPageThatTriesReachesThingsWithoutWalls(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), tryTimeout)
	defer cancel()
	meeting, place := meetingPage(t), forbid(t)
	b := launchWith(t, ctx, browser.Options{})
	if err := b.GrantMicrophoneAndCamera(ctx, meeting.URL); err != nil {
		t.Fatal(err)
	}
	p := openAt(t, ctx, b, meeting.URL+"/")
	place.try(t, ctx, p, []string{"127.0.0.1"})
	seen := place.seen()
	for _, way := range []string{
		"http fetch", "http image", "http websocket", "http frame", "http eventsource", "http beacon", "http form",
		"http script", "http worker", "http redirected", "http prefetch", "tcp", "udp",
	} {
		if !slices.Contains(seen, way) {
			t.Errorf("%s reaches nothing even without walls: only %v", way, seen)
		}
	}
}

// TestLoopbackPeersKeepTheirMedia is for replicas: their page's media comes over
// the loopback interface, proxy or not.
func TestLoopbackPeersKeepTheirMedia(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	meeting := meetingPage(t)
	proxy := startProxy(t, ctx, meeting)
	b := launchWith(t, ctx, browser.Options{Proxy: proxy.Address(), LoopbackPeers: true})
	p := openAt(t, ctx, b, meeting.URL+"/")
	var state string
	err := p.Eval(ctx, `(async () => {
		const near = new RTCPeerConnection(), far = new RTCPeerConnection();
		near.onicecandidate = e => e.candidate && far.addIceCandidate(e.candidate);
		far.onicecandidate = e => e.candidate && near.addIceCandidate(e.candidate);
		const channel = near.createDataChannel("x");
		const open = new Promise(resolve => channel.onopen = () => resolve("open"));
		await near.setLocalDescription();
		await far.setRemoteDescription(near.localDescription);
		await far.setLocalDescription();
		await near.setRemoteDescription(far.localDescription);
		return open;
	})()`, &state)
	if err != nil || state != "open" {
		t.Errorf("the peers' channel is %q, %v", state, err)
	}
}

func TestPagesKeepNoWindowsAndLoadNoPrograms(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	meeting := meetingPage(t)
	profile := filepath.Join(t.TempDir(), "profile")
	b := launchWith(t, ctx, browser.Options{ProfileDir: profile})
	p := openAt(t, ctx, b, meeting.URL+"/")
	for _, address := range []string{"/popup", "about:blank"} {
		var opened bool
		err := p.EvalWithGesture(ctx, fmt.Sprintf("opened = open(%q, '_blank'); opened !== null", address), &opened)
		if err != nil || !opened {
			t.Fatalf("there is no window to be closed: %v", err)
		}
		eventually(t, ctx, "the window is closed", func() bool {
			var closed bool
			if err := p.Eval(ctx, "opened.closed", &closed); err != nil {
				t.Fatal(err)
			}
			return closed
		})
	}
	for _, address := range []string{"zoommtg://zoom.us/join?confno=1", "msteams:/l/meetup-join/1", "file:///etc/passwd", "chrome://version", "/download"} {
		err := p.EvalWithGesture(ctx, fmt.Sprintf("location.href = %q; undefined", address), nil)
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
	}
	var title string
	if err := p.Eval(ctx, "fetch('/download').then(() => document.title)", &title); err != nil || title != "Meeting" {
		t.Errorf("afterwards the page is called %q, %v", title, err)
	}
	if files, err := filepath.Glob(filepath.Join(profile, "*", "client*")); err != nil || len(files) > 0 {
		t.Errorf("a page left %v on the disk, %v", files, err)
	}
}
