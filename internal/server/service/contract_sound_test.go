package service_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"standin/internal/bot/ingest"
)

// contractSound tests listenToJob and ingestSound of api/openapi.yaml.
func contractSound(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(""))
	h.sendEvent(t, id, "lifecycle.joined", "")
	listen := contractRequest{op: "listenToJob", in: []string{id}, bearer: h.ada}
	send := contractRequest{op: "ingestSound", in: []string{id, "0"}, bearer: contractToken(id, 0)}
	h.expect(t, 426, listen)
	h.expect(t, 426, send)
	h.call(t, 401, "x", "ingestSound", "", id, "0")
	for _, query := range []string{"audio=all", "sampleRate=44100", "sampleRate=x"} {
		h.call(t, 400, h.ada, "listenToJob?"+query, "", id)
	}
	h.call(t, 400, contractToken(id, 0), "ingestSound", "", id, "x")
	h.call(t, 401, contractToken(id, 0), "ingestSound", "", id, "1")

	mixed, both := h.listen(t, id, "sampleRate=48000"), h.listen(t, id, "audio=both&sampleRate=8000")
	startedAt := time.Now().UTC().Truncate(time.Millisecond)
	bot := h.connectBot(t, id, startedAt)
	bot.awaitWanted(t, ingest.SoundWanted{Mixed: true, Participants: true})
	bot.tell(t, ingest.SoundMessage{Type: ingest.SoundParticipant, Source: 1, ID: "p-1", Name: "Bob"})
	for i := range 10 {
		at := startedAt.Add(time.Second + time.Duration(i)*ingest.SoundFrameDuration)
		bot.sendFrame(t, ingest.SoundFrame{Source: 0, At: at})
		bot.sendFrame(t, ingest.SoundFrame{Source: 1, At: at})
	}
	for i := range 10 {
		mixed.expectFrame(t, 0, 1000+20*i, 960)
	}
	for i := range 10 {
		both.expectFrame(t, 0, 1000+20*i, 160)
		if i == 0 {
			if got := fmt.Sprint(both.text(t)); got != "map[name:Bob participantId:p-1 source:1 type:speaker]" {
				t.Errorf("got %s", got)
			}
		}
		both.expectFrame(t, 1, 1000+20*i, 160)
	}
	bot.sendFrame(t, ingest.SoundFrame{Source: 0, At: startedAt.Add(10 * time.Second)}) // after a pause
	if got := fmt.Sprint(mixed.text(t)); got != "map[fromMs:1200 lostFrames:0 toMs:10000 type:gap]" {
		t.Errorf("got %s", got)
	}
	mixed.expectFrame(t, 0, 10_000, 960)
	if err := both.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	bot.awaitWanted(t, ingest.SoundWanted{Mixed: true})

	bot.leave(t)
	if got := fmt.Sprint(mixed.text(t)); got != "map[type:end]" {
		t.Errorf("got %s", got)
	}
	if _, _, err := mixed.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("after the end: %v", err)
	}
	h.sendEvent(t, id, "lifecycle.exited", `{"failureCode":"removed_from_meeting"}`)
	h.expect(t, 409, listen)
	h.expect(t, 409, send)
}

// contractSocket is a WebSocket of an operation.
type contractSocket struct {
	*websocket.Conn
}

// connect opens a WebSocket.
func (h *contractHarness) connect(t *testing.T, request contractRequest) contractSocket {
	t.Helper()
	operation := h.operation(t, request.op)
	address := "ws" + strings.TrimPrefix(h.BaseURL(), "http") + contractPath(t, operation, request.in) + "?" + request.query
	conn, reply, err := websocket.Dial(t.Context(), address,
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + request.bearer}}})
	if err != nil {
		t.Fatalf("%s: %v", request.op, err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	h.coverage.note(request.op, reply.StatusCode)
	if reply.Header.Get("x-request-id") == "" {
		t.Errorf("%s has no request ID", request.op)
	}
	return contractSocket{conn}
}

// listen connects a listener and reads its start.
func (h *contractHarness) listen(t *testing.T, id, query string) contractSocket {
	t.Helper()
	socket := h.connect(t, contractRequest{op: "listenToJob", in: []string{id}, query: query, bearer: h.ada})
	start := socket.text(t)
	if start["type"] != "start" || start["jobId"] != id || start["encoding"] != "pcm_s16le" ||
		!strings.Contains(query, fmt.Sprint(start["sampleRate"])) {
		t.Errorf("got %v", start)
	}
	return socket
}

// connectBot connects a bot.
func (h *contractHarness) connectBot(t *testing.T, id string, startedAt time.Time) contractSocket {
	t.Helper()
	h.sendEvent(t, id, "lifecycle.recording_started", "")
	socket := h.connect(t, contractRequest{op: "ingestSound", in: []string{id, "0"}, bearer: contractToken(id, 0)})
	socket.tell(t, ingest.SoundMessage{Type: ingest.SoundStart, StartedAt: startedAt})
	return socket
}

func (s contractSocket) tell(t *testing.T, message ingest.SoundMessage) {
	t.Helper()
	if err := wsjson.Write(t.Context(), s.Conn, message); err != nil {
		t.Fatal(err)
	}
}

// leave says that a bot has left the meeting, and lets the service close the connection.
func (s contractSocket) leave(t *testing.T) {
	t.Helper()
	s.tell(t, ingest.SoundMessage{Type: ingest.SoundEnd})
	s.CloseRead(t.Context())
}

// sendFrame sends a frame of silence.
func (s contractSocket) sendFrame(t *testing.T, frame ingest.SoundFrame) {
	t.Helper()
	frame.PCM = make([]byte, ingest.SoundFrameBytes)
	if err := s.Write(t.Context(), websocket.MessageBinary, ingest.EncodeSound(frame)); err != nil {
		t.Fatal(err)
	}
}

func (s contractSocket) awaitWanted(t *testing.T, want ingest.SoundWanted) {
	t.Helper()
	for {
		var message ingest.SoundMessage
		if err := wsjson.Read(t.Context(), s.Conn, &message); err != nil {
			t.Fatal(err)
		}
		if message.Type == ingest.SoundWant && message.SoundWanted == want {
			return
		}
	}
}

// answerPings reads what else arrives, until the test ends: it may be said again what is wanted.
func (s contractSocket) answerPings(t *testing.T) {
	go func() {
		for err := error(nil); err == nil; _, _, err = s.Read(t.Context()) {
		}
	}()
}

// read reads a message.
func (s contractSocket) read(t *testing.T, kind websocket.MessageType) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), contractTimeout)
	defer cancel()
	got, data, err := s.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got != kind {
		t.Fatalf("got %v %.200q, want %v", got, data, kind)
	}
	return data
}

// text reads a JSON message.
func (s contractSocket) text(t *testing.T) (message map[string]any) {
	t.Helper()
	if err := json.Unmarshal(s.read(t, websocket.MessageText), &message); err != nil {
		t.Fatal(err)
	}
	return message
}

// expectFrame reads a frame.
func (s contractSocket) expectFrame(t *testing.T, source, ms, samples int) {
	t.Helper()
	data := s.read(t, websocket.MessageBinary)
	if len(data) < 8 {
		t.Fatalf("a frame of %d bytes", len(data))
	}
	gotSource, gotMs := int(binary.LittleEndian.Uint32(data)), int(binary.LittleEndian.Uint32(data[4:]))
	if gotSource != source || gotMs != ms || len(data) != 8+2*samples {
		t.Errorf("frame of source %d at %d ms with %d bytes, want source %d at %d ms with %d samples", gotSource, gotMs, len(data), source, ms,
			samples)
	}
}
