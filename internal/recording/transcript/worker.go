package transcript

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"standin/internal/base/counter"
	"standin/internal/jobs/job"
	"standin/internal/jobs/runner"
	"standin/internal/recording"
)

const (
	// lease is how long a transcription belongs to a node without a renewal.
	lease = 2 * time.Minute
	// pollInterval is how often a worker looks for transcriptions of other nodes
	// and for those whose pause is over.
	pollInterval = 15 * time.Second
	// giveUpAfter is how long a transcription is retried.
	giveUpAfter = 24 * time.Hour
	// minRetry and maxRetry bound the pause after a failed attempt.
	minRetry, maxRetry = 30 * time.Second, 15 * time.Minute
)

// Defaults of Settings.
const (
	defaultConcurrency = 2
	defaultMaxAudio    = 10 * time.Hour
)

// Queue stores the progress of transcriptions. It is implemented by store.Store.
type Queue interface {
	DueRecordingTasks(ctx context.Context, kind job.TaskKind, now time.Time) (teams []string, err error)
	ClaimRecordingTask(ctx context.Context, kind job.TaskKind, team string, now, until time.Time) (
		t job.RecordingTask, ok bool, err error,
	)
	SaveRecordingTask(ctx context.Context, t job.RecordingTask, due time.Time) (valid bool, err error)
	TranscriptionPieces(ctx context.Context, jobID uuid.UUID) (map[string]string, error)
	SaveTranscriptionPiece(ctx context.Context, jobID uuid.UUID, piece, response string) error
	Job(ctx context.Context, id uuid.UUID) (job.Record, error)
	Texts(ctx context.Context, jobID uuid.UUID) ([]job.MeetingText, error)
}

// Jobs records the results. It is implemented by lifecycle.Service. Each method
// does nothing, and reports false, when the lease was lost or the recording was
// deleted: then what was attached to it is deleted, too.
type Jobs interface {
	// StoreSearchTexts stores searchable texts.
	StoreSearchTexts(ctx context.Context, id uuid.UUID, lease string, kind job.TextKind, texts []job.SearchText) (valid bool, err error)
	// LiveTranscripts returns what became of the live transcriptions of a job, oldest first.
	LiveTranscripts(ctx context.Context, id uuid.UUID) ([]job.LiveTranscript, error)
	// ReportTranscriptRetry adds to the timeline why the transcription is tried again.
	ReportTranscriptRetry(ctx context.Context, id uuid.UUID, lease string, retry job.TranscriptRetry) (valid bool, err error)
	// EndTranscription ends the transcription. A result is added to the timeline.
	EndTranscription(ctx context.Context, id uuid.UUID, lease string, result *job.TranscriptResult) (valid bool, err error)
}

// Storage stores recordings. It is implemented by storage.Recordings.
type Storage interface {
	Manifest(ctx context.Context, jobID uuid.UUID) ([]byte, error)
	OpenMedia(ctx context.Context, jobID uuid.UUID, name string) (content io.ReadSeekCloser, modified time.Time, err error)
	Attach(ctx context.Context, jobID uuid.UUID, baseURL string, files []recording.Attachment) (revision int, err error)
}

// Recognizer recognizes speech. It is implemented by Client.
type Recognizer interface {
	// Transcribe returns what is said in the audio of a request.
	Transcribe(ctx context.Context, r Request) (Recognized, error)
	Model() string
}

// Settings configure a Worker.
type Settings struct {
	Config
	Queue      Queue
	Jobs       Jobs
	Storage    Storage
	Recognizer Recognizer // nil without a transcriber; only chat and captions become searchable then
	// Simulate returns what is said in the recording of a test job.
	Simulate func(options *job.Simulation, metadata json.RawMessage, m recording.Manifest) ([]Segment, error)
	BaseURL  string // service URL, for the links in manifests
	TempDir  string // holds the audio of one file per running transcription

	Now func() time.Time
	Log *slog.Logger
}

// Worker transcribes the recordings that are due.
type Worker struct {
	Settings
	runner   *runner.Runner[*task]
	outcomes *prometheus.CounterVec
}

// The outcomes of an attempt to transcribe a recording, as they are counted.
const (
	outcomeAttached = "attached"
	outcomeRetrying = "retrying"
	outcomeFailed   = "failed"
)

// NewWorker returns a Worker. It does nothing before Run.
func NewWorker(settings Settings) *Worker {
	settings.Concurrency = cmp.Or(settings.Concurrency, defaultConcurrency)
	settings.MaxAudio = cmp.Or(settings.MaxAudio, defaultMaxAudio)
	w := &Worker{Settings: settings, outcomes: counter.New("standin_transcriptions_total",
		"Transcription attempts on this node, by outcome (attached, retrying, failed).",
		"outcome", outcomeAttached, outcomeRetrying, outcomeFailed)}
	w.runner = &runner.Runner[*task]{
		Name: "transcription", Slots: w.Concurrency, Share: max(1, w.Concurrency/2), Poll: pollInterval, Lease: lease,
		Teams: func(ctx context.Context) ([]string, error) {
			return w.Queue.DueRecordingTasks(ctx, job.TranscriptTask, w.Now())
		},
		ClaimOf: func(ctx context.Context, team string) (*task, bool, error) {
			t, ok, err := w.Queue.ClaimRecordingTask(ctx, job.TranscriptTask, team, w.Now(), w.Now().Add(lease))
			return &task{Worker: w, state: t}, ok, err
		},
		Extend: func(ctx context.Context, t *task, until time.Time) error {
			return t.save(ctx, until, func(*job.RecordingTask) {})
		},
		Run: func(ctx context.Context, t *task, _ *runner.Lease) error {
			err := t.work(ctx)
			if err == nil || ctx.Err() != nil || errors.Is(err, runner.ErrLost) {
				return err
			}
			return t.failed(ctx, err)
		},
		ID:  func(t *task) string { return t.state.JobID.String() },
		Now: w.Now, Log: w.Log,
	}
	return w
}

// Collectors returns the metrics of the worker, for registration.
func (w *Worker) Collectors() []prometheus.Collector { return []prometheus.Collector{w.outcomes} }

// Wake reports that a transcription may be due. It does not block.
func (w *Worker) Wake() { w.runner.Wake() }

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) { w.runner.Work(ctx) }
