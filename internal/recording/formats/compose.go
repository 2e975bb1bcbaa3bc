package formats

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/fsutil"
	"standin/internal/base/retry"
	"standin/internal/jobs/job"
	"standin/internal/jobs/runner"
	"standin/internal/launch"
	"standin/internal/recording"
	"standin/internal/recording/build"
)

const (
	composeLease = 2 * time.Minute  // without a renewal
	composePoll  = 15 * time.Second // to find what other nodes left, and what waits for a transcript
	maxFailures  = 10               // of storage, for about two hours
)

// ComposerSettings configure a Composer.
type ComposerSettings struct {
	Queue     Queue
	Jobs      Jobs
	Storage   AttachStorage
	Recording launch.Recording // of jobs without options
	BaseURL   string           // service URL, for the links in manifests
	DataDir   string           // for temporary folders
	Now       func() time.Time
	Log       *slog.Logger
}

// Queue stores the progress of composing. It is implemented by store.Store.
type Queue interface {
	DueRecordingTasks(ctx context.Context, kind job.TaskKind, now time.Time) (teams []string, err error)
	ClaimRecordingTask(ctx context.Context, kind job.TaskKind, team string, now, until time.Time) (job.RecordingTask, bool, error)
	SaveRecordingTask(ctx context.Context, t job.RecordingTask, due time.Time) (valid bool, err error)
	Job(ctx context.Context, id uuid.UUID) (job.Record, error)
}

// Jobs records the results. It is implemented by lifecycle.Service.
type Jobs interface {
	// EndVideo ends a task. It reports false when the lease was lost, or the recording was deleted: then what was stored is, too.
	EndVideo(ctx context.Context, id uuid.UUID, lease string, result *job.VideoResult) (valid bool, err error)
}

// AttachStorage is Storage that attaches files to recordings.
type AttachStorage interface {
	Storage
	Attach(ctx context.Context, jobID uuid.UUID, baseURL string, files []recording.Attachment) (revision int, err error)
}

// Composer composes the pictures of recordings that are due, one at a time, when the machine has nothing else to do.
type Composer struct {
	ComposerSettings
	runner *runner.Runner[*job.RecordingTask]
}

// NewComposer returns a Composer. It does nothing before Run.
func NewComposer(settings ComposerSettings) *Composer {
	c := &Composer{ComposerSettings: settings}
	c.runner = &runner.Runner[*job.RecordingTask]{
		Name: "composing", Slots: 1, Share: 1, Poll: composePoll, Lease: composeLease,
		Teams: func(ctx context.Context) ([]string, error) {
			return c.Queue.DueRecordingTasks(ctx, job.VideoTask, c.Now())
		},
		ClaimOf: func(ctx context.Context, team string) (*job.RecordingTask, bool, error) {
			t, ok, err := c.Queue.ClaimRecordingTask(ctx, job.VideoTask, team, c.Now(), c.Now().Add(composeLease))
			return &t, ok, err
		},
		Extend: func(ctx context.Context, t *job.RecordingTask, until time.Time) error {
			valid, err := c.Queue.SaveRecordingTask(ctx, *t, until)
			if err == nil && !valid {
				err = runner.ErrLost
			}
			return err
		},
		Run: func(ctx context.Context, t *job.RecordingTask, _ *runner.Lease) error { return c.run(ctx, *t) },
		ID:  func(t *job.RecordingTask) string { return t.JobID.String() },
		Now: c.Now, Log: c.Log,
	}
	return c
}

// Wake reports that a picture may be due. It does not block.
func (c *Composer) Wake() { c.runner.Wake() }

// Run composes until ctx ends.
func (c *Composer) Run(ctx context.Context) { c.runner.Work(ctx) }

// run composes a picture, and attaches it to its recording.
func (c *Composer) run(ctx context.Context, t job.RecordingTask) error {
	result, err := c.compose(ctx, t.JobID)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if recording.IsNotFound(err) {
		result, err = nil, nil // deleted, or stored elsewhere
	}
	if err != nil && !build.RejectedInput(err) && t.Failures < maxFailures {
		backoff := retry.Backoff{Min: 30 * time.Second, Max: 15 * time.Minute, Failures: t.Failures}
		pause := backoff.Next()
		c.Log.Warn("the picture of a recording is not composed; retrying", "job", t.JobID, "retry_in", pause, "error", err)
		t.Failures = backoff.Failures
		_, err := c.Queue.SaveRecordingTask(ctx, t, c.Now().Add(pause))
		return err
	}
	if err != nil {
		c.Log.Warn("the picture of a recording is not composed", "job", t.JobID, "error", err)
		result = &job.VideoResult{Failure: "the picture cannot be made of the videos of participants; the service's log has the reason"}
	}
	_, err = c.Jobs.EndVideo(ctx, t.JobID, t.Lease, result)
	return err
}

// compose returns nil if there is nothing to compose.
func (c *Composer) compose(ctx context.Context, jobID uuid.UUID) (*job.VideoResult, error) {
	r, err := c.Queue.Job(ctx, jobID)
	if err != nil {
		return nil, err
	}
	manifest, _, err := c.Storage.StoredManifest(ctx, jobID)
	if err != nil {
		return nil, err
	}
	sound, name, ok := build.Composable(manifest)
	if !ok {
		return nil, nil
	}
	tools, err := build.FindTools()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(c.DataDir, recording.WorkPrefix(jobID)+"compose-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	for _, file := range manifest.Media {
		if file.Name == sound.Name || file.Kind == recording.ParticipantVideo || file.Kind == recording.ScreenShare {
			if err := fetch(ctx, c.Storage, jobID, file.Name, filepath.Join(folder, file.Name)); err != nil {
				return nil, err
			}
		}
	}
	like := c.Recording.WithOptions(r.Resolved())
	began := c.Now()
	file, err := tools.Compose(ctx, manifest, sound, build.Composition{
		Layout: like.Layout, Width: cmp.Or(like.Picture.Width, 1280), Height: cmp.Or(like.Picture.Height, 720),
		FramesPerSecond: cmp.Or(like.FrameRate, 15), BitRate: cmp.Or(int(like.VideoBitRate), 1_200_000),
	}, folder, name)
	if err != nil {
		return nil, err
	}
	content, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return nil, err
	}
	defer content.Close() // read only
	revision, err := c.Storage.Attach(ctx, jobID, c.BaseURL, []recording.Attachment{{File: file, Content: content}})
	if err != nil {
		return nil, err
	}
	if manifest, _, err = c.Storage.StoredManifest(ctx, jobID); err != nil {
		return nil, err
	}
	c.Log.Info("picture composed", "job", jobID, "length", time.Duration(file.DurationMs)*time.Millisecond, "took", c.Now().Sub(began))
	return &job.VideoResult{DurationMs: file.DurationMs, Bytes: file.Bytes, Revision: revision, Summarize: manifest.Summarize}, nil
}

func fetch(ctx context.Context, from Storage, jobID uuid.UUID, name, path string) error {
	content, _, err := from.OpenMedia(ctx, jobID, name)
	if err != nil {
		return err
	}
	defer content.Close() // read only
	return fsutil.Save(path, io.Reader(content))
}
