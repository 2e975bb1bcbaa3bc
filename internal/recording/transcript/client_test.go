package transcript

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUploads counts how often a piece is uploaded, and in which format.
func TestUploads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		want   []string // response formats of two pieces
	}{
		"unreadable audio": {
			400, `{"error":{"message":"Audio file might be corrupted or unsupported","param":"file"}}`, []string{"verbose_json", "verbose_json"},
		},
		"too long": {
			400, `{"error":{"message":"This model's maximum context length is 16384 tokens","param":null}}`,
			[]string{"verbose_json", "verbose_json"},
		},
		"unknown model": {
			422, `{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required"}]}`, []string{"verbose_json", "verbose_json"},
		},
		"too large":         {413, `{"error":"response_format"}`, []string{"verbose_json", "verbose_json"}},
		"overloaded":        {503, `response_format`, []string{"verbose_json", "verbose_json"}},
		"OpenAI's models":   {400, `{"error":{"message":"response_format 'verbose_json' is not compatible with model 'gpt-4o-transcribe'. Use 'json' or 'text' instead.","param":"response_format"}}`, []string{"verbose_json", "json", "json"}},
		"FastAPI":           {422, `{"detail":[{"type":"enum","loc":["body","response_format"],"msg":"Input should be 'json' or 'text'"}]}`, []string{"verbose_json", "json", "json"}},
		"no times of words": {400, `{"message":"Currently do not support timestamp_granularities"}`, []string{"verbose_json", "json", "json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var formats []string // the client sends one request at a time
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				formats = append(formats, r.FormValue("response_format"))
				file, _, err := r.FormFile("file")
				if err == nil {
					var audio []byte
					if audio, err = io.ReadAll(file); string(audio) != "audio" {
						err = fmt.Errorf("uploaded %q", audio)
					}
				}
				if err != nil {
					t.Error(err)
				}
				if r.FormValue("response_format") == "json" {
					fmt.Fprint(w, `{"text":"hello"}`)
					return
				}
				w.WriteHeader(test.status)
				fmt.Fprint(w, test.body)
			}))
			t.Cleanup(server.Close)
			client, err := NewClient(Config{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				result, err := client.Transcribe(t.Context(), Request{WAV: strings.NewReader("audio"), Length: time.Second})
				refused := new(Error)
				if slices.Contains(test.want, "json") {
					if err != nil || len(result.Segments) != 1 || result.Segments[0].Text != "hello" {
						t.Errorf("recognized %+v, %v", result, err)
					}
				} else if !errors.As(err, &refused) || refused.Status != test.status {
					t.Errorf("error %v, want one with status %d", err, test.status)
				}
			}
			if !slices.Equal(formats, test.want) {
				t.Errorf("uploaded with the formats %q, want %q", formats, test.want)
			}
		})
	}
}
