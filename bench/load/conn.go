// Package load sends HTTP requests to a server on this machine and measures
// rates and latencies. Its client uses less CPU than that of net/http, because
// it shares the machine with the server that it measures.
package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// responseTimeout bounds the wait for one response.
const responseTimeout = 90 * time.Second

// maxErrorBody is how many bytes of a failed response an error quotes.
const maxErrorBody = 500

// conn is a connection that carries one request at a time.
type conn struct {
	net.Conn
	reader *bufio.Reader
}

func dial(ctx context.Context, address string) (*conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, reader: bufio.NewReaderSize(c, 4<<10)}, nil
}

// do sends a request and reads its response. A status other than 2xx is an
// error.
func (c *conn) do(request []byte) error {
	if err := c.SetDeadline(time.Now().Add(responseTimeout)); err != nil {
		return err
	}
	if _, err := c.Write(request); err != nil {
		return fmt.Errorf("send a request: %w", err)
	}
	h, err := c.readHeader()
	if err != nil {
		return fmt.Errorf("read a response: %w", err)
	}
	if h.status/100 == 2 {
		return c.readBody(h, io.Discard)
	}
	var body bytes.Buffer
	if err := c.readBody(h, &body); err != nil {
		return fmt.Errorf("read a response with status %d: %w", h.status, err)
	}
	return fmt.Errorf("status %d: %s", h.status, body.Bytes()[:min(body.Len(), maxErrorBody)])
}

// header is the part of a response's header that frames its body.
type header struct {
	status  int
	length  int64
	chunked bool
}

func (c *conn) readHeader() (header, error) {
	text, err := c.reader.ReadSlice('\n')
	if err != nil {
		return header{}, err
	}
	var h header
	if len(text) < 12 || !bytes.HasPrefix(text, []byte("HTTP/1.1 ")) {
		return h, fmt.Errorf("malformed status line %q", text)
	}
	if h.status, err = strconv.Atoi(string(text[9:12])); err != nil {
		return h, fmt.Errorf("malformed status line %q", text)
	}
	for {
		text, err := c.reader.ReadSlice('\n')
		if err != nil {
			return h, err
		}
		name, value, found := bytes.Cut(bytes.TrimRight(text, "\r\n"), []byte(":"))
		switch {
		case !found:
			return h, nil
		case bytes.EqualFold(name, []byte("Content-Length")):
			if h.length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil || h.length < 0 {
				return h, errors.New("malformed Content-Length")
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			h.chunked = true
		}
	}
}

func (c *conn) readBody(h header, to io.Writer) error {
	if !h.chunked {
		_, err := io.CopyN(to, c.reader, h.length)
		return err
	}
	for {
		text, err := c.reader.ReadString('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(text), 16, 64)
		if err != nil || size < 0 {
			return fmt.Errorf("malformed chunk size %q", text)
		}
		if _, err := io.CopyN(to, c.reader, size); err != nil {
			return err
		}
		if _, err := c.reader.Discard(2); err != nil { // CR LF
			return err
		}
		if size == 0 {
			return nil
		}
	}
}
