package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"standin/internal/bot/browser"
	"standin/internal/replica"
	"standin/internal/testing/testbrowser"
)

// peerWay is a way in which other bots record the page of a meeting, with the picture and
// bit rates of our recordings. The process that controls the browser is this test, which
// is not measured.
type peerWay struct {
	name    string
	display bool // the browser has a virtual display and a sound server
	file    string
	record  func(*peerBot)
}

func peerWays() []peerWay {
	return []peerWay{
		{"Xvfb, PulseAudio, ffmpeg (x264 ultrafast)", true, "recording.mp4", (*peerBot).grabDisplay},
		{"MediaRecorder in the page (VP9)", false, "recording.webm", (*peerBot).recordInPage},
		{"CDP screencast, ffmpeg (x264 ultrafast), without sound", false, "recording.mp4", (*peerBot).recordScreencast},
	}
}

// measurePeer measures one of these ways in a meeting.
func measurePeer(t *testing.T, way peerWay, people int, length time.Duration) cost {
	t.Helper()
	if _, err := exec.LookPath("pulseaudio"); way.display && err != nil {
		t.Skip("pulseaudio is not installed")
	}
	testbrowser.Reserve(t)
	media, err := replica.PrepareMedia(t.Context(), replica.MediaFolder())
	if err != nil {
		t.Fatal(err)
	}
	server, err := replica.Start(context.WithoutCancel(t.Context()), replica.Options{Media: media})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	meeting, err := server.Open(replica.Settings{NoLobby: true, NoTips: true, Participants: crowd(people)})
	if err != nil {
		t.Fatal(err)
	}
	b := &peerBot{T: t, file: way.file}
	if b.dir, err = os.MkdirTemp("", "peer-"); err != nil { // paths of sockets are short
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(b.dir) })
	if way.display {
		b.startDisplay()
	}
	b.startBrowser(way.display)
	b.join(meeting.URL())
	if size, err := chromedp.Run(b.page, chromedp.Evaluate[struct{ Width, Height int }]("({width: innerWidth, height: innerHeight})")); err != nil || size.Width < 1278 || size.Height < 718 || size.Height > 722 {
		t.Fatalf("the page has the size %v (%v), want about 1280x720", size, err)
	}
	way.record(b)
	result := measureSessions(length, b.sessions...)
	const leastBytes = 10_000 // a second
	if info, err := os.Stat(b.path(b.file)); err != nil || info.Size() < leastBytes*int64(length/time.Second) {
		t.Errorf("%s recorded too little: %v, %v", way.name, info, err)
	}
	return result
}

// peerBot is a browser in a meeting, and what records it.
type peerBot struct {
	*testing.T
	dir         string
	file        string   // of the recording, in dir
	environment []string // of programs that use the display and the sound server
	sessions    []int    // of the measured processes
	page        context.Context
}

func (b *peerBot) path(name string) string { return filepath.Join(b.dir, name) }

// do runs actions in the page.
func (b *peerBot) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.page, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatalf("%s: %v", what, err)
	}
}

// start starts a program in a session of its own, until the end of the test.
func (b *peerBot) start(command *exec.Cmd) {
	b.Helper()
	var output strings.Builder
	command.Stderr = &output
	command.Env = append(append(os.Environ(), "HOME="+b.dir, "XDG_RUNTIME_DIR="+b.dir), b.environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.sessions = append(b.sessions, command.Process.Pid)
	b.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait() // it was killed
		if b.Failed() {
			b.Logf("%s: %s", command.Args[0], output.String())
		}
	})
}

// startDisplay starts a virtual display and a sound server with one silent output.
func (b *peerBot) startDisplay() {
	b.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Close()
	display := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1280x720x24", "-nolisten", "tcp")
	display.ExtraFiles = []*os.File{writer}
	b.start(display)
	writer.Close()
	number, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		b.Fatalf("start the display: %v", err)
	}
	socket := b.path("pulse.socket")
	b.start(exec.Command("pulseaudio", "--daemonize=no", "--exit-idle-time=-1", "-n",
		"-L", "module-null-sink sink_name=meeting", "-L", "module-native-protocol-unix auth-anonymous=1 socket="+socket))
	b.await("the sound server", func() bool { _, err := os.Stat(socket); return !errors.Is(err, fs.ErrNotExist) })
	b.environment = []string{"DISPLAY=:" + strings.TrimSpace(number), "PULSE_SERVER=unix:" + socket}
}

// await polls until a condition is true.
func (b *peerBot) await(what string, condition func() bool) {
	b.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(20 * time.Second); !condition(); {
		select {
		case <-ticker.C:
		case <-deadline:
			b.Fatalf("%s: not in time", what)
		}
	}
}

// startBrowser starts a browser with one page of the size of the picture.
func (b *peerBot) startBrowser(display bool) {
	b.Helper()
	executable, err := browser.Find("")
	if err != nil {
		b.Fatal(err)
	}
	var process *exec.Cmd
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(executable), chromedp.UserDataDir(b.path("profile")), chromedp.Env(append(b.environment, "TMPDIR="+b.dir)...),
		chromedp.Flag("window-position", "0,0"), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"), chromedp.Flag("use-fake-device-for-media-stream", true),
		chromedp.Flag("allow-loopback-in-peer-connection", true), chromedp.Flag("auto-accept-this-tab-capture", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("no-first-run", true), chromedp.Flag("password-store", "basic"),
		chromedp.ModifyCmdFunc(func(c *exec.Cmd) { process, c.SysProcAttr = c, &syscall.SysProcAttr{Setsid: true} }),
	}
	if display {
		options = append(options, chromedp.WindowSize(1280, 720), chromedp.Flag("kiosk", true), chromedp.Flag("ozone-platform", "x11"))
	} else {
		const bars = 143 // of a window, in pixels
		options = append(options, chromedp.Flag("headless", "new"), chromedp.WindowSize(1280, 720+bars), chromedp.Flag("screen-info", "{1280x960}"))
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, end := chromedp.NewExecAllocator(context.WithoutCancel(b.Context()), options...)
	b.Cleanup(end)
	var closePage context.CancelFunc
	b.page, closePage = chromedp.NewContext(allocator)
	b.Cleanup(closePage)
	if err := chromedp.Do(b.page); err != nil { // the page lasts as long as the context of its first action
		b.Fatalf("start the browser: %v", err)
	}
	b.sessions = append(b.sessions, process.Process.Pid)
	for _, name := range []string{"microphone", "camera"} {
		if _, err := chromedp.CallBrowser(b.page, protocol.SetPermission, protocol.SetPermissionParams{
			Permission: &protocol.PermissionDescriptor{Name: name}, Setting: protocol.PermissionSettingGranted,
		}); err != nil {
			b.Fatalf("grant the %s: %v", name, err)
		}
	}
}

// join enters the meeting with microphone and camera off.
func (b *peerBot) join(address string) {
	b.Helper()
	b.do("open the meeting", chromedp.ExposeFunc("saveChunk", b.saveChunk), chromedp.Navigate(address))
	for _, device := range []string{"microphone", "camera"} {
		button := "[data-device=" + device + "]"
		b.do("turn the "+device+" off", chromedp.WaitVisible(chromedp.CSS(button+":not(.off)")), chromedp.Click(chromedp.CSS(button)), chromedp.WaitVisible(chromedp.CSS(button+".off")))
	}
	b.do("join", chromedp.SendKeys(chromedp.CSS(`[aria-label="Your name"]`), "Peer"), chromedp.Click(chromedp.CSS("[data-join]")),
		chromedp.WaitVisible(chromedp.CSS(".tiles video")))
	for _, method := range []string{dom.Disable.Method, css.Disable.Method, network.Disable.Method, log.Disable.Method} { // their events are costly
		if err := chromedp.FromContext(b.page).Target.Call(b.page, method, struct{}{}, nil); err != nil {
			b.Fatalf("call %s: %v", method, err)
		}
	}
}

// encoder returns ffmpeg with these inputs and the encoders that other bots use.
func (b *peerBot) encoder(inputs ...string) *exec.Cmd {
	arguments := append([]string{"-v", "error", "-nostdin", "-y"}, inputs...)
	return exec.Command("ffmpeg", append(arguments, "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-b:v", "1200k", "-g", "30",
		"-c:a", "aac", "-b:a", "64k", "-movflags", "frag_keyframe+empty_moov", b.path(b.file))...)
}

// grabDisplay records the display and the sound server's output.
func (b *peerBot) grabDisplay() {
	b.Helper()
	display := strings.TrimPrefix(b.environment[0], "DISPLAY=")
	b.start(b.encoder("-thread_queue_size", "512", "-f", "x11grab", "-draw_mouse", "0", "-framerate", "15", "-video_size", "1280x720", "-i", display,
		"-thread_queue_size", "512", "-f", "pulse", "-i", "meeting.monitor"))
}

// recordInPage records the page with an encoder in the page itself.
func (b *peerBot) recordInPage() {
	b.Helper()
	const script = `(async () => {
		const stream = await navigator.mediaDevices.getDisplayMedia({
			video: {width: 1280, height: 720, frameRate: {max: 15}}, audio: true, preferCurrentTab: true, selfBrowserSurface: "include",
		});
		const recorder = new MediaRecorder(stream, {mimeType: "video/webm;codecs=vp9,opus", videoBitsPerSecond: 1200000, audioBitsPerSecond: 64000});
		recorder.ondataavailable = ({data}) => {
			const reader = new FileReader();
			reader.onload = () => saveChunk(reader.result.split(",").pop());
			reader.readAsDataURL(data);
		};
		recorder.start(1000);
	})()`
	ctx, cancel := context.WithTimeout(b.page, time.Minute)
	defer cancel()
	yes := true
	gesture := func(p *runtime.EvaluateParams) { p.UserGesture = &yes }
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](script, chromedp.EvalAwaitPromise, gesture)); err != nil {
		b.Fatalf("record in the page: %v", err)
	}
}

// saveChunk adds a chunk of recordInPage to the file.
func (b *peerBot) saveChunk(_ context.Context, encoded string) (chromedp.Void, error) {
	chunk, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return chromedp.Void{}, err
	}
	file, err := os.OpenFile(b.path(b.file), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return chromedp.Void{}, err
	}
	_, err = file.Write(chunk)
	return chromedp.Void{}, errors.Join(err, file.Close())
}

// recordScreencast records the pictures that the protocol sends of the page.
func (b *peerBot) recordScreencast() {
	b.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	encoder := b.encoder("-f", "image2pipe", "-c:v", "mjpeg", "-use_wallclock_as_timestamps", "1", "-i", "pipe:0", "-r", "15", "-an")
	encoder.Stdin = reader
	b.start(encoder)
	reader.Close()
	ctx, stop := context.WithCancel(b.page)
	frames := chromedp.Events(ctx, page.ScreencastFrame)
	var running sync.WaitGroup
	count, start := 0, time.Now()
	running.Go(func() {
		for frame, err := range frames {
			if err != nil {
				return // the test has ended
			}
			count++
			if _, err := writer.Write(frame.Data); err != nil {
				return
			}
			_, _ = chromedp.Call(ctx, page.ScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: frame.SessionID})
		}
	})
	b.Cleanup(func() {
		stop()
		writer.Close()
		running.Wait()
		b.Logf("%.1f frames per second", float64(count)/time.Since(start).Seconds())
	})
	quality := int64(80)
	if _, err := chromedp.Call(ctx, page.StartScreencast, page.StartScreencastParams{
		Format: page.StartScreencastFormatJpeg, Quality: &quality, MaxWidth: 1280, MaxHeight: 720, EveryNthFrame: 2,
	}); err != nil {
		b.Fatal(fmt.Errorf("start the screencast: %w", err))
	}
}
