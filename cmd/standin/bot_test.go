package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// TestTemporaryFolderOfBot checks that a bot without a folder of its own leaves none
// when everything is delivered. The host of its link is refused, so it opens no browser.
// It sets environment variables, so it does not run in parallel.
func TestTemporaryFolderOfBot(t *testing.T) {
	folder, token := t.TempDir(), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true,"applied":true,"status":"failed","commands":[],"nextSeconds":5}`))
	}))
	t.Cleanup(service.Close)
	t.Setenv("TMPDIR", folder)
	t.Setenv("STANDIN_NO_SANDBOX", "true")
	var out, errOut bytes.Buffer
	code := run([]string{
		"bot", "--job", "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80", "--token-file", token, "--service-url", service.URL,
		"--meeting-url", "https://not-allowed.test/meeting",
	}, &out, &errOut)
	if left, err := os.ReadDir(folder); code != 0 || err != nil || len(left) > 0 {
		t.Errorf("exit code %d, left %v (%v)\n%s", code, left, err, errOut.String())
	}
}
