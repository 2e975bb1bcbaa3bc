package speech_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/base/dialguard"
	"standin/internal/jobs/job"
	"standin/internal/recording/speech"
)

// TestRefusals checks that consumers read why the speech server refuses a text, but
// nothing of its key.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status       int
		answer, want string
	}{
		"wrong key":    {401, "Incorrect API key provided: secr*-key", "the speech server answered 401"},
		"no rights":    {403, "secr*-key may not speak", "the speech server answered 403"},
		"bad text":     {400, "no such voice\nfor secret-key", "the speech server answered 400: no such voice for …"},
		"long refusal": {500, strings.Repeat("x", 1000), "the speech server answered 500: " + strings.Repeat("x", 300)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer secret-key" {
					t.Errorf("authorization %q", r.Header.Get("Authorization"))
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.answer))
			}))
			t.Cleanup(server.Close)
			maker, err := speech.NewMaker(speech.Settings{
				Config: speech.Config{
					URL: server.URL, APIKey: "secret-key",
				}, Dir: t.TempDir(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := maker.Speak(t.Context(), uuid.New(), speech.Text{Text: "hello"}); !job.ErrorIs(err, job.Unavailable) ||
				err.Error() != "unavailable: "+test.want {
				t.Errorf("error is %v, want %s", err, test.want)
			}
		})
	}
}

// TestProxy checks that files of consumers are fetched through the proxy of the operator.
func TestProxy(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(proxy.Close)
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	maker, err := speech.NewMaker(speech.Settings{Files: dialguard.Network{Proxy: address}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = maker.Sound(t.Context(), uuid.New(), speech.File{URI: "http://files.example/a.mp3"})
	if got := <-asked; got != "http://files.example/a.mp3" || !strings.Contains(err.Error(), "answered 418") {
		t.Errorf("the proxy was asked for %s: %v", got, err)
	}
}
