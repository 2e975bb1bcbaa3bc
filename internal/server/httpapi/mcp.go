package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"standin/client"
)

// maxAgentMessage bounds a message of an agent in bytes. The longest texts of all
// arguments are shorter.
const maxAgentMessage = 64 << 10

// mcp serves agents that speak the Model Context Protocol. Their tools are requests to
// this API with the same key.
func (a *API) mcp(r *apiRequest) error {
	pages := http.NewCrossOriginProtection()
	if base, err := url.Parse(a.BaseURL); err == nil {
		_ = pages.AddTrustedOrigin(base.Scheme + "://" + base.Host) // a proxy may change the host of the request
	}
	if pages.Check(r.Request) != nil {
		return &failure{status: http.StatusForbidden, code: "forbidden", message: "Pages of other sites cannot use this service as an agent."}
	}
	done, err := a.agents.TryAcquire(r.caller.ConsumerID.String(), 1)
	if err != nil {
		return err
	}
	defer done()
	body, decoded, err := r.readBody(maxAgentMessage)
	if err != nil {
		return err
	}
	defer decoded()
	ctx, stop := a.untilDrain(r.Context())
	defer stop()
	token, _ := r.bearer()
	api, err := client.New("http://"+inProcessHost, token)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	outer := r.WithContext(ctx)
	api = api.WithHTTPClient(&http.Client{Transport: inProcess{a, outer, decoded}})
	a.Agents.ServeHTTP(r, outer, body, decoded, api, a.Timeouts.Stall)
	return nil
}

// inProcessHost is the host of requests to inProcess. It is never resolved.
const inProcessHost = "standin.internal"

// inProcess is an http.RoundTripper that serves requests with a handler in this process.
// They come from the client of another request.
type inProcess struct {
	handler http.Handler
	outer   *http.Request
	decoded func() // a request begins when the other one is decoded
}

// RoundTrip implements http.RoundTripper. The response streams.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	p.decoded()
	ctx, cancel := context.WithCancel(r.Context())
	inner := r.Clone(ctx)
	inner.RemoteAddr, inner.RequestURI = p.outer.RemoteAddr, r.URL.RequestURI()
	if forwarded := p.outer.Header.Values("X-Forwarded-For"); len(forwarded) > 0 {
		inner.Header["X-Forwarded-For"] = forwarded
	}
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	reader, writer := io.Pipe()
	w := &pipeWriter{header: http.Header{}, body: writer, started: make(chan struct{})}
	var serving sync.WaitGroup
	serving.Go(func() {
		defer func() {
			err := ctx.Err() // nil ends the body
			if cause := recover(); cause != nil {
				err = fmt.Errorf("the handler panicked: %v", cause) // it has been logged
			}
			w.WriteHeader(http.StatusOK) // unless it has
			writer.CloseWithError(err)
		}()
		p.handler.ServeHTTP(w, inner)
	})
	body := &pipeBody{PipeReader: reader, cancel: cancel, serving: &serving}
	select {
	case <-w.started:
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), body.Close())
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: body, ContentLength: -1, Request: r,
	}, nil
}

// pipeWriter writes a response to a pipe.
type pipeWriter struct {
	header  http.Header
	body    *io.PipeWriter
	started chan struct{} // closed when status and sent are known
	status  int
	sent    http.Header
}

// Header implements http.ResponseWriter.
func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *pipeWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	}
}

// Write implements http.ResponseWriter.
func (w *pipeWriter) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(data)
}

// Flush implements http.Flusher. A pipe has no buffer.
func (w *pipeWriter) Flush() {}

// pipeBody is the body of a response from a pipe.
type pipeBody struct {
	*io.PipeReader
	cancel  context.CancelFunc
	serving *sync.WaitGroup
}

// Close ends the request and waits for its handler.
func (b *pipeBody) Close() error {
	b.cancel()
	err := b.PipeReader.Close()
	b.serving.Wait()
	return err
}
