package streaming

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/recording/sound"
	"standin/internal/recording/transcript"
)

const (
	// quietTime is how long no sound arrives before the utterances so far end, such as
	// when the recording is paused.
	quietTime = time.Second
	// checkInterval is how often a job without sound is checked.
	checkInterval = 30 * time.Second
)

// Sounds has the sound of jobs. It is implemented by sound.Hub.
type Sounds interface {
	Subscribe(jobID uuid.UUID, wanted sound.Wanted) *sound.Subscription
}

// Records has the jobs. It is implemented by store.Store.
type Records interface {
	Job(ctx context.Context, id uuid.UUID) (job.Record, error)
}

// Jobs stores what was heard. It is implemented by lifecycle.Service.
type Jobs interface {
	StoreLiveTexts(ctx context.Context, id uuid.UUID, attempt int, texts []job.MeetingText) error
	ReportLiveFailure(ctx context.Context, id uuid.UUID, detail string) error
	EndLiveTranscript(ctx context.Context, id uuid.UUID, result job.LiveTranscript) error
}

// Settings configure Meetings.
type Settings struct {
	Recognizer Recognizer
	Sounds     Sounds
	Records    Records
	Jobs       Jobs
	Log        *slog.Logger
}

// Meetings transcribes the meetings whose bots send sound to this node.
type Meetings struct {
	Settings
	metrics *metrics
	begun   chan meeting
	stopped chan struct{} // closed when Run has ended
}

// meeting is an attempt whose bot has connected.
type meeting struct {
	job     uuid.UUID
	attempt int
	start   time.Time // of the recording
}

// NewMeetings returns Meetings. Begin needs Run.
func NewMeetings(settings Settings) *Meetings {
	return &Meetings{Settings: settings, metrics: newMetrics(), begun: make(chan meeting), stopped: make(chan struct{})}
}

// Begin transcribes an attempt whose bot has connected, if its job wants that, until the
// bot has left the meeting. It does nothing for an attempt that is being transcribed, and
// once Run has ended. start is that of the recording.
func (m *Meetings) Begin(id uuid.UUID, attempt int, start time.Time) {
	select {
	case m.begun <- meeting{id, attempt, start}:
	case <-m.stopped:
	}
}

// Run transcribes meetings until ctx ends. Call it once.
func (m *Meetings) Run(ctx context.Context) {
	defer close(m.stopped)
	type running struct {
		attempt int
		cancel  context.CancelFunc
	}
	current, ended := make(map[uuid.UUID]running), make(chan meeting)
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case begun := <-m.begun:
			before, known := current[begun.job]
			if known && before.attempt >= begun.attempt {
				continue
			}
			if known {
				before.cancel() // its bot was lost
			}
			working, cancel := context.WithCancel(ctx)
			current[begun.job] = running{begun.attempt, cancel}
			all.Go(func() {
				defer cancel()
				if err := m.transcribe(working, begun.job, begun.attempt, begun.start); err != nil {
					m.Log.Error("cannot transcribe a meeting while it runs", "job", begun.job, "attempt", begun.attempt, "error", err)
				}
				select {
				case ended <- begun:
				case <-ctx.Done():
				}
			})
		case finished := <-ended:
			if current[finished.job].attempt == finished.attempt {
				delete(current, finished.job)
			}
		case <-ctx.Done():
			return
		}
	}
}

// transcribe transcribes an attempt.
func (m *Meetings) transcribe(ctx context.Context, id uuid.UUID, attempt int, start time.Time) error {
	r, err := m.Records.Job(ctx, id)
	if err != nil {
		return err
	}
	wanted := r.Resolved().Transcript
	if wanted.Live == nil || !*wanted.Live || wanted.Enabled != nil && !*wanted.Enabled || r.Mode == job.Test {
		return nil
	}
	subscription := m.Sounds.Subscribe(id, sound.Wanted{Mixed: true, Participants: true})
	defer subscription.Close()
	h := hearing{Meetings: m, subscription: subscription, job: id, attempt: attempt, lower: make(sound.Resamplers)}
	session := Session{
		Recognizer: m.Recognizer, Options: Options{Language: wanted.Language, Keyterms: wanted.Keyterms}, metrics: m.metrics,
		Store: func(ctx context.Context, segments []Segment) error {
			err := m.Jobs.StoreLiveTexts(ctx, id, attempt, meetingTexts(segments, attempt, wanted.Language, start))
			if err != nil {
				m.Log.Warn("cannot store live transcript", "job", id, "error", err)
			}
			return err
		},
		Failed: func(ctx context.Context, err error) {
			detail := "the live transcriber has failed"
			if failed := new(transcript.Error); errors.As(err, &failed) {
				detail = failed.Public()
				if failed.Detail != "" {
					detail += ": " + failed.Detail
				}
			}
			m.Log.Warn("live transcriber failed; retrying", "job", id, "error", err)
			if err := m.Jobs.ReportLiveFailure(ctx, id, detail); err != nil && ctx.Err() == nil {
				m.Log.Error("cannot record a failure of the live transcriber", "job", id, "error", err)
			}
		},
	}
	summary := session.Run(ctx, h.next)
	result := job.LiveTranscript{
		Complete: summary.Complete(), Model: m.Recognizer.Model(), FromMs: summary.FromMs, ToMs: summary.ToMs, LostMs: summary.LostMs,
		Failures: summary.Failures,
	}
	return m.Jobs.EndLiveTranscript(context.WithoutCancel(ctx), id, result)
}

// meetingTexts returns segments as texts of the job.
func meetingTexts(segments []Segment, attempt int, language string, start time.Time) []job.MeetingText {
	texts := make([]job.MeetingText, len(segments))
	for i, s := range segments {
		speech := &job.Speech{
			Revision: s.Revision, Final: s.Final, StartMs: s.StartMs, EndMs: s.EndMs, Confirmed: s.Confirmed, Mixed: s.Mixed,
			Words: make([]job.SpokenWord, len(s.Words)),
		}
		for n, word := range s.Words {
			speech.Words[n] = job.SpokenWord{Text: word.Text, StartMs: word.StartMs, EndMs: word.EndMs, Confidence: word.Confidence}
		}
		texts[i] = job.MeetingText{
			Attempt: attempt, Kind: job.TranscriptText, ID: s.ID, ParticipantID: s.Participant.ID, Author: s.Participant.Name, Text: s.Text,
			Language:  language,
			StartedAt: start.Add(time.Duration(s.StartMs) * time.Millisecond), EndedAt: start.Add(time.Duration(s.EndMs) * time.Millisecond),
			Speech: speech,
		}
	}
	return texts
}

// hearing reads the sound of an attempt.
type hearing struct {
	*Meetings
	subscription *sound.Subscription
	job          uuid.UUID
	attempt      int
	lower        sound.Resamplers // by source, to SampleRate
	quiet        time.Duration    // without sound
}

// next returns the next sound; nil when none arrives for quietTime.
func (h *hearing) next(ctx context.Context) (*Sound, int64, error) {
	waiting, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	frame, gap, err := h.subscription.Next(waiting)
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		if h.quiet += quietTime; h.quiet%checkInterval == 0 {
			r, err := h.Records.Job(ctx, h.job)
			if job.ErrorIs(err, job.NotFound) || err == nil && (r.Status.Terminal() || r.Status.Teardown() || r.Attempt > h.attempt) {
				return nil, 0, io.EOF // no more sound of the attempt can arrive
			}
		}
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	h.quiet = 0
	pcm := h.lower.Get(frame.Source, sound.Downsampler, SampleRate)(frame.PCM)
	heard := &Sound{Source: frame.Source, StartMs: frame.Start.Milliseconds(), PCM: pcm}
	if frame.Participant != nil {
		heard.Participant = Participant(*frame.Participant)
	}
	if frame.Speaker != nil {
		heard.Speaker = Participant(*frame.Speaker)
	}
	lost := int64(0)
	if gap != nil {
		lost = (gap.To - gap.From).Milliseconds()
	}
	return heard, lost, nil
}
