package transcript

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/recording"
	"standin/internal/testing/testprocess"
)

const (
	lifecycleAttached = lifecycle.TranscriptAttached
	lifecycleFailed   = lifecycle.TranscriptFailed
)

const goodResponse = `{"text": "hello there", "segments": [{"start": 0.1, "end": 0.9, "text": " hello there", "avg_logprob": -0.1}]}`

// TestMisbehavingTranscriber checks that the transcript comes in the end, or that
// the timeline has the reason why it does not.
func TestMisbehavingTranscriber(t *testing.T) {
	t.Parallel()
	cutOff := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, goodResponse[:40])
	}
	tests := map[string]struct {
		respond func(w http.ResponseWriter, request int, since time.Duration)
		failure string        // on the timeline; empty when a transcript is expected
		after   time.Duration // at least since the end of the recording
		before  time.Duration
		retried string // on the timeline, once; empty without a retry
	}{
		"answers": {
			respond: func(w http.ResponseWriter, _ int, _ time.Duration) { fmt.Fprint(w, goodResponse) }, before: time.Second,
		},
		"too many requests": {respond: func(w http.ResponseWriter, request int, _ time.Duration) {
			if request > 2 {
				fmt.Fprint(w, goodResponse)
				return
			}
			w.Header().Set("Retry-After", "300")
			http.Error(w, "slow down", http.StatusTooManyRequests)
		}, after: 10 * time.Minute, before: 15 * time.Minute, retried: "status 429"},
		"cut off in the middle": {respond: func(w http.ResponseWriter, request int, _ time.Duration) {
			if request > 1 {
				fmt.Fprint(w, goodResponse)
				return
			}
			cutOff(w)
		}, before: 15 * time.Minute, retried: "not usable"},
		"away for some minutes": {respond: func(w http.ResponseWriter, _ int, since time.Duration) {
			if since > 3*time.Minute {
				fmt.Fprint(w, goodResponse)
				return
			}
			http.Error(w, "away", http.StatusServiceUnavailable)
		}, after: 3 * time.Minute, before: 15 * time.Minute, retried: "status 503"},
		"away for ever": {respond: func(w http.ResponseWriter, _ int, _ time.Duration) {
			http.Error(w, "away", http.StatusBadGateway)
		}, failure: "the transcriber answered with status 502", after: giveUpAfter, before: 25 * time.Hour, retried: "status 502"},
		"wrong for ever": {respond: func(w http.ResponseWriter, _ int, _ time.Duration) {
			fmt.Fprint(w, "<html>not JSON</html>")
		}, failure: "the response of the transcriber was not usable", after: giveUpAfter, before: 25 * time.Hour, retried: "not usable"},
		"refuses the audio": {respond: func(w http.ResponseWriter, _ int, _ time.Duration) {
			http.Error(w, "your key secret-key is fine, the audio is not", http.StatusBadRequest)
		}, failure: "the transcriber answered with status 400", before: time.Second},
		"knows only json": {respond: func(w http.ResponseWriter, request int, _ time.Duration) {
			if request == 1 {
				http.Error(w, "response_format", http.StatusBadRequest)
				return
			}
			fmt.Fprint(w, `{"text": "hello there"}`)
		}, before: time.Second},
		"sends control characters": {respond: func(w http.ResponseWriter, _ int, _ time.Duration) {
			fmt.Fprint(w, `{"text": "hel\u0000lo\nthere\u202e", "language": "e\u0000n"}`)
		}, before: time.Second},
	}
	media, path := tone(t, "recording.m4a", 4*time.Second)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			var h *harness
			var start time.Time
			h = newHarness(t, func(w http.ResponseWriter, _ *http.Request) {
				test.respond(w, int(requests.Add(1)), h.clock.Now().Sub(start))
			})
			start = h.clock.Now()
			r := h.finalized(t, recording.Manifest{Media: []recording.Media{media}}, map[string]string{media.Name: path})
			for h.clock.Now().Sub(start) < 30*time.Hour && len(h.Data(t, r.ID, lifecycleAttached))+len(h.Data(t, r.ID, lifecycleFailed)) == 0 {
				if !h.RunNext(t.Context()) {
					h.clock.Advance(max(time.Minute, test.after/4))
				}
			}
			took := h.clock.Now().Sub(start)
			if took < test.after || took > test.before {
				t.Errorf("it took %v and %d requests, want %v to %v", took, requests.Load(), test.after, test.before)
			}
			d, ok := h.document(t, r.ID)
			failures := h.Data(t, r.ID, lifecycleFailed)
			if retrying := h.Data(t, r.ID, lifecycle.TranscriptRetrying); (len(retrying) == 1) != (test.retried != "") || len(retrying) > 1 ||
				!strings.Contains(strings.Join(retrying, ""), test.retried) {
				t.Errorf("the timeline has the retries %v, want %q", retrying, test.retried)
			}
			switch {
			case test.failure != "":
				if ok || len(failures) != 1 || !strings.Contains(failures[0], test.failure) || strings.Contains(failures[0], "secret") {
					t.Errorf("the timeline has %v, want %q", failures, test.failure)
				}
			case !ok || len(d.Segments) != 1 || d.Segments[0].Text != "hello there" || d.Partial ||
				!strings.Contains(h.Data(t, r.ID, lifecycleAttached)[0], `"words":2,`):
				t.Errorf("got %+v (%v), failures %v", d, ok, failures)
			}
		})
	}
}

// TestFirstFailure checks that the first failure is visible at once: on the timeline,
// as the reason that the API returns, and as a metric.
func TestFirstFailure(t *testing.T) {
	t.Parallel()
	media, path := tone(t, "recording.m4a", 4*time.Second)
	h := newHarness(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusUnauthorized) })
	r := h.finalized(t, recording.Manifest{Media: []recording.Media{media}}, map[string]string{media.Name: path})
	if problem, err := h.TranscriptProblem(t.Context(), r.ID); err != nil || problem != "" {
		t.Errorf("before the first attempt: %q (%v)", problem, err)
	}
	h.RunNext(t.Context())
	retrying := h.Data(t, r.ID, lifecycle.TranscriptRetrying)
	var failure struct {
		Detail  string
		RetryAt time.Time
	}
	if len(retrying) != 1 || json.Unmarshal([]byte(retrying[0]), &failure) != nil ||
		failure.Detail != "the transcriber answered with status 401" {
		t.Errorf("the timeline has %v", retrying)
	}
	if pause := failure.RetryAt.Sub(h.clock.Now()); pause <= 0 || pause > maxRetry {
		t.Errorf("the next attempt is after %v, want at most %v", pause, maxRetry)
	}
	problem, err := h.TranscriptProblem(t.Context(), r.ID)
	if err != nil || problem != "The transcription is retried: the transcriber answered with status 401." {
		t.Errorf("problem %q (%v)", problem, err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(h.Collectors()...)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "standin_transcriptions_total" {
		t.Fatalf("metrics %v (%v)", families, err)
	}
	for _, counted := range families[0].GetMetric() {
		outcome := counted.GetLabel()[0].GetValue()
		if got := counted.GetCounter().GetValue(); (got == 1) != (outcome == "retrying") || got > 1 {
			t.Errorf("%v attempts are counted as %s", got, outcome)
		}
	}
}

// TestSlowTranscriber uses an endpoint that does not answer the first request: the
// request ends after the timeout, and the next one gets the transcript.
func TestSlowTranscriber(t *testing.T) {
	t.Parallel()
	media, path := tone(t, "recording.m4a", 4*time.Second)
	var requests atomic.Int64
	h := newHarness(t, func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			fmt.Fprint(w, goodResponse)
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
	})
	h.client.config.Timeout = time.Second
	r := h.finalized(t, recording.Manifest{Media: []recording.Media{media}}, map[string]string{media.Name: path})
	for range 60 {
		if !h.RunNext(t.Context()) {
			h.clock.Advance(time.Minute)
		}
	}
	if attached := h.Data(t, r.ID, lifecycleAttached); len(attached) != 1 || requests.Load() < 2 {
		t.Errorf("%d transcripts after %d requests", len(attached), requests.Load())
	}
}

// TestRestart continues after a restart without sending a piece twice.
func TestRestart(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	h := newHarness(t, func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 2 {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, goodResponse)
	})
	first, path := tone(t, "recording.m4a", 4*time.Second)
	second := first
	second.Name, second.StartOffsetMs = "recording-2.m4a", 10_000
	r := h.finalized(t, recording.Manifest{
		Media: []recording.Media{first, second}, Gaps: []recording.Gap{{StartMs: 4000, EndMs: 10_000, Reason: "paused"}},
	}, map[string]string{first.Name: path, second.Name: path})
	h.RunNext(t.Context())
	h.Worker = NewWorker(h.Settings) // after a restart
	h.clock.Advance(time.Minute)
	if !h.RunNext(t.Context()) {
		t.Fatal("the transcription is not due")
	}
	d, _ := h.document(t, r.ID)
	if len(d.Segments) != 2 || d.Segments[0].StartMs != 100 || d.Segments[1].StartMs != 10_100 || requests.Load() != 3 {
		t.Errorf("got %+v after %d requests, want two segments after 3", d, requests.Load())
	}
}

// TestLostLease checks that a node stores no transcript after another node has taken the
// transcription over.
func TestLostLease(t *testing.T) {
	t.Parallel()
	var h *harness
	h = newHarness(t, func(w http.ResponseWriter, request *http.Request) {
		h.clock.Advance(2 * lease)
		teams, err := h.Store.DueRecordingTasks(request.Context(), job.TranscriptTask, h.clock.Now())
		if err != nil || len(teams) != 1 {
			t.Fatalf("due: %v, %v", teams, err)
		}
		_, ok, err := h.Store.ClaimRecordingTask(request.Context(), job.TranscriptTask, teams[0], h.clock.Now(), h.clock.Now().Add(lease))
		if !ok || err != nil {
			t.Errorf("claim the transcription: %t, %v", ok, err)
		}
		fmt.Fprint(w, goodResponse)
	})
	media, path := tone(t, "recording.m4a", 4*time.Second)
	r := h.finalized(t, recording.Manifest{Media: []recording.Media{media}}, map[string]string{media.Name: path})
	h.RunNext(t.Context())
	if d, ok := h.document(t, r.ID); ok {
		t.Errorf("the transcript is stored: %+v", d)
	}
	if retries := h.Data(t, r.ID, lifecycle.TranscriptRetrying); len(retries) > 0 {
		t.Errorf("the node reports its failure: %s", retries)
	}
}

// TestNobodySpoke transcribes recordings in which nobody spoke with a recognizer that
// answers as Whisper does then.
func TestNobodySpoke(t *testing.T) {
	t.Parallel()
	const hallucination = `{"text": "Thank you.", "segments": [{"start": 0, "end": 0.3, "text": " Thank you.", "avg_logprob": -0.3, "no_speech_prob": 0.3}]}`
	speech := []recording.Speech{{ParticipantID: "p1", StartMs: 3000, EndMs: 5000}}
	tests := map[string]struct {
		audio       string // a source filter of ffmpeg, of 8 s
		source      recording.SpeechSource
		speech      []recording.Speech
		requests    int64
		unconfirmed bool
	}{
		"silence":             {audio: "anullsrc=d=8", source: recording.SpeechByPage},
		"silence after 80 ms": {audio: "sine=f=300:d=0.08,apad=whole_dur=8", source: recording.SpeechByPage},
		"quiet noise":         {audio: "anoisesrc=a=0.001:d=8", source: recording.SpeechByPage},
		"noise":               {audio: "anoisesrc=a=0.03:d=8", source: recording.SpeechByPage, requests: 1, unconfirmed: true},
		"noise, then somebody spoke": {
			audio: "anoisesrc=a=0.03:d=8", source: recording.SpeechByPage, speech: speech, requests: 1, unconfirmed: true,
		},
		"somebody spoke": {
			audio: "sine=f=300:d=8", source: recording.SpeechByPage,
			speech: []recording.Speech{{ParticipantID: "p1", StartMs: 1700, EndMs: 5000}}, requests: 1,
		},
		"nothing is known": {audio: "sine=f=300:d=8", source: recording.SpeechUnknown, requests: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			h := newHarness(t, func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				fmt.Fprint(w, hallucination)
			})
			path := filepath.Join(t.TempDir(), "recording.m4a")
			testprocess.Run(t, "ffmpeg", "-v", "error", "-f", "lavfi", "-i", test.audio, "-c:a", "libopus", "-f", "mp4", path)
			media := recording.Media{File: recording.File{
				Name: "recording.m4a", Kind: recording.Audio, ContentType: "audio/mp4", Codecs: "opus", DurationMs: 8000,
			}}
			r := h.finalized(t, recording.Manifest{
				Media: []recording.Media{media}, Participants: []recording.Participant{{ID: "p1", Name: "Ada"}},
				Speech: test.speech, SpeechSource: test.source,
			}, map[string]string{media.Name: path})
			h.RunNext(t.Context())
			d, ok := h.document(t, r.ID)
			if !ok || requests.Load() != test.requests || int64(len(d.Segments)) != test.requests {
				t.Fatalf("%d requests, want %d; the transcript (%v) is %+v", requests.Load(), test.requests, ok, d)
			}
			if test.requests > 0 && d.Segments[0].Unconfirmed != test.unconfirmed {
				t.Errorf("got %+v, want unconfirmed %v", d.Segments[0], test.unconfirmed)
			}
		})
	}
}

// TestLimit checks that no more audio is sent than a job may have.
func TestLimit(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(http.ResponseWriter, *http.Request) { t.Error("audio was sent") })
	h.MaxAudio = time.Second
	media, path := tone(t, "recording.m4a", 4*time.Second)
	r := h.finalized(t, recording.Manifest{Media: []recording.Media{media}}, map[string]string{media.Name: path})
	h.RunNext(t.Context())
	if d, ok := h.document(t, r.ID); !ok || !d.Partial || len(d.Segments) > 0 {
		t.Errorf("got %+v (%v), want an empty partial transcript", d, ok)
	}
}

// TestDeletedMeanwhile checks that nothing of a deleted recording comes back.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	var h *harness
	var r job.Record
	h = newHarness(t, func(w http.ResponseWriter, request *http.Request) {
		caller := account.Caller{ConsumerID: r.ConsumerID, Mode: job.Live}
		if err := h.DeleteRecording(request.Context(), caller, r.ID); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, goodResponse)
	})
	media, path := tone(t, "recording.m4a", 4*time.Second)
	r = h.finalized(t, recording.Manifest{Media: []recording.Media{media}}, map[string]string{media.Name: path})
	h.RunNext(t.Context())
	if _, ok := h.document(t, r.ID); ok {
		t.Error("the transcript of a deleted recording is stored")
	}
	found, err := h.Store.SearchTexts(t.Context(), account.Caller{ConsumerID: r.ConsumerID, Mode: job.Live}, "hello", job.TextFilter{}, 10)
	if err != nil || len(found) > 0 {
		t.Errorf("the search found %v (%v)", found, err)
	}
	h.clock.Advance(time.Hour)
	if h.RunNext(t.Context()) {
		t.Error("the transcription of a deleted recording is due")
	}
}
