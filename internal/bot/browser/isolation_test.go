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
	"standin/internal/bot/browser/network"
	"standin/internal/testing/await"
	"standin/internal/testing/netns"
)

// connectTimeout limits a run of connectScript, whose attempts wait for timeouts.
const connectTimeout = 4 * time.Minute

// connectScript attempts to connect to targets in every way a page has.
//
//go:embed testdata/connect.js
var connectScript string

// forbiddenServer is a server that no meeting page may access. It listens with TCP
// and UDP.
type forbiddenServer struct {
	port    string // of TCP
	udpPort string

	mutex   sync.Mutex
	reached map[string]bool
}

// startForbiddenServer starts a forbiddenServer on both loopback addresses.
func startForbiddenServer(t *testing.T) *forbiddenServer {
	t.Helper()
	return startForbiddenServerAt(t, "127.0.0.1", "[::1]")
}

// startForbiddenServerAt starts a forbiddenServer on an address, and on others if the
// machine has them.
func startForbiddenServerAt(t *testing.T, address string, more ...string) *forbiddenServer {
	t.Helper()
	f := &forbiddenServer{reached: make(map[string]bool)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.record("http " + strings.Trim(r.URL.Path, "/"))
		w.Header().Set("Content-Type", "text/html")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			f.record("tcp")
		}
	}
	listener, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	_, f.port, _ = net.SplitHostPort(listener.Addr().String())
	socket, err := net.ListenPacket("udp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	_, f.udpPort, _ = net.SplitHostPort(socket.LocalAddr().String())
	f.receive(t, socket)
	for _, host := range more {
		if second, err := net.Listen("tcp", host+":"+f.port); err == nil { // else this machine has no IPv6, or not that port
			var serving sync.WaitGroup
			serving.Go(func() { _ = server.Config.Serve(second) })
			t.Cleanup(func() { second.Close(); serving.Wait() })
		}
		if second, err := net.ListenPacket("udp", host+":"+f.udpPort); err == nil {
			f.receive(t, second)
		}
	}
	return f
}

// receive records datagrams.
func (f *forbiddenServer) receive(t *testing.T, socket net.PacketConn) {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			if _, _, err := socket.ReadFrom(make([]byte, 2000)); err != nil {
				return
			}
			f.record("udp")
		}
	}()
	t.Cleanup(func() { socket.Close(); <-stopped })
}

func (f *forbiddenServer) record(what string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.reached[what] = true
}

// received returns the kinds of requests that arrived.
func (f *forbiddenServer) received() []string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var received []string
	for what := range f.reached {
		received = append(received, what)
	}
	slices.Sort(received)
	return received
}

// meetingPage serves a page, redirects and a download.
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

// launchWith starts a browser with the options, which is closed when the test ends.
func launchWith(t *testing.T, ctx context.Context, options browser.Options) *browser.Browser {
	t.Helper()
	if options.Executable == "" {
		options.Executable = executable(t)
	}
	if options.ProfileDir == "" {
		options.ProfileDir = filepath.Join(t.TempDir(), "profile")
	}
	b, err := browser.Launch(ctx, options)
	if err != nil {
		t.Fatalf("launch: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close the browser: %v", err)
		}
	})
	return b
}

// openAt opens a page at an address.
func openAt(t *testing.T, ctx context.Context, b *browser.Browser, address string) *browser.Page {
	t.Helper()
	p, err := b.NewPage(ctx)
	if err != nil {
		t.Fatalf("open a page: %v", err)
	}
	t.Cleanup(p.Close)
	if err := p.Navigate(ctx, address); err != nil {
		t.Fatalf("navigate: %v", err)
	}
	return p
}

// connect runs connectScript in the page and returns the attempts that succeeded.
// The page uses microphone and camera, as in a meeting, because WebRTC then uses
// all network interfaces.
func (f *forbiddenServer) connect(t *testing.T, ctx context.Context, p *browser.Page, hosts []string) []string {
	t.Helper()
	settings, err := json.Marshal(map[string]any{"hosts": hosts, "port": f.port, "udpPort": f.udpPort})
	if err != nil {
		t.Fatal(err)
	}
	err = p.EvalInPage(ctx, "navigator.mediaDevices.getUserMedia({audio: true, video: true}).then(stream => { devices = stream; })", nil)
	if err != nil {
		t.Fatalf("getUserMedia: %v", err)
	}
	var answered []string
	if err := p.EvalWithGesture(ctx, fmt.Sprintf("(%s)(%s)", strings.TrimSpace(connectScript), settings), &answered); err != nil {
		t.Fatalf("connectScript: %v", err)
	}
	return answered
}

// attack opens a page behind a proxy that allows only the page's site, and checks that none of
// its attempts succeeds.
func (f *forbiddenServer) attack(t *testing.T, ctx context.Context, meeting *httptest.Server, mediaThroughProxy bool,
	hosts ...string) (*browser.Page, *network.Proxy) {
	t.Helper()
	proxy, err := network.StartProxy(ctx, network.ProxySettings{Allowed: []string{meeting.Listener.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
	})
	b := launchWith(t, ctx, browser.Options{Proxy: proxy.Address(), MediaThroughProxy: mediaThroughProxy})
	if err := b.GrantMicrophoneAndCamera(ctx, meeting.URL); err != nil {
		t.Fatal(err)
	}
	p := openAt(t, ctx, b, meeting.URL+"/")
	if answered := f.connect(t, ctx, p, hosts); len(answered) > 0 {
		t.Errorf("successful attempts: %v", answered)
	}
	return p, proxy
}

// A meeting page attempts to connect to this machine, its network and cloud metadata
// services. The unspecified addresses, which mean this machine too, are tested
// without UDP, because Chromium's check for WebRTC excludes them (isolation.go).
func TestPageCannotReachLocalNetwork(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		throughProxy bool
		hosts        []string
	}{
		"all spellings": {false, []string{
			"127.0.0.1", "localhost", "sub.localhost", "[::1]", "2130706433", "0x7f000001", "017700000001", "127.1",
			"[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1", "192.168.0.1", "[fd00:ec2::254]",
		}},
		"without any UDP": {true, []string{"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]", "0", "10.0.0.1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), connectTimeout)
			defer cancel()
			meeting, server := meetingPage(t), startForbiddenServer(t)
			p, proxy := server.attack(t, ctx, meeting, test.throughProxy, test.hosts...)
			for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
				address := "http://" + host + ":" + server.port + "/navigation"
				if err := p.Navigate(ctx, meeting.URL+"/redirect?to="+url.QueryEscape(address)); err == nil {
					t.Errorf("a redirect to %s was followed", address)
				}
			}
			if received := server.received(); len(received) > 0 {
				t.Errorf("the forbidden server received %v", received)
			}
			targets := proxy.Refused()
			for _, host := range test.hosts {
				target := net.JoinHostPort(strings.Trim(host, "[]"), server.port)
				// Other spellings are normalized before they reach the proxy.
				if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && !addr.Is4In6() && !slices.Contains(targets, target) {
					t.Errorf("no attempt for %s: the proxy refused only %v", target, targets)
				}
			}
		})
	}
}

// A meeting page attempts to connect to a service of this machine at the machine's
// public address. Firewalls do not see such connections.
func TestPageCannotReachOwnPublicAddress(t *testing.T) {
	t.Parallel()
	executable(t)
	if !netns.Inside(t, "8.8.4.4/24") {
		return
	}
	for name, throughProxy := range map[string]bool{"with UDP": false, "without any UDP": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), connectTimeout)
			defer cancel()
			server := startForbiddenServerAt(t, "8.8.4.4")
			server.attack(t, ctx, meetingPage(t), throughProxy, "8.8.4.4")
			// WebRTC's own packets pass, because Chromium does not know that the
			// address is the machine's (isolation.go).
			received := slices.DeleteFunc(server.received(), func(what string) bool { return what == "udp" && !throughProxy })
			if len(received) > 0 {
				t.Errorf("the server at the machine's public address received %v", received)
			}
		})
	}
}

// Without the proxy, the attempts of TestPageCannotReachLocalNetwork succeed.
func TestPageReachesLocalNetworkWithoutProxy(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), connectTimeout)
	defer cancel()
	meeting, server := meetingPage(t), startForbiddenServer(t)
	b := shared.use(t)
	if err := b.GrantMicrophoneAndCamera(ctx, meeting.URL); err != nil {
		t.Fatal(err)
	}
	p := openAt(t, ctx, b, meeting.URL+"/")
	server.connect(t, ctx, p, []string{"127.0.0.1"})
	received := server.received()
	for _, path := range []string{
		"http fetch", "http image", "http websocket", "http frame", "http eventsource", "http beacon", "http form",
		"http script", "http worker", "http redirected", "http prefetch", "tcp", "udp",
	} {
		if !slices.Contains(received, path) {
			t.Errorf("no request by %s without the proxy: only %v", path, received)
		}
	}
}

func TestPageCannotOpenWindowsOrDownload(t *testing.T) {
	t.Parallel()
	ctx := limited(t)
	meeting := meetingPage(t)
	p := openAt(t, ctx, shared.use(t), meeting.URL+"/")
	for _, address := range []string{"/popup", "about:blank"} {
		var opened bool
		err := p.EvalWithGesture(ctx, fmt.Sprintf("opened = open(%q, '_blank'), opened !== null", address), &opened)
		if err != nil || !opened {
			t.Fatalf("open a window: %v", err)
		}
		await.Until(t, "the window is closed", func() bool {
			var closed bool
			if err := p.EvalInPage(ctx, "opened.closed", &closed); err != nil {
				t.Fatal(err)
			}
			return closed
		})
	}
	for _, address := range []string{
		"zoommtg://zoom.us/join?confno=1", "msteams:/l/meetup-join/1", "file:///etc/passwd", "chrome://version", "/download",
	} {
		err := p.EvalWithGesture(ctx, fmt.Sprintf("location.href = %q, undefined", address), nil)
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
	}
	var title string
	if err := p.EvalInPage(ctx, "fetch('/download').then(() => document.title)", &title); err != nil || title != "Meeting" {
		t.Errorf("title %q, %v", title, err)
	}
	if files, err := filepath.Glob(filepath.Join(shared.profile(), "*", "client*")); err != nil || len(files) > 0 {
		t.Errorf("downloaded files: %v, %v", files, err)
	}
}
