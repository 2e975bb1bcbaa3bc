package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"standin/client"
)

// keepAlive is the longest time without a byte in a response.
const keepAlive = 15 * time.Second

// ServeHTTP serves a message of one agent with a client's key: a POST of the streamable
// HTTP transport, without a session, so that each node can serve it. Calls end when the
// agent is gone. A client that does not read for the time stall is disconnected. It calls
// decoded, perhaps more than once, when the response starts.
func (t *Tools) ServeHTTP(
	w http.ResponseWriter, r *http.Request, body []byte, decoded func(), api *client.Client, stall time.Duration,
) {
	server := t.newServer(r.Context(), api, nil)
	out := &answerWriter{livelyWriter: newLivelyWriter(w, decoded, stall)}
	defer out.stop()
	message, err := jsonrpc.DecodeMessage(body)
	switch {
	case !json.Valid(body):
		out.refuse(http.StatusBadRequest, jsonrpc.CodeParseError, "The body is not JSON.")
		return
	case err != nil:
		out.refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "The body is not one JSON-RPC message.")
		return
	}
	out.request, _ = message.(*jsonrpc.Request)
	r.Body = io.NopCloser(bytes.NewReader(body))
	mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // a proxy on this machine passes the public host name on
	}).ServeHTTP(out, r)
}

// answerWriter writes the answer to a message. It turns the plain text with which the SDK refuses a
// message into a JSON-RPC error.
type answerWriter struct {
	*livelyWriter
	request *jsonrpc.Request // nil for other messages
	refused int              // status of a refusal, whose text is written next
}

// WriteHeader implements http.ResponseWriter.
func (a *answerWriter) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		a.refused = status
		return
	}
	a.livelyWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answerWriter) Write(data []byte) (int, error) {
	if a.refused == 0 {
		return a.livelyWriter.Write(data)
	}
	text := strings.TrimSpace(string(data))
	if a.request != nil && a.request.IsCall() && strings.HasSuffix(text, fmt.Sprintf("%q unsupported", a.request.Method)) {
		a.refuse(http.StatusOK, jsonrpc.CodeMethodNotFound, fmt.Sprintf("Unknown method %q.", a.request.Method))
	} else {
		a.refuse(a.refused, jsonrpc.CodeInvalidRequest, text)
	}
	return len(data), nil
}

// refuse writes a JSON-RPC error. It has the ID of the request, if there is one.
func (a *answerWriter) refuse(status int, code int64, text string) {
	answer := &jsonrpc.Response{Error: &jsonrpc.Error{Code: code, Message: text}}
	if a.request != nil {
		answer.ID = a.request.ID
	}
	data, err := jsonrpc.EncodeMessage(answer)
	if err != nil {
		status, data = http.StatusInternalServerError, nil
	}
	a.header.Set("Content-Type", "application/json")
	a.livelyWriter.WriteHeader(status)
	_, _ = a.livelyWriter.Write(data) // the agent is gone
}

// livelyWriter writes a comment to a stream of events whenever nothing was written for a
// while: proxies close connections that seem idle. It is safe for concurrent use.
type livelyWriter struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	starts  func()
	stall   time.Duration
	header  http.Header // before the response starts

	mu      sync.Mutex
	idle    *time.Timer
	started bool
	events  bool // the response is a stream of events
	stopped bool
}

func newLivelyWriter(w http.ResponseWriter, starts func(), stall time.Duration) *livelyWriter {
	l := &livelyWriter{writer: w, control: http.NewResponseController(w), starts: starts, stall: stall, header: http.Header{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = time.AfterFunc(keepAlive, l.comment)
	return l
}

// stop ends the comments. Call it before the handler returns.
func (l *livelyWriter) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.idle.Stop()
}

// comment keeps the response alive. Without a response so far, the agent waits for the
// result of a call, which is an event.
func (l *livelyWriter) comment() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.started && !l.events {
		return
	}
	if !l.started {
		l.start(http.StatusOK, http.Header{"Content-Type": {eventStream}})
	}
	if _, err := l.write([]byte(":\n\n")); err == nil {
		_ = l.control.Flush() // the next write reports the error
	}
}

const eventStream = "text/event-stream"

// start writes the headers of the response.
func (l *livelyWriter) start(status int, header http.Header) {
	l.starts()
	l.started, l.events = true, header.Get("Content-Type") == eventStream
	maps.Copy(l.writer.Header(), header)
	if l.events {
		l.writer.Header().Set("X-Accel-Buffering", "no") // or a proxy would buffer the stream
	}
	l.writer.WriteHeader(status)
}

// write writes a part of the body, and waits for the next comment.
func (l *livelyWriter) write(data []byte) (int, error) {
	l.idle.Reset(keepAlive)
	_ = l.control.SetWriteDeadline(time.Now().Add(l.stall)) // writers without deadlines need none
	return l.writer.Write(data)
}

// Header implements http.ResponseWriter.
func (l *livelyWriter) Header() http.Header { return l.header }

// WriteHeader implements http.ResponseWriter.
func (l *livelyWriter) WriteHeader(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.started {
		l.start(status, l.header)
	}
}

// Write implements http.ResponseWriter.
func (l *livelyWriter) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.started {
		l.start(http.StatusOK, l.header)
	}
	return l.write(data)
}

// Flush implements http.Flusher.
func (l *livelyWriter) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.control.Flush() // the next write reports the error
}
