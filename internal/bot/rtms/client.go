package rtms

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"standin/internal/base/dialguard"
	"standin/internal/base/retry"
	"standin/internal/base/wsconn"
	"standin/internal/bot/meeting"
	"standin/internal/recording"
)

const (
	connectTimeout = 15 * time.Second
	// maxSilence is how long a connection may send nothing. Zoom asks every ten seconds.
	maxSilence = 65 * time.Second
	// maxMessage limits a message: a key frame of 2560x1440.
	maxMessage = 8 << 20
	minPause   = 250 * time.Millisecond // before the next connection
	maxPause   = 5 * time.Second
)

// newHTTPClient returns what the sockets are opened with. It connects to public addresses only, and those of
// this machine with loopback.
func newHTTPClient(caFile string, loopback bool, ownHosts []string) (*http.Client, error) {
	guard := &dialguard.Guard{OwnHosts: ownHosts, Timeout: connectTimeout}
	if loopback {
		guard.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	transport := guard.Transport(nil)
	transport.ForceAttemptHTTP2 = false // a WebSocket needs HTTP/1.1
	if caFile != "" {
		certificates, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificates of Zoom's servers: %w", err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(certificates)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport, CheckRedirect: dialguard.NoRedirects}, nil
}

// keep serves a connection, again whenever it is lost, until ctx ends, the stream has ended, or Zoom refuses it.
func (m *Meeting) keep(ctx context.Context, name string, serve func(context.Context) error) error {
	backoff := retry.Backoff{Min: minPause, Max: maxPause}
	for {
		startedAt := time.Now()
		err := serve(ctx)
		var refused refusal
		if errors.As(err, &refused) && !refused.temporary() || m.ended() || ctx.Err() != nil {
			return err
		}
		m.log.Warn("connection lost", "connection", name, "error", err)
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
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: m.http})
	if err != nil {
		return nil, message{}, fmt.Errorf("connect: %w", dialguard.WithoutURL(err))
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	conn.SetReadLimit(maxMessage)
	stream := m.settings.Stream
	hello.Version, hello.MeetingUUID, hello.StreamID, hello.Signature = 1, stream.MeetingUUID, stream.StreamID, stream.Signature
	err = wsconn.WriteJSON(ctx, conn, hello)
	for err == nil {
		var got message
		if got, err = read(ctx, conn); err == nil && got.Type == hello.Type+1 {
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
func read(ctx context.Context, conn *websocket.Conn) (message, error) {
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
		if got.Type != typeKeepAlive {
			return got, nil
		}
		if err := wsconn.WriteJSON(ctx, conn, request{Type: typeKeepAliveResponse, Timestamp: got.Timestamp}); err != nil {
			return message{}, err
		}
	}
}

// signal serves the signaling connection, and starts those for media when it first has their addresses.
func (m *Meeting) signal(ctx context.Context) error {
	conn, hello, err := m.connect(ctx, m.settings.Stream.ServerURLs, request{Type: typeSignalingRequest, Sequence: 1})
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // it is closed already, or broken
	m.mu.Lock()
	first := m.urls == nil
	m.urls, m.signaling, m.lost = hello.MediaServer.ServerURLs, conn, ""
	m.mu.Unlock()
	defer m.setLost("the signaling connection was lost")
	events := request{Type: typeSubscription}
	for event := eventSpeaker; event <= eventShareStop; event++ {
		events.Events = append(events.Events, subscription{event, true})
	}
	if err := wsconn.WriteJSON(ctx, conn, events); err != nil {
		return err
	}
	if first {
		close(m.joined)
		for kind := range media {
			if m.settings.Media[kind] {
				m.running.Go(func() { m.receiveAll(ctx, kind) })
			}
		}
	}
	for {
		got, err := read(ctx, conn)
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
			stop := stops[0]
			if reason > 0 && reason < len(stops) {
				stop = stops[reason]
			}
			if stop.screen == "" {
				return errors.New(stop.words)
			}
			m.end(stop.screen, fmt.Sprintf("%s (reason %d)", stop.words, reason), reason == revoked)
		case got.Type == typeClosed:
			m.end(meeting.Ended, "the bot closed the stream", false)
		}
	}
}

// receiveAll receives a medium. One that the app may not receive is left out, but sound.
func (m *Meeting) receiveAll(ctx context.Context, kind int) {
	err := m.keep(ctx, media[kind], func(ctx context.Context) error { return m.receive(ctx, kind) })
	var refused refusal
	switch {
	case !errors.As(err, &refused):
	case kind == audio:
		m.end(refused.screen(), refused.Error(), false)
	default:
		m.log.Warn("not received", "media", media[kind], "error", err)
	}
}

// receive serves the connection of a medium.
func (m *Meeting) receive(ctx context.Context, kind int) error {
	m.mu.Lock()
	url, lost := cmp.Or(m.urls[media[kind]], m.urls["all"]), m.lost
	m.mu.Unlock()
	if lost != "" {
		return errors.New(lost) // until then Zoom refuses media
	}
	conn, _, err := m.connect(ctx, url, request{Type: typeMediaRequest, MediaType: 1 << kind, MediaParams: m.mediaParams(kind)})
	if errors.Is(err, unknownStream) {
		return errors.New("Zoom accepts no media: the signaling connection may be lost") // which decides it
	} else if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // it is closed already, or broken
	m.mu.Lock()
	signaling := m.signaling
	m.away[kind].to = time.Now()
	m.mu.Unlock()
	if err := wsconn.WriteJSON(ctx, signaling, request{Type: typeReady, StreamID: m.settings.Stream.StreamID}); err != nil {
		return err
	}
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.away[kind] = span{from: time.Now()}
	}()
	for {
		got, err := read(ctx, conn)
		if err != nil {
			return err
		}
		if got.Type == typeAudio+kind {
			m.handleContent(kind, got.Content)
		}
	}
}

// mediaParams returns in which form the bot wants a medium.
func (m *Meeting) mediaParams(kind int) map[string]any {
	s, params := m.settings, map[string]any{"content_type": 5} // text
	switch kind {
	case audio: // a stream of L16 for each participant, at 48 kHz
		params = map[string]any{"content_type": 2, "sample_rate": 3, "channel": 1, "codec": 1, "data_opt": 2, "send_rate": 20}
	case video, share: // H.264; of the active speaker
		resolution := 2
		if s.Height > 720 || kind == share {
			resolution = 3
		}
		params = map[string]any{"content_type": 3, "codec": 7, "resolution": resolution, "fps": max(minH264Rate, s.FramesPerSecond)}
		if kind == video {
			params["data_opt"] = 3
		}
	case transcript:
		if number := slices.Index(languages, s.Language); number >= 0 {
			params["src_language"] = number
		}
	}
	return map[string]any{media[kind]: params}
}

// minH264Rate is the lowest frame rate at which Zoom sends H.264 rather than images.
const minH264Rate = 6

// handleContent handles a packet of a medium, or a text.
func (m *Meeting) handleContent(kind int, c content) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.ID != "" {
		m.meet(c.person)
	}
	if kind >= transcript {
		m.addText(kind, c)
		return
	}
	data, err := base64.StdEncoding.DecodeString(c.Data)
	if err != nil || c.ID == "" || c.Timestamp <= 0 || len(data) < 2 {
		m.log.Debug("invalid packet", "media", media[kind])
		return
	}
	p := packet{kind: kind, user: string(c.ID), at: m.localTime(c.Timestamp), data: data}
	if away := &m.away[kind]; kind == audio && !away.from.IsZero() { // the first one since the connection was lost
		if p.at.Sub(away.from) > time.Second && m.recording != nil {
			m.recording.addGap(away.from, earlier(p.at, away.to), recording.GapNetworkLost)
		}
		*away = span{}
	}
	switch {
	case m.recording != nil:
		m.recording.add(p)
	case m.backlogBytes+len(data) <= maxBacklog && m.settings.Backlog:
		m.backlog, m.backlogBytes = append(m.backlog, p), m.backlogBytes+len(data)
	}
}
