package replica

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// testQuality is the quality of the tests' video: full size costs six times the CPU
// time, to encode, to draw and to decode, and shows nothing else.
var testQuality = small

// prepared is the media of this test run, encoded once.
type prepared struct {
	once   sync.Once
	folder string
	media  *Media
	err    error
}

var testMedia prepared

func TestMain(m *testing.M) {
	code := m.Run()
	for _, running := range testBrowsers {
		running.Close()
	}
	if testMedia.folder != "" {
		os.RemoveAll(testMedia.folder)
	}
	os.Exit(code)
}

// mediaForTest returns the prepared media and its folder. To encode them takes some
// seconds, so it skips the test with -short.
func mediaForTest(t *testing.T) (*Media, string) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	needTool(t, "ffmpeg")
	testMedia.once.Do(func() {
		if testMedia.folder, testMedia.err = os.MkdirTemp("", "replica-media-"); testMedia.err != nil {
			return
		}
		began := time.Now()
		testMedia.media, testMedia.err = prepare(context.Background(), testMedia.folder, testQuality)
		t.Logf("preparing media took %.1f s", time.Since(began).Seconds())
	})
	if testMedia.err != nil {
		t.Fatalf("prepare media: %v", testMedia.err)
	}
	return testMedia.media, testMedia.folder
}

// needTool skips the test if the tool is missing, or fails it in CI.
func needTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed, and CI must have it", name)
	}
	t.Skipf("%s is not installed", name)
}

// deadline returns a context with a timeout.
func deadline(t *testing.T, wait time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	t.Cleanup(cancel)
	return ctx
}
