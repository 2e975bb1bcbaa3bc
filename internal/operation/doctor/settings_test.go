package doctor

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"standin/internal/bot/notetaker"
	"standin/internal/testing/profiletest"
)

func TestBaseURL(t *testing.T) {
	t.Parallel()
	const local, everywhere = "127.0.0.1:8080", "0.0.0.0:8080"
	for _, test := range []struct {
		base, listen string
		state        State
		want         string
	}{
		{"", local, OK, "http://127.0.0.1:8080"},
		{"", "localhost:0", OK, "this machine"},
		{"", everywhere, Warn, "STANDIN_BASE_URL"},
		{"", "nonsense", Fail, "STANDIN_LISTEN"},
		{"https://standin.example.com", everywhere, OK, "standin.example.com"},
		{"https://example.com/standin", local, OK, "example.com"},
		{"http://127.0.0.1:8080", local, OK, "127.0.0.1"},
		{"http://localhost:8080", everywhere, Warn, "own machine"},
		{"http://standin.example.com", everywhere, Warn, "not encrypted"},
		{"standin.example.com", everywhere, Fail, "not an http or https"},
		{"ftp://standin.example.com", everywhere, Fail, "not an http or https"},
		{"https://", everywhere, Fail, "not an http or https"},
		{"https://example.com/?a=b", everywhere, Fail, "query"},
	} {
		check := checkBaseURL(Settings{BaseURL: test.base, Listen: test.listen})
		expect(t, check, test.state, test.want)
	}
	server := httptest.NewServer(http.NewServeMux())
	defer server.Close()
	expect(t, probeBaseURL(t.Context(), Settings{BaseURL: server.URL, Listen: local}), Warn, "404 Not Found")
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	expect(t, checkProfiles(Settings{}), OK, "meet version ", "notetakers version ", "(embedded)")

	own := profiletest.With(t, func(text string) string { return text })
	expect(t, checkProfiles(Settings{Profiles: own}), OK, own)
	broken := profiletest.With(t, func(text string) string { return text + "\nsurprise: 1\n" })
	expect(t, checkProfiles(Settings{Profiles: broken}), Fail, "surprise", broken)
	expect(t, checkProfiles(Settings{Profiles: filepath.Join(own, "missing")}), Fail, "missing")

	list := filepath.Join(own, filepath.FromSlash(notetaker.File))
	if err := os.MkdirAll(filepath.Dir(list), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(list, []byte("version: 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, checkProfiles(Settings{Profiles: own}), Fail, "notetakers.yaml", "version: must be 1")
}
