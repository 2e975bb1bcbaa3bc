package mcpserver_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"standin/client"
	"standin/internal/server/mcpserver"
)

// waitingJob serves a job that does not end.
type waitingJob struct{}

func (waitingJob) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"id":"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80","status":"in_meeting","joinAt":"2026-11-20T13:00:00Z","createdAt":"2026-11-20T13:00:00Z"}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestKeepAlive waits for a job that does not end. A proxy sees comments while the agent
// waits, and the agent its progress if it has asked for it.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ meta, want string }{
		"silent":   {"", ":\n\n"},
		"progress": {`,"_meta":{"progressToken":"p"}`, `"method":"notifications/progress"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api, err := client.New("http://standin.example.com", "key")
				if err != nil {
					t.Fatal(err)
				}
				message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_for","arguments":{"jobId":"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80","until":"ended"}` + test.meta + `}}`
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				w := httptest.NewRecorder()
				started := time.Now()
				decoded := false
				mcpserver.New(slog.New(slog.DiscardHandler)).ServeHTTP(w, r, []byte(message), func() { decoded = true },
					api.WithHTTPClient(&http.Client{Transport: waitingJob{}}), time.Minute)
				if !decoded {
					t.Error("the message was not reported as decoded")
				}
				if waited := time.Since(started); waited != 50*time.Second {
					t.Errorf("waited for %s", waited)
				}
				body := w.Body.String()
				if strings.Count(body, test.want) < 3 || !strings.Contains(body, `\"reached\":false`) || w.Header().Get("X-Accel-Buffering") != "no" {
					t.Errorf("got %v\n%s", w.Header(), body)
				}
			})
		})
	}
}
