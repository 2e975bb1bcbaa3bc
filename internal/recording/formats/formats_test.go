package formats_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/budget"
	"standin/internal/jobs/jobfiles"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/recording/formats"
	"standin/internal/recording/storage"
	"standin/internal/recording/storage/s3"
	"standin/internal/testing/s3test"
)

// TestMake makes every file from a video, once each, and deletes them with the recording.
func TestMake(t *testing.T) {
	t.Parallel()
	checkMake(t, newHarness(t))
}

// TestMakeOnS3 is TestMake with recordings in a bucket. It sets environment variables, so
// it does not run in parallel.
func TestMakeOnS3(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	for name, value := range s3test.Environment() {
		t.Setenv(name, value)
	}
	bucket := s3test.Start(t)
	checkMake(t, newHarnessOn(t, bucket.Address(), bucket.Folder()))
}

func checkMake(t *testing.T, h *harness) {
	t.Helper()
	for _, want := range []struct{ name, probed string }{
		{"recording.mp3", "mp3"},
		{"recording.wav", "pcm_s16le"},
		{"recording.webm", "vp8,320,180 opus"},
		{"thumbnail.jpg", "mjpeg,640,360"},
		{"contact-sheet.jpg", "mjpeg,1280,720"},
	} {
		if ok, err := h.maker.Make(t.Context(), h.consumer, h.jobID, h.media, want.name); !ok || err != nil {
			t.Fatalf("%s: %t, %v", want.name, ok, err)
		}
		path := filepath.Join(h.folder, "jobs", h.jobID.String(), "media", want.name)
		if got := probe(t, path); got != want.probed {
			t.Errorf("%s is %q, want %q", want.name, got, want.probed)
		}
		made, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := h.maker.Make(t.Context(), h.consumer, h.jobID, h.media, want.name); !ok || err != nil {
			t.Fatalf("%s again: %t, %v", want.name, ok, err)
		}
		if again, err := os.Stat(path); err != nil || !os.SameFile(made, again) {
			t.Errorf("%s was made twice (%v)", want.name, err)
		}
	}
	if usage, err := h.storage.JobUsage(t.Context(), h.jobID); err != nil || usage.Objects != 7 {
		t.Errorf("%d objects are counted, want 7 (%v)", usage.Objects, err)
	}
	if err := h.files.DeleteRecording(t.Context(), h.jobID); err != nil {
		t.Fatal(err)
	}
	if usage, err := h.storage.JobUsage(t.Context(), h.jobID); err != nil || usage.Objects != 0 {
		t.Errorf("%d objects are left (%v)", usage.Objects, err)
	}
}

// TestMakeNothing asks for files that cannot be made.
func TestMakeNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	audio := []recording.Media{{File: recording.File{Name: "recording.m4a", Kind: recording.Audio, DurationMs: 2000}}}
	for _, c := range []struct {
		name  string
		media []recording.Media
	}{{"recording.avi", h.media}, {"../recording.mp3", h.media}, {"thumbnail.jpg", audio}, {"recording.mp3", nil}} {
		if ok, err := h.maker.Make(t.Context(), h.consumer, h.jobID, c.media, c.name); ok || err != nil {
			t.Errorf("%s: %t, %v", c.name, ok, err)
		}
	}
	waiting, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.maker.Make(waiting, h.consumer, h.jobID, h.media, "recording.mp3"); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that ended: %v", err)
	}
}

// TestMakeOfDeleted makes a file of a recording whose manifest was deleted.
func TestMakeOfDeleted(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if err := os.Remove(filepath.Join(h.folder, "jobs", h.jobID.String(), "manifest.json")); err != nil {
		t.Fatal(err)
	}
	missing := (*recording.NotFoundError)(nil)
	if ok, err := h.maker.Make(t.Context(), h.consumer, h.jobID, h.media, "recording.mp3"); ok || !errors.As(err, &missing) {
		t.Errorf("a file of a deleted recording: %t, %v", ok, err)
	}
	if usage, err := h.storage.JobUsage(t.Context(), h.jobID); err != nil || usage.Objects != 0 {
		t.Errorf("%d objects are left (%v)", usage.Objects, err)
	}
}

// slowStorage is a Storage whose recordings are not read before ready is closed.
type slowStorage struct {
	formats.Storage
	reading chan uuid.UUID
	ready   chan struct{}
}

func (s slowStorage) OpenMedia(_ context.Context, jobID uuid.UUID, _ string) (io.ReadSeekCloser, time.Time, error) {
	s.reading <- jobID
	<-s.ready
	return nil, time.Time{}, errors.New("it was slow")
}

// TestTurns asks for many files of one consumer, of which one is made and three wait, and
// then for one of another.
func TestTurns(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	storage := slowStorage{h.storage, make(chan uuid.UUID, 5), make(chan struct{})}
	maker := runMaker(t, storage)
	results := make(chan error, 6)
	ask := func(consumer, job uuid.UUID) {
		_, err := maker.Make(t.Context(), consumer, job, h.media, "recording.mp3")
		results <- err
	}
	for range cap(results) {
		go ask(h.consumer, uuid.New())
	}
	for range 2 {
		if err := <-results; !errors.Is(err, budget.ErrFull) {
			t.Errorf("one of many files: %v, want %v", err, budget.ErrFull)
		}
	}
	other := uuid.New()
	go ask(uuid.New(), other)
	if first, second := <-storage.reading, <-storage.reading; first != other && second != other {
		t.Error("another consumer waits for the files of the first")
	}
	close(storage.ready)
	for range 5 {
		if err := <-results; err == nil || !strings.Contains(err.Error(), "it was slow") {
			t.Errorf("a file that waited: %v", err)
		}
	}
}

// harness is a stored recording of two seconds and a running maker.
type harness struct {
	folder          string
	storage         *storage.Recordings
	files           jobfiles.Files
	maker           *formats.Maker
	consumer, jobID uuid.UUID
	media           []recording.Media
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	folder := t.TempDir()
	return newHarnessOn(t, "file://"+folder, folder)
}

// newHarnessOn is newHarness with a storage that keeps its objects in a folder.
func newHarnessOn(t *testing.T, address, folder string) *harness {
	t.Helper()
	_, err := build.FindTools()
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{folder: folder, consumer: uuid.New(), jobID: uuid.New()}
	if h.storage, err = storage.Open(t.Context(), address, s3.Open); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.storage.Close() })
	h.files = jobfiles.Files{Recordings: h.storage, DataDir: t.TempDir()}
	video, err := encodedVideo()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(video)
	h.media = []recording.Media{{File: recording.File{
		Name: "recording.mp4", Kind: recording.Video, DurationMs: (2 * time.Second).Milliseconds(),
	}}}
	err = h.storage.PutMedia(t.Context(), h.jobID, "recording.mp4", bytes.NewReader(video), hex.EncodeToString(sum[:]))
	if err = errors.Join(err, h.storage.PutManifest(t.Context(), h.jobID, recording.Manifest{
		JobID: h.jobID.String(), Media: h.media,
	})); err != nil {
		t.Fatal(err)
	}
	h.maker = runMaker(t, h.storage)
	return h
}

// runMaker runs a maker until the test ends.
func runMaker(t *testing.T, storage formats.Storage) *formats.Maker {
	t.Helper()
	dataDir := t.TempDir()
	maker := formats.NewMaker(storage, dataDir, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		maker.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		if left, err := filepath.Glob(filepath.Join(dataDir, "*")); err != nil || len(left) > 0 {
			t.Errorf("the data directory has %q (%v)", left, err)
		}
	})
	return maker
}

// encodedVideo returns a video of two seconds, which the tests share.
var encodedVideo = sync.OnceValues(func() ([]byte, error) {
	return exec.CommandContext(context.Background(), "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=320x180:r=10:d=2", "-f",
		"lavfi", "-i", "sine=d=2:r=48000",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "libopus", "-movflags", "+frag_keyframe+empty_moov", "-f",
		"mp4", "-").Output()
})

// probe returns codec, width and height of each stream of a file.
func probe(t *testing.T, path string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-show_entries", "stream=codec_name,width,height", "-of",
		"csv=p=0", path).Output()
	if err != nil {
		t.Fatalf("probe %s: %v", path, err)
	}
	return strings.Join(strings.Fields(string(output)), " ")
}
