package replica

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
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

// TestHosts lets a host decide, and nobody else.
func TestHosts(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{HostKey: "secret", Relay: true, Participants: People()})
	enter := func(key string) string {
		_, answer := call(t, "POST", s.URL()+"/stage/"+m.Code()+"/guests", `{"hostKey":"`+key+`"}`, nil)
		path := "/stage/" + m.Code() + "/guests/" + answer["guest"].(string)
		call(t, "POST", s.URL()+path+"/ask", `{"name":"Eve"}`, nil)
		return path
	}
	host, guest, other := enter("secret"), enter("wrong"), enter("")
	for _, test := range []struct {
		path, body string
		status     int
	}{
		{guest + "/admit", `{"guest":"g2"}`, 409},
		{host + "/admit", `{"guest":"g2"}`, 204},
		{guest + "/end", `{}`, 409},
		{guest + "/deny", `{"guest":"g3"}`, 409},
		{host + "/deny", `{"guest":"g3"}`, 204},
		{host + "/remove", `{"guest":""}`, 404},
		{host + "/remove", `{"guest":"g9"}`, 409},
		{other + "/chat", `{"text":"hello"}`, 409},
	} {
		if status, answer := call(t, "POST", s.URL()+test.path, test.body, nil); status != test.status {
			t.Errorf("%s %s: %d %v, want %d", test.path, test.body, status, answer, test.status)
		}
	}
	if states := m.Guests(); states[0].State != StateAdmitted || states[1].State != StateAdmitted || states[2].State != StateDenied {
		t.Errorf("guests %+v", states)
	}
}

// FuzzPageAPI checks that the server answers any request of a page, and only for its guest.
func FuzzPageAPI(f *testing.F) {
	for action, body := range map[string]string{
		"ask": `{"name":"Ada","passcode":"x"}`, "chat": `{"text":"hello"}`, "pin": `{"participant":"p1"}`,
		"media":   `{"sdp":"v=0\r\n","type":"offer"}`,
		"devices": `{"microphone":true,"camera":false}`, "leave": `{}`, "permission": `null`,
	} {
		f.Add("POST", "/guests/g1/"+action, body)
	}
	f.Add("POST", "/guests", `{"passcode":1}`)
	f.Add("GET", "", "")
	f.Fuzz(func(t *testing.T, method, path, body string) {
		s := startServer(t, nil)
		m := openMeeting(t, s, Settings{NoLobby: true})
		visitor(t, m)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/stage/"+m.Code(), strings.NewReader(body))
		request.Method, request.URL.Path = method, request.URL.Path+path
		if strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/hang") {
			return // they last
		}
		response := httptest.NewRecorder()
		s.routes().ServeHTTP(response, request)
		if response.Code >= http.StatusInternalServerError {
			t.Errorf("%s %s: %d %s", method, path, response.Code, response.Body)
		}
		if guests := m.Guests(); guests[0].ID != "g1" || len(guests) > 2 {
			t.Errorf("%s %s: the guests are %+v", method, path, guests)
		}
	})
}
