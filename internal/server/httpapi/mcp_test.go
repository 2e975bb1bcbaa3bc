package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"standin/internal/server/httpapi"
	"standin/internal/server/mcpserver"
	"standin/internal/testing/await"
)

// message returns a message of an agent.
func message(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}

// TestAgents sends messages to /mcp. Authentication and the limits of bodies are those of
// the API. Without agents, the path does not exist.
func TestAgents(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.Agents, settings.BaseURL = mcpserver.New(slog.New(slog.DiscardHandler)), "https://standin.example.com"
	})
	ownJob := message("tools/call", `{"name":"get_job","arguments":{"jobId":"`+adasJob.String()+`"}}`)
	initialize := message("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	for name, test := range map[string]struct {
		method, key, body string
		status            int
		want              string
	}{
		"initialize":             {"POST", adasKey, initialize, 200, `"name":"standin"`},
		"own job":                {"POST", adasKey, ownJob, 200, adasJob.String()},
		"job of another":         {"POST", bobsKey, ownJob, 200, "not_found"},
		"no arguments":           {"POST", adasKey, message("tools/call", `{"name":"get_job","arguments":null}`), 200, `"isError":true`},
		"no object":              {"POST", adasKey, message("tools/call", `{"name":"list_jobs","arguments":[null]}`), 200, ""},
		"no parameters":          {"POST", adasKey, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}`, 200, ""},
		"no key":                 {"POST", "", initialize, 401, "unauthorized"},
		"wrong key":              {"POST", "standin_live_x", initialize, 401, "unauthorized"},
		"another method":         {"GET", adasKey, "", 405, "method_not_allowed"},
		"another method, no key": {"DELETE", "", "", 401, "unauthorized"},
		"too large": {
			"POST", adasKey, message("ping", `{"_meta":{"x":"`+strings.Repeat("x", 64<<10)+`"}}`), 413, "payload_too_large",
		},
		"batch":          {"POST", adasKey, " [" + initialize + "]", 400, `"code":-32600`},
		"no JSON":        {"POST", adasKey, "{", 400, `"code":-32700`},
		"no message":     {"POST", adasKey, "{}", 400, `"code":-32600`},
		"no ID":          {"POST", adasKey, `{"jsonrpc":"2.0","method":"tools/list"}`, 400, `"code":-32600`},
		"unknown method": {"POST", adasKey, message("tools/make", `{}`), 200, `"id":1,"error":{"code":-32601`},
	} {
		t.Run(name, func(t *testing.T) {
			header := map[string]string{
				"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Host": "standin.example.com",
			}
			got := s.send(t, request{test.method, "/mcp", test.key, header, test.body})
			if got.status != test.status || !strings.Contains(got.body, test.want) {
				t.Errorf("%d %s, want %d with %s", got.status, got.body, test.status, test.want)
			}
			if test.status >= 400 && got.header.Get("Content-Type") != "application/json" {
				t.Errorf("the error is %s", got.header.Get("Content-Type"))
			}
			if test.status == http.StatusUnauthorized && got.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("the challenge is %q", got.header.Get("WWW-Authenticate"))
			}
		})
	}
	for origin, status := range map[string]int{"https://evil.example": 403, "null": 403, s.url: 200, "https://standin.example.com": 200} {
		header := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Origin": origin}
		if got := s.send(t, request{"POST", "/mcp", adasKey, header, initialize}); got.status != status {
			t.Errorf("a page of %s: %d %s", origin, got.status, got.body)
		}
	}
	without := newSurface(t, nil)
	if got := without.send(t, request{"POST", "/mcp", adasKey, nil, initialize}); got.status != http.StatusNotFound {
		t.Errorf("without agents: %d", got.status)
	}
}

// TestAgentsAtATime sends more messages that wait than a consumer may. Other consumers are
// served, and so is this one when a message is answered.
func TestAgentsAtATime(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) { settings.Agents = mcpserver.New(slog.New(slog.DiscardHandler)) })
	padding := `"_meta":{"x":"` + strings.Repeat("x", 60<<10) + `"}` // all together, more than the bodies of an address
	waiting := message("tools/call", `{"name":"wait_for","arguments":{"jobId":"`+newAdaJob.String()+`","until":"ended","timeoutSeconds":300},`+
		padding+`}`)
	ping := message("ping", `{}`)
	header := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
	ctx, stop := context.WithCancel(t.Context())
	var waits sync.WaitGroup
	defer waits.Wait()
	defer stop()
	const most = 50
	for range most {
		waits.Go(func() {
			for ctx.Err() == nil { // again when the ping below has taken the last place
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/mcp", strings.NewReader(waiting))
				if err != nil {
					t.Error(err)
					return
				}
				for name, value := range header {
					r.Header.Set(name, value)
				}
				r.Header.Set("Authorization", "Bearer "+adasKey)
				if got, err := http.DefaultClient.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, got.Body) // until stop
					_ = got.Body.Close()
				}
			}
		})
	}
	await.Until(t, "too many messages of ada", func() bool {
		got := s.send(t, request{"POST", "/mcp", adasKey, header, ping})
		return got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") != ""
	})
	if got := s.send(t, request{"POST", "/mcp", bobsKey, header, message("ping", `{`+padding+`}`)}); got.status != http.StatusOK {
		t.Errorf("bob: %d %s", got.status, got.body)
	}
	stop()
	await.Until(t, "ada is served again", func() bool {
		return s.send(t, request{"POST", "/mcp", adasKey, header, ping}).status == http.StatusOK
	})
}
