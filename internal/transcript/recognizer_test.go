package transcript

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/recording"
)

// The script of the meeting: who says what, and when. The words are those that the
// recognizer knows, so that its errors are few.
var script = []struct {
	speaker string
	voice   string
	start   time.Duration
	text    string
}{
	{"p1", "en-us", 500 * time.Millisecond, "one two three four"},
	{"p2", "en-us+f3", 6 * time.Second, "seven eight nine"},
	{"p1", "en-us", 11 * time.Second, "five six seven"},
	{"p2", "en-us+f3", 15 * time.Second, "four three two one"},
}

const grammar = "#JSGF V1.0;\ngrammar digits;\npublic <d> = ( zero | one | two | three | four | five | six | seven | eight | nine )*;\n"

// pocketsphinx serves the interface of OpenAI's transcriptions with a real
// recognizer.
func pocketsphinx(t *testing.T) http.HandlerFunc {
	t.Helper()
	program, err := exec.LookPath("pocketsphinx_continuous")
	if err != nil {
		run(t, "pocketsphinx_continuous") // skips or fails
	}
	dir := t.TempDir()
	rules := filepath.Join(dir, "digits.gram")
	if err := os.WriteFile(rules, []byte(grammar), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/audio/transcriptions" || r.Header.Get("Authorization") != "Bearer secret-key" || r.FormValue("model") != DefaultModel {
			http.Error(w, "wrong request", http.StatusUnauthorized)
			return
		}
		file, _, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		defer file.Close()
		wav, err := os.CreateTemp(dir, "*.wav")
		if err == nil {
			_, err = io.Copy(wav, file)
			wav.Close()
		}
		var output []byte
		if err == nil {
			output, err = exec.CommandContext(r.Context(), program, "-infile", wav.Name(), "-jsgf", rules, "-time", "yes").Output()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(sphinxResponse(string(output)))
	}
}

// sphinxResponse converts the output "word start end probability" to a response
// of the format verbose_json.
func sphinxResponse(output string) map[string]any {
	type word struct {
		Word  string  `json:"word"`
		Start float64 `json:"start"`
		End   float64 `json:"end"`
	}
	words, said := []word{}, []string{}
	for text := range strings.Lines(output) {
		fields := strings.Fields(text)
		if len(fields) != 4 || strings.ContainsAny(fields[0], "<[") || fields[0] == "(NULL)" {
			continue
		}
		start, err1 := strconv.ParseFloat(fields[1], 64)
		end, err2 := strconv.ParseFloat(fields[2], 64)
		if err1 != nil || err2 != nil {
			continue // a part of the text itself
		}
		name, _, _ := strings.Cut(fields[0], "(") // a variant, such as "one(2)"
		words, said = append(words, word{name, start, end}), append(said, name)
	}
	return map[string]any{"text": strings.Join(said, " "), "language": "en", "words": words}
}

// speech synthesizes the script and returns the manifest of its recording, with
// mixed audio and a file for each participant.
func speech(t *testing.T) (recording.Manifest, map[string]string) {
	t.Helper()
	dir := t.TempDir()
	length := 20 * time.Second
	m := recording.Manifest{Participants: []recording.Participant{{ID: "p1", Name: "Ada"}, {ID: "p2", Name: "Bob <b>"}}}
	inputs := map[string][]string{}
	filters := map[string][]string{}
	for i, part := range script {
		wav := filepath.Join(dir, fmt.Sprintf("%d.wav", i))
		run(t, "espeak-ng", "-v", part.voice, "-s", "140", "-w", wav, part.text)
		spoken, err := os.Stat(wav)
		if err != nil {
			t.Fatal(err)
		}
		end := part.start + time.Duration(spoken.Size()-44)*time.Second/(22050*2)
		m.Speech = append(m.Speech, recording.Speech{ParticipantID: part.speaker, StartMs: part.start.Milliseconds(), EndMs: end.Milliseconds()})
		for _, file := range []string{part.speaker, "mixed"} {
			filters[file] = append(filters[file], fmt.Sprintf("[%d:a]adelay=%d[a%[1]d]", len(inputs[file])/2, part.start.Milliseconds()))
			inputs[file] = append(inputs[file], "-i", wav)
		}
	}
	paths := map[string]string{}
	for _, file := range []struct {
		from, name string
		kind       recording.MediaKind
	}{{"mixed", "recording.m4a", recording.Audio}, {"p1", "participant-001.m4a", recording.ParticipantAudio}, {"p2", "participant-002.m4a", recording.ParticipantAudio}} {
		graph := strings.Join(filters[file.from], ";") + ";"
		for i := range filters[file.from] {
			graph += fmt.Sprintf("[a%d]", i)
		}
		graph += fmt.Sprintf("amix=inputs=%d:normalize=0,apad=whole_dur=%d", len(filters[file.from]), int(length.Seconds()))
		path := filepath.Join(dir, file.name)
		arguments := append([]string{"-v", "error"}, inputs[file.from]...)
		run(t, "ffmpeg", append(arguments, "-filter_complex", graph, "-c:a", "libopus", "-b:a", "64k", "-f", "mp4", path)...)
		media := recording.Media{File: recording.File{Name: file.name, Kind: file.kind, ContentType: "audio/mp4", Codecs: "opus", DurationMs: length.Milliseconds()}}
		if file.kind == recording.ParticipantAudio {
			media.ParticipantID = file.from
		}
		m.Media, paths[file.name] = append(m.Media, media), path
	}
	return m, paths
}

// TestRecognizer transcribes speech of two speakers with a real recognizer. Every
// word must be attributed to its speaker. The error rate is that of the recognizer
// and is only logged.
func TestRecognizer(t *testing.T) {
	t.Parallel()
	m, paths := speech(t)
	for name, mixed := range map[string]bool{"participant audio": false, "mixed audio": true} {
		if mixed && testing.Short() {
			continue // TestLiveTranscript attributes mixed sound too
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, pocketsphinx(t))
			m := m
			m.Media = append([]recording.Media{}, m.Media...)
			if mixed {
				m.Media = m.Media[:1]
			}
			r := h.finalized(t, m, paths)
			if !h.RunNext(t.Context()) {
				t.Fatal("no transcription was due")
			}
			d, ok := h.document(t, r.ID)
			if !ok {
				t.Fatalf("no transcript; the timeline has %v", h.Data(t, r.ID, lifecycleFailed))
			}
			checkAttribution(t, d, mixed)
			checkAttached(t, h, r, d)
		})
	}
}

// checkAttribution checks the speaker of every word by its time, and logs the
// error rate.
func checkAttribution(t *testing.T, d Document, mixed bool) {
	t.Helper()
	recognized := map[string][]string{}
	source := ParticipantAudio
	if mixed {
		source = Mixed
	}
	for _, s := range d.Segments {
		if s.Source != source || len(s.Words) == 0 {
			t.Errorf("segment %+v has the source %q and %d words", s, s.Source, len(s.Words))
		}
		for _, word := range s.Words {
			said := script[0]
			for _, part := range script {
				if word.StartMs >= part.start.Milliseconds()-400 {
					said = part
				}
			}
			if s.ParticipantID != said.speaker {
				t.Errorf("%q at %d ms is attributed to %q, want %q", word.Text, word.StartMs, s.ParticipantID, said.speaker)
			}
			recognized[s.ParticipantID] = append(recognized[s.ParticipantID], word.Text)
		}
	}
	said := map[string][]string{}
	for _, part := range script {
		said[part.speaker] = append(said[part.speaker], strings.Fields(part.text)...)
	}
	wrong, total := 0, 0
	for speaker, words := range said {
		if len(recognized[speaker]) == 0 {
			t.Errorf("nothing of %s was transcribed", speaker)
		}
		wrong, total = wrong+distance(words, recognized[speaker]), total+len(words)
	}
	t.Logf("word error rate: %d of %d words; recognized %v", wrong, total, recognized)
}

// distance is the number of words to insert, delete or replace (Levenshtein).
func distance(a, b []string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// checkAttached checks the manifest, the timeline and the search.
func checkAttached(t *testing.T, h *harness, r job.Record, d Document) {
	t.Helper()
	text, err := h.World.Storage.Manifest(context.WithoutCancel(t.Context()), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	var m recording.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, media := range m.Media {
		if media.Kind == recording.Transcript {
			names = append(names, media.Name)
		}
	}
	if m.Revision != 2 || len(names) != 2 {
		t.Errorf("the manifest has the revision %d and the transcripts %v, want 2 and two", m.Revision, names)
	}
	if entries := h.Data(t, r.ID, lifecycleAttached); len(entries) != 1 {
		t.Errorf("the timeline has the entries %v, want one", entries)
	}
	found, err := h.Store.SearchTexts(t.Context(), r.ConsumerID, job.Live, d.Segments[0].Words[0].Text, job.TextFilter{}, 10)
	if err != nil || len(found) == 0 || found[0].JobID != r.ID {
		t.Errorf("the search found %v (%v)", found, err)
	}
	if h.RunNext(t.Context()) {
		t.Error("the transcription is due again")
	}
}
