package streaming

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"standin/internal/recording/transcript"
)

// wordMs is how long each word takes that the doubles hear: w0, w1 and so on.
const wordMs = 500

const testKey = "hunter2-secret"

func heardWords(bytes int) []string {
	all := []string{}
	for i := range bytes / bytesPerMs / wordMs {
		all = append(all, fmt.Sprintf("w%d", i))
	}
	return all
}

// double is a recognizer that follows the public documentation of its protocol.
type double struct {
	*httptest.Server

	mu       sync.Mutex
	requests []string // bodies, queries and messages without audio
	idle     chan struct{}
}

func (d *double) note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests = append(d.requests, text)
}

func (d *double) noted() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.requests, "\n")
}

func newDouble(t *testing.T, authorization string, serve func(d *double, w http.ResponseWriter, r *http.Request)) *double {
	t.Helper()
	d := &double{idle: make(chan struct{})}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != authorization {
			http.Error(w, "wrong key "+testKey, http.StatusUnauthorized)
			return
		}
		d.note(r.URL.String())
		serve(d, w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

// socket is the server's side of a WebSocket.
type socket struct {
	*websocket.Conn
	ctx context.Context
}

func accept(w http.ResponseWriter, r *http.Request) (socket, error) {
	conn, err := websocket.Accept(w, r, nil)
	if err == nil {
		conn.SetReadLimit(1 << 20)
	}
	return socket{conn, r.Context()}, err
}

func (s socket) send(value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	_ = s.Write(s.ctx, websocket.MessageText, data) // the client may be gone
}

// serveDeepgram is a double of Deepgram's listen endpoint.
func serveDeepgram(d *double, w http.ResponseWriter, r *http.Request) {
	s, err := accept(w, r)
	if err != nil {
		return
	}
	defer s.CloseNow()
	finalized, sent, told := 0, 0, 0 // bytes
	results := func(final, fromFinalize bool) {
		words := []map[string]any{}
		for i, word := range heardWords(sent - finalized) {
			start := float64(finalized/bytesPerMs+i*wordMs) / 1000
			words = append(words, map[string]any{"word": word, "punctuated_word": word + ".", "start": start, "end": start + 0.4, "confidence": 0.9})
		}
		s.send(map[string]any{
			"type": "Results", "channel_index": []int{0, 1}, "start": float64(finalized/bytesPerMs) / 1000,
			"duration": float64((sent-finalized)/bytesPerMs) / 1000,
			"is_final": final, "speech_final": final, "from_finalize": fromFinalize, "channel": map[string]any{
				"alternatives": []any{map[string]any{"words": words}},
			},
		})
	}
	for {
		kind, data, err := s.Read(s.ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			if sent += len(data); sent-told >= 1000*bytesPerMs {
				told = sent
				results(false, false)
			}
			continue
		}
		d.note(string(data))
		switch string(data) {
		case `{"type":"KeepAlive"}`:
			select {
			case d.idle <- struct{}{}:
			default:
			}
		case `{"type":"Finalize"}`:
			results(true, true)
			finalized, told = sent, sent
		case `{"type":"CloseStream"}`:
			s.send(map[string]any{"type": "Metadata", "channels": 1})
			s.Close(websocket.StatusNormalClosure, "")
			return
		}
	}
}

// event is an event of a client of the realtime endpoint.
type event struct {
	Type    string
	Audio   []byte
	Final   bool
	Model   string
	Session json.RawMessage
}

func (s socket) event(d *double) (e event, ok bool) {
	_, data, err := s.Read(s.ctx)
	if err != nil || json.Unmarshal(data, &e) != nil {
		return e, false
	}
	if e.Type != "input_audio_buffer.append" {
		d.note(string(data))
	}
	return e, true
}

// serveOpenAI is a double of OpenAI's realtime transcription without turn detection.
func serveOpenAI(d *double, w http.ResponseWriter, r *http.Request) {
	s, err := accept(w, r)
	if err != nil {
		return
	}
	defer s.CloseNow()
	s.send(map[string]any{"type": "session.created", "event_id": "e1", "session": map[string]any{"type": "transcription"}})
	audio, item, words := 0, 0, 0
	for {
		e, ok := s.event(d)
		if !ok {
			return
		}
		id := fmt.Sprintf("item_%d", item)
		switch e.Type {
		case "session.update":
			s.send(map[string]any{"type": "session.updated", "session": e.Session})
		case "input_audio_buffer.append":
			audio += len(e.Audio) * 2 / 3 // 24 kHz
			for _, word := range heardWords(audio)[words:] {
				words++
				s.send(map[string]any{"type": "conversation.item.input_audio_transcription.delta", "item_id": id, "delta": " " + word})
			}
		case "input_audio_buffer.commit":
			s.send(map[string]any{"type": "input_audio_buffer.committed", "item_id": id})
			s.send(map[string]any{
				"type": "conversation.item.input_audio_transcription.completed", "item_id": id, "transcript": strings.Join(heardWords(audio), " "),
			})
			audio, words, item = 0, 0, item+1
		}
	}
}

// serveVLLM is a double of vLLM's realtime endpoint.
func serveVLLM(d *double, w http.ResponseWriter, r *http.Request) {
	s, err := accept(w, r)
	if err != nil {
		return
	}
	defer s.CloseNow()
	s.send(map[string]any{"type": "session.created", "id": "sess-1", "created": 1})
	audio, words, generating, validated := 0, 0, false, false
	for {
		e, ok := s.event(d)
		if !ok {
			return
		}
		switch {
		case e.Type == "session.update" && e.Model == "voxtral":
			validated = true
		case e.Type == "session.update", !validated:
			s.send(map[string]any{"type": "error", "error": "The model `" + e.Model + "` does not exist, " + testKey, "code": "model_not_found"})
		case e.Type == "input_audio_buffer.append" && generating:
			audio += len(e.Audio)
			for _, word := range heardWords(audio)[words:] {
				words++
				s.send(map[string]any{"type": "transcription.delta", "delta": word + " "})
			}
		case e.Type == "input_audio_buffer.commit" && !e.Final:
			generating = true
		case e.Type == "input_audio_buffer.commit":
			s.send(map[string]any{"type": "transcription.done", "text": strings.Join(heardWords(audio), " "), "usage": map[string]any{}})
			generating, audio, words = false, 0, 0
		}
	}
}

// serveTranscriptions is a double of POST /v1/audio/transcriptions. Without timed, it
// refuses to return times.
func serveTranscriptions(timed bool) func(d *double, w http.ResponseWriter, r *http.Request) {
	return func(d *double, w http.ResponseWriter, r *http.Request) {
		file, _, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		wav, err := io.ReadAll(file)
		if err != nil || !strings.HasPrefix(string(wav), "RIFF") {
			http.Error(w, "no WAV", http.StatusBadRequest)
			return
		}
		d.note(fmt.Sprintf("%s %s %q %d ms", r.FormValue("model"), r.FormValue("language"), r.FormValue("prompt"), (len(wav)-44)/bytesPerMs))
		if !timed && r.FormValue("response_format") != "json" {
			http.Error(w, "response_format", http.StatusBadRequest)
			return
		}
		words := []map[string]any{}
		for i, word := range heardWords(len(wav) - 44) {
			words = append(words, map[string]any{"word": word, "start": float64(i*wordMs) / 1000, "end": float64(i*wordMs+400) / 1000})
		}
		answer := map[string]any{"text": strings.Join(heardWords(len(wav)-44), " ")}
		if timed {
			answer["words"] = words
		}
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func newRecognizer(t *testing.T, config Config) Recognizer {
	t.Helper()
	r, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// utter sends an utterance of a length, one piece after the other.
func utter(in chan<- Audio, number, ms int) {
	pcm := tone(ms, 0.3)
	for len(pcm) > 0 {
		n := min(pieceMs*bytesPerMs, len(pcm))
		in <- Audio{Utterance: number, PCM: pcm[:n], End: n == len(pcm)}
		pcm = pcm[n:]
	}
}

// TestProtocols checks that each recognizer returns growing results and every word of two
// utterances once, and tells its server the model, language and key terms.
func TestProtocols(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		protocol      Protocol
		model         string
		authorization string
		serve         func(d *double, w http.ResponseWriter, r *http.Request)
		timed         bool
		suffix        string // of words
		requests      []string
	}{
		"openai-http": {
			OpenAIHTTP, "whisper-1", "Bearer ", serveTranscriptions(true), true, "",
			[]string{`whisper-1 de "Standin, Frau Özdemir" 6000 ms`, "1500 ms"},
		},
		"openai-http without times": {
			OpenAIHTTP, "whisper-1", "Bearer ", serveTranscriptions(false), false, "", []string{`whisper-1 de "Standin, Frau Özdemir" 6000 ms`},
		},
		"OpenAI's realtime": {OpenAIRealtime, "gpt-live-transcribe", "Bearer ", serveOpenAI, false, "", []string{
			"/v1/realtime?intent=transcription", `"rate":24000`, `"language":"de"`, `"keywords":["Standin","Frau Özdemir"]`, `"turn_detection":null`,
		}},
		"vLLM's realtime": {
			OpenAIRealtime, "voxtral", "Bearer ", serveVLLM, false, "",
			[]string{`"model":"voxtral"`, `{"final":true,"type":"input_audio_buffer.commit"}`},
		},
		"deepgram": {Deepgram, "nova-3", "Token ", serveDeepgram, true, ".", []string{
			"/v1/listen?", "model=nova-3", "language=de-DE", "keyterm=Standin&keyterm=Frau+%C3%96zdemir", "sample_rate=16000", "encoding=linear16",
			"interim_results=true",
			`{"type":"Finalize"}`, `{"type":"CloseStream"}`,
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDouble(t, test.authorization+testKey, test.serve)
			r := newRecognizer(t, Config{Protocol: test.protocol, URL: d.URL, APIKey: testKey, Model: test.model})
			in, results := make(chan Audio), map[int][]Result{}
			heardFirst := make(chan struct{})
			go func() {
				defer close(in)
				pcm := tone(6000, 0.3)
				in <- Audio{Utterance: 1, PCM: pcm[:3500*bytesPerMs]}
				<-heardFirst
				in <- Audio{Utterance: 1, PCM: pcm[3500*bytesPerMs:], End: true}
				utter(in, 2, 1500)
			}()
			err := r.Recognize(t.Context(), Options{Language: "de-DE", Keyterms: []string{"Standin", "Frau Özdemir"}}, in, func(r Result) {
				if len(results) == 0 {
					close(heardFirst)
				}
				r.Words = slices.Clone(r.Words)
				results[r.Utterance] = append(results[r.Utterance], r)
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(results[1]) < 2 {
				t.Errorf("%d results of a long utterance", len(results[1]))
			}
			for number, words := range map[int]int{1: 12, 2: 3} {
				all := results[number]
				for i, result := range all {
					if result.Final != (i == len(all)-1) {
						t.Errorf("result %d of %d is final: %v", i, len(all), result.Final)
					}
				}
				want := heardWords(words * wordMs * bytesPerMs)
				for i := range want {
					want[i] += test.suffix
				}
				last := all[len(all)-1]
				if !slices.Equal(texts(last.Words), want) || last.Confirmed != words {
					t.Errorf("heard %q with %d confirmed, want %q", last.Text(), last.Confirmed, want)
				}
				if word := last.Words[words-1]; test.timed && (word.StartMs != int64(words-1)*wordMs || word.EndMs <= word.StartMs) {
					t.Errorf("the last word of utterance %d is at %d to %d", number, word.StartMs, word.EndMs)
				}
			}
			for _, want := range test.requests {
				if !strings.Contains(d.noted(), want) {
					t.Errorf("the server did not get %s, but:\n%s", want, d.noted())
				}
			}
		})
	}
}

// TestKeepAlive checks that a connection is kept open while nobody speaks.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	d := newDouble(t, "Token "+testKey, serveDeepgram)
	r := newRecognizer(t, Config{Protocol: Deepgram, URL: d.URL, APIKey: testKey})
	in := make(chan Audio)
	go func() {
		defer close(in)
		utter(in, 1, 1000)
		<-d.idle
		utter(in, 2, 1000)
	}()
	var finals []string
	err := r.Recognize(t.Context(), Options{}, in, func(r Result) {
		if r.Final {
			finals = append(finals, r.Text())
		}
	})
	if err != nil || !slices.Equal(finals, []string{"w0. w1.", "w0. w1."}) || strings.Count(d.noted(), "/v1/listen") != 1 {
		t.Errorf("heard %q, %v; the server got:\n%s", finals, err, d.noted())
	}
}

// TestRefusals checks that the reason of a failure is returned, without the key.
func TestRefusals(t *testing.T) {
	t.Parallel()
	status := func(status int) func(*double, http.ResponseWriter, *http.Request) {
		return func(_ *double, w http.ResponseWriter, _ *http.Request) { http.Error(w, "it is "+testKey, status) }
	}
	hangUp := func(_ *double, w http.ResponseWriter, r *http.Request) {
		s, err := accept(w, r)
		if err == nil {
			s.Close(websocket.StatusInternalError, "NET-0001 "+testKey)
		}
	}
	garbage := func(_ *double, w http.ResponseWriter, r *http.Request) {
		s, err := accept(w, r)
		if err == nil {
			defer s.CloseNow()
			_ = s.Write(s.ctx, websocket.MessageText, []byte("<html>"))
			_, _, _ = s.Read(s.ctx)
		}
	}
	tests := map[string]struct {
		protocol Protocol
		key      string
		serve    func(*double, http.ResponseWriter, *http.Request)
		want     string
	}{
		"http: wrong key": {OpenAIHTTP, "other", status(200), "answered with status 401"},
		"http: wrong URL": {OpenAIHTTP, testKey, status(404), "answered with status 404: it is …"},
		"http: away":      {OpenAIHTTP, testKey, status(503), "answered with status 503"},
		"http: another API": {
			OpenAIHTTP, testKey, func(_ *double, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "not usable",
		},
		"realtime: wrong key":     {OpenAIRealtime, "other", serveOpenAI, "answered with status 401"},
		"realtime: wrong URL":     {OpenAIRealtime, testKey, status(404), "answered with status 404"},
		"realtime: unknown model": {OpenAIRealtime, testKey, serveVLLM, "The model `gpt-live-transcribe` does not exist, …"},
		"realtime: garbage":       {OpenAIRealtime, testKey, garbage, "not usable"},
		"deepgram: wrong key":     {Deepgram, "other", serveDeepgram, "answered with status 401"},
		"deepgram: closed":        {Deepgram, testKey, hangUp, "NET-0001 …"},
		"deepgram: garbage":       {Deepgram, testKey, garbage, "not usable"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := "Bearer "
			if test.protocol == Deepgram {
				scheme = "Token "
			}
			d := newDouble(t, scheme+testKey, test.serve)
			r := newRecognizer(t, Config{Protocol: test.protocol, URL: d.URL, APIKey: test.key})
			in := make(chan Audio)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			go func() {
				for number := 1; ; number++ {
					select {
					case in <- Audio{Utterance: number, PCM: tone(1000, 0.3), End: true}:
					case <-ctx.Done():
						return
					}
				}
			}()
			err := r.Recognize(ctx, Options{}, in, func(Result) {})
			failed := new(transcript.Error)
			if !errors.As(err, &failed) || !strings.Contains(failed.Error(), test.want) || strings.Contains(err.Error(), testKey) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestSettings checks the settings that cannot work, and the address of a server that may
// not be called.
func TestSettings(t *testing.T) {
	t.Parallel()
	for config, want := range maps.All(map[Config]string{
		{URL: "https://example.com"}:                             "needs STANDIN_LIVE_TRANSCRIBER",
		{Protocol: "morse"}:                                      "must be openai-http",
		{Protocol: OpenAIHTTP, URL: "example.com"}:               "http://, https://",
		{Protocol: Deepgram, URL: "ftp://example.com"}:           "https://, ws://, wss://",
		{Protocol: OpenAIRealtime, URL: "wss://me:pw@localhost"}: "without credentials",
	}) {
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%+v: error %v, want %q", config, err, want)
		}
	}
}

// TestUpsampling checks that sound keeps its length and level at 24 kHz.
func TestUpsampling(t *testing.T) {
	t.Parallel()
	var r realtime
	r.begin()
	m := r.audio(tone(100, 0.3))
	var e struct{ Audio string }
	if err := json.Unmarshal(m.data, &e); err != nil {
		t.Fatal(err)
	}
	pcm, err := base64.StdEncoding.DecodeString(e.Audio)
	if err != nil || len(pcm) != 100*24*2 || rms(pcm) < 0.95*rms(tone(100, 0.3)) || rms(pcm) > 1.02*rms(tone(100, 0.3)) {
		t.Errorf("%d bytes with the level %.0f, %v", len(pcm), rms(pcm), err)
	}
}
