// Package rtmsdouble is a server of Zoom's Realtime Media Streams for tests: signaling and media of many meetings,
// over TLS on the loopback interface. It refuses what Zoom's reference refuses, and Zoom's own client library
// receives everything from it (TestZoomLibrary).
package rtmsdouble

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"

	"standin/internal/launch"
)

// The app with which all streams are signed.
const (
	ClientID = "double-client"
	Secret   = "double-secret"
)

// The media, in the order of their bits and messages.
const (
	Audio = iota
	Video
	Share
	Transcript
	Chat
)

var names = [...]string{"audio", "video", "deskshare", "transcript", "chat"}

// Server serves the streams of meetings.
type Server struct {
	certificate []byte
	trusted     *os.File // has the certificate
	listener    net.Listener
	server      *http.Server

	mu       sync.Mutex
	meetings map[string]*Meeting // by stream
}

// Start starts a server on a free port.
func Start() (*Server, error) {
	certificate, key, err := makeCertificate()
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	s := &Server{certificate: certificate, meetings: make(map[string]*Meeting)}
	if s.listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/signaling", s.handle(s.signaling))
	mux.HandleFunc("/media/{kind}", s.handle(s.media))
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_ = s.server.Serve(tls.NewListener(s.listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}))
	}()
	return s, nil
}

// StartTrusted starts a server that clients of this process trust, and of processes that it starts. Nothing else may
// have connected with TLS before.
func StartTrusted() (*Server, error) {
	s, err := Start()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "rtmsdouble-*.pem")
	if err != nil {
		return nil, err
	}
	// The file has no name while this process runs.
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
	_, err = file.Write(s.certificate)
	s.trusted = file
	return s, errors.Join(err, os.Remove(file.Name()), os.Setenv("SSL_CERT_FILE", path), os.Setenv("SSL_CERT_DIR", "/nonexistent"))
}

// makeCertificate returns a certificate for 127.0.0.1 and its key. Zoom's library looks for the address among the
// names.
func makeCertificate() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"127.0.0.1", "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}), nil
}

// Certificate returns the certificate in PEM.
func (s *Server) Certificate() []byte { return s.certificate }

// Close ends all connections.
func (s *Server) Close() error {
	s.mu.Lock()
	for _, m := range s.meetings {
		m.close()
	}
	s.mu.Unlock()
	return s.server.Close()
}

// url returns the address of a path.
func (s *Server) url(path string) string { return "wss://" + s.listener.Addr().String() + path }

// Sign returns the signature of a stream.
func Sign(clientID, uuid, stream, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(clientID + "," + uuid + "," + stream))
	return hex.EncodeToString(mac.Sum(nil))
}

// Stream returns what a bot connects to the meeting with.
func (m *Meeting) Stream() *launch.ZoomStream {
	return &launch.ZoomStream{
		ClientID: ClientID, MeetingUUID: m.settings.UUID, StreamID: m.settings.StreamID,
		Signature: Sign(ClientID, m.settings.UUID, m.settings.StreamID, Secret), ServerURLs: m.server.url("/signaling"),
	}
}

// socket is a connection of a client.
type socket struct {
	conn    *websocket.Conn
	mu      sync.Mutex
	pending int // requests to keep the connection that were not answered
	ready   bool
	kinds   int            // bits of media
	params  map[string]any // of the media
}

// send sends a message. A client that reads nothing loses its connection.
func (c *socket) send(message map[string]any) {
	data, err := json.Marshal(message)
	if err != nil {
		panic(err) // of the double
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.conn.Write(ctx, websocket.MessageText, data); err != nil {
		_ = c.conn.CloseNow()
	}
}

// request is a message of a client.
type request struct {
	Type        int                       `json:"msg_type"`
	Version     int                       `json:"protocol_version"`
	Sequence    int                       `json:"sequence"`
	UUID        string                    `json:"meeting_uuid"`
	Stream      string                    `json:"rtms_stream_id"`
	Signature   string                    `json:"signature"`
	MediaType   int                       `json:"media_type"`
	MediaParams map[string]map[string]any `json:"media_params"`
	Events      []struct {
		Type      int  `json:"event_type"`
		Subscribe bool `json:"subscribe"`
	} `json:"events"`
	Timestamp int64 `json:"timestamp"`
}

// handle accepts a socket, checks its handshake, and serves it until it ends.
func (s *Server) handle(serve func(*http.Request, *socket, request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer conn.CloseNow() //nolint:errcheck // it is closed already, or broken
		hello, err := read(r.Context(), conn)
		if err != nil {
			return
		}
		serve(r, &socket{conn: conn}, hello)
	}
}

func read(ctx context.Context, conn *websocket.Conn) (request, error) {
	_, data, err := conn.Read(ctx)
	if err != nil {
		return request{}, err
	}
	var got request
	if err := json.Unmarshal(data, &got); err != nil {
		return request{Type: -1}, nil //nolint:nilerr // it is answered
	}
	return got, nil
}

// check returns the status of a handshake, and its meeting.
func (s *Server) check(got request, wanted int) (*Meeting, int) {
	s.mu.Lock()
	m := s.meetings[got.Stream]
	s.mu.Unlock()
	switch {
	case got.Type == -1:
		return nil, 4
	case got.Type != wanted:
		return nil, 1
	case got.Version != 1 || got.UUID == "" || wanted == 1 && got.Sequence < 1:
		return nil, 4
	case m == nil || m.settings.UUID != got.UUID || m.Over():
		return nil, 2
	case !hmac.Equal([]byte(got.Signature), []byte(Sign(ClientID, got.UUID, got.Stream, Secret))):
		return nil, 3
	}
	return m, m.takeRefusal()
}

func response(kind, status int) map[string]any {
	return map[string]any{"msg_type": kind, "protocol_version": 1, "sequence": 0, "status_code": status, "reason": ""}
}

// signaling serves a signaling connection.
func (s *Server) signaling(r *http.Request, c *socket, hello request) {
	m, status := s.check(hello, 1)
	answer := response(2, status)
	if status != 0 {
		c.send(answer)
		return
	}
	urls := map[string]any{"all": s.url("/media/all")}
	for kind, name := range names {
		if !m.settings.Without[kind] {
			urls[name] = s.url("/media/" + name)
		}
	}
	answer["media_server"] = map[string]any{"server_urls": urls}
	m.setSignaling(c)
	defer m.dropSignaling(c)
	c.send(answer)
	c.send(map[string]any{"msg_type": 6, "event": map[string]any{"event_type": 1, "timestamp": m.startedAt.UnixMilli()}})
	stop := m.keepAlive(c)
	defer stop()
	for {
		got, err := read(r.Context(), c.conn)
		if err != nil {
			return
		}
		switch got.Type {
		case 5:
			m.subscribe(c, got)
		case 7:
			m.setReady()
			c.send(map[string]any{"msg_type": 8, "state": 1, "reason": 0, "timestamp": time.Now().UnixMilli()})
		case 13:
			c.mu.Lock()
			c.pending = 0
			c.mu.Unlock()
		case 21:
			c.send(map[string]any{"msg_type": 22, "rtms_stream_id": got.Stream, "status_code": 0, "reason": "OK", "timestamp": time.Now().UnixMilli()})
			m.Stop(20)
		}
	}
}

// media serves a media connection.
func (s *Server) media(r *http.Request, c *socket, hello request) {
	m, status := s.check(hello, 3)
	if status == 0 {
		status = m.addMedia(c, hello, r.PathValue("kind"))
	}
	answer := response(4, status)
	answer["payload_encrypted"] = false
	if status == 0 {
		answer["media_params"] = hello.MediaParams
		defer m.dropMedia(c)
	}
	c.send(answer)
	if status != 0 {
		return
	}
	stop := m.keepAlive(c)
	defer stop()
	for {
		got, err := read(r.Context(), c.conn)
		if err != nil {
			return
		}
		if got.Type == 13 {
			c.mu.Lock()
			c.pending = 0
			c.mu.Unlock()
		}
	}
}

// checkMedia returns the status of the media that a client wants, and their bits.
func checkMedia(hello request, path string, without [5]bool) (kinds, status int) {
	kinds = hello.MediaType
	if kinds <= 0 || kinds > 32 {
		return 0, 14
	}
	if kinds == 32 {
		kinds = 31
	}
	for kind, name := range names {
		if kinds&(1<<kind) == 0 {
			continue
		}
		if path != "all" && path != name {
			return 0, 7
		}
		if without[kind] {
			if hello.MediaType == 32 {
				kinds &^= 1 << kind
				continue
			}
			return 0, 9 + kind
		}
		params, given := hello.MediaParams[name]
		if !given {
			continue
		}
		number := func(key string, otherwise int) int {
			if value, ok := params[key].(float64); ok {
				return int(value)
			}
			return otherwise
		}
		in := func(value, least, most int) bool { return value >= least && value <= most }
		fps := number("fps", 5)
		var checks []bool
		first := map[int]int{Audio: 19, Video: 26, Share: 32, Transcript: 37, Chat: 39}[kind]
		switch kind {
		case Audio:
			codec, rate := number("codec", 1), number("send_rate", 20)
			checks = []bool{
				in(number("content_type", 2), 1, 2), in(number("sample_rate", 1), 0, 3), number("channel", 1) == 1 || number("channel", 1) == 2 && codec == 4,
				in(codec, 1, 4), in(number("data_opt", 1), 1, 2), rate%20 == 0 && in(rate, 20, 1000),
			}
		case Video, Share:
			codec, limit := number("codec", 5), 5
			if kind == Share {
				limit = 1
			}
			checks = []bool{
				in(number("content_type", 3), 1, 3), fps <= limit && in(codec, 5, 6) || fps > limit && codec == 7, in(number("resolution", 2), 1, 4),
			}
			if kind == Video {
				checks = append(checks, in(number("data_opt", 3), 3, 4))
			}
			checks = append(checks, in(fps, 1, 30))
		case Transcript:
			if !in(number("src_language", 9), -1, 36) {
				return 0, 43
			}
			fallthrough
		case Chat:
			checks = []bool{number("content_type", 5) == 5}
		}
		for i, ok := range checks {
			if !ok {
				return 0, first + i
			}
		}
	}
	return kinds, 0
}
