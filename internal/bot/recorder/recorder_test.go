package recorder_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/recorder"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testbrowser"
)

// testTimeout limits all browser calls of a test. The machine may be busy.
const testTimeout = 3 * time.Minute

// exact reports whether the recordings have their usual size and frame rate, and
// whether every second must be present and synchronized. make beat sets the
// variable, on an idle machine. Otherwise the video is small and most seconds
// suffice.
func exact() bool { return os.Getenv("STANDIN_TEST_QUALITY") == "exact" }

// pictureSize returns the size of recordings.
func pictureSize() (width, height int) {
	if exact() {
		return 1280, 720
	}
	return 640, 360
}

// clockPage flashes white in its upper left quarter for 250 ms and beeps at 1 kHz
// for 100 ms at each full second of its audio clock. The flash is long enough to be
// recorded when a busy machine drops frames. The rest of the page moves, 10 times
// per second or, with ?smooth, with every animation frame. With ?silent the page
// has no sound; with ?still it does not change. Its title changes 10 times per second.
const clockPage = `<!doctype html><meta charset=utf-8><title>Clock</title>
<style>html,body{margin:0;height:100%;background:#246;overflow:hidden} canvas{display:block}</style>
<canvas id=picture></canvas>
<script>
const canvas = document.getElementById("picture"), pen = canvas.getContext("2d");
const options = new URLSearchParams(location.search);
const sound = new AudioContext();
const gain = sound.createGain();
gain.gain.value = 0;
gain.connect(sound.destination);
const tone = sound.createOscillator();
tone.frequency.value = 1000;
tone.connect(gain);
tone.start();
let next = Math.ceil(sound.currentTime);
function schedule() {
	for (; next < sound.currentTime + 2; next++) {
		if (options.has("silent")) continue;
		gain.gain.setValueAtTime(0.4, next);
		gain.gain.setValueAtTime(0, next + 0.1);
	}
}
setInterval(schedule, 250);
schedule();
function draw() {
	if (options.has("smooth")) requestAnimationFrame(draw);
	else if (!options.has("still")) setTimeout(draw, 100);
	canvas.width = innerWidth;
	canvas.height = innerHeight;
	const now = sound.currentTime;
	pen.fillStyle = "#246";
	pen.fillRect(0, 0, canvas.width, canvas.height);
	pen.fillStyle = "#c80";
	pen.fillRect(canvas.width * (0.5 + 0.4 * (now / 3 % 1)), canvas.height / 2, 60, 200);
	if (now % 1 < 0.25) {
		pen.fillStyle = "white";
		pen.fillRect(0, 0, canvas.width / 2, canvas.height / 2);
	}
}
draw();
// Meeting pages change their titles at any time.
setInterval(() => { document.title = "Clock " + new Date().toISOString(); }, 100);
</script>`

// memorySink stores chunks. It fails while failing is set.
type memorySink struct {
	mutex   sync.Mutex
	chunks  []recorder.Chunk
	failing error
	changed chan struct{}
}

func newMemorySink() *memorySink { return &memorySink{changed: make(chan struct{}, 1)} }

// Append implements recorder.Sink.
func (s *memorySink) Append(chunk recorder.Chunk) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	if s.failing != nil {
		return s.failing
	}
	s.chunks = append(s.chunks, chunk)
	return nil
}

// fail sets the error of Append; nil makes it succeed again.
func (s *memorySink) fail(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.failing = err
}

// taken returns the stored chunks.
func (s *memorySink) taken() []recorder.Chunk {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]recorder.Chunk(nil), s.chunks...)
}

// await waits until the chunks contain this duration.
func (s *memorySink) await(t *testing.T, ctx context.Context, r *recorder.Recorder, recorded time.Duration) {
	t.Helper()
	for {
		if chunks := s.taken(); len(chunks) > 0 && chunks[len(chunks)-1].Offset >= recorded {
			return
		}
		select {
		case <-s.changed:
		case <-r.Done():
			t.Fatalf("the recording ended: %v", r.Err())
		case <-ctx.Done():
			t.Fatalf("%v were not recorded in time", recorded)
		}
	}
}

// file writes the chunks to a file.
func (s *memorySink) file(t *testing.T) string {
	t.Helper()
	var content bytes.Buffer
	for index, chunk := range s.taken() {
		if chunk.Sequence != index {
			t.Errorf("chunk %d at index %d", chunk.Sequence, index)
		}
		content.Write(chunk.Data)
	}
	path := filepath.Join(t.TempDir(), "recording.mp4")
	if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// fixture is a browser with a page to record.
type fixture struct {
	browser *browser.Browser
	page    *browser.Page
	address string
}

// open opens another page of the test's server, in the same browser.
func (s fixture) open(t *testing.T, ctx context.Context, query string, settings recorder.Settings) fixture {
	t.Helper()
	page, err := s.browser.NewPage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := recorder.Prepare(ctx, page, settings); err != nil {
		t.Fatal(err)
	}
	if query == "" && exact() {
		query = "?smooth"
	}
	t.Cleanup(page.Close)
	if err := page.Navigate(ctx, s.address+"/"+query); err != nil {
		t.Fatal(err)
	}
	return fixture{browser: s.browser, page: page, address: s.address}
}

// A page hangs for hangTime while it loads hangPath synchronously.
const (
	hangPath = "/hang"
	hangTime = 8 * time.Second // longer than two poll timeouts
)

// shared is the headless browser that tests share: to start one takes more CPU time than
// most of them.
var shared struct {
	once    sync.Once
	browser *browser.Browser
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.browser != nil {
		if err := shared.browser.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close the browser:", err)
		}
	}
	os.Exit(code)
}

// reserve returns the browser's path when the test may record. It skips a test without the
// tools, or fails it in CI.
func reserve(t *testing.T, mode browser.Mode) (executable string) {
	t.Helper()
	executable = testbrowser.Full(t)
	if err := errors.Join(browser.CheckMode(mode), mediacheck.Available()); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("this test needs tools: %v", err)
		}
		t.Skipf("this test needs tools: %v", err)
	}
	testbrowser.Reserve(t)
	return executable
}

// prepare opens a page in the shared browser: the clock page, if the query begins with ?.
func prepare(t *testing.T, query string) (context.Context, fixture) {
	t.Helper()
	executable := reserve(t, browser.Headless)
	shared.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		shared.browser, shared.err = browser.Launch(ctx, browser.Options{Executable: executable, LoopbackPeers: true})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return openIn(t, shared.browser, query, testTimeout)
}

// prepareIn is like prepare in a new browser in a mode, with another timeout.
func prepareIn(t *testing.T, mode browser.Mode, query string, timeout time.Duration) (context.Context, fixture) {
	t.Helper()
	b, err := browser.Launch(t.Context(), browser.Options{
		Executable: reserve(t, mode), Mode: mode, ProfileDir: filepath.Join(t.TempDir(), "profile"), LoopbackPeers: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close the browser: %v", err)
		}
	})
	return openIn(t, b, query, timeout)
}

// openIn serves the pages of the tests, and opens one in a browser.
func openIn(t *testing.T, b *browser.Browser, query string, timeout time.Duration) (context.Context, fixture) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == hangPath {
			select {
			case <-time.After(hangTime):
			case <-r.Context().Done():
			}
			return
		}
		if r.URL.Path == streamsPath {
			w.Header().Set("Content-Security-Policy", streamsPolicy)
		}
		other := map[string]string{
			streamsPath: streamsPage,
			callPath:    callPage, participantsPath: participantsPage, videoCallPath: videoCallPage, visibilityPath: visibilityPage,
		}
		if page, ok := other[r.URL.Path]; ok {
			_, _ = io.WriteString(w, page)
			return
		}
		// The recorder must work despite a strict policy.
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'")
		_, _ = io.WriteString(w, clockPage)
	}))
	t.Cleanup(server.Close)
	return ctx, fixture{browser: b, address: server.URL}.open(t, ctx, query, recorder.Settings{})
}

// small returns settings with a small video, unless the checks are exact.
func small(settings recorder.Settings) recorder.Settings {
	if !exact() {
		settings.Width, settings.Height = pictureSize()
		settings.FramesPerSecond = cmp.Or(settings.FramesPerSecond, 8)
	}
	return settings
}

// record starts to record the page.
func (s fixture) record(t *testing.T, ctx context.Context, settings recorder.Settings) (*recorder.Recorder, *memorySink) {
	t.Helper()
	sink := newMemorySink()
	r, err := recorder.Start(ctx, s.browser, s.page, small(settings), sink)
	if err != nil {
		t.Fatal(err)
	}
	return r, sink
}

// decode decodes the chunks.
func decode(t *testing.T, ctx context.Context, sink *memorySink) mediacheck.Report {
	t.Helper()
	report, err := mediacheck.Decode(ctx, sink.file(t))
	if err != nil {
		t.Fatal(err)
	}
	width, height := pictureSize()
	if report.Width != width || report.Height != height || report.VideoCodec != "h264" || report.AudioCodec != "opus" {
		t.Errorf("recorded %dx%d %s and %s, want %dx%d h264 and opus", report.Width, report.Height, report.VideoCodec, report.AudioCodec, width,
			height)
	}
	if report.BlackBorders {
		t.Error("the video has black borders: it was scaled from another aspect ratio")
	}
	return report
}

// checkSeconds requires a beep and a flash in each second, or in most seconds
// unless the check is exact.
func checkSeconds(t *testing.T, report mediacheck.Report) {
	t.Helper()
	if !exact() {
		least := (int(report.VideoEndMs-report.VideoStartMs)/1000 - 1) / 2
		if len(report.BeepsMs) < least || len(report.FlashesMs) < least {
			t.Errorf("beeps at %.0f and flashes at %.0f, want %d each", report.BeepsMs, report.FlashesMs, least)
		}
		return
	}
	for index := 1; index < len(report.BeepsMs); index++ {
		least := 950.0
		if index == 1 {
			least = 850 // the recording may start within a beep of 100 ms
		}
		if step := report.BeepsMs[index] - report.BeepsMs[index-1]; step < least || step > 1050 {
			t.Errorf("%.0f ms lie between the beeps %d and %d, want a second; beeps at %.0f", step, index-1, index, report.BeepsMs)
		}
	}
	seconds := int(report.VideoEndMs-report.VideoStartMs) / 1000
	if len(report.BeepsMs) < seconds {
		t.Errorf("%d beeps in %d seconds", len(report.BeepsMs), seconds)
	}
	pairs := report.Pairs()
	if len(pairs) < seconds || len(pairs) > seconds+1 {
		t.Errorf("%d flashes with a beep in %d seconds; flashes at %.0f, beeps at %.0f", len(pairs), seconds, report.FlashesMs, report.BeepsMs)
	}
	checkAlignment(t, pairs)
}

// maxDifferenceMs is the maximum median difference between beeps and flashes.
const maxDifferenceMs = 100

// checkAlignment requires, in exact checks, that beeps and flashes are
// synchronized. It returns the median of how much beeps are later.
func checkAlignment(t *testing.T, pairs []mediacheck.Pair) (median float64) {
	t.Helper()
	if len(pairs) == 0 {
		if exact() {
			t.Error("no flash has a beep")
		}
		return 0
	}
	differences := make([]float64, len(pairs))
	for index, pair := range pairs {
		differences[index] = pair.DifferenceMs()
	}
	slices.Sort(differences)
	median = differences[len(differences)/2]
	if exact() && math.Abs(median) > maxDifferenceMs {
		t.Errorf("beeps are %.0f ms from their flashes: %.0f", median, differences)
	}
	return median
}

func TestRecordingIsCompleteAndSynchronized(t *testing.T) {
	t.Parallel()
	ctx, f := prepare(t, "")
	before := time.Now()
	r, sink := f.record(t, ctx, recorder.Settings{})
	if started := r.StartedAt(); started.Before(before) || started.After(time.Now()) {
		t.Errorf("started at %v, asked at %v", started, before)
	}
	if title, err := f.page.Title(ctx); err != nil || !strings.HasPrefix(title, "Clock") {
		t.Errorf("the page's title is %q, %v; it was not restored", title, err)
	}
	length := 5 * time.Second
	if exact() {
		length = 9 * time.Second
	}
	sink.await(t, ctx, r, length)
	if err := r.Stop(ctx); err != nil {
		t.Fatalf("Stop: %v", err)
	}
	took := time.Since(r.StartedAt())
	if err := r.Err(); err != nil {
		t.Errorf("Err = %v", err)
	}
	if err := r.Stop(ctx); err != nil {
		t.Errorf("Stop again: %v", err)
	}
	stats := r.Stats()
	if took > 5*time.Second && (stats.LastSignalAt.Before(r.StartedAt()) || stats.LastPictureAt.Before(r.StartedAt())) {
		t.Errorf("the last signal was at %v and the last change of the picture at %v", stats.LastSignalAt, stats.LastPictureAt)
	}
	if chunks := sink.taken(); stats.Chunks != len(chunks) || stats.LastSoundAt.IsZero() {
		t.Errorf("stats %+v for %d chunks", stats, len(chunks))
	}

	report := decode(t, ctx, sink)
	checkSeconds(t, report)
	missing, most := took.Seconds()*1000-report.VideoEndMs, 4000.0
	if exact() {
		most = 700
	}
	if missing > most || missing < -200 {
		t.Errorf("%.0f ms of %v are not in the recording", missing, took)
	}
	t.Logf("longest frame %.0f ms", report.LongestFrameGapMs)
	for _, pair := range report.Pairs() {
		t.Logf("flash at %5.0f ms, beep %+4.0f ms", pair.FlashMs, pair.DifferenceMs())
	}
	checkSound(t, report, r.StartedAt(), stats.SoundChanges)
}

// checkSound requires that the recorder reports the beginning of each beep at its time in
// the recording, within limitMs, but in the first and last second.
func checkSound(t *testing.T, report mediacheck.Report, started time.Time, changes []recorder.SoundChange) {
	t.Helper()
	limitMs := 250.0
	if exact() {
		limitMs = 50
	}
	for _, beep := range report.BeepsMs {
		if beep < 1000 || beep > report.AudioEndMs-1500 {
			continue
		}
		nearest := math.Inf(1)
		for _, change := range changes {
			if difference := change.At.Sub(started).Seconds()*1000 - beep; change.Sound && math.Abs(difference) < math.Abs(nearest) {
				nearest = difference
			}
		}
		t.Logf("beep at %5.0f ms, reported %+4.0f ms later", beep, nearest)
		if math.Abs(nearest) > limitMs {
			t.Errorf("the beep at %.0f ms was reported %.0f ms later", beep, nearest)
		}
	}
}

func TestRecordingIsPlayableAfterBrowserIsKilled(t *testing.T) {
	t.Parallel()
	ctx, f := prepareIn(t, browser.Headless, "", testTimeout)
	r, sink := f.record(t, ctx, recorder.Settings{})
	sink.await(t, ctx, r, 4*time.Second)
	killed := time.Now()
	process, err := os.FindProcess(f.browser.PID())
	if err = errors.Join(err, process.Kill()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.Done():
	case <-ctx.Done():
		t.Fatal("the recording did not end with the browser")
	}
	if took := time.Since(killed); exact() && took > 2*time.Second {
		t.Errorf("Done was closed after %v", took)
	}
	var gone *browser.GoneError
	if err := r.Err(); !errors.As(err, &gone) {
		t.Errorf("Err = %v, want a GoneError", err)
	}
	if err := r.Stop(ctx); !errors.As(err, &gone) {
		t.Errorf("Stop = %v, want a GoneError", err)
	}
	report := decode(t, ctx, sink)
	checkSeconds(t, report)
	if lost := killed.Sub(r.StartedAt()).Seconds()*1000 - report.VideoEndMs; exact() && lost > 3000 {
		t.Errorf("%.0f ms were lost, want at most 3000", lost)
	}
}

// TestBrowserStops stops the browser, and in another recording its pages too, for longer than the
// chunk timeout. The recording goes on, with a gap of its sound only if the pages did not run.
func TestBrowserStops(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		group bool // the process group: all processes of the browser
		gaps  int
	}{"the browser alone": {false, 0}, "all its processes": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, f := prepareIn(t, browser.Headless, "", testTimeout)
			r, sink := f.record(t, ctx, recorder.Settings{ChunkTimeout: 5 * time.Second})
			sink.await(t, ctx, r, 2*time.Second)
			signal := func(signal syscall.Signal) {
				pid := f.browser.PID()
				if test.group {
					pid = -pid
				}
				if err := syscall.Kill(pid, signal); err != nil {
					t.Fatal(err)
				}
			}
			const length = 14 * time.Second
			signal(syscall.SIGSTOP)
			select {
			case <-time.After(length): // of the stop
			case <-r.Done():
				t.Errorf("the recording ended: %v", r.Err())
			}
			signal(syscall.SIGCONT)
			sink.await(t, ctx, r, length+4*time.Second)
			if err := r.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			gaps := slices.DeleteFunc(slices.Clone(r.Stats().SoundGaps), func(gap recorder.SoundGap) bool {
				return gap.Blank || gap.To.Sub(gap.From) < 2*time.Second // of a busy machine
			})
			report := decode(t, ctx, sink)
			missing := time.Duration(int(report.AudioEndMs)/1000-len(report.BeepsMs)) * time.Second
			if wrong := missing - time.Duration(test.gaps)*length; len(gaps) != test.gaps || wrong.Abs() > 3*time.Second {
				t.Errorf("%v of beeps are missing, with the gaps %v; want %d of %v", missing, gaps, test.gaps, length)
			}
		})
	}
}

func TestPausesAreNotRecorded(t *testing.T) {
	t.Parallel()
	ctx, f := prepare(t, "")
	r, sink := f.record(t, ctx, recorder.Settings{ChunkTimeout: 3 * time.Second})
	part := time.Second // of recording, before each pause and after the last
	if exact() {
		part = 2 * time.Second
	}
	var pauses time.Duration
	var ends []float64 // of the recorded parts, in ms of the recording
	for number, pause := range []time.Duration{
		4 * time.Second, // longer than the chunk timeout: a paused recording has not stalled
		200 * time.Millisecond,
		700 * time.Millisecond,
	} {
		sink.await(t, ctx, r, time.Duration(number+1)*part)
		paused, err := r.Pause(ctx)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-time.After(pause):
		case <-r.Done():
			t.Fatalf("the paused recording ended: %v", r.Err())
		}
		resumed, err := r.Resume(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, (paused.Sub(r.StartedAt())-pauses).Seconds()*1000)
		pauses += resumed.Sub(paused)
	}
	sink.await(t, ctx, r, time.Duration(len(ends)+1)*part)
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	want := (time.Since(r.StartedAt()) - pauses).Seconds() * 1000
	report := decode(t, ctx, sink)
	if difference := report.VideoEndMs - want; difference > 3000 || difference < -3000 {
		t.Errorf("the recording ends at %.0f ms, want %.0f: without pauses of %v", report.VideoEndMs, want, pauses)
	}
	began := 0.0
	var medians []float64
	for _, end := range append(ends, report.VideoEndMs) {
		pairs := slices.DeleteFunc(report.Pairs(), func(pair mediacheck.Pair) bool { return pair.FlashMs < began || pair.FlashMs > end })
		medians = append(medians, checkAlignment(t, pairs))
		began = end
	}
	if moved := slices.Max(medians) - slices.Min(medians); exact() && moved > maxDifferenceMs {
		t.Errorf("pauses moved beeps against flashes by %.0f ms: %.0f", moved, medians)
	}
}

func TestStillAndSilentPage(t *testing.T) {
	t.Parallel()
	ctx, f := prepare(t, "?still&silent")
	r, sink := f.record(t, ctx, recorder.Settings{ChunkTimeout: 10 * time.Second})
	sink.await(t, ctx, r, 5*time.Second)
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	took := time.Since(r.StartedAt()).Seconds() * 1000
	stats := r.Stats()
	if !stats.LastSoundAt.IsZero() {
		t.Errorf("a silent page made a sound at %v", stats.LastSoundAt)
	}
	if !stats.LastSignalAt.IsZero() || !stats.LastPictureAt.IsZero() {
		t.Errorf("digital silence has a signal at %v, and a still picture changed at %v", stats.LastSignalAt, stats.LastPictureAt)
	}
	report := decode(t, ctx, sink)
	if report.AudioEndMs < took-4000 {
		t.Errorf("the sound ends at %.0f ms of %.0f", report.AudioEndMs, took)
	}
	if len(report.FlashesMs)+len(report.BeepsMs) > 0 {
		t.Errorf("flashes %v and beeps %v of a still and silent page", report.FlashesMs, report.BeepsMs)
	}
	t.Logf("%d frames, longest %.0f ms", report.Frames, report.LongestFrameGapMs)
}

// TestFailingSink records a page three times, with a sink that fails: chunks that it
// refuses are sent again, the recording ends if it keeps failing, and Stop does not
// wait for it without end.
func TestFailingSink(t *testing.T) {
	t.Parallel()
	ctx, f := prepare(t, "")
	full := errors.New("the disk is full")
	t.Run("for a while", func(t *testing.T) {
		r, sink := f.record(t, ctx, recorder.Settings{})
		sink.await(t, ctx, r, 2*time.Second)
		sink.fail(full)
		before := len(sink.taken())
		for range 3 { // three failures
			select {
			case <-sink.changed:
			case <-ctx.Done():
				t.Fatal("Append was not called")
			}
		}
		if len(sink.taken()) != before {
			t.Fatal("a failing sink stored a chunk")
		}
		sink.fail(nil)
		sink.await(t, ctx, r, 4*time.Second)
		if err := r.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		checkSeconds(t, decode(t, ctx, sink))
	})
	t.Run("for good", func(t *testing.T) {
		r, sink := f.record(t, ctx, recorder.Settings{ChunkTimeout: 5 * time.Second})
		sink.await(t, ctx, r, time.Second)
		sink.fail(full)
		select {
		case <-r.Done():
		case <-ctx.Done():
			t.Fatal("the recording did not end")
		}
		var stall *recorder.StallError
		if err := r.Err(); !errors.As(err, &stall) || !errors.Is(err, full) {
			t.Errorf("Err = %v, want a StallError with the error of the sink", err)
		}
	})
	t.Run("while stopping", func(t *testing.T) {
		r, sink := f.record(t, ctx, recorder.Settings{})
		sink.await(t, ctx, r, time.Second)
		sink.fail(full)
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := r.Stop(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop = %v, want the deadline", err)
		}
		select {
		case <-r.Done():
		default:
			t.Error("Stop returned before the recording was over")
		}
		if err := r.Err(); !errors.Is(err, recorder.ErrStopTimeout) {
			t.Errorf("Err = %v, want ErrStopTimeout", err)
		}
	})
}

// TestRecordingEndsWhenPageIsGone closes a page while it is recorded. Recording a closed page
// fails.
func TestRecordingEndsWhenPageIsGone(t *testing.T) {
	t.Parallel()
	ctx, f := prepare(t, "")
	r, sink := f.record(t, ctx, recorder.Settings{ChunkTimeout: 5 * time.Second})
	sink.await(t, ctx, r, 2*time.Second)
	f.page.Close()
	select {
	case <-r.Done():
	case <-ctx.Done():
		t.Fatal("the recording did not end")
	}
	if r.Err() == nil {
		t.Error("a recording whose page is gone ended without an error")
	}
	decode(t, ctx, sink)
	if _, err := recorder.Start(ctx, f.browser, f.page, recorder.Settings{}, newMemorySink()); !errors.Is(err, browser.ErrPageClosed) {
		t.Errorf("Start = %v, want ErrPageClosed", err)
	}
}
