package service_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/google/uuid"

	"standin/client"
	"standin/internal/bot/ingest"
	"standin/internal/recording/sound"
	"standin/internal/recording/transcript/streaming"
	"standin/internal/replica/speechserver"
	"standin/internal/testing/await"
	"standin/internal/testing/testprocess"
)

// spoken is what a participant of a meeting says from a time on.
type spoken struct {
	source int // 0: the mixed sound, in which he is seen to speak
	name   string
	at     time.Duration
	pcm    []byte // 48 kHz
}

// liveMeeting is a job whose bot sends the sound of a meeting in real time.
type liveMeeting struct {
	*contractHarness
	id      string
	started time.Time // of the recording
}

// openLiveMeeting starts a service with a live transcriber and a job of a bot. fields are more
// of the job.
func openLiveMeeting(t *testing.T, recognizer http.HandlerFunc, fields string) *liveMeeting {
	t.Helper()
	server := httptest.NewServer(recognizer)
	t.Cleanup(server.Close)
	settings := contractSettings(t)
	settings.Live = streaming.Config{Protocol: streaming.OpenAIHTTP, URL: server.URL, APIKey: "secret-key"}
	h := openContractHarness(t, newContractCoverage(), settings)
	m := &liveMeeting{contractHarness: h}
	m.id = h.create(t, h.ada, contractJob(`,"transcript":{"live":true,"language":"en","keyterms":["Standin"]}`+fields))
	h.sendEvent(t, m.id, "lifecycle.joined", "")
	return m
}

// hold sends the sound of everybody, and the mix of all, for a length.
func (m *liveMeeting) hold(t *testing.T, length time.Duration, people ...spoken) {
	t.Helper()
	m.started = time.Now().UTC().Truncate(time.Millisecond)
	bot := m.connectBot(t, m.id, m.started)
	bot.awaitWanted(t, ingest.SoundWanted{Mixed: true, Participants: true})
	for _, one := range people {
		id := fmt.Sprintf("p-%d", one.source)
		if one.source == 0 {
			bot.tell(t, ingest.SoundMessage{Type: ingest.SoundSpeaking, Speaking: []ingest.SoundSpeaker{{ID: id, Name: one.name}}})
			continue
		}
		bot.tell(t, ingest.SoundMessage{Type: ingest.SoundParticipant, Source: one.source, ID: id, Name: one.name})
	}
	bot.answerPings(t)
	ticker := time.NewTicker(ingest.SoundFrameDuration)
	defer ticker.Stop()
	send := func(source int, at time.Duration, pcm []byte) {
		frame := ingest.EncodeSound(ingest.SoundFrame{Source: source, At: m.started.Add(at), PCM: pcm})
		if err := bot.Write(t.Context(), 2, frame); err != nil {
			t.Fatal(err)
		}
	}
	for at := time.Duration(0); at < length; at += ingest.SoundFrameDuration {
		for time.Since(m.started) < at {
			<-ticker.C // real time: the service drops sound that it gets too early
		}
		mix := make([]byte, ingest.SoundFrameBytes)
		for _, one := range people {
			from := int((at-one.at)/ingest.SoundFrameDuration) * ingest.SoundFrameBytes
			if at < one.at || from+ingest.SoundFrameBytes > len(one.pcm) {
				continue // silence is not sent
			}
			pcm := one.pcm[from : from+ingest.SoundFrameBytes]
			if one.source != 0 {
				send(one.source, at, pcm)
			}
			copy(mix, pcm) // nobody speaks at the same time
		}
		send(0, at, mix)
	}
	bot.leave(t)
}

// follow collects the events transcript until stop is called and as many are final.
func (m *liveMeeting) follow(t *testing.T) (stop func(finals int) []client.LiveTranscript) {
	t.Helper()
	api, err := client.New(m.BaseURL(), m.ada)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var finals atomic.Int32
	done := make(chan []client.LiveTranscript)
	go func() {
		var all []client.LiveTranscript
		for event, err := range api.Live(ctx, m.id, "") {
			if err != nil {
				break
			}
			if event.Name == "transcript" {
				var one client.LiveTranscript
				if err := json.Unmarshal(event.Data, &one); err != nil {
					t.Error(err)
				}
				all = append(all, one)
				if one.Final {
					finals.Add(1)
				}
			}
		}
		done <- all
	}()
	return func(count int) []client.LiveTranscript {
		await.Until(t, "the events", func() bool { return int(finals.Load()) >= count })
		cancel()
		return <-done
	}
}

// entries returns the data of the timeline entries of a kind.
func (m *liveMeeting) entries(t *testing.T, kind string) (data []string) {
	t.Helper()
	for _, entry := range m.call(t, 200, m.ada, "listTimeline", "", m.id).field(t, "entries").([]any) {
		if one := entry.(map[string]any); one["kind"] == kind {
			text, err := json.Marshal(one["data"])
			if err != nil {
				t.Fatal(err)
			}
			data = append(data, string(text))
		}
	}
	return data
}

// hum returns a tone.
func hum(length time.Duration) []byte {
	pcm := make([]byte, 0, int(length.Milliseconds())*96)
	for i := range int(length.Milliseconds()) * 48 {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(8000*math.Sin(float64(i)*2*math.Pi*300/48000))))
	}
	return pcm
}

// TestLiveWords checks that what is said arrives as events with their speakers, that the
// timeline says what became of it, and that a recognizer that fails costs only its words.
func TestLiveWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		source int
		answer string // of the recognizer; empty for a refusal
		want   string
		entry  string // the data of it
		kind   string
	}{
		"heard":   {1, `{"text": "hello Standin"}`, "Ada: hello Standin", `"complete":true`, "live_transcript_ended"},
		"mixed":   {0, `{"text": "hello Standin"}`, "Ada: hello Standin", `"complete":true`, "live_transcript_ended"},
		"refused": {1, "", "", `answered with status 401`, "live_transcript_failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := openLiveMeeting(t, func(w http.ResponseWriter, r *http.Request) {
				if test.answer == "" || r.FormValue("prompt") != "Standin" || r.FormValue("language") != "en" {
					w.WriteHeader(http.StatusUnauthorized)
				}
				fmt.Fprint(w, test.answer)
			}, "")
			stop := m.follow(t)
			m.hold(t, 2500*time.Millisecond, spoken{source: test.source, name: "Ada", at: 300 * time.Millisecond, pcm: hum(time.Second)})
			await.Until(t, "the end of the live transcription", func() bool { return len(m.entries(t, "live_transcript_ended")) == 1 })
			finals := 0
			if test.want != "" {
				finals = 1
			}
			await.Until(t, "the stored words", func() bool {
				texts, err := m.Store().Texts(t.Context(), uuid.MustParse(m.id))
				return err == nil && len(texts) == finals
			})
			var texts []string
			for _, one := range stop(finals) {
				if one.Final {
					texts = append(texts, one.Speaker+": "+one.Text)
				}
			}
			if got := strings.Join(texts, "; "); got != test.want {
				t.Errorf("heard %q, want %q", got, test.want)
			}
			if data := m.entries(t, test.kind); len(data) != 1 || !strings.Contains(data[0], test.entry) || strings.Contains(data[0], "secret") {
				t.Errorf("the timeline has %v", data)
			}
			if status := m.call(t, 200, m.ada, "getJob", "", m.id).text(t, "status"); status != "recording_started" {
				t.Errorf("the job is %s", status)
			}
		})
	}
}

// script is what is said in TestLiveWordErrors, in turn, by two people.
var script = []string{
	"one two three four five", "seven eight nine", "five six seven eight nine one two three", "four three two one",
	"nine eight seven six", "two four six eight one three five seven nine", "three five one", "one two three four",
}

// TestLiveWordErrors compares what arrives of a meeting, which a synthesizer speaks, with what the same
// recognizer hears in each utterance alone.
func TestLiveWordErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("a meeting of a minute; make check-long runs it")
	}
	t.Parallel()
	recognizer := sphinx(t)
	m := openLiveMeeting(t, recognizer, "")
	var people []spoken
	at, said := time.Second, []string{}
	for i, text := range script {
		one := spoken{
			source: 1 + i%2, name: []string{"Ada", "Bob"}[i%2], at: at.Truncate(ingest.SoundFrameDuration),
			pcm: speak(t, text, []string{"en-us", "en-us+f3"}[i%2]),
		}
		people, said = append(people, one), append(said, strings.Fields(text)...)
		at += time.Duration(len(one.pcm)/96)*time.Millisecond + 1500*time.Millisecond
	}
	stop := m.follow(t)
	m.hold(t, at, people...)
	await.Until(t, "the end of the live transcription", func() bool { return len(m.entries(t, "live_transcript_ended")) == 1 })
	if data := m.entries(t, "live_transcript_ended"); !strings.Contains(data[0], `"complete":true`) {
		t.Errorf("the timeline has %v", data)
	}
	finals := map[string]client.LiveTranscript{}
	for _, one := range stop(1) {
		if one.Final {
			finals[one.ID] = one
		}
	}
	var heard []string
	for _, final := range slices.SortedFunc(maps.Values(finals), func(a, b client.LiveTranscript) int { return int(a.StartMS - b.StartMS) }) {
		if final.Speaker == "" {
			t.Errorf("%q has no speaker", final.Text)
		}
		for _, word := range final.Words {
			heard = append(heard, word.Text)
		}
	}
	alone := recognizeAlone(t, recognizer, people)
	wrong, wrongAlone := levenshtein.ComputeDistance(letters(said), letters(heard)), levenshtein.ComputeDistance(letters(said), letters(alone))
	if len(heard) == 0 || wrong > wrongAlone+len(said)/10 {
		t.Errorf("heard %q, and %q by the recognizer alone", heard, alone)
	}
}

// recognizeAlone returns what the recognizer hears in the same sound, utterance by utterance.
func recognizeAlone(t *testing.T, recognizer http.HandlerFunc, people []spoken) (words []string) {
	t.Helper()
	server := httptest.NewServer(recognizer)
	defer server.Close()
	r, err := streaming.New(streaming.Config{Protocol: streaming.OpenAIHTTP, URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	in := make(chan streaming.Audio, len(people))
	for i, one := range people {
		pcm := sound.Downsampler(streaming.SampleRate)(one.pcm[:len(one.pcm)/ingest.SoundFrameBytes*ingest.SoundFrameBytes])
		silence := make([]byte, streaming.SampleRate*2*3/10)
		in <- streaming.Audio{Utterance: i + 1, PCM: slices.Concat(silence, pcm, silence), End: true}
	}
	close(in)
	err = r.Recognize(t.Context(), streaming.Options{}, in, func(r streaming.Result) {
		if r.Final {
			words = append(words, strings.Fields(r.Text())...)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// letters returns a text with a letter for each word.
func letters(words []string) string {
	var text strings.Builder
	for _, word := range words {
		text.WriteString(map[string]string{
			"zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
		}[word])
	}
	return text.String()
}

// speak returns a spoken text at 48 kHz.
func speak(t *testing.T, text, voice string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "speech.wav")
	testprocess.Run(t, "espeak-ng", "-v", voice, "-s", "140", "-w", path, text)
	return testprocess.Run(t, "ffmpeg", "-v", "error", "-i", path, "-ar", "48000", "-ac", "1", "-f", "s16le", "-")
}

// sphinx serves OpenAI's transcriptions with pocketsphinx.
func sphinx(t *testing.T) http.HandlerFunc {
	t.Helper()
	if speechserver.Recognizer() == "" {
		testprocess.Run(t, "pocketsphinx_continuous") // skips or fails
	}
	engine := speechserver.New()
	engine.Grammar = "#JSGF V1.0;\ngrammar digits;\npublic <d> = ( zero | one | two | three | four | five | six | seven | eight | nine )*;\n"
	return engine.Handler().ServeHTTP
}
