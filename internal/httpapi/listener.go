package httpapi

import (
	"net"
	"net/http"
	"regexp"
	"strconv"

	"golang.org/x/net/netutil"

	"standin/api"
	"standin/internal/job"
)

// DefaultMaxConnections bounds the open connections of a server.
const DefaultMaxConnections = 10_000

// Listen returns a listener that accepts up to maxConnections open connections.
// Errors that net/http itself responds with, for example to malformed headers,
// become Error bodies.
func Listen(inner net.Listener, maxConnections int) net.Listener {
	return &errorListener{netutil.LimitListener(inner, maxConnections)}
}

type errorListener struct{ net.Listener }

func (l *errorListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &errorConn{conn}, nil
}

type errorConn struct{ net.Conn }

// serverError is a complete error response of net/http, which it writes at once.
// Responses of handlers have other headers.
var serverError = regexp.MustCompile(`\AHTTP/1\.1 ([45]\d\d) [^\r\n]+\r\n` +
	`Content-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n([^\r\n]*)\z`)

func (c *errorConn) Write(data []byte) (int, error) {
	const longest = 1024
	if len(data) > longest {
		return c.Conn.Write(data)
	}
	part := serverError.FindSubmatch(data)
	if part == nil {
		return c.Conn.Write(data)
	}
	status, _ := strconv.Atoi(string(part[1]))
	body := errorBody{Error: string(job.InvalidInput), Message: "The request is not valid HTTP."}
	switch status {
	case http.StatusBadRequest:
		body.Issues = issue(api.CodeInvalidJSON, "the request is not valid HTTP")
	case http.StatusRequestHeaderFieldsTooLarge:
		body.Error, body.Message = "headers_too_large", "The request headers may be "+strconv.Itoa(maxHeaderBytes)+" bytes long."
	default:
		body.Error = "unsupported"
	}
	text, err := api.Encode(body)
	if err != nil {
		return 0, err
	}
	response := "HTTP/1.1 " + string(part[1]) + " " + http.StatusText(status) + "\r\n" +
		"Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(text)+1) + "\r\nConnection: close\r\n\r\n" + string(text) + "\n"
	if _, err := c.Conn.Write([]byte(response)); err != nil {
		return 0, err
	}
	return len(data), nil
}
