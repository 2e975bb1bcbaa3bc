package rtms

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"standin/internal/base/dialguard"
	"standin/internal/base/retry"
	"standin/internal/base/wsconn"
)

const (
	connectTimeout = 15 * time.Second
	// maxSilence is how long a connection may send nothing. Zoom asks every ten seconds.
	maxSilence = 65 * time.Second
	// maxMessage limits a message: a key frame of 2560x1440.
	maxMessage = 8 << 20
	maxPacket  = 2 * rate               // bytes of sound: a second
	minPause   = 250 * time.Millisecond // before the next connection
	maxPause   = 5 * time.Second
)

// keep serves a connection, again whenever it is lost, until ctx ends, the stream has ended, or Zoom refuses it.
func (m *Meeting) keep(ctx context.Context, serve func(context.Context) error) error {
	backoff := retry.Backoff{Min: minPause, Max: maxPause}
	for {
		startedAt := time.Now()
		err := serve(ctx)
		if refused, ok := errors.AsType[refusal](err); ok && !refused.temporary() || m.ended() || ctx.Err() != nil {
			return err
		}
		m.log.Warn("a connection to Zoom was lost", "error", err)
		if time.Since(startedAt) > maxPause {
			backoff.Reset()
		}
		if err := retry.Sleep(ctx, backoff.Next()); err != nil {
			return err
		}
	}
}

// connect opens a socket, and returns the response to the handshake.
func (m *Meeting) connect(ctx context.Context, url string, hello request) (*websocket.Conn, message, error) {
	if !strings.HasPrefix(url, "wss://") { // the signature must not be read on the way
		return nil, message{}, errors.New("the address of a server of Zoom does not begin with wss://")
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: m.http}) //nolint:bodyclose // Dial closes it
	if err != nil {
		return nil, message{}, fmt.Errorf("connect: %w", dialguard.WithoutURL(err))
	}
	conn.SetReadLimit(maxMessage)
	stream := m.settings.Stream
	hello.Version, hello.MeetingUUID, hello.StreamID, hello.Signature = 1, stream.MeetingUUID, stream.StreamID, stream.Signature
	err = wsconn.WriteJSON(ctx, conn, hello)
	for err == nil {
		var got message
		if got, err = m.read(ctx, conn); err == nil && got.Type == hello.Type+1 {
			if got.Status == 0 {
				return conn, got, nil
			}
			err = refusal(got.Status)
		}
	}
	_ = conn.CloseNow()
	return nil, message{}, err
}

// read reads a message, and answers those that keep the connection.
func (m *Meeting) read(ctx context.Context, conn *websocket.Conn) (message, error) {
	for {
		waiting, cancel := context.WithTimeout(ctx, maxSilence)
		_, data, err := conn.Read(waiting)
		cancel()
		if err != nil {
			return message{}, err
		}
		var got message
		if err := json.Unmarshal(data, &got); err != nil {
			return message{}, errors.New("the server sent a message that is not understood")
		}
		m.mu.Lock()
		m.setClock(got.Timestamp)
		m.mu.Unlock()
		if got.Type != typeKeepAlive {
			return got, nil
		}
		if err := wsconn.WriteJSON(ctx, conn, request{Type: typeKeepAliveResponse, Timestamp: got.Timestamp}); err != nil {
			return message{}, err
		}
	}
}

// signal serves the signaling connection. The first one starts that for media.
func (m *Meeting) signal(ctx context.Context) error {
	conn, hello, err := m.connect(ctx, m.settings.Stream.ServerURLs, request{Type: typeSignalingRequest, Sequence: 1})
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // it is closed already, or broken
	if err := wsconn.WriteJSON(ctx, conn, json.RawMessage(subscription)); err != nil {
		return err
	}
	m.mu.Lock()
	first := m.mediaURL == ""
	m.mediaURL, m.signaling = hello.MediaServer.ServerURLs.All, conn
	m.mu.Unlock()
	if first {
		m.running.Go(func() {
			m.end(m.keep(ctx, m.receive))
			m.stop()
		})
	}
	for {
		got, err := m.read(ctx, conn)
		if err != nil {
			return err
		}
		reason := got.StopReason
		if number, err := strconv.Atoi(string(got.Reason)); err == nil {
			reason = cmp.Or(number, reason)
		}
		switch {
		case got.Type == typeEvent:
			m.handleEvent(got)
		case got.Type == typeStreamState && got.State == streamTerminated, got.Type == typeSessionState && got.State == sessionStopped:
			if m.end(stopReason(reason)); !m.ended() {
				return stopReason(reason)
			}
		}
	}
}

// receive serves the connection for all media that the app may receive.
func (m *Meeting) receive(ctx context.Context) error {
	m.mu.Lock()
	url, signaling := m.mediaURL, m.signaling
	m.mu.Unlock()
	resolution := 2
	if m.settings.Height > 720 {
		resolution = 3
	}
	language, _, _ := strings.Cut(m.settings.Language, "-")
	number := max(slices.Index(languages, m.settings.Language), slices.Index(languages, language)) // -1: Zoom finds it out
	params := fmt.Sprintf(mediaParams, resolution, max(minH264Rate, m.settings.FramesPerSecond), number)
	conn, _, err := m.connect(ctx, url, request{Type: typeMediaRequest, MediaType: allMedia, MediaParams: json.RawMessage(params)})
	if errors.Is(err, unknownStream) {
		return errors.New("no media are accepted; the signaling connection may be lost") // which decides it
	}
	if err == nil {
		defer conn.CloseNow() //nolint:errcheck // it is closed already, or broken
		err = wsconn.WriteJSON(ctx, signaling, request{Type: typeReady, StreamID: m.settings.Stream.StreamID})
	}
	if err != nil {
		return err
	}
	m.mu.Lock()
	if !m.admitted() {
		close(m.joined)
	}
	m.away.to = time.Now()
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.away = span{from: time.Now()}
	}()
	for {
		got, err := m.read(ctx, conn)
		if err != nil {
			return err
		}
		if kind := got.Type - typeAudio; kind >= audio && kind <= chat {
			m.handleContent(kind, got.Content)
		}
	}
}

// mediaParams are the forms in which the bot wants the media: L16 of each participant at 48 kHz; H.264, of the active
// speaker, with a resolution and a frame rate; and texts.
const mediaParams = `{
	"audio": {"content_type": 2, "sample_rate": 3, "channel": 1, "codec": 1, "data_opt": 2, "send_rate": 20},
	"video": {"content_type": 3, "codec": 7, "resolution": %[1]d, "fps": %[2]d, "data_opt": 3},
	"deskshare": {"content_type": 3, "codec": 7, "resolution": 3, "fps": %[2]d},
	"transcript": {"content_type": 5, "src_language": %[3]d}, "chat": {"content_type": 5}
}`

// minH264Rate is the lowest frame rate at which Zoom sends H.264 rather than images.
const minH264Rate = 6

// handleContent handles a packet of a medium, or a text.
func (m *Meeting) handleContent(kind int, c content) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if kind >= transcript {
		m.addText(kind, c)
		return
	}
	m.meet(c.person, c.Timestamp)
	data, err := base64.StdEncoding.DecodeString(c.Data)
	if err != nil || c.ID == "" || kind == audio && len(data) > maxPacket {
		return
	}
	if kind != audio { // which Zoom keeps
		m.setClock(c.Timestamp)
	}
	p := packet{kind, string(c.ID), c.Timestamp, data}
	if m.recording != nil {
		m.recording.add(p)
	} else if m.settings.Backlog && m.backlogBytes+len(data) <= maxBacklog {
		m.backlog, m.backlogBytes = append(m.backlog, p), m.backlogBytes+len(data)
	}
}
