package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"standin/internal/dialguard"
)

// MaxResponseBody is how much of an answer's body is read and kept.
const MaxResponseBody = 1 << 10

const (
	userAgent      = "Standin"
	dialTimeout    = 5 * time.Second // leaves time for the request itself
	errorKept      = 500             // bytes of an error's text: some quote what the receiver sent
	answerHeaders  = 64 << 10
	tlsShare       = 3 // a handshake may take this part of a try
	idleTimeout    = 90 * time.Second
	idleKept       = 2048
	aliveAfter     = 15 * time.Second // of silence, an HTTP/2 connection is asked whether it lives
	aliveTimeout   = 5 * time.Second
	bodyShare      = 15 // a try keeps this part of its time for the answer's body
	writeBufferLen = 8 << 10
)

// poster makes single tries.
type poster struct {
	client  *http.Client
	timeout time.Duration // of a whole try, from the name's resolution to the end of the answer
	headers time.Duration // of the answer's headers, from the end of the request
	now     func() time.Time
}

// newPoster returns a poster that connects through the guard. It uses no proxy
// but one that is set, whatever the environment says: a proxy connects where
// the guard does not see it. It follows no redirect and asks for no
// compression.
func newPoster(settings Settings) *poster {
	headers := settings.TryTimeout - settings.TryTimeout/bodyShare
	guard := dialguard.Guard{Allow: settings.Allow, Resolver: settings.Resolver, Timeout: dialTimeout}
	transport := &http.Transport{
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: settings.RootCAs},
		DialContext:            guard.DialContext,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: aliveAfter, PingTimeout: aliveTimeout},
		DisableCompression:     true,
		TLSHandshakeTimeout:    settings.TryTimeout / tlsShare,
		ResponseHeaderTimeout:  headers,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           idleKept,
		MaxIdleConnsPerHost:    settings.MaxTriesPerHost,
		MaxResponseHeaderBytes: answerHeaders,
		WriteBufferSize:        writeBufferLen, // a webhook and its headers in one packet
	}
	if settings.Proxy != nil {
		// Only the proxy is dialed. Names are resolved by it, so only literal
		// addresses can be refused here.
		transport.DialContext = (&net.Dialer{Timeout: dialTimeout, Resolver: settings.Resolver}).DialContext
		transport.Proxy = func(request *http.Request) (*url.URL, error) {
			return settings.Proxy, guard.CheckHost(request.URL.Hostname())
		}
	}
	return &poster{
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		timeout: settings.TryTimeout,
		headers: headers,
		now:     settings.Now,
	}
}

// close ends the connections kept for reuse.
func (p *poster) close() { p.client.CloseIdleConnections() }

// post makes one try. It always returns within the timeout.
func (p *poster) post(ctx context.Context, delivery Delivery) (Try, response) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	try := Try{DeliveryID: delivery.ID, Number: delivery.Attempt, StartedAt: p.now()}
	began := time.Now() // latency is measured with the monotonic clock

	request, err := p.request(ctx, delivery, try.StartedAt)
	if err != nil {
		try.Error = errorText(err)
		return try, response{unusable: errors.New(try.Error)}
	}
	answer, err := p.client.Do(request)
	if err != nil {
		try.Latency, try.Error = time.Since(began), errorText(err)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) || try.Latency >= p.headers {
			try.Error = fmt.Sprintf("no answer within %s", p.timeout)
		}
		return try, response{}
	}
	defer answer.Body.Close()
	// The status alone decides; an answer that breaks off is kept as far as it came.
	try.ResponseBody, _ = io.ReadAll(io.LimitReader(answer.Body, MaxResponseBody))
	try.Latency, try.StatusCode = time.Since(began), answer.StatusCode
	if answer.StatusCode >= 300 && answer.StatusCode < 400 {
		try.Error = "redirects are not followed"
	}
	return try, response{status: answer.StatusCode, retryAfter: answer.Header.Get("Retry-After")}
}

// request composes and signs. Its errors are those that no later try mends by
// itself.
func (p *poster) request(ctx context.Context, delivery Delivery, at time.Time) (*http.Request, error) {
	body, err := Body(delivery)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, delivery.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if scheme := request.URL.Scheme; scheme != "http" && scheme != "https" {
		return nil, errors.New("the address is neither http nor https")
	}
	if request.URL.Host == "" {
		return nil, errors.New("the address names no host")
	}
	version := Version2
	if delivery.Version == Version1 {
		version = Version1
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set(VersionHeader, strconv.Itoa(version))
	if err := Sign(request.Header, delivery.Secrets, delivery.ID, at, body); err != nil {
		return nil, err
	}
	return request, nil
}

// errorText says why a try failed, without the address: its query may hold the
// receiver's secrets.
func errorText(err error) string {
	var refused *dialguard.RefusedError
	if errors.As(err, &refused) {
		text := "webhook " + refused.Error()
		if refused.Address != "" {
			text += "; " + allowSetting + " lists the networks that are allowed"
		}
		return text
	}
	var inURL *url.Error // its text begins with the address
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	text := err.Error()
	if len(text) > errorKept {
		text = text[:errorKept] + "…"
	}
	return text
}
