package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"

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
		return err
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

// RoundTrip implements http.RoundTripper. It returns the whole response: agents read no streams that stay open.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	p.decoded()
	inner := r.Clone(r.Context())
	inner.RemoteAddr, inner.RequestURI = p.outer.RemoteAddr, r.URL.RequestURI()
	if forwarded := p.outer.Header.Values("X-Forwarded-For"); len(forwarded) > 0 {
		inner.Header["X-Forwarded-For"] = forwarded
	}
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	w := &keptResponse{header: http.Header{}, status: http.StatusOK}
	p.handler.ServeHTTP(w, inner)
	if err := r.Context().Err(); err != nil { // the handler may not have responded
		return nil, err
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.Buffer), ContentLength: int64(w.Len()), Request: r,
	}, nil
}

// keptResponse is a response in memory.
type keptResponse struct {
	bytes.Buffer
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (w *keptResponse) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *keptResponse) WriteHeader(status int) { w.status = status }

// Flush implements http.Flusher.
func (w *keptResponse) Flush() {}
