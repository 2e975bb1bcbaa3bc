package zoomsdk_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ask sends one request and returns the status, header and body.
func ask(t *testing.T, method, address string, change func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(request)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

func TestServerGivesThePageBySecretOnly(t *testing.T) {
	t.Parallel()
	adapter := newAdapter(t, doubleDir)
	address, err := adapter.Address(testURL)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(address.URL, adapter.Origin()+"/") || strings.Contains(address.URL, testNumber) {
		t.Errorf("the page's address is %s, at the origin %s", address.URL, adapter.Origin())
	}
	status, header, body := ask(t, http.MethodGet, address.URL, nil)
	if status != http.StatusOK || !strings.Contains(body, "zoom-meeting-0.0.0.min.js") {
		t.Errorf("the page is answered %d: %s", status, body)
	}
	for _, secret := range []string{testSecret, testKey, "right", testNumber} {
		if strings.Contains(body, secret) {
			t.Errorf("the document holds %q", secret)
		}
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Embedder-Policy": "credentialless", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "origin",
		"Cache-Control": "no-store",
	} {
		if !strings.Contains(header.Get(name), want) {
			t.Errorf("%s is %q, want %q in it", name, header.Get(name), want)
		}
	}
	for name, wrong := range map[string]string{
		"no secret": adapter.Origin() + "/join/", "another": adapter.Origin() + "/join/ABCDEFGHIJKLMNOPQRSTUVWXYZ/",
		"the root": adapter.Origin() + "/",
	} {
		if status, _, _ := ask(t, http.MethodGet, wrong, nil); status != http.StatusNotFound {
			t.Errorf("%s: answered %d", name, status)
		}
	}
}

func TestServerGivesTheTicketToItsOwnPageOnly(t *testing.T) {
	t.Parallel()
	adapter := newAdapter(t, doubleDir)
	address, err := adapter.Address(testURL + "&tk=registrant")
	if err != nil {
		t.Fatal(err)
	}
	own := func(r *http.Request) { r.Header.Set("Origin", adapter.Origin()) }
	status, header, body := ask(t, http.MethodPost, address.URL+"ticket", own)
	if status != http.StatusOK || header.Get("Cache-Control") != "no-store" {
		t.Fatalf("the ticket is answered %d: %s", status, body)
	}
	var got struct{ MeetingNumber, Passcode, Token, Signature string }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.MeetingNumber != testNumber || got.Passcode != "right" || got.Token != "registrant" {
		t.Errorf("the ticket is %+v", got)
	}
	if claims := readSignature(t, got.Signature, testSecret); claims["mn"] != testNumber || claims["role"] != 0.0 {
		t.Errorf("the signature claims %v", claims)
	}
	if strings.Contains(body, testSecret) {
		t.Error("the ticket holds the secret")
	}
	for name, test := range map[string]struct {
		method, address string
		change          func(*http.Request)
		want            int
	}{
		"no origin": {http.MethodPost, address.URL + "ticket", nil, http.StatusForbidden},
		"another origin": {http.MethodPost, address.URL + "ticket", func(r *http.Request) {
			r.Header.Set("Origin", "https://zoom.us")
		}, http.StatusForbidden},
		"another host": {http.MethodPost, address.URL + "ticket", func(r *http.Request) {
			own(r)
			r.Host = "rebound.example"
		}, http.StatusForbidden},
		"by GET":         {http.MethodGet, address.URL + "ticket", own, http.StatusMethodNotAllowed},
		"another secret": {http.MethodPost, adapter.Origin() + "/join/ABCDEFGHIJKLMNOPQRSTUVWXYZ/ticket", own, http.StatusNotFound},
		"too long": {http.MethodPost, address.URL + "ticket", func(r *http.Request) {
			own(r)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20))), 1<<20
		}, http.StatusRequestEntityTooLarge},
	} {
		if status, _, body := ask(t, test.method, test.address, test.change); status != test.want || strings.Contains(body, "right") {
			t.Errorf("%s: answered %d, want %d", name, status, test.want)
		}
	}
}

func TestServerGivesNothingButTheSDKsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(doubleDir)); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside.js")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "dist", "lib", "link.js")); err != nil {
		t.Fatal(err)
	}
	adapter := newAdapter(t, dir)
	for path, want := range map[string]int{
		"/sdk/zoom-meeting-0.0.0.min.js":    http.StatusOK,
		"/sdk/lib/av/js_media.min.js":       http.StatusOK,
		"/page/page.js":                     http.StatusOK,
		"/left":                             http.StatusOK,
		"/sdk/":                             http.StatusNotFound,
		"/sdk/lib/":                         http.StatusNotFound,
		"/page/":                            http.StatusNotFound,
		"/sdk/%2e%2e/README.md":             http.StatusNotFound, // of the package, above dist
		"/sdk/README.md":                    http.StatusNotFound,
		"/sdk/lib/..%2f..%2f..%2fREADME.md": http.StatusNotFound,
	} {
		if status, _, _ := ask(t, http.MethodGet, adapter.Origin()+path, nil); status != want {
			t.Errorf("%s: answered %d, want %d", path, status, want)
		}
	}
	if status, _, body := ask(t, http.MethodGet, adapter.Origin()+"/sdk/lib/link.js", nil); status == http.StatusOK ||
		strings.Contains(body, "outside") {
		t.Errorf("a link out of the folder is followed: %d", status)
	}
}
