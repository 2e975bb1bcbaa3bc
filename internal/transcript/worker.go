package transcript

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/retry"
)

const (
	// lease is how long a transcription belongs to a node without a renewal.
	lease = 2 * time.Minute
	// pollInterval is how often a worker looks for transcriptions of other nodes
	// and for those whose pause is over.
	pollInterval = 15 * time.Second
	// minRetry and maxRetry bound the pause after a failed attempt.
	minRetry, maxRetry = 30 * time.Second, 15 * time.Minute
)

// Defaults of Settings.
const (
	defaultConcurrency = 2
	defaultMaxAudio    = Minutes(10 * time.Hour)
	defaultGiveUpAfter = 24 * time.Hour
)

// Queue stores the progress of transcriptions. It is implemented by store.Store.
type Queue interface {
	ClaimTranscription(ctx context.Context, now, until time.Time, lease string) (t job.Transcription, ok bool, err error)
	SaveTranscription(ctx context.Context, t job.Transcription, due time.Time) (valid bool, err error)
	TranscriptionPieces(ctx context.Context, jobID uuid.UUID) (map[string]string, error)
	SaveTranscriptionPiece(ctx context.Context, jobID uuid.UUID, piece, response string) error
	Job(ctx context.Context, id uuid.UUID) (job.Record, error)
	Texts(ctx context.Context, jobID uuid.UUID) ([]job.MeetingText, error)
}

// Jobs records the results. It is implemented by lifecycle.Service. Each method
// does nothing, and reports false, when the lease was lost or the recording was
// deleted.
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
	OpenMedia(ctx context.Context, jobID uuid.UUID, name string) (content io.ReadSeekCloser, size int64, modified time.Time, err error)
	Attach(ctx context.Context, jobID uuid.UUID, baseURL string, files []recording.TextFile) (revision int, err error)
	DeleteRecording(ctx context.Context, jobID uuid.UUID) error
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
	BaseURL    string     // service URL, for the links in manifests
	TempDir    string     // holds the audio of one file per running transcription

	Now func() time.Time
	Log *slog.Logger
}

// Worker transcribes the recordings that are due.
type Worker struct {
	Settings
	wake     retry.Signal
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
	settings.MaxPiece = cmp.Or(settings.MaxPiece, defaultMaxPiece)
	settings.MaxAudio = cmp.Or(settings.MaxAudio, defaultMaxAudio)
	settings.GiveUpAfter = cmp.Or(settings.GiveUpAfter, defaultGiveUpAfter)
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "standin_transcriptions_total", Help: "Transcription attempts on this node, by outcome (attached, retrying, failed).",
	}, []string{"outcome"})
	for _, outcome := range []string{outcomeAttached, outcomeRetrying, outcomeFailed} {
		outcomes.WithLabelValues(outcome) // there from the start, so that rates have a beginning
	}
	return &Worker{Settings: settings, wake: retry.NewSignal(), outcomes: outcomes}
}

// Collectors returns the metrics of the worker, for registration.
func (w *Worker) Collectors() []prometheus.Collector { return []prometheus.Collector{w.outcomes} }

// Wake reports that a transcription may be due. It does not block.
func (w *Worker) Wake() { w.wake.Send() }

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	var running sync.WaitGroup
	for range w.Concurrency {
		running.Go(func() {
			for ctx.Err() == nil {
				if w.RunNext(ctx) {
					w.Wake() // another goroutine may take the next one
					continue
				}
				w.wake.Wait(ctx, pollInterval)
			}
		})
	}
	running.Wait()
}

// RunNext works on the transcription that has been due for the longest time. It
// reports false when none is due.
func (w *Worker) RunNext(ctx context.Context) bool {
	t, ok, err := w.Queue.ClaimTranscription(ctx, w.Now(), w.Now().Add(lease), uuid.NewString())
	if err != nil && ctx.Err() == nil {
		w.Log.Error("cannot find due transcriptions", "error", err)
	}
	if err != nil || !ok {
		return false
	}
	h := &task{Worker: w, state: t}
	working, stop := h.keep(ctx)
	err = h.work(working)
	stop()
	if err != nil && ctx.Err() == nil {
		h.failed(ctx, err)
	}
	return true
}
