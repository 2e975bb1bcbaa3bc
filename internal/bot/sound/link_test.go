package sound_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/sound"
	hub "standin/internal/recording/sound"
)

// service is a hub behind a WebSocket.
type service struct {
	*hub.Hub
	*httptest.Server
	job   uuid.UUID
	mu    sync.Mutex
	conns []*websocket.Conn
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{Hub: hub.NewHub(), job: uuid.New()}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
		same := func(_ context.Context, at time.Time) (time.Time, error) { return at, nil }
		_ = s.ServeBot(context.WithoutCancel(r.Context()), conn, s.job, hub.Callbacks{
			Origin: same, Connected: func(context.Context, time.Duration) {},
		})
	}))
	t.Cleanup(s.Close)
	return s
}

// startLink runs a link to the service, whose recording has started.
func (s *service) startLink(t *testing.T, startedAt time.Time) *sound.Link {
	t.Helper()
	link := sound.New(sound.Settings{
		Dial: func(ctx context.Context) (*websocket.Conn, error) {
			conn, _, err := websocket.Dial(ctx, s.URL, nil)
			return conn, err
		},
		Clock: func(at time.Time) time.Time { return at }, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { link.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	link.Start(startedAt)
	return link
}

// awaitWanted waits until the service wants all sound.
func awaitWanted(t *testing.T, link *sound.Link) {
	t.Helper()
	for {
		wanted, changed := link.Wanted()
		if wanted.Mixed && wanted.Participants {
			return
		}
		select {
		case <-changed:
		case <-time.After(30 * time.Second):
			t.Fatal("the service does not want sound")
		}
	}
}

// TestLink: sound reaches the service with its time and owner, also after the connection
// was lost, and ends when the bot has left.
func TestLink(t *testing.T) {
	t.Parallel()
	s, startedAt := newService(t), time.Now()
	subscription := s.Subscribe(s.job, hub.Wanted{Mixed: true, Participants: true})
	defer subscription.Close()
	link := s.startLink(t, startedAt)
	pcm := bytes.Repeat([]byte{1, 2}, ingest.SoundFrameSamples)
	hear := func(at time.Duration) {
		awaitWanted(t, link)
		link.Hear([]recorder.LiveSound{{At: startedAt.Add(at), PCM: pcm}, {TrackID: "a", At: startedAt.Add(at), PCM: pcm}})
	}
	expect := func(at time.Duration, name, speaker string) {
		t.Helper()
		for source := range 2 {
			frame, gap, err := subscription.Next(t.Context())
			if err != nil || gap != nil || frame.Source != source || frame.Start.Round(time.Millisecond) != at || !bytes.Equal(frame.PCM, pcm) {
				t.Fatalf("source %d at %v, gap %v (%v), want source %d at %v", frame.Source, frame.Start, gap, err, source, at)
			}
			if got := frame.Participant; source == 1 && (got == nil) != (name == "") || got != nil && got.Name != name {
				t.Errorf("the participant is %+v, want %q", got, name)
			}
			if got := frame.Speaker; source == 0 && (got == nil) != (speaker == "") || got != nil && got.Name != speaker {
				t.Errorf("%+v speaks, want %q", got, speaker)
			}
		}
	}
	hear(time.Second)
	expect(time.Second, "", "")
	owners := []meeting.TrackOwner{{Track: "a", ParticipantID: "p-1"}, {Track: "unknown", ParticipantID: "p-2"}}
	link.UpdateOwners(owners, func(id string) string { return "Ada " + id })
	speaking := []meeting.Participant{{ID: "p-3", Speaking: true}, {ID: "p-4"}}
	link.UpdateSpeaking(speaking, func(id string) string { return "Cy " + id })
	hear(2 * time.Second)
	expect(2*time.Second, "Ada p-1", "Cy p-3")

	s.mu.Lock()
	_ = s.conns[0].CloseNow()
	s.mu.Unlock()
	for {
		if wanted, changed := link.Wanted(); !wanted.Mixed {
			break
		} else {
			<-changed
		}
	}
	hear(3 * time.Second) // on the next connection
	expect(3*time.Second, "Ada p-1", "Cy p-3")
	link.UpdateOwners([]meeting.TrackOwner{{Track: "a", ParticipantID: "p-2"}}, func(string) string { return "Ben" }) // two tiles play it
	speaking[1].Speaking = true
	link.UpdateSpeaking(speaking, func(string) string { return "" })
	hear(4 * time.Second)
	expect(4*time.Second, "", "")

	link.End()
	if _, _, err := subscription.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// TestListen: a listener of the bot itself hears the mixed sound, also while the service wants
// none.
func TestListen(t *testing.T) {
	t.Parallel()
	link := sound.New(sound.Settings{Clock: func(at time.Time) time.Time { return at }})
	_, changed := link.Wanted()
	frames, stop := link.Listen()
	select {
	case <-changed:
	default:
		t.Error("the change is not told")
	}
	if wanted, _ := link.Wanted(); wanted != (ingest.SoundWanted{Mixed: true}) {
		t.Errorf("wanted %+v", wanted)
	}
	pcm := bytes.Repeat([]byte{1, 2}, ingest.SoundFrameSamples)
	for range 1000 { // nobody reads
		link.Hear([]recorder.LiveSound{{At: time.Now(), PCM: pcm}, {TrackID: "a", At: time.Now(), PCM: pcm[:2]}})
	}
	for range cap(frames) {
		if frame := <-frames; !bytes.Equal(frame, pcm) {
			t.Fatalf("heard %d bytes", len(frame))
		}
	}
	stop()
	if wanted, _ := link.Wanted(); wanted.Mixed {
		t.Error("the mixed sound is wanted after the end")
	}
}

// TestSpeech: what a receiver says is read as it arrives. It ends with a pause, or at once
// when the receiver stops it.
func TestSpeech(t *testing.T) {
	t.Parallel()
	s := newService(t)
	subscription := s.Subscribe(s.job, hub.Wanted{Mixed: true, Participants: true})
	defer subscription.Close()
	link := s.startLink(t, time.Now())
	awaitWanted(t, link)
	pcm := bytes.Repeat([]byte{3, 4}, 4800)
	for range 2 {
		subscription.Play(pcm)
		subscription.Play(pcm)
		got, err := io.ReadAll(<-link.Speeches())
		if err != nil || !bytes.Equal(got, append(pcm, pcm...)) {
			t.Errorf("read %d bytes (%v)", len(got), err)
		}
	}
	subscription.Play(pcm)
	speech := <-link.Speeches()
	if _, err := speech.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	subscription.StopPlaying()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if _, err := speech.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the speech goes on")
		}
	}
}
