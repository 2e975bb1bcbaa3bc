package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/jobs/job"
	"standin/internal/jobs/runner"
	"standin/internal/recording"
)

// task is a transcription whose lease this node has.
type task struct {
	*Worker

	mu    sync.Mutex
	state job.RecordingTask
}

// work makes the texts of the recording searchable, transcribes it, and attaches
// the transcript.
func (h *task) work(ctx context.Context) error {
	id := h.state.JobID
	r, err := h.Queue.Job(ctx, id)
	if err != nil {
		return err
	}
	stored, err := h.Storage.Manifest(ctx, id)
	if recording.IsNotFound(err) {
		return h.end(ctx, nil) // deleted, or stored elsewhere
	}
	if err != nil {
		return err
	}
	var manifest recording.Manifest
	if err := json.Unmarshal(stored, &manifest); err != nil {
		return permanentError{fmt.Errorf("read the manifest: %w", err)}
	}
	texts, err := h.Queue.Texts(ctx, id)
	if err != nil {
		return err
	}
	// Chat and captions become searchable also without a transcript.
	start := manifest.Timeline.Origin()
	found := map[job.TextKind][]job.SearchText{}
	for _, text := range texts {
		if text.Text == "" || text.Speech != nil && !text.Speech.Final || text.Kind == job.TranscriptText && h.state.Again != nil {
			continue // a correction left it empty, or there is a better text
		}
		at := int64(0)
		if !start.IsZero() {
			at = max(0, text.StartedAt.Sub(start).Milliseconds())
		}
		found[text.Kind] = append(found[text.Kind], job.SearchText{StartMs: at, Speaker: text.Author, Text: text.Text})
	}
	for kind, all := range found {
		stored, err := h.Jobs.StoreSearchTexts(ctx, h.state.JobID, h.state.Lease, kind, all)
		if err != nil {
			return err
		}
		if !stored {
			return runner.ErrLost
		}
	}
	wanted := r.Resolved().Transcript
	options := job.TranscriptionOptions{Language: wanted.Language, Keyterms: wanted.Keyterms}
	enabled := r.Mode != job.Test
	if wanted.Enabled != nil {
		enabled = *wanted.Enabled
	}
	if again := h.state.Again; again != nil {
		enabled, options = true, again.Or(options)
	}
	if !enabled {
		return h.end(ctx, nil)
	}
	if r.Mode == job.Test {
		segments, err := h.Simulate(r.Options.Simulate, r.Metadata, manifest)
		if err != nil {
			return permanentError{err}
		}
		document := Document{SchemaVersion: SchemaVersion, JobID: manifest.JobID, Language: "en", Model: "simulator", Segments: segments}
		return h.attach(ctx, manifest, document, 0)
	}
	if h.state.Again == nil {
		document, found, err := h.liveTranscript(ctx, manifest, texts)
		if err != nil {
			return err
		}
		if found && (h.Recognizer == nil || !document.Partial) {
			document.Language = wanted.Language
			return h.attach(ctx, manifest, document, 0)
		}
	}
	if h.Recognizer == nil {
		return h.end(ctx, nil)
	}
	document, audio, err := h.transcribe(ctx, manifest, options)
	if err == nil && h.state.Again != nil && document.Partial {
		err = errLimit
	}
	if err != nil {
		return err
	}
	return h.attach(ctx, manifest, document, audio)
}

func (h *task) current() job.RecordingTask {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state
}

// save saves a change, and when the lease ends.
func (h *task) save(ctx context.Context, until time.Time, change func(*job.RecordingTask)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.state)
	valid, err := h.Queue.SaveRecordingTask(ctx, h.state, until)
	if err == nil && !valid {
		err = runner.ErrLost
	}
	return err
}

// attach stores the transcript with the recording.
func (h *task) attach(ctx context.Context, m recording.Manifest, d Document, audio time.Duration) error {
	id := h.state.JobID
	text, err := d.JSON()
	if err != nil {
		return err
	}
	revision, err := h.Storage.Attach(ctx, id, h.BaseURL, []recording.Attachment{
		recording.TextFile{Name: FileName, Kind: recording.Transcript, ContentType: "application/json", Content: text}.Attachment(),
		recording.TextFile{Name: vttFileName, Kind: recording.Transcript, ContentType: "text/vtt", Content: d.VTT(m.Gaps)}.Attachment(),
	})
	if err != nil {
		return err
	}
	texts, words := make([]job.SearchText, len(d.Segments)), 0
	for i, s := range d.Segments {
		words += len(strings.Fields(s.Text))
		texts[i] = job.SearchText{StartMs: s.StartMs, Speaker: s.Speaker, Text: s.Text}
	}
	stored, err := h.Jobs.StoreSearchTexts(ctx, id, h.state.Lease, job.TranscriptText, texts)
	if err != nil {
		return err
	}
	if !stored {
		return runner.ErrLost
	}
	h.outcomes.WithLabelValues(outcomeAttached).Inc()
	h.Log.Info("recording transcribed", "job", m.JobID, "segments", len(d.Segments), "audio", audio, "partial", d.Partial)
	live := len(d.Segments) > 0 && d.Segments[0].Source == Live
	return h.end(ctx, &job.TranscriptResult{
		Segments: len(d.Segments), Words: words, AudioMs: audio.Milliseconds(), Partial: d.Partial, Live: live, Revision: revision,
	})
}

// end ends the transcription.
func (h *task) end(ctx context.Context, result *job.TranscriptResult) error {
	ended, err := h.Jobs.EndTranscription(ctx, h.state.JobID, h.state.Lease, result)
	if err == nil && !ended {
		return runner.ErrLost
	}
	return err
}

// failed makes the transcription due again after a pause, or ends it.
func (h *task) failed(ctx context.Context, err error) error {
	t, w := h.current(), h.Worker
	refused := new(Error)
	isRefused, permanent := errors.As(err, &refused), errors.As(err, new(permanentError))
	log := w.Log.With("job", t.JobID, "error", err)
	detail := "the recording could not be read; the service's log has the reason"
	switch {
	case isRefused:
		detail = refused.Public()
	case errors.Is(err, errLimit), errors.Is(err, ErrSimulated):
		detail = err.Error()
	}
	if age := w.Now().Sub(t.CreatedAt); permanent || refused.Permanent || age >= giveUpAfter {
		log.Warn("transcription failed", "age", age)
		w.outcomes.WithLabelValues(outcomeFailed).Inc()
		_, err := w.Jobs.EndTranscription(ctx, t.JobID, t.Lease, &job.TranscriptResult{Failure: detail})
		return err
	}
	backoff := retry.Backoff{Min: minRetry, Max: maxRetry, Failures: t.Failures}
	pause := max(backoff.Next(), refused.RetryAfter)
	log.Warn("transcription failed; retrying", "failures", backoff.Failures, "retry_in", pause)
	w.outcomes.WithLabelValues(outcomeRetrying).Inc()
	if t.Failures == 0 {
		retry := job.TranscriptRetry{Detail: detail, RetryAt: job.Timestamp(w.Now().Add(pause))}
		if _, err := w.Jobs.ReportTranscriptRetry(ctx, t.JobID, t.Lease, retry); err != nil {
			return err
		}
	}
	t.Failures = backoff.Failures
	_, err = w.Queue.SaveRecordingTask(ctx, t, w.Now().Add(pause))
	return err
}

// errLimit is the error of another transcription that would be partial.
var errLimit = permanentError{errors.New("the job's limit of minutes is reached, counting all transcriptions")}

// ErrSimulated is the failure of a transcription that a test job asks for.
var ErrSimulated = errors.New("the simulated recognizer refused the sound")

// permanentError is an error that another attempt would not avoid.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }
