package doctor

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"standin/internal/recording/transcript"
	"standin/internal/recording/transcript/streaming"
)

// TestTranscriber checks that half a second of audio is sent, and that the check says
// what the transcriber answers and never its key.
func TestTranscriber(t *testing.T) {
	t.Parallel()
	expect(t, checkTranscriber(t.Context(), Settings{}), OK, "STANDIN_TRANSCRIBER_URL is not set")
	tests := map[string]struct {
		status int
		body   string
		state  State
		texts  []string
	}{
		"answers":       {200, `{"text": "Hello."}`, OK, []string{"whisper-1", `"Hello."`}},
		"hears nothing": {200, `{"text": ""}`, Warn, []string{"heard nothing"}},
		"wrong key":     {401, "hunter2 is wrong", Fail, []string{"status 401", "STANDIN_TRANSCRIBER_API_KEY"}},
		"wrong URL":     {404, "not here", Fail, []string{"status 404", "not here", "STANDIN_TRANSCRIBER_URL"}},
		"another API":   {200, "<html></html>", Fail, []string{"not usable", "POST /v1/audio/transcriptions"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				file, _, err := r.FormFile("file")
				if err != nil {
					t.Error(err)
					return
				}
				defer file.Close()
				if audio, err := io.ReadAll(file); err != nil || len(audio) != 44+16000 { // 16 kHz, 2 bytes
					t.Errorf("got %d bytes of audio (%v), want half a second", len(audio), err)
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}))
			defer server.Close()
			config := transcript.Config{URL: server.URL, APIKey: "hunter2"}
			check := checkTranscriber(limited(t), Settings{Transcriber: config})
			expect(t, check, test.state, test.texts...)
			if strings.Contains(check.Found+check.Fix, "hunter2") {
				t.Errorf("the check contains the key: %+v", check)
			}
		})
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	expect(t, checkTranscriber(limited(t), Settings{Transcriber: transcript.Config{URL: closed.URL}}), Fail,
		"did not answer", "STANDIN_TRANSCRIBER_URL")
	expect(t, checkTranscriber(limited(t), Settings{Transcriber: transcript.Config{URL: "ftp://x"}}), Fail, "http://, https://")
}

// TestLiveTranscriber checks that speech is sent, and that the check says what the live
// transcriber answers and never its key.
func TestLiveTranscriber(t *testing.T) {
	t.Parallel()
	expect(t, checkLiveTranscriber(t.Context(), Settings{}), OK, "STANDIN_LIVE_TRANSCRIBER is not set")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer hunter2":
			http.Error(w, r.Header.Get("Authorization")+" is wrong", http.StatusUnauthorized)
		case r.URL.Path != "/v1/audio/transcriptions":
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, `{"text": "Hello."}`)
		}
	}))
	t.Cleanup(server.Close)
	tests := map[string]struct {
		config streaming.Config
		state  State
		texts  []string
	}{
		"answers": {
			streaming.Config{Protocol: streaming.OpenAIHTTP, URL: server.URL, APIKey: "hunter2"}, OK, []string{"whisper-1", `"Hello."`},
		},
		"wrong key": {
			streaming.Config{Protocol: streaming.OpenAIHTTP, URL: server.URL, APIKey: "hunter3"}, Fail,
			[]string{"status 401", "STANDIN_LIVE_TRANSCRIBER_API_KEY"},
		},
		"wrong protocol": {
			streaming.Config{Protocol: streaming.OpenAIRealtime, URL: server.URL, APIKey: "hunter2"}, Fail,
			[]string{"status 404", "STANDIN_LIVE_TRANSCRIBER to the protocol"},
		},
		"wrong setting": {streaming.Config{Protocol: streaming.Deepgram, URL: "ftp://x"}, Fail, []string{"http://, https://, ws://, wss://"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := checkLiveTranscriber(limited(t), Settings{Live: test.config})
			expect(t, check, test.state, test.texts...)
			if strings.Contains(check.Found+check.Fix, "hunter") {
				t.Errorf("the check contains the key: %+v", check)
			}
		})
	}
}
