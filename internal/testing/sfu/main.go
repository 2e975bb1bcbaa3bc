// The program sfu is a real meeting server (LiveKit) for tests, with people whose video was encoded by Chromium: simulcast in VP8
// and H.264, spatial layers in VP9 and AV1. It is a module of its own, so that Standin does not depend on LiveKit.
//
// It prints its addresses as JSON, and runs until its input ends. The control address takes:
//
//	POST   /people              a person joins; see Person
//	DELETE /people?room=&id=    a person leaves
//	GET    /token?room=&id=     a token for a page
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/livekit/livekit-server/pkg/config"
	"github.com/livekit/livekit-server/pkg/routing"
	"github.com/livekit/livekit-server/pkg/service"
	"github.com/livekit/livekit-server/pkg/telemetry/prometheus"
	"github.com/livekit/protocol/auth"
	"github.com/livekit/protocol/logger"
)

const (
	apiKey    = "test"
	apiSecret = "a secret of tests, which protects nothing"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ports, err := freePorts()
	if err != nil {
		return err
	}
	signal := fmt.Sprintf("ws://127.0.0.1:%d", ports[0])
	settings, err := config.NewConfig(fmt.Sprintf(`
port: %d
bind_addresses: [127.0.0.1]
keys: {%s: %q}
logging: {level: error}
rtc: {udp_port: %d, node_ip: 127.0.0.1, use_external_ip: false, enable_loopback_candidate: true, tcp_port: 0, interfaces: {includes: [lo]}}
`, ports[0], apiKey, apiSecret, ports[1]), true, nil, nil)
	if err != nil {
		return err
	}
	logger.InitFromConfig(&settings.Logging.Config, "sfu")
	node, err := routing.NewLocalNode(settings)
	if err != nil {
		return err
	}
	if err := prometheus.Init(string(node.NodeID()), node.NodeType()); err != nil { // its own statistics need it
		return err
	}
	server, err := service.InitializeServer(settings, node)
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- server.Start() }()
	defer server.Stop(true)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	c := &control{ctx: ctx, signal: signal, folder: filepath.Join(cache, "standin", "sfu"), people: map[string]*publisher{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /people", c.join)
	mux.HandleFunc("DELETE /people", c.leave)
	mux.HandleFunc("GET /token", c.token)
	go func() { failed <- http.Serve(listener, mux) }()
	for !answers(ctx, ports[0]) {
		select {
		case err := <-failed:
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"Control": "http://" + listener.Addr().String(), "Signal": signal, "Media": ports[1],
	}); err != nil {
		return err
	}
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		failed <- err
	}()
	return <-failed
}

// freePorts returns a free TCP port and a free UDP port of loopback.
func freePorts() (ports [2]int, err error) {
	stream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return ports, err
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return ports, errors.Join(err, stream.Close())
	}
	ports = [2]int{stream.Addr().(*net.TCPAddr).Port, packets.LocalAddr().(*net.UDPAddr).Port}
	return ports, errors.Join(stream.Close(), packets.Close())
}

func answers(ctx context.Context, port int) bool {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	return err == nil && connection.Close() == nil
}

// control answers the requests of tests.
type control struct {
	ctx    context.Context
	signal string
	folder string // of recordings
	making sync.Mutex

	mu     sync.Mutex
	people map[string]*publisher // by room and ID
}

func (c *control) join(w http.ResponseWriter, r *http.Request) {
	var person Person
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&person)
	var video *Recording
	if err == nil && person.Codec != "" {
		c.making.Lock() // one at a time has the machine for itself
		video, err = loadRecording(c.ctx, c.folder, person.Codec, person.Hue)
		c.making.Unlock()
	}
	var joined *publisher
	if err == nil {
		joined, err = publish(c.ctx, c.signal, person, video)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.people[person.Room+"/"+person.ID] = joined
}

func (c *control) leave(w http.ResponseWriter, r *http.Request) {
	key := r.FormValue("room") + "/" + r.FormValue("id")
	c.mu.Lock()
	leaving := c.people[key]
	delete(c.people, key)
	c.mu.Unlock()
	if leaving == nil {
		http.Error(w, "nobody has the ID", http.StatusNotFound)
		return
	}
	leaving.close()
}

func (c *control) token(w http.ResponseWriter, r *http.Request) {
	token, err := newToken(r.FormValue("room"), r.FormValue("id"), true)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, token)
}

func newToken(room, id string, receives bool) (string, error) {
	grant := &auth.VideoGrant{RoomJoin: true, Room: room}
	grant.SetCanPublish(true)
	grant.SetCanSubscribe(receives)
	return auth.NewAccessToken(apiKey, apiSecret).SetVideoGrant(grant).SetIdentity(id).SetValidFor(24 * time.Hour).ToJWT()
}
