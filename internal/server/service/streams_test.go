package service_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/santhosh-tekuri/jsonschema/v6"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"standin/internal/bot/ingest"
	"standin/internal/testing/await"
)

// streamReceiver is a receiver of a stream. Tests serve its connections one by one.
type streamReceiver struct {
	*httptest.Server
	conns chan *websocket.Conn
}

// newStreamReceiver starts a receiver that verifies the signature of each request. The
// kernel keeps little of what its connections do not read.
func newStreamReceiver(t *testing.T) *streamReceiver {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(contractHookSecret)
	if err != nil {
		t.Fatal(err)
	}
	r := &streamReceiver{conns: make(chan *websocket.Conn)}
	ended := make(chan struct{})
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if err := verifier.Verify(nil, request.Header); err != nil {
			t.Errorf("the request of a stream: %v", err)
		}
		conn, err := websocket.Accept(w, request, nil)
		if err != nil {
			t.Error(err)
			return
		}
		select {
		case r.conns <- conn:
		case <-ended:
			_ = conn.CloseNow()
		}
	}))
	r.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if err := conn.(*net.TCPConn).SetReadBuffer(256 << 10); err != nil {
			t.Error(err)
		}
		return ctx
	}
	r.Start()
	t.Cleanup(func() { close(ended); r.Close() })
	return r
}

// url returns the URL of the receiver for a stream.
func (r *streamReceiver) url() string { return "ws" + strings.TrimPrefix(r.URL, "http") }

// accept waits for the next connection.
func (r *streamReceiver) accept(t *testing.T) contractSocket {
	t.Helper()
	select {
	case conn := <-r.conns:
		t.Cleanup(func() { _ = conn.CloseNow() })
		return contractSocket{conn}
	case <-time.After(contractTimeout):
		t.Fatal("no connection of a stream")
		return contractSocket{}
	}
}

// startStreams creates a job with streams and connects its bot.
func (h *contractHarness) startStreams(t *testing.T, streams string) (id string, bot contractSocket, startedAt time.Time) {
	t.Helper()
	id = h.create(t, h.ada, contractJob(`,"streams":`+streams))
	h.sendEvent(t, id, "lifecycle.joined", "")
	startedAt = time.Now().UTC().Truncate(time.Millisecond)
	return id, h.connectBot(t, id, startedAt), startedAt
}

// sendTone sends frames of a tone of 500 Hz, of the mixed sound and of the track 1.
func (s contractSocket) sendTone(t *testing.T, startedAt time.Time, from, to int) {
	t.Helper()
	var pcm []byte // a frame has ten whole periods
	for i := range ingest.SoundFrameSamples {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(10_000*math.Sin(2*math.Pi*500*float64(i)/ingest.SoundRate))))
	}
	for i := from; i < to; i++ {
		frame := ingest.SoundFrame{At: startedAt.Add(time.Duration(i) * ingest.SoundFrameDuration), PCM: pcm}
		for frame.Source = range 2 {
			if err := s.Write(t.Context(), websocket.MessageBinary, ingest.EncodeSound(frame)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// streamChanges waits for a number of changes of the streams on the timeline, and returns
// them.
func (h *contractHarness) streamChanges(t *testing.T, id string, count int) (changes []string) {
	t.Helper()
	await.Until(t, fmt.Sprintf("%d changes of streams", count), func() bool {
		var page struct {
			Entries []struct {
				Kind string `json:"kind"`
				Data struct {
					Stream int    `json:"stream"`
					Reason string `json:"reason"`
				} `json:"data"`
			} `json:"entries"`
		}
		reply := h.call(t, 200, h.ada, "listTimeline", "", id)
		if err := json.Unmarshal(reply.body, &page); err != nil {
			t.Fatal(err)
		}
		changes = nil
		for _, entry := range page.Entries {
			if strings.HasPrefix(entry.Kind, "stream_") {
				changes = append(changes, strings.TrimSuffix(fmt.Sprintf("%d %s: %s", entry.Data.Stream, entry.Kind, entry.Data.Reason), ": "))
			}
		}
		return len(changes) >= count
	})
	return changes
}

// dialectSchemas has the schemas of the text messages of other services.
const dialectSchemas = "testdata/dialects.schema.json"

// checkDialect checks a text message of a stream in another service's format.
func checkDialect(t *testing.T, format string, data []byte) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(dialectSchemas + "#/$defs/" + format)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %v\n%.2000s", format, err, data)
	}
}

// checkTone checks that samples are the tone of sendTone.
func checkTone(t *testing.T, what string, pcm []byte, rate, ms int) {
	t.Helper()
	if len(pcm) != rate*ms/1000*2 {
		t.Errorf("%s: %d bytes, want %d ms at %d Hz", what, len(pcm), ms, rate)
	}
	var energy float64
	crossings, before := 0, 0.0
	for i := 0; i < len(pcm); i += 2 {
		value := float64(int16(binary.LittleEndian.Uint16(pcm[i:])))
		energy += value * value
		if before < 0 && value >= 0 {
			crossings++
		}
		before = value
	}
	rms, wantCrossings := math.Sqrt(energy/float64(len(pcm)/2)), ms/2
	if math.Abs(rms-10_000/math.Sqrt2) > 500 || crossings < wantCrossings-2 || crossings > wantCrossings+2 {
		t.Errorf("%s: level %.0f with %d periods in %d ms, want 7071 and %d", what, rms, crossings, ms, wantCrossings)
	}
}

// TestStreamFormats sends sound to receivers of each format, written from the
// documentation of the services, and receives theirs.
func TestStreamFormats(t *testing.T) {
	t.Parallel()
	h := openContractHarness(t, newContractCoverage(), contractSettings(t))
	own, recall, attendee, baas := newStreamReceiver(t), newStreamReceiver(t), newStreamReceiver(t), newStreamReceiver(t)
	id, bot, startedAt := h.startStreams(t, fmt.Sprintf(`[
		{"url":%q,"audio":"both","sampleRate":24000,"send":true},{"url":%q,"format":"recall","audio":"both"},
		{"url":%q,"format":"attendee","audio":"both","sampleRate":8000,"send":true},{"url":%q,"format":"meetingbaas","send":true}],
		"metadata":{"customer":"42","seats":3}`,
		own.url(), recall.url(), attendee.url(), baas.url()))
	toOwn, toRecall, toAttendee, toBaaS := own.accept(t), recall.accept(t), attendee.accept(t), baas.accept(t)
	bot.awaitWanted(t, ingest.SoundWanted{Mixed: true, Participants: true})
	h.streamChanges(t, id, 4)
	bot.tell(t, ingest.SoundMessage{Type: ingest.SoundParticipant, Source: 1, ID: "p-1", Name: "Bob"})
	const frames, skipped = 50, 5 // the filters have no sound before the first
	bot.sendTone(t, startedAt, 0, frames)

	if start := toOwn.text(t); start["type"] != "start" || start["sampleRate"] != 24_000.0 {
		t.Errorf("got %v", start)
	}
	sound := map[uint32][]byte{}
	for i := range 2*frames + 1 {
		if i == 1 { // after the first frame of the mixed sound
			if speaker := toOwn.text(t); speaker["name"] != "Bob" || speaker["participantId"] != "p-1" {
				t.Errorf("got %v", speaker)
			}
			continue
		}
		data := toOwn.read(t, websocket.MessageBinary)
		source := binary.LittleEndian.Uint32(data)
		sound[source] = append(sound[source], data[8:]...)
	}
	for source := range uint32(2) {
		checkTone(t, "standin", sound[source][skipped*960:], 24_000, 20*(frames-skipped))
	}

	sound = map[uint32][]byte{}
	for i := range 2 * frames {
		var message struct {
			Event string
			Data  struct {
				Data struct {
					Buffer    []byte
					Timestamp struct {
						Relative float64
						Absolute time.Time
					}
					Participant *struct {
						ID   int
						Name string
					}
				}
				Bot struct {
					ID       string
					Metadata map[string]string
				}
			}
		}
		data := toRecall.read(t, websocket.MessageText)
		checkDialect(t, "recall", data)
		if err := json.Unmarshal(data, &message); err != nil {
			t.Fatal(err)
		}
		content, source := message.Data.Data, uint32(0)
		if message.Event == "audio_separate_raw.data" {
			source = 1
		}
		if at := float64(i/2) * 0.02; math.Abs(content.Timestamp.Relative-at) > 0.001 ||
			content.Timestamp.Absolute.Sub(startedAt).Milliseconds() != int64(math.Round(at*1000)) ||
			message.Data.Bot.ID != id || message.Data.Bot.Metadata["customer"] != "42" ||
			(content.Participant != nil) != (source == 1) || source == 1 && content.Participant.Name != "Bob" {
			t.Errorf("message %d: %+v", i, message)
		}
		sound[source] = append(sound[source], content.Buffer...)
	}
	for source := range uint32(2) {
		checkTone(t, "recall", sound[source][skipped*640:], 16_000, 20*(frames-skipped))
	}

	sound = map[uint32][]byte{}
	for i := range 2 * frames / 5 {
		var message struct {
			BotID   string `json:"bot_id"`
			Trigger string `json:"trigger"`
			Data    struct {
				Chunk           []byte `json:"chunk"`
				SampleRate      int    `json:"sample_rate"`
				TimestampMs     int64  `json:"timestamp_ms"`
				ParticipantUUID string `json:"participant_uuid"`
				Sequence        int    `json:"sequence"`
			} `json:"data"`
		}
		data := toAttendee.read(t, websocket.MessageText)
		checkDialect(t, "attendee", data)
		if err := json.Unmarshal(data, &message); err != nil {
			t.Fatal(err)
		}
		source := uint32(0)
		if message.Trigger == "realtime_audio.per_participant" {
			source = 1
		}
		if message.BotID != id || message.Data.SampleRate != 8000 || message.Data.TimestampMs != startedAt.UnixMilli()+int64(100*(i/2)) ||
			(message.Data.ParticipantUUID == "p-1") != (source == 1) || source == 1 && message.Data.Sequence != i/2+1 ||
			len(message.Data.Chunk) != 1600 {
			t.Errorf("message %d: %+v", i, message)
		}
		sound[source] = append(sound[source], message.Data.Chunk...)
	}
	for source := range uint32(2) {
		checkTone(t, "attendee", sound[source][skipped*320:], 8000, 20*(frames-skipped))
	}

	handshake := toBaaS.read(t, websocket.MessageText)
	checkDialect(t, "meetingbaas", handshake)
	if want := `"sample_rate":24000`; !strings.Contains(string(handshake), want) || !strings.Contains(string(handshake), id) {
		t.Errorf("got %s, want %s of %s", handshake, want, id)
	}
	var mixed []byte
	for range frames / 5 {
		chunk := toBaaS.read(t, websocket.MessageBinary)
		if len(chunk) != 4800 {
			t.Errorf("a chunk of %d bytes, want 100 ms", len(chunk))
		}
		mixed = append(mixed, chunk...)
	}
	checkTone(t, "meetingbaas", mixed[skipped*960:], 24_000, 20*(frames-skipped))

	// The way back: each receiver sends a second of a tone, one in pieces that cut samples.
	pieces := func(to contractSocket, pcm []byte) (err error) {
		for len(pcm) > 0 && err == nil {
			piece := pcm[:min(641, len(pcm))]
			pcm, err = pcm[len(piece):], to.Write(t.Context(), websocket.MessageBinary, piece)
		}
		return err
	}
	tone := func(rate int) (pcm []byte) {
		for i := range rate {
			pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(10_000*math.Sin(2*math.Pi*500*float64(i)/float64(rate)))))
		}
		return pcm
	}
	for name, send := range map[string]func() error{
		"standin": func() error { return toOwn.Write(t.Context(), websocket.MessageBinary, tone(24_000)) },
		"attendee": func() error {
			return toAttendee.Write(t.Context(), websocket.MessageText,
				fmt.Appendf(nil, `{"trigger":"realtime_audio.bot_output","data":{"chunk":%q,"sample_rate":16000}}`,
					base64.StdEncoding.EncodeToString(tone(16_000))))
		},
		"meetingbaas": func() error { return pieces(toBaaS, tone(24_000)) },
	} {
		if err := send(); err != nil {
			t.Fatal(err)
		}
		var played []byte
		for len(played) < 2*ingest.SoundRate {
			kind, data, err := bot.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if kind == websocket.MessageBinary {
				played = append(played, data...)
			}
		}
		checkTone(t, "played by "+name, played[9600:], ingest.SoundRate, 900)
	}
	if err := toOwn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"clear"}`)); err != nil {
		t.Fatal(err)
	}
	if _, data, err := bot.Read(t.Context()); err != nil || !bytes.Contains(data, []byte(ingest.SoundStopPlaying)) {
		t.Errorf("after clear: %s, %v", data, err)
	}
	bot.leave(t)
	if end := toOwn.text(t); end["type"] != "end" {
		t.Errorf("got %v", end)
	}
	for name, socket := range map[string]contractSocket{"standin": toOwn, "recall": toRecall, "attendee": toAttendee, "meetingbaas": toBaaS} {
		if _, _, err := socket.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
}

// texts returns the text messages of the next connection once it has ended.
func (r *streamReceiver) texts(t *testing.T) (all func() []string) {
	t.Helper()
	done := make(chan []string, 1)
	go func() {
		var texts []string
		defer func() { done <- texts }()
		select {
		case conn := <-r.conns:
			defer conn.CloseNow()
			for {
				kind, data, err := conn.Read(t.Context())
				if err != nil {
					return
				}
				if kind == websocket.MessageText {
					texts = append(texts, string(data))
				}
			}
		case <-t.Context().Done():
		}
	}()
	return func() []string { return <-done }
}

// TestStreamEvents: receivers get the events of the live stream that they want, in their
// formats.
func TestStreamEvents(t *testing.T) {
	t.Parallel()
	own, recall, baas := newStreamReceiver(t), newStreamReceiver(t), newStreamReceiver(t)
	toOwn, toRecall, toBaaS := own.texts(t), recall.texts(t), baas.texts(t)
	m := openLiveMeeting(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"text": "hello Standin"}`) },
		fmt.Sprintf(`,"streams":[{"url":%q,"events":["transcript","chat","participants","speaking"]},
			{"url":%q,"format":"recall","events":["transcript","chat","participants","speaking"]},{"url":%q,"format":"meetingbaas"}]`,
			own.url(), recall.url(), baas.url()))
	m.call(t, 200, contractToken(m.id, 0), "heartbeat", `{"jobId":"`+m.id+`","attempt":0,"acked":[],
		"stats":{"roster":{"participants":[{"id":"p-1","name":"Ada","speaking":true},{"id":"p-2","name":"Bob"}]}}}`)
	written := make(chan struct{})
	go func() {
		defer close(written)
		m.streamChanges(t, m.id, 3)
		m.do(t, contractRequest{op: "ingestTexts", bearer: contractToken(m.id, 0), body: `{"jobId":"` + m.id +
			`","attempt":0,"texts":[{"id":"m-1","kind":"chat",
			"participantId":"p-2","author":"Bob","text":"Good morning","startedAt":"2026-11-20T13:00:00Z","endedAt":"2026-11-20T13:00:00Z"}]}`})
	}()
	m.hold(t, 5*time.Second, spoken{source: 1, name: "Ada", at: 300 * time.Millisecond, pcm: hum(time.Second)})
	<-written
	check := func(name string, texts []string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			words := strings.Fields(want)
			if !slices.ContainsFunc(texts, func(text string) bool {
				return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
			}) {
				t.Errorf("%s has no message with %s:\n%s", name, want, strings.Join(slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
					return strings.Contains(text, "audio_mixed_raw")
				}), "\n"))
			}
		}
	}
	check("standin", toOwn(), `"type":"start"`, `{"type":"participants","participants":[{"id":"p-1","name":"Ada"},{"id":"p-2","name":"Bob"}]}`,
		`{"type":"speaking","participantIds":["p-1"]}`, `"type":"chat" "author":"Bob" morning`,
		`"type":"transcript" "final":true "speaker":"Ada" Standin "language":"en"`)
	const ada, bob = `"participant":{"id":1001,"name":"Ada"`, `"participant":{"id":1002,"name":"Bob"`
	recallTexts, baasTexts := toRecall(), toBaaS()
	for _, text := range recallTexts {
		checkDialect(t, "recall", []byte(text))
	}
	for _, text := range baasTexts {
		checkDialect(t, "meetingbaas", []byte(text))
	}
	check("recall", recallTexts, `"event":"participant_events.join" `+ada, `"event":"participant_events.join" `+bob,
		`"event":"participant_events.speech_on" `+ada,
		`"event":"participant_events.chat_message" `+bob+` morning "to":"everyone" "absolute":"2026-11-20T13:00:00.000Z"`,
		`"event":"transcript.data" `+ada+` "language_code":"en" "text":"hello","start_timestamp":{"relative":`)
	check("meetingbaas", baasTexts,
		`[{"name":"Ada","id":1001,"timestamp": "isSpeaking":true},{"name":"Bob","id":1002,"timestamp": "isSpeaking":false}]`)
}

// TestStreamFaults: receivers that stall, are closed, refuse and answer garbage do not
// delay others, and their losses are told.
func TestStreamFaults(t *testing.T) {
	t.Parallel()
	h := openContractHarness(t, newContractCoverage(), contractSettings(t))
	hooks := newContractHooks(t, h.checker)
	good, closing := newStreamReceiver(t), newStreamReceiver(t)
	garbage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer garbage.Close()
	id, bot, startedAt := h.startStreams(t, fmt.Sprintf(`[
		{"url":%q,"sampleRate":48000},{"url":%q,"sampleRate":48000},{"url":%q},{"url":"ws://10.1.2.3/"}],"webhooks":{"onStatusChange":%q}`,
		good.url(), closing.url(), "ws"+strings.TrimPrefix(garbage.URL, "http"), hooks.URL))
	toGood, toClosing := good.accept(t), closing.accept(t)
	bot.awaitWanted(t, ingest.SoundWanted{Mixed: true})
	bot.answerPings(t)
	next := func(from, to int) { // sends frames, which the good receiver gets at once
		for i := from; i < to; i++ {
			bot.sendFrame(t, ingest.SoundFrame{At: startedAt.Add(time.Duration(i) * ingest.SoundFrameDuration)})
		}
		for i := from; i < to; i++ {
			toGood.expectFrame(t, 0, 20*i, 960)
		}
	}
	toGood.text(t)
	toClosing.text(t)
	const before, unread = 10, 3000
	next(0, before)
	for i := range before {
		toClosing.expectFrame(t, 0, 20*i, 960)
	}
	_ = toClosing.Close(websocket.StatusInternalError, "")
	toClosing = closing.accept(t) // again
	toClosing.text(t)

	// It does not read a minute, and then gets the rest.
	for from := before; from < before+unread; from += 50 {
		next(from, from+50)
	}
	var lost float64
	read, last := 0, 0
	for last != 20*(before+unread-1) {
		kind, data, err := toClosing.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if kind == websocket.MessageBinary {
			last = int(binary.LittleEndian.Uint32(data[4:]))
			read++
			continue
		}
		var gap map[string]any
		if err := json.Unmarshal(data, &gap); err != nil || gap["type"] != "gap" {
			t.Fatalf("got %s (%v)", data, err)
		}
		lost += gap["lostFrames"].(float64)
	}
	t.Logf("the receiver that did not read got %d frames and lost %.0f", read, lost)
	if lost == 0 || read+int(lost) > unread || read+int(lost) < unread-100 { // what was sent while it was not connected may be lost too
		t.Errorf("%d frames were received and %.0f are told as lost, of %d", read, lost, unread)
	}
	_ = toClosing.Close(websocket.StatusNormalClosure, "")

	await.Until(t, "the stream that its receiver closed", func() bool {
		return strings.Contains(strings.Join(h.streamChanges(t, id, 5), "\n"), "1 stream_failed")
	})
	bot.leave(t)
	changes := strings.Join(h.streamChanges(t, id, 7), "\n")
	for _, want := range []string{
		"0 stream_connected", "1 stream_connected", "1 stream_disconnected: the receiver closed the connection with the code 1011",
		"1 stream_failed: the stream is closed by the receiver with the code 1000",
		"2 stream_failed: the recording has ended; the last error: the receiver responded with the status 200, not with a WebSocket",
		`3 stream_failed: the stream is closed: host "10.1.2.3" is refused: it has a private address; ` +
			`STANDIN_WEBHOOK_ALLOW_CIDRS lists the networks that are allowed`,
	} {
		if !strings.Contains(changes, want) {
			t.Errorf("the timeline lacks %q:\n%s", want, changes)
		}
	}
	await.Until(t, "webhooks", func() bool { return hooks.count("bot.stream_changed") >= 7 })
	live := string(h.call(t, 200, h.ada, "liveJob?follow=false", "", id).body)
	if strings.Count(live, "event: stream\n") < 7 || !strings.Contains(live, `"state":"failed"`) {
		t.Errorf("the live stream lacks the changes:\n%s", live)
	}
}

// contractStreams tests that streams that cannot be used are refused, and others are kept.
func contractStreams(t *testing.T, h *contractHarness) {
	for streams, path := range map[string]string{
		`[{"url":"https://example.com/"}]`: `"streams",0,"url"`,
		`[{"url":"ws:///x"}]`:              `"streams",0,"url"`,
		`[{}]`:                             `"streams",0,"url"`,
		`[{"url":"ws://a/"},{"url":"ws://b/","audio":"all"}]`:                `"streams",1,"audio"`,
		`[{"url":"ws://a/","sampleRate":44100}]`:                             `"streams",0,"sampleRate"`,
		`[{"url":"ws://a/","format":"recall","sampleRate":8000}]`:            `"streams",0,"sampleRate"`,
		`[{"url":"ws://a/","format":"recall","send":true}]`:                  `"streams",0,"send"`,
		`[{"url":"ws://a/","format":"meetingbaas","audio":"both"}]`:          `"streams",0,"audio"`,
		`[{"url":"ws://a/","events":["state"]}]`:                             `"streams",0,"events",0`,
		`[{"url":"ws://a/","format":"attendee","events":["chat"]}]`:          `"streams",0,"events"`,
		`[{"url":"ws://a/","format":"recall","events":["chat","caption"]}]`:  `"streams",0,"events",1`,
		`[` + strings.Repeat(`{"url":"ws://a/"},`, 4) + `{"url":"ws://a/"}]`: `"streams"`,
	} {
		h.refuse(t, path, h.ada, "createJob", contractJob(`,"streams":`+streams))
	}
	id := h.create(t, h.ada, contractJob(contractFuture+`,"streams":[{"url":"wss://a.example/x?token=1","send":true}]`))
	settings := h.call(t, 200, h.ada, "getJobSettings", "", id)
	if got := fmt.Sprint(settings.field(t, "streams")); got != "[map[send:true url:wss://a.example/x?token=1]]" {
		t.Errorf("got %s", got)
	}
	h.call(t, 200, h.ada, "patchJob", `{"streams":[]}`, id)
	settings = h.call(t, 200, h.ada, "getJobSettings", "", id)
	if settings.has("a.example") {
		t.Errorf("got %s", settings.body)
	}
}

// TestSoundOfAnotherNode: a listener that reaches another node than the bot gets the sound,
// also if it was there first.
func TestSoundOfAnotherNode(t *testing.T) {
	t.Parallel()
	if cluster == nil {
		t.Skip("PostgreSQL is not installed")
	}
	settings := contractSettings(t)
	settings.DatabaseURL = cluster.Fresh(t)
	first := openContractHarness(t, newContractCoverage(), settings)
	others := contractSettings(t)
	others.DatabaseURL = settings.DatabaseURL
	second := openContractHarness(t, newContractCoverage(), others)
	id := first.create(t, first.ada, contractJob(""))
	first.sendEvent(t, id, "lifecycle.joined", "")
	early := second.listen(t, id, "sampleRate=8000")
	startedAt := time.Now()
	bot := first.connectBot(t, id, startedAt)
	if _, _, err := early.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("the listener that was there first: %v", err)
	}
	listener := second.listen(t, id, "sampleRate=8000")
	bot.awaitWanted(t, ingest.SoundWanted{Mixed: true})
	bot.sendFrame(t, ingest.SoundFrame{At: startedAt.Add(time.Second)})
	listener.expectFrame(t, 0, 1000, 160)
	second.call(t, 426, second.ada, "listenToJob", "", id)
	bot.leave(t)
	if end := listener.text(t); end["type"] != "end" {
		t.Errorf("got %v", end)
	}
}
