package replica

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// call sends a request and decodes the response.
func call(t *testing.T, method, url, body string, header http.Header) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var content bytes.Buffer
	if _, err := content.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(content.Bytes(), &decoded); err != nil {
			t.Fatalf("%s %s: %v in %s", method, url, err, content.String())
		}
	}
	return response.StatusCode, decoded
}

func TestPageAPIRefuses(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{})
	foreign := http.Header{"Origin": {"http://elsewhere.example"}}
	for _, test := range []struct {
		name, method, path, body string
		header                   http.Header
		status                   int
	}{
		{"unknown meeting", "GET", "/stage/zzz-zzzz-zzz", "", nil, 404},
		{"a page elsewhere", "POST", "/stage/" + m.Code() + "/guests", "{}", foreign, 403},
		{"not JSON", "POST", "/stage/" + m.Code() + "/guests", "not JSON", nil, 400},
		{"too large", "POST", "/stage/" + m.Code() + "/guests", strings.Repeat(" ", maxBodyBytes+1), nil, 413},
		{"unknown guest", "POST", "/stage/" + m.Code() + "/guests/g9/leave", "{}", nil, 404},
		{"unknown action", "POST", "/stage/" + m.Code() + "/guests/g9/fly", "{}", nil, 404},
	} {
		if status, answer := call(t, test.method, s.URL()+test.path, test.body, test.header); status != test.status {
			t.Errorf("%s: %d %v, want %d", test.name, status, answer, test.status)
		}
	}
}
