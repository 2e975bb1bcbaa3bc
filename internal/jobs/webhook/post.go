package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/dialguard"
	"standin/internal/base/text"
)

// MaxResponseBody is how much of a response body is read and kept.
const MaxResponseBody = 1 << 10

const (
	userAgent       = "Standin"
	dialTimeout     = 5 * time.Second // leaves time for the request itself
	maxError        = 500             // characters of an error: some quote what the receiver sent
	tlsShare        = 3               // a handshake may take this fraction of a try
	maxIdleConns    = 2048
	pingAfter       = 15 * time.Second // of silence on an HTTP/2 connection
	pingTimeout     = 5 * time.Second
	writeBufferSize = 8 << 10
)

// poster makes single tries.
type poster struct {
	settings Settings
	client   *http.Client
	guard    *dialguard.Guard
}

// newPoster returns a poster that dials through the guard, follows no redirects and
// requests no compression.
func newPoster(settings Settings) *poster {
	guard := &dialguard.Guard{Allow: settings.Allow, OwnHosts: settings.OwnHosts, Resolver: settings.Resolver, Timeout: dialTimeout}
	transport := guard.Transport(settings.Proxy)
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: settings.RootCAs}
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout}
	transport.DisableCompression = true
	transport.TLSHandshakeTimeout = settings.TryTimeout / tlsShare
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = maxIdleConns, settings.MaxTriesPerHost
	transport.WriteBufferSize = writeBufferSize // a webhook and its headers fit into one packet
	return &poster{settings, &http.Client{Transport: transport, CheckRedirect: dialguard.NoRedirects}, guard}
}

// post makes one try. It returns within the timeout.
func (p *poster) post(ctx context.Context, delivery Delivery) Try {
	ctx, cancel := context.WithTimeout(ctx, p.settings.TryTimeout)
	defer cancel()
	try := Try{DeliveryID: delivery.ID, Number: delivery.Attempt, StartedAt: p.settings.Now()}
	started := time.Now() // the monotonic clock measures the latency

	request, err := p.request(ctx, delivery, try.StartedAt)
	if err != nil {
		try.Error, try.unusable = dialguard.Public(err), true
		return try
	}
	public := false
	httpResponse, err := p.client.Do(request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			tcp, ok := info.Conn.RemoteAddr().(*net.TCPAddr)
			public = ok && p.settings.Proxy == nil && p.guard.IsPublic(ctx, tcp.AddrPort().Addr())
		},
	})))
	if err != nil {
		try.Latency, try.Error = time.Since(started), dialguard.Public(err)
		try.LoggedError = text.CleanLine(dialguard.WithoutURL(err).Error(), maxError)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			try.Error = fmt.Sprintf("no response within %s", p.settings.TryTimeout)
		}
		return try
	}
	defer httpResponse.Body.Close()
	// Only the status decides. A body that breaks off, or does not end in time, is kept as
	// far as it was read.
	// The body of an internal service is not shown to consumers (docs/internals/security.md).
	body, _ := io.ReadAll(io.LimitReader(httpResponse.Body, MaxResponseBody))
	if public || p.settings.PrivateBodies {
		try.ResponseBody = body
	}
	try.Latency, try.StatusCode, try.retryAfter = time.Since(started), httpResponse.StatusCode, httpResponse.Header.Get("Retry-After")
	if try.StatusCode >= 300 && try.StatusCode < 400 {
		try.Error = "redirects are not followed"
	}
	return try
}

// request composes and signs the request. Its errors are permanent.
func (p *poster) request(ctx context.Context, delivery Delivery, at time.Time) (*http.Request, error) {
	composed, err := RequestOf(delivery, at)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, composed.URL, bytes.NewReader(composed.Body))
	if err != nil {
		return nil, err
	}
	if scheme := request.URL.Scheme; scheme != "http" && scheme != "https" {
		return nil, errors.New("the URL is neither http nor https")
	}
	if request.URL.Host == "" {
		return nil, errors.New("the URL has no host")
	}
	request.Header = composed.Header
	// The transport repeats the request on another connection if the receiver closes an idle one at
	// that moment: once, since it may have read the request. The empty key is not sent.
	request.Header["Idempotency-Key"] = []string{}
	content, repeated := request.GetBody, false
	request.GetBody = func() (io.ReadCloser, error) {
		if repeated {
			return nil, errors.New("the receiver closed the connection without a response, twice")
		}
		repeated = true
		return content()
	}
	if p.settings.Tracer != nil && delivery.JobID != uuid.Nil {
		request.Header.Set("Traceparent", p.settings.Tracer.Traceparent(delivery))
	}
	return request, nil
}

// Request is the POST request of a try.
type Request struct {
	URL    string
	Header http.Header // without those of the connection, and without a trace
	Body   []byte
}

// Header is a header of a request, with its name in lower case.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Headers returns the headers by their names: an empty list, not null, if there are none.
func (r Request) Headers() []Header {
	headers := []Header{}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			headers = append(headers, Header{strings.ToLower(name), value})
		}
	}
	return headers
}

// Curl returns a command for a POSIX shell that sends the request.
func (r Request) Curl() string {
	command := "curl -i -g " + shellQuoted(r.URL)
	for _, h := range r.Headers() {
		command += " \\\n  -H " + shellQuoted(h.Name+": "+h.Value)
	}
	return command + " \\\n  --data-raw " + shellQuoted(string(r.Body))
}

func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// RequestOf returns the request of a try at a time.
func RequestOf(delivery Delivery, at time.Time) (Request, error) {
	body, err := Body(delivery)
	if err != nil {
		return Request{}, err
	}
	header := make(http.Header)
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", userAgent)
	header.Set(VersionHeader, strconv.Itoa(delivery.Version))
	if err := Sign(header, delivery.Secrets, delivery.ID, at, body); err != nil {
		return Request{}, err
	}
	return Request{delivery.URL, header, body}, nil
}
