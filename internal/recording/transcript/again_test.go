package transcript

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/recording"
	"standin/internal/store"
)

// dictated is a recognizer that says the next of some texts for each request, and notes
// its model, language and prompt.
type dictated struct {
	mu    sync.Mutex
	texts []string
	asked []string
}

func (d *dictated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, r.FormValue("model")+" "+r.FormValue("language")+" "+r.FormValue("prompt"))
	fmt.Fprintf(w, `{"text": %q}`, d.texts[0])
	if len(d.texts) > 1 {
		d.texts = d.texts[1:]
	}
}

// TestTranscribeAgain checks that another transcription replaces the transcript, and that
// one that would be partial does not.
func TestTranscribeAgain(t *testing.T) {
	t.Parallel()
	media, path := tone(t, "recording.m4a", 4*time.Second)
	to := &dictated{texts: []string{"guten Morgan", "guten Morgen"}}
	h := newHarness(t, to.ServeHTTP)
	h.Transcribe = true
	r := h.finalized(t, recording.Manifest{Media: []recording.Media{media}}, map[string]string{media.Name: path})
	caller := account.Caller{ConsumerID: r.ConsumerID, Mode: job.Live}
	options := job.TranscriptionOptions{Model: "large", Language: "de-DE", Keyterms: []string{"Frau Özdemir", "Standin"}}
	request := func() error { return h.RequestTranscription(t.Context(), caller, r.ID, options) }
	if err := request(); !job.ErrorIs(err, job.InvalidState) {
		t.Errorf("while it is transcribed: %v", err)
	}
	for _, want := range []string{"guten Morgan", "guten Morgen"} {
		if !h.RunNext(t.Context()) {
			t.Fatal("no transcription is due")
		}
		d, _ := h.document(t, r.ID)
		if len(d.Segments) != 1 || d.Segments[0].Text != want {
			t.Errorf("transcript %+v, want %q", d, want)
		}
		found, err := h.Store.SearchTexts(t.Context(), account.Caller{ConsumerID: r.ConsumerID, Mode: job.Live}, "guten", job.TextFilter{}, 10)
		if err != nil || len(found) != 1 || found[0].Text != want {
			t.Errorf("the search found %v (%v)", found, err)
		}
		if err := request(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"whisper-1  ", "large de Frau Özdemir, Standin"}; !slices.Equal(to.asked, want) {
		t.Errorf("asked for %q, want %q", to.asked, want)
	}
	attached := h.Data(t, r.ID, lifecycleAttached)
	if len(attached) != 2 || !strings.Contains(attached[1], `"manifestRevision":3`) {
		t.Errorf("the timeline has %v", attached)
	}
	h.MaxAudio = 2 * time.Second // two seconds were sent before
	h.RunNext(t.Context())
	d, _ := h.document(t, r.ID)
	failed := h.Data(t, r.ID, lifecycleFailed)
	if len(failed) != 1 || !strings.Contains(failed[0], "limit of minutes") || len(d.Segments) != 1 || d.Partial || len(to.asked) != 2 {
		t.Errorf("the timeline has %v, the transcript is %+v", failed, d)
	}
	if err := h.RequestTranscription(t.Context(), account.Caller{Mode: job.Live}, r.ID, options); !job.ErrorIs(err, job.NotFound) {
		t.Errorf("of another consumer: %v", err)
	}
}

// TestLiveTranscript checks when what was heard during the meeting becomes the transcript.
func TestLiveTranscript(t *testing.T) {
	t.Parallel()
	media, path := tone(t, "recording.m4a", 10*time.Second)
	complete := job.LiveTranscript{Complete: true, Model: "nova-3", FromMs: 40, ToMs: 9800}
	lost, late, early := complete, complete, complete
	lost.Complete, lost.LostMs = false, 500
	late.FromMs, early.ToMs = 5000, 5000
	ada := recording.Speech{ParticipantID: "p-1", StartMs: 1000, EndMs: 3000}
	bob := recording.Speech{ParticipantID: "p-2", StartMs: 6000, EndMs: 8500}
	tests := map[string]struct {
		ended   []job.LiveTranscript
		speech  []recording.Speech
		without bool // there is no transcriber for finished recordings
		live    bool
		partial bool
	}{
		"complete":                 {ended: []job.LiveTranscript{complete}, speech: []recording.Speech{ada}, live: true},
		"sound was lost":           {ended: []job.LiveTranscript{lost}, speech: []recording.Speech{ada}},
		"the beginning is missing": {ended: []job.LiveTranscript{late}, speech: []recording.Speech{ada}},
		"the end is missing":       {ended: []job.LiveTranscript{early}, speech: []recording.Speech{ada}},
		"a speaker is missing":     {ended: []job.LiveTranscript{complete}, speech: []recording.Speech{ada, bob}},
		"its node was lost":        {speech: []recording.Speech{ada}},
		"there is no other transcriber": {
			ended: []job.LiveTranscript{lost}, speech: []recording.Speech{ada}, without: true, live: true, partial: true,
		},
		"a second attempt, all complete": {
			ended: []job.LiveTranscript{early, {Complete: true, FromMs: 7000, ToMs: 9900}}, speech: []recording.Speech{ada}, live: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, (&dictated{texts: []string{"from the file"}}).ServeHTTP)
			if test.without {
				h.Recognizer = nil
			}
			r := h.finalized(t, recording.Manifest{
				Media: []recording.Media{media}, Speech: test.speech, SpeechSource: "audio", Participants: []recording.Participant{
					{ID: "p-1", Name: "Ada"}, {ID: "p-2", Name: "Bob"},
				},
			}, map[string]string{media.Name: path})
			h.heard(t, r, test.ended)
			if !h.RunNext(t.Context()) {
				t.Fatal("no transcription is due")
			}
			d, _ := h.document(t, r.ID)
			text, err := json.Marshal(d.Segments)
			if err != nil {
				t.Fatal(err)
			}
			if live := len(d.Segments) == 2 && d.Segments[0].Source == Live; live != test.live || d.Partial != test.partial {
				t.Fatalf("partial %v: %s", d.Partial, text)
			}
			word := "file"
			if test.live {
				word = "hello"
				for i, want := range []Segment{
					{ParticipantID: "p-1", Speaker: "Ada", Text: "hello there"}, {ParticipantID: "p-1", Speaker: "Ada", Text: "in the mix"},
				} {
					if s := d.Segments[i]; s.ParticipantID != want.ParticipantID || s.Speaker != want.Speaker || s.Text != want.Text || s.Unconfirmed {
						t.Errorf("segment %d is %+v", i, s)
					}
				}
			}
			found, err := h.Store.SearchTexts(t.Context(), account.Caller{ConsumerID: r.ConsumerID, Mode: job.Live}, word, job.TextFilter{}, 10)
			if err != nil || len(found) != 1 {
				t.Errorf("the search for %q found %v (%v)", word, found, err)
			}
		})
	}
}

// heard stores what a live transcriber has heard.
func (h *harness) heard(t *testing.T, r job.Record, ended []job.LiveTranscript) {
	t.Helper()
	start := h.clock.Now()
	at := func(ms int64) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	word := func(text string, ms int64) job.SpokenWord {
		return job.SpokenWord{Text: text, StartMs: ms, EndMs: ms + 200}
	}
	err := h.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AppendTexts(ctx, r.ID, []job.MeetingText{
			{Attempt: 1, Kind: job.TranscriptText, ID: "1-000001", ParticipantID: "7", Author: "Ada", Text: "hello there", StartedAt: at(1000),
				EndedAt: at(2000),
				Speech: &job.Speech{
					Revision: 2, Final: true, StartMs: 1000, EndMs: 2000, Confirmed: 2,
					Words: []job.SpokenWord{word("hello", 1100), word("there", 1500)},
				}},
			{Attempt: 1, Kind: job.TranscriptText, ID: "0-000001", Text: "in the mix", StartedAt: at(2200), EndedAt: at(2900),
				Speech: &job.Speech{
					Revision: 1, Final: true, StartMs: 2200, EndMs: 2900, Words: []job.SpokenWord{{Text: "in"}, {Text: "the"}, {Text: "mix"}},
				}},
			{Attempt: 1, Kind: job.TranscriptText, ID: "0-000002", Text: "never finished", StartedAt: at(5000), EndedAt: at(6000),
				Speech: &job.Speech{Revision: 1, StartMs: 5000, EndMs: 6000}},
		})
		return err
	})
	for _, one := range ended {
		if err == nil {
			err = h.EndLiveTranscript(t.Context(), r.ID, one)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if entries := h.Data(t, r.ID, lifecycle.LiveTranscriptEnded); len(entries) != len(ended) {
		t.Fatalf("the timeline has %v", entries)
	}
}
