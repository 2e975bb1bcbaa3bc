package sound_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/recording/sound"
	"standin/internal/server/live"
)

// start is when the recordings of these tests start.
var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

const frameTime = ingest.SoundFrameDuration

// jobs is a service with one job, which records the changes of its streams.
type jobs struct {
	job job.Job

	statuses []job.Status // one after the other

	mu      sync.Mutex
	changes []job.StreamChange
	changed chan struct{}
}

func (j *jobs) StreamsOf(context.Context, uuid.UUID) (job.Job, []webhook.Secret, error) {
	return j.job, []webhook.Secret{{Value: webhook.NewSecret()}}, nil
}

func (j *jobs) RecordStream(_ context.Context, _ uuid.UUID, change job.StreamChange) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changes = append(j.changes, change)
	j.changed <- struct{}{}
	return nil
}

func (*jobs) RecordingStart(_ context.Context, _ uuid.UUID, _ int, startedAt time.Time) (time.Time, error) {
	return startedAt, nil
}

func (*jobs) Follow(ctx context.Context, _ uuid.UUID, begun func(), _ func(live.Event) error) error {
	begun()
	<-ctx.Done()
	return ctx.Err()
}

func (j *jobs) FollowStatus(ctx context.Context, _ uuid.UUID, handle func(job.Status)) {
	for _, status := range j.statuses {
		handle(status)
	}
	<-ctx.Done()
}

// nodes remembers the node of the job.
type nodes struct {
	mu  sync.Mutex
	url string
}

func (n *nodes) SetSoundNode(_ context.Context, _ uuid.UUID, url, from string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if url != "" || n.url == from {
		n.url = url
	}
	return nil
}

func (n *nodes) SoundNode(context.Context, uuid.UUID) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.url, nil
}

// harness is a service for live sound to which bots connect.
type harness struct {
	*testing.T
	service *sound.Service
	jobs    *jobs
	nodes   *nodes
	url     string
	ended   chan struct{} // receives when the connection of a bot has ended
}

func newHarness(t *testing.T, streams ...job.StreamOptions) *harness {
	t.Helper()
	h := &harness{
		T: t, nodes: new(nodes), ended: make(chan struct{}, 10),
		jobs: &jobs{changed: make(chan struct{}, 100), statuses: []job.Status{job.RecordingStarted}},
	}
	h.jobs.job = job.Job{ID: uuid.New(), Options: job.Options{Streams: streams}}
	h.service = &sound.Service{
		Hub: sound.NewHub(), Recordings: h.jobs, Jobs: h.jobs, Live: h.jobs, Client: http.DefaultClient, NodeURL: "http://node.test",
		Nodes: h.nodes,
		Log:   slog.New(slog.DiscardHandler),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		h.service.ServeBot(r.Context(), conn, ingest.Simulated(h.jobs.job.ID, 0))
		h.ended <- struct{}{}
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// bot connects a bot whose recording has started.
func (h *harness) bot() *websocket.Conn {
	h.Helper()
	conn, _, err := websocket.Dial(h.Context(), h.url, nil) //nolint:bodyclose // of a WebSocket
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = conn.CloseNow() })
	h.write(conn, ingest.SoundMessage{Type: ingest.SoundStart, StartedAt: start})
	return conn
}

// write sends a text message of a bot.
func (h *harness) write(conn *websocket.Conn, message any) {
	h.Helper()
	encoded, err := json.Marshal(message)
	if err == nil {
		err = conn.Write(h.Context(), websocket.MessageText, encoded)
	}
	if err != nil {
		h.Fatal(err)
	}
}

// leave tells that a bot has left the meeting, and waits until the connection is closed.
func (h *harness) leave(conn *websocket.Conn) {
	h.Helper()
	h.write(conn, ingest.SoundMessage{Type: ingest.SoundEnd})
	for {
		if _, _, err := conn.Read(h.Context()); err != nil {
			return
		}
	}
}

// frame sends the frame of a source that begins n frames after the start, all of whose
// samples have the value n.
func (h *harness) frame(conn *websocket.Conn, source, n int) {
	h.Helper()
	frame := ingest.SoundFrame{Source: source, At: start.Add(time.Duration(n) * frameTime), PCM: samples(n)}
	if err := conn.Write(h.Context(), websocket.MessageBinary, ingest.EncodeSound(frame)); err != nil {
		h.Fatal(err)
	}
}

// samples returns the samples of a frame.
func samples(value int) []byte {
	pcm := make([]byte, 0, ingest.SoundFrameBytes)
	for range ingest.SoundFrameSamples {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(value)) //nolint:gosec // small
	}
	return pcm
}

// next returns the next frame of a subscription.
func (h *harness) next(s *sound.Subscription) (sound.Frame, *sound.Gap) {
	h.Helper()
	frame, gap, err := s.Next(h.Context())
	if err != nil {
		h.Fatalf("next frame: %v", err)
	}
	return frame, gap
}

// awaitWant waits until a bot is told which sound is wanted.
func (h *harness) awaitWant(conn *websocket.Conn, want ingest.SoundWanted) {
	h.Helper()
	for {
		_, data, err := conn.Read(h.Context())
		if err != nil {
			h.Fatalf("the bot is not told %+v: %v", want, err)
		}
		var message ingest.SoundMessage
		if json.Unmarshal(data, &message) == nil && message.Type == ingest.SoundWant && message.SoundWanted == want {
			return
		}
	}
}

// TestSubscription checks which frames a subscriber gets, with whose sound they are, and
// that its sound ends when the bot leaves.
func TestSubscription(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	both := h.service.Subscribe(h.jobs.job.ID, sound.WantedBy(job.StreamBoth))
	defer both.Close()
	mixed := h.service.Subscribe(h.jobs.job.ID, sound.WantedBy(job.StreamMixed))
	defer mixed.Close()
	bot := h.bot()
	h.awaitWant(bot, ingest.SoundWanted{Mixed: true, Participants: true})
	h.write(bot, ingest.SoundMessage{Type: ingest.SoundParticipant, Source: 3, ID: "p1", Name: "Ada"})
	h.write(bot, ingest.SoundMessage{Type: ingest.SoundSpeaking, Speaking: []ingest.SoundSpeaker{{ID: "p1", Name: "Ada"}}})
	h.frame(bot, 0, -1) // before the start of the recording
	h.frame(bot, 3, 1)
	h.frame(bot, 0, 2)
	h.leave(bot)
	track, _ := h.next(both)
	if track.Source != 3 || track.Start != frameTime || track.Participant == nil || track.Participant.Name != "Ada" || track.Speaker != nil {
		t.Errorf("the track of a participant is %+v", track)
	}
	for name, s := range map[string]*sound.Subscription{"both": both, "mixed": mixed} {
		frame, gap := h.next(s)
		if frame.Source != 0 || frame.Start != 2*frameTime || frame.Speaker == nil || frame.Speaker.ID != "p1" || gap != nil {
			t.Errorf("%s: the mixed sound is %+v after the gap %+v", name, frame, gap)
		}
		if _, _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the end: %v", name, err)
		}
	}
}

// TestSlowSubscriber checks that a subscriber that is too slow gets the latest sound, and
// is told what it has missed.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	slow := h.service.Subscribe(h.jobs.job.ID, sound.WantedBy(job.StreamMixed))
	defer slow.Close()
	bot := h.bot()
	const sent, kept = 250, 101 // five seconds, of which two wait
	for n := range sent {
		h.frame(bot, 0, n)
	}
	h.leave(bot)
	<-h.ended
	frame, gap := h.next(slow)
	if want := (sent - kept) * frameTime; frame.Start != want || gap == nil || *gap != (sound.Gap{From: 0, To: want, Frames: sent - kept}) {
		t.Errorf("the first frame starts at %s after the gap %+v, want %s", frame.Start, gap, want)
	}
	if frame, gap := h.next(slow); frame.Start != (sent-kept+1)*frameTime || gap != nil {
		t.Errorf("the second frame starts at %s after the gap %+v", frame.Start, gap)
	}
}

// TestReplacedBot checks that the bot of a later attempt replaces an earlier one, whose
// end does not end the sound.
func TestReplacedBot(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.service.Subscribe(h.jobs.job.ID, sound.WantedBy(job.StreamMixed))
	defer s.Close()
	want := ingest.SoundWanted{Mixed: true}
	first := h.bot()
	h.awaitWant(first, want)
	second := h.bot()
	h.awaitWant(second, want)
	<-h.ended
	if _, _, err := first.Read(t.Context()); err == nil {
		t.Error("the first bot is still connected")
	}
	h.frame(second, 0, 7)
	if frame, _ := h.next(s); frame.Start != 7*frameTime {
		t.Errorf("the frame of the second bot starts at %s", frame.Start)
	}
	if !h.service.Hub.Connected(h.jobs.job.ID) {
		t.Error("no bot is connected")
	}
	_ = second.Close(websocket.StatusNormalClosure, "") // lost: the bot has not said that it leaves
	<-h.ended
	waiting, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Next(waiting); !errors.Is(err, context.Canceled) {
		t.Errorf("the sound of a lost bot has ended: %v", err)
	}
}

// TestPause checks that nobody hears what a bot sends before its recording has begun or while
// it is paused.
func TestPause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		statuses []job.Status
		heard    bool
	}{
		{[]job.Status{job.RecordingStarted}, true},
		{[]job.Status{job.InMeeting}, false},
		{[]job.Status{job.RecordingPaused}, false},
		{[]job.Status{job.RecordingPaused, job.RecordingStarted}, true},
	} {
		t.Run(fmt.Sprint(test.statuses), func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.jobs.statuses = test.statuses
			s := h.service.Subscribe(h.jobs.job.ID, sound.WantedBy(job.StreamMixed))
			defer s.Close()
			bot := h.bot()
			h.frame(bot, 0, 1)
			h.leave(bot)
			if _, _, err := s.Next(t.Context()); (err == nil) != test.heard {
				t.Errorf("the sound is followed by %v", err)
			}
		})
	}
}

// TestStreamsInTurn checks that a stream to a receiver ends, on the timeline too, before that of
// the bot that replaces another one begins.
func TestStreamsInTurn(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		for err == nil {
			_, _, err = conn.Read(r.Context())
		}
	}))
	t.Cleanup(receiver.Close)
	h := newHarness(t, job.StreamOptions{URL: receiver.URL})
	for n := range 3 {
		h.awaitWant(h.bot(), ingest.SoundWanted{Mixed: true})
		for range min(2*n, 1) + 1 {
			<-h.jobs.changed
		}
	}
	h.jobs.mu.Lock()
	defer h.jobs.mu.Unlock()
	var states []job.StreamState
	for _, change := range h.jobs.changes {
		states = append(states, change.State)
	}
	connected, lost := job.StreamConnected, job.StreamDisconnected
	if want := []job.StreamState{connected, lost, connected, lost, connected}; !slices.Equal(states, want) {
		t.Errorf("the stream is %v, want %v", states, want)
	}
	if url, _ := h.nodes.SoundNode(t.Context(), h.jobs.job.ID); url != "http://node.test" {
		t.Errorf("with a bot here, %q is announced", url)
	}
}

// TestPlay checks what a bot is told to play.
func TestPlay(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.service.Subscribe(h.jobs.job.ID, sound.WantedBy(job.StreamMixed))
	defer s.Close()
	if s.Play(samples(1)) {
		t.Error("sound is accepted without a bot")
	}
	bot := h.bot()
	h.awaitWant(bot, ingest.SoundWanted{Mixed: true})
	if !s.Play(samples(2)) {
		t.Fatal("sound is refused")
	}
	if kind, data, err := bot.Read(t.Context()); err != nil || kind != websocket.MessageBinary || string(data) != string(samples(2)) {
		t.Errorf("the bot gets %d bytes of kind %d (%v)", len(data), kind, err)
	}
	s.StopPlaying()
	if _, data, err := bot.Read(t.Context()); err != nil || !strings.Contains(string(data), ingest.SoundStopPlaying) {
		t.Errorf("the bot is told %s (%v)", data, err)
	}
}

// TestNodes checks which node is announced to others.
func TestNodes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, job.StreamOptions{URL: "ws://127.0.0.1:1"})
	id := h.jobs.job.ID
	h.nodes.url = "http://other.test"
	if url, err := h.service.OtherNode(t.Context(), id); err != nil || url != "http://other.test" {
		t.Errorf("the sound is at %q (%v)", url, err)
	}
	bot := h.bot()
	h.awaitWant(bot, ingest.SoundWanted{Mixed: true}) // of the stream, which is started after the announcement
	if url, err := h.service.OtherNode(t.Context(), id); err != nil || url != "" {
		t.Errorf("with a bot here, the sound is at %q (%v)", url, err)
	}
	if url, _ := h.nodes.SoundNode(t.Context(), id); url != "http://node.test" {
		t.Errorf("with a bot here, %q is announced", url)
	}
	_ = bot.Close(websocket.StatusNormalClosure, "")
	<-h.ended
	if url, _ := h.nodes.SoundNode(t.Context(), id); url != "" {
		t.Errorf("after the end, %q is announced", url)
	}
}

// TestHostileBots checks that connections end that do not follow the protocol.
func TestHostileBots(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]struct {
		kind websocket.MessageType
		data string
	}{
		"a frame that is too short": {websocket.MessageBinary, "short"},
		"an unknown source":         {websocket.MessageBinary, strings.Repeat("\xff", 12+ingest.SoundFrameBytes)},
		"no JSON":                   {websocket.MessageText, "{"},
		"a large message":           {websocket.MessageText, strings.Repeat(" ", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			bot := h.bot()
			_ = bot.Write(t.Context(), message.kind, []byte(message.data)) // which the service may end
			<-h.ended
			if h.service.Hub.Connected(h.jobs.job.ID) {
				t.Error("the bot is still connected")
			}
		})
	}
}

// receiver is the receiver of a stream.
type receiver struct {
	url      string
	messages chan string // text, or the time and the first sample of a frame
}

// newReceiver starts a receiver that shows binary messages with show.
func newReceiver(t *testing.T, show func([]byte) string) *receiver {
	t.Helper()
	r := &receiver{messages: make(chan string, 1000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Header.Get("webhook-signature") == "" {
			t.Error("the request of a stream is not signed")
		}
		conn, err := websocket.Accept(w, request, nil)
		if err != nil {
			return
		}
		defer close(r.messages)
		for {
			kind, data, err := conn.Read(request.Context())
			if err != nil {
				return
			}
			text := string(data)
			if kind == websocket.MessageBinary {
				text = show(data)
			}
			r.messages <- text
		}
	}))
	t.Cleanup(server.Close)
	r.url = strings.Replace(server.URL, "http://", "ws://", 1)
	return r
}

// TestStream checks the messages of a stream in Standin's own format: the start, frames
// with their times, what is missing, and the end.
func TestStream(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, func(data []byte) string {
		return fmt.Sprintf("frame of %d at %d ms, %d bytes", binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:]), len(data)-8)
	})
	h := newHarness(t, job.StreamOptions{URL: receiver.url, Audio: job.StreamBoth, SampleRate: 16000})
	bot := h.bot()
	h.awaitWant(bot, ingest.SoundWanted{Mixed: true, Participants: true})
	h.write(bot, ingest.SoundMessage{Type: ingest.SoundParticipant, Source: 1, ID: "p1", Name: "Ada"})
	h.frame(bot, 1, 0)
	h.frame(bot, 0, 0)
	h.frame(bot, 0, 50) // after a second without sound
	h.leave(bot)
	var got []string
	for message := range receiver.messages {
		got = append(got, message)
	}
	<-h.ended
	want := []string{
		fmt.Sprintf(`{"type":"start","version":1,"jobId":"%s","audio":"both","encoding":"pcm_s16le","sampleRate":16000,"channels":1,"frameMs":20}`, h.jobs.job.ID),
		`{"type":"speaker","source":1,"participantId":"p1","name":"Ada"}`, "frame of 1 at 0 ms, 640 bytes", "frame of 0 at 0 ms, 640 bytes",
		`{"type":"gap","fromMs":20,"toMs":1000,"lostFrames":0}`, "frame of 0 at 1000 ms, 640 bytes", `{"type":"end"}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the receiver got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	h.jobs.mu.Lock()
	defer h.jobs.mu.Unlock()
	if changes := h.jobs.changes; len(changes) != 1 || changes[0].State != job.StreamConnected {
		t.Errorf("the changes of the stream are %+v", changes)
	}
}

// TestBotConnectsAgain checks that the receiver is told what is missing between two connections of a bot.
func TestBotConnectsAgain(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, func([]byte) string { return "frame" })
	h := newHarness(t, job.StreamOptions{URL: receiver.url})
	conn, _, err := websocket.Dial(h.Context(), h.url, nil) //nolint:bodyclose // of a WebSocket
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow() //nolint:errcheck // it may be closed
	h.write(conn, ingest.SoundMessage{Type: ingest.SoundStart, StartedAt: start, SentUntil: start.Add(10 * time.Second)})
	h.awaitWant(conn, ingest.SoundWanted{Mixed: true})
	h.frame(conn, 0, 600)
	h.leave(conn)
	var got []string
	for message := range receiver.messages {
		got = append(got, message)
	}
	<-h.ended
	if len(got) < 3 || got[1] != `{"type":"gap","fromMs":10000,"toMs":12000,"lostFrames":0}` || got[2] != "frame" {
		t.Errorf("the receiver got %q, want the gap from 10 to 12 seconds before the frame", got)
	}
}

// TestLargeMessage checks that a receiver may send half a minute of sound at once, and is told why more ends its connection.
func TestLargeMessage(t *testing.T) {
	t.Parallel()
	sizes := make(chan int, 2)
	sizes <- 4 << 20
	sizes <- 4<<20 + 2
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		for range 2 {
			select {
			case size := <-sizes:
				if err := conn.Write(r.Context(), websocket.MessageBinary, make([]byte, size)); err != nil {
					return
				}
			default:
			}
		}
		for err == nil {
			_, _, err = conn.Read(r.Context())
		}
	}))
	t.Cleanup(server.Close)
	h := newHarness(t, job.StreamOptions{URL: strings.Replace(server.URL, "http://", "ws://", 1), SampleRate: 48000, Send: true})
	bot := h.bot()
	played := 0
	for played < 4<<20 {
		kind, data, err := bot.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if kind == websocket.MessageBinary {
			played += len(data)
		}
	}
	<-h.jobs.changed
	<-h.jobs.changed
	h.jobs.mu.Lock()
	defer h.jobs.mu.Unlock()
	if last := h.jobs.changes[1]; last.State != job.StreamDisconnected || last.Reason != "the receiver sent a message of more than 4 MiB" {
		t.Errorf("the change is %+v", last)
	}
}

// TestChunks checks that the formats of other services, which send 100 ms at a time, keep
// the time: what is missing in a chunk is silence, and no chunk is left out.
func TestChunks(t *testing.T) {
	t.Parallel()
	values := func(pcm []byte) string {
		var text strings.Builder
		for chunk := 0; chunk < len(pcm); chunk += ingest.SoundFrameBytes {
			fmt.Fprintf(&text, "%d ", binary.LittleEndian.Uint16(pcm[chunk+ingest.SoundFrameBytes/2:]))
		}
		return strings.TrimSpace(text.String())
	}
	receiver := newReceiver(t, values)
	h := newHarness(t, job.StreamOptions{URL: receiver.url, Audio: job.StreamMixed, SampleRate: 48000, Format: job.StreamMeetingBaaS})
	bot := h.bot()
	h.awaitWant(bot, ingest.SoundWanted{Mixed: true})
	for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 10, 11, 20, 21, 22, 23, 24} {
		h.frame(bot, 0, n)
	}
	h.leave(bot)
	var got []string
	for message := range receiver.messages {
		got = append(got, message)
	}
	<-h.ended
	want := []string{"1 2 3 4 5", "6 0 8 0 10", "11 0 0 0 0", "20 21 22 23 24"}
	if len(got) == 0 || !strings.Contains(got[0], `"protocol_version":1`) || strings.Join(got[1:], ", ") != strings.Join(want, ", ") {
		t.Errorf("the receiver got %q, want the handshake and %q", got, want)
	}
}

// TestReceiverCloses checks that a stream ends for good when its receiver closes it with
// the code 1000 or responds with the status 410.
func TestReceiverCloses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		states  []job.StreamState
	}{
		"with the code 1000": {func(w http.ResponseWriter, r *http.Request) {
			if conn, err := websocket.Accept(w, r, nil); err == nil {
				_ = conn.Close(websocket.StatusNormalClosure, "")
			}
		}, []job.StreamState{job.StreamConnected, job.StreamFailed}},
		"with the status 410": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusGone)
		}, []job.StreamState{job.StreamFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(test.handler)
			t.Cleanup(server.Close)
			h := newHarness(t, job.StreamOptions{URL: strings.Replace(server.URL, "http://", "ws://", 1)})
			h.bot()
			for range test.states {
				<-h.jobs.changed
			}
			h.jobs.mu.Lock()
			defer h.jobs.mu.Unlock()
			for i, change := range h.jobs.changes {
				if change.State != test.states[i] {
					t.Errorf("change %d is %+v, want %s", i, change, test.states[i])
				}
			}
		})
	}
}

// TestSubscriberWaits checks that a subscriber without sound waits as long as its context.
func TestSubscriberWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sound.NewHub().Subscribe(uuid.New(), sound.WantedBy(job.StreamMixed))
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after an hour: %v", err)
		}
	})
}
