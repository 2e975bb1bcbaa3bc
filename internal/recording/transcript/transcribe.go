package transcript

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"standin/internal/base/fsutil"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/build"
)

// transcribe returns the transcript of a recording, and how much audio was sent
// for it. It does not send pieces that an earlier attempt has transcribed.
func (h *task) transcribe(ctx context.Context, m recording.Manifest,
	options job.TranscriptionOptions) (d Document, audio time.Duration, err error) {
	done, err := h.Queue.TranscriptionPieces(ctx, h.state.JobID)
	if err != nil {
		return d, 0, err
	}
	tools, err := build.FindTools()
	if err != nil {
		return d, 0, permanentError{err}
	}
	dir := filepath.Join(h.TempDir, recording.WorkPrefix(h.state.JobID)+"transcript")
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil { // an interrupted run may have left it
		return d, 0, err
	}
	defer os.RemoveAll(dir)
	d = Document{SchemaVersion: SchemaVersion, JobID: m.JobID, Model: cmp.Or(options.Model, h.Recognizer.Model()), Segments: []Segment{}}
	people := newSpeakers(m)
	for _, t := range chooseTracks(m) {
		file := &audioFile{task: h, track: t, tools: tools, dir: dir, done: done, options: options}
		err := file.transcribe(ctx, people, &d)
		if err := errors.Join(err, os.RemoveAll(file.path()), os.RemoveAll(file.wav())); err != nil {
			return d, 0, err
		}
	}
	d.sortSegments()
	return d, h.current().Sent, nil
}

// audioFile is a file of a recording whose audio is being transcribed.
type audioFile struct {
	*task
	track
	tools build.Tools
	dir   string
	done  map[string]string // responses by the key of their piece

	options job.TranscriptionOptions
}

func (f *audioFile) path() string { return filepath.Join(f.dir, "media"+filepath.Ext(f.file.Name)) }
func (f *audioFile) wav() string  { return filepath.Join(f.dir, "piece.wav") }

// transcribe adds what is said in the file to the document.
func (f *audioFile) transcribe(ctx context.Context, people speakers, d *Document) error {
	content, _, err := f.Storage.OpenMedia(ctx, f.state.JobID, f.file.Name)
	if err != nil {
		return err
	}
	err = fsutil.Save(f.path(), content)
	_ = content.Close() // read only
	if err != nil {
		return err
	}
	length := time.Duration(f.file.DurationMs) * time.Millisecond
	silences, err := f.tools.Silences(ctx, f.path(), build.Span{End: length}, silenceMin, silenceLevel)
	if err != nil {
		return unreadable(err)
	}
	spans, err := planPieces(length, silences, maxPiece, func(in build.Span) (time.Duration, error) {
		pauses, err := f.tools.Silences(ctx, f.path(), in, pauseMin, pauseLevel)
		return longestMiddle(in, pauses), err
	})
	if err != nil {
		return unreadable(err)
	}
	for _, span := range spans {
		p := piece{f.track, span}
		recognized, ok, err := f.recognize(ctx, p)
		if err != nil {
			return err
		}
		if !ok {
			d.Partial = true
			continue
		}
		if d.Language == "" {
			d.Language = recognized.Language
		}
		d.Segments = append(d.Segments, p.segments(recognized, people)...)
	}
	return nil
}

// unreadable marks the error of a file that ffmpeg cannot read as permanent.
func unreadable(err error) error {
	if build.RejectedInput(err) {
		return permanentError{err}
	}
	return err
}

// recognize returns what is said in a piece; false when the job's limit of audio
// is reached.
func (f *audioFile) recognize(ctx context.Context, p piece) (result Recognized, ok bool, err error) {
	if stored, known := f.done[p.key()]; known {
		err := json.Unmarshal([]byte(stored), &result)
		return result, err == nil, err
	}
	if f.current().Sent+p.Length() > f.MaxAudio {
		return result, false, nil
	}
	if err := f.tools.ExtractSpeech(ctx, f.path(), p.Span, f.wav()); err != nil {
		return result, false, unreadable(err)
	}
	result, err = f.request(ctx, p.Length())
	if refused := new(Error); errors.As(err, &refused) && refused.Accepted {
		err = errors.Join(err, f.save(ctx, f.Now().Add(lease), func(t *job.RecordingTask) { t.Sent += p.Length() }))
	}
	if err != nil {
		return result, false, err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return result, false, err
	}
	if err := f.Queue.SaveTranscriptionPiece(ctx, f.state.JobID, p.key(), string(text)); err != nil {
		return result, false, err
	}
	return result, true, f.save(ctx, f.Now().Add(lease), func(t *job.RecordingTask) { t.Sent, t.Failures = t.Sent+p.Length(), 0 })
}

// request sends the piece.
func (f *audioFile) request(ctx context.Context, length time.Duration) (Recognized, error) {
	wav, err := os.Open(f.wav())
	if err != nil {
		return Recognized{}, err
	}
	defer wav.Close() // read only
	return f.Recognizer.Transcribe(ctx, Request{
		WAV: wav, Length: length, Model: f.options.Model, Language: f.options.Language, Keyterms: f.options.Keyterms,
	})
}

// segments converts what was recognized in the piece to segments of the
// recording.
func (p piece) segments(recognized Recognized, people speakers) []Segment {
	start := p.Start.Milliseconds()
	segments := make([]Segment, len(recognized.Segments))
	for i, s := range recognized.Segments {
		s.StartMs, s.EndMs = p.offset(start+s.StartMs), p.offset(start+s.EndMs)
		s.Source, s.Words = Mixed, slices.Clone(s.Words)
		for n, word := range s.Words {
			s.Words[n].StartMs, s.Words[n].EndMs = p.offset(start+word.StartMs), p.offset(start+word.EndMs)
		}
		if p.participant != nil {
			s.Source, s.ParticipantID, s.Speaker = ParticipantAudio, p.participant.ID, p.participant.Name
		}
		segments[i] = s
	}
	if p.participant == nil {
		segments = people.attribute(segments, recognized.Timed)
	}
	people.confirm(segments)
	return segments
}
