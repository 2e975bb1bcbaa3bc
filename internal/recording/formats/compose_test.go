package formats_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/launch"
	"standin/internal/recording"
	"standin/internal/recording/build"
	"standin/internal/recording/formats"
	"standin/internal/store"
	"standin/internal/testing/storetest"
	"standin/internal/testing/testprocess"
	"standin/internal/testing/world"
)

// TestCompose: the picture of a recording is made once its transcript is, and attached; a store that fails is asked again, a video
// that cannot be read is told, and nothing is left of a recording that is deleted meanwhile.
func TestCompose(t *testing.T) {
	t.Parallel()
	if _, err := build.FindTools(); err != nil {
		t.Fatal(err)
	}
	clock := world.NewClock()
	w := world.New(t, storetest.FreshSQLite(t), clock.Now)
	w.Compose = lifecycle.ComposeAlways
	if _, err := w.RegisterEndpoint(t.Context(), w.Caller, lifecycle.NewEndpoint{
		URL: "https://endpoint.test/", Events: []string{webhook.JobVideoReady},
	}); err != nil {
		t.Fatal(err)
	}
	stored := &failingStorage{AttachStorage: w.Storage}
	data := t.TempDir()
	composer := formats.NewComposer(formats.ComposerSettings{
		Queue: w.Store, Jobs: w.Service, Storage: stored, BaseURL: world.BaseURL, DataDir: data, Now: clock.Now,
		Log:       slog.New(slog.DiscardHandler),
		Recording: launch.Recording{Picture: launch.PictureSize{Width: 320, Height: 180}},
	})
	encode := func(source string, arguments ...string) []byte {
		return testprocess.Run(t, "ffmpeg", append(append([]string{"-v", "error", "-f", "lavfi", "-i", source}, arguments...), "-")...)
	}
	sound := encode("sine=300:d=2", "-c:a", "aac", "-movflags", "+empty_moov", "-f", "mp4")
	video := encode("color=red:s=160x90:r=15:d=2", "-c:v", "libvpx", "-f", "webm")
	recorded := func(video []byte) uuid.UUID {
		t.Helper()
		j := w.NewJob(t, func(n *lifecycle.NewJob) { n.Options.Recording.Capture = job.CaptureStreams })
		w.Update(t, j.ID, func(ctx context.Context, c *lifecycle.Change) error {
			c.Status, c.Attempts = job.Finalizing, 1
			finalized := job.Event{Trigger: job.ManifestFinalized, ManifestURI: "https://standin.test/manifest"}
			_, err := c.Apply(ctx, finalized, job.SourceService, clock.Now(), nil)
			return err
		})
		m := recording.Manifest{JobID: j.ID.String(), Timeline: recording.Timeline{RecordingStartedAt: recording.Instant{Time: clock.Now()}}}
		m.Participants = []recording.Participant{{ID: "ada", Name: "Ada", JoinedAt: recording.Instant{Time: clock.Now()}}}
		for _, file := range []struct {
			recording.File
			content []byte
		}{
			{recording.File{Name: "recording.m4a", Kind: recording.Audio, DurationMs: 2000}, sound},
			{recording.File{Name: "video-001.webm", Kind: recording.ParticipantVideo, ParticipantID: "ada", DurationMs: 2000}, video},
		} {
			sum := sha256.Sum256(file.content)
			file.Bytes, file.SHA256 = int64(len(file.content)), hex.EncodeToString(sum[:])
			if err := w.Storage.PutMedia(t.Context(), j.ID, file.Name, bytes.NewReader(file.content), file.SHA256); err != nil {
				t.Fatal(err)
			}
			m.Media = append(m.Media, recording.Media{File: file.File})
		}
		if err := w.Storage.PutManifest(t.Context(), j.ID, m); err != nil {
			t.Fatal(err)
		}
		return j.ID
	}
	compose := func(want bool) {
		t.Helper()
		clock.Advance(time.Hour)
		if composer.RunNext(t.Context()) != want {
			t.Errorf("a picture was due: %t", !want)
		}
	}

	id := recorded(video)
	write := func(fn func(context.Context, *store.Tx) error) {
		t.Helper()
		if err := w.Store.Write(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	write(func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertRecordingTask(ctx, id, job.TranscriptTask, clock.Now())
	})
	compose(false)
	if due, err := w.RequestVideo(t.Context(), id); err != nil || !due {
		t.Errorf("the picture is not due: %v", err)
	}
	write(func(ctx context.Context, tx *store.Tx) error { return tx.EndRecordingTask(ctx, id, job.TranscriptTask) })
	team, now := w.Caller.ConsumerID.String(), clock.Now()
	if _, ok, err := w.Store.ClaimRecordingTask(t.Context(), job.VideoTask, team, now, now.Add(time.Minute)); !ok || err != nil {
		t.Fatalf("another node does not begin: %v", err) // and is lost
	}
	stored.err = errors.New("the store does not answer")
	compose(true)
	stored.err = nil
	compose(true)
	m, _, err := w.Storage.StoredManifest(t.Context(), id)
	if err != nil || m.Revision != 2 || len(m.Media) != 3 {
		t.Fatalf("the manifest: %+v (%v)", m, err)
	}
	if file := m.Media[2]; file.Kind != recording.Video || file.DurationMs/100 != 20 || file.Width != 320 {
		t.Errorf("the picture: %+v", file)
	}
	if data := w.Data(t, id, lifecycle.VideoAttached); len(data) != 1 || !strings.Contains(data[0], `"manifestRevision":2`) {
		t.Errorf("the timeline: %q", data)
	}
	deliveries, _, err := w.Deliveries(t.Context(), w.Caller, id, lifecycle.Page{})
	if err != nil || len(deliveries) == 0 || deliveries[len(deliveries)-1].Event != webhook.JobVideoReady {
		t.Errorf("the deliveries: %+v (%v)", deliveries, err)
	}
	if due, err := w.RequestVideo(t.Context(), id); err != nil || due {
		t.Errorf("the picture is due again: %v", err)
	}

	id = recorded([]byte("this is no video"))
	compose(true)
	if data := w.Data(t, id, lifecycle.VideoFailed); len(data) != 1 {
		t.Errorf("the timeline: %q", data)
	}

	id = recorded(video)
	stored.meanwhile = func() {
		if err := w.DeleteRecording(t.Context(), w.Caller, id); err != nil {
			t.Error(err)
		}
	}
	compose(true)
	if _, exists, err := w.Storage.StoredManifest(t.Context(), id); exists || err != nil {
		t.Errorf("of a deleted recording there is a manifest (%v)", err)
	}
	if ok, err := w.Storage.HasMedia(t.Context(), id, "recording.mp4"); ok || err != nil {
		t.Errorf("of a deleted recording there is a picture (%v)", err)
	}
	compose(false)
	if left, err := filepath.Glob(filepath.Join(data, "*")); err != nil || len(left) > 0 {
		t.Errorf("the data directory has %q (%v)", left, err)
	}
}

// failingStorage fails, or lets something happen before a picture is attached.
type failingStorage struct {
	formats.AttachStorage
	err       error
	meanwhile func()
}

func (s *failingStorage) Attach(ctx context.Context, id uuid.UUID, baseURL string, files []recording.Attachment) (int, error) {
	if s.meanwhile != nil {
		s.meanwhile()
	}
	if s.err != nil {
		return 0, s.err
	}
	return s.AttachStorage.Attach(ctx, id, baseURL, files)
}
