package streaming

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"standin/internal/base/dialguard"
	"standin/internal/base/text"
	"standin/internal/recording/transcript"
)

const (
	// keepAlive is the interval of messages that keep an idle connection open.
	keepAlive = 4 * time.Second
	// idleTimeout is how long a connection is kept without speech: recognizers limit
	// their connections.
	idleTimeout = time.Minute
	// finalTimeout bounds how long a recognizer works on the end of an utterance.
	finalTimeout = 10 * time.Second
	// writeTimeout bounds how long a message is written.
	writeTimeout = 10 * time.Second
	// reasonTimeout bounds how long the reason of a failed write is awaited.
	reasonTimeout = 100 * time.Millisecond
	// maxMessage bounds a message of a recognizer, in bytes.
	maxMessage = 1 << 20
)

// connector recognizes utterances on a WebSocket for each source, which is open while the
// source speaks.
type connector struct {
	http          *http.Client // connects to allowed networks only
	address       *url.URL
	authorization string
	key           string
	model         string
	open          func(c *connector, options Options) protocol
}

// server is what the servers of a protocol have in common.
type server struct {
	url    string // by default
	path   string // of the WebSocket below /v1
	scheme string // of the header Authorization
	model  string // by default
	open   func(c *connector, options Options) protocol
}

// newConnector returns the recognizer on a server.
func newConnector(config Config, server server) (Recognizer, error) {
	address, err := dialguard.ServerURL("STANDIN_LIVE_TRANSCRIBER_URL", cmp.Or(config.URL, server.url), server.path,
		"http", "https", "ws", "wss")
	if err != nil {
		return nil, err
	}
	c := &connector{
		http:    &http.Client{CheckRedirect: dialguard.NoRedirects}, // the key is for this host
		address: address, key: config.APIKey, model: cmp.Or(config.Model, server.model), open: server.open,
	}
	if c.key != "" {
		c.authorization = server.scheme + " " + c.key
	}
	return c, nil
}

func (c *connector) Model() string { return c.model }

// protocol encodes and decodes the messages of one connection. Its methods are called by one goroutine.
type protocol interface {
	// query returns the query of the address.
	query() url.Values
	// handshake reads and writes the first messages.
	handshake(ctx context.Context, on connection) error
	// begin, audio and end return the messages for an utterance.
	begin() []message
	audio(pcm []byte) message
	end() message
	// keepAliveMessage and closeMessage return the message that keeps a connection open, and the last one;
	// empty ones for none.
	keepAliveMessage() message
	closeMessage() message
	// decode reads a message of the recognizer. changed is false if it is about something
	// else. The result has no number.
	decode(data []byte) (result Result, changed bool, err error)
	// finalOnTimeout returns the final result of an utterance whose end was not answered.
	finalOnTimeout() (Result, error)
}

// message is a WebSocket message.
type message struct {
	kind websocket.MessageType
	data []byte
}

// Recognize implements Recognizer.
func (c *connector) Recognize(ctx context.Context, options Options, in <-chan Audio, heard func(Result)) error {
	for {
		select {
		case audio, ok := <-in:
			if !ok {
				return nil
			}
			if more, err := c.runConnection(ctx, options, audio, in, heard); err != nil || !more {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runConnection opens a connection for audio and what follows, until there is no speech for
// idleTimeout. It reports false when in is closed.
func (c *connector) runConnection(ctx context.Context, options Options, first Audio, in <-chan Audio,
	heard func(Result)) (more bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := c.open(c, options)
	on, err := c.dial(ctx, d)
	if err != nil {
		return false, err
	}
	messages := make(chan received)
	var receiving sync.WaitGroup
	receiving.Go(func() {
		for {
			data, err := on.read(ctx)
			select {
			case messages <- received{data, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
	defer func() { cancel(); _ = on.socket.CloseNow(); receiving.Wait() }()
	defer func() { err = on.reason(err, messages) }()
	s := &utteranceStream{connection: on, protocol: d, heard: heard}
	if err := s.send(ctx, first); err != nil {
		return false, err
	}
	alive, timer := time.NewTicker(keepAlive), time.NewTimer(idleTimeout)
	defer alive.Stop()
	defer timer.Stop()
	for {
		from, until := in, s.last.Add(idleTimeout)
		if s.ending {
			from, until = nil, s.last.Add(finalTimeout) // the next utterance begins after the end of this one
		}
		timer.Reset(time.Until(until))
		select {
		case audio, ok := <-from:
			if !ok {
				return false, on.close(ctx, d.closeMessage())
			}
			err = s.send(ctx, audio)
		case got := <-messages:
			err = s.receive(got)
		case <-alive.C:
			if !s.speaking {
				err = on.write(ctx, d.keepAliveMessage())
			}
		case <-timer.C:
			if !s.ending {
				return true, on.close(ctx, d.closeMessage())
			}
			var result Result // of an utterance that the recognizer did not end
			if result, err = d.finalOnTimeout(); err == nil {
				s.report(result)
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if err != nil {
			return false, err
		}
	}
}

// dial connects, with the handshake.
func (c *connector) dial(ctx context.Context, d protocol) (connection, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	address := *c.address
	address.RawQuery = d.query().Encode()
	header := http.Header{}
	if c.authorization != "" {
		header.Set("Authorization", c.authorization)
	}
	//nolint:bodyclose // Dial closes it
	socket, response, err := websocket.Dial(ctx, address.String(), &websocket.DialOptions{HTTPHeader: header, HTTPClient: c.http})
	if err != nil {
		failed := &transcript.Error{Err: errors.New("the WebSocket was not opened")} // the error contains the query
		if response != nil {
			failed.Status = response.StatusCode
		}
		return connection{}, failed
	}
	socket.SetReadLimit(maxMessage)
	on := connection{socket: socket, key: c.key}
	if err := d.handshake(ctx, on); err != nil {
		_ = socket.CloseNow()
		return connection{}, err
	}
	return on, nil
}

// connection is an open WebSocket.
type connection struct {
	socket *websocket.Conn
	key    string
}

func (c connection) write(ctx context.Context, m message) error {
	if len(m.data) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := c.socket.Write(ctx, m.kind, m.data); err != nil {
		return &transcript.Error{Err: err}
	}
	return nil
}

func (c connection) read(ctx context.Context) ([]byte, error) {
	_, data, err := c.socket.Read(ctx)
	if err == nil {
		return data, nil
	}
	if closed := (websocket.CloseError{}); errors.As(err, &closed) {
		return nil, &transcript.Error{Detail: c.public(cmp.Or(closed.Reason, closed.Code.String()))}
	}
	return nil, &transcript.Error{Err: err}
}

// close writes a last message and closes the connection.
func (c connection) close(ctx context.Context, last message) error {
	err := c.write(ctx, last)
	_ = c.socket.Close(websocket.StatusNormalClosure, "") // all results are there
	return err
}

// public returns what a recognizer says, without the key.
func (c connection) public(detail string) string {
	return text.CleanLine(strings.ReplaceAll(detail, cmp.Or(c.key, "\x00"), "…"), maxErrorText)
}

// received is a message, or why there are no more.
type received struct {
	data []byte
	err  error
}

// reason returns why the connection was lost: what the recognizer said last tells more
// than the error of a write.
func (c connection) reason(err error, messages <-chan received) error {
	if err == nil {
		return nil
	}
	late := time.After(reasonTimeout)
	for {
		select {
		case got := <-messages:
			if failed := new(transcript.Error); errors.As(got.err, &failed) && failed.Detail != "" {
				return failed
			}
			if got.err != nil {
				return err
			}
		case <-late:
			return err
		}
	}
}

// utteranceStream is the utterance that a connection is about.
type utteranceStream struct {
	connection
	protocol
	heard func(Result)

	utterance        int
	speaking, ending bool      // before and after its end was sent
	last             time.Time // when something was sent
}

// send sends a piece of an utterance.
func (s *utteranceStream) send(ctx context.Context, a Audio) error {
	s.last = time.Now()
	var messages []message
	if !s.speaking {
		s.utterance, s.speaking = a.Utterance, true
		messages = s.begin()
	}
	if len(a.PCM) > 0 {
		messages = append(messages, s.audio(a.PCM))
	}
	if a.End {
		s.speaking, s.ending = false, true
		messages = append(messages, s.end())
	}
	for _, m := range messages {
		if err := s.write(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// receive reports what the recognizer has heard.
func (s *utteranceStream) receive(got received) error {
	if got.err != nil {
		return got.err
	}
	result, changed, err := s.decode(got.data)
	if refused := new(transcript.Error); errors.As(err, &refused) {
		refused.Detail = s.public(refused.Detail)
	}
	if err != nil || !changed || !s.speaking && !s.ending {
		return err
	}
	if result.Final && !s.ending {
		result.Final = false // the recognizer found an end of its own
	}
	s.report(result)
	return nil
}

func (s *utteranceStream) report(result Result) {
	result.Utterance = s.utterance
	for i, word := range result.Words {
		result.Words[i].Text = text.CleanLine(word.Text, transcript.MaxWord)
	}
	if result.Final {
		result.Confirmed, s.ending = len(result.Words), false
	}
	s.heard(result)
}
