package rtmsdouble

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Settings configure a meeting.
type Settings struct {
	UUID, StreamID string        // made up if they are empty
	Without        [5]bool       // media that the app may not receive
	KeepAlive      time.Duration // between requests to keep a connection; 0: 10 s
	Reconnect      time.Duration // for which the stream waits for a client that is away; 0: 60 s
	Buffer         time.Duration // of sound that is kept for a client that is away; 0: 60 s; negative: none
	Refusals       []int         // statuses of the first handshakes; 0 accepts one
}

// Person is somebody in a meeting.
type Person struct {
	ID   int
	Name string
	Tone float64 // frequency of the voice in Hz
}

// Meeting is a meeting with one stream. It sends what its people do in real time, from Open on.
type Meeting struct {
	server    *Server
	settings  Settings
	startedAt time.Time
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu        sync.Mutex
	over      bool
	refusals  []int
	signaling *socket
	awaySince time.Time
	events    map[int]bool
	media     []*socket
	people    []Person
	talking   map[int]bool
	cameras   map[int][][]byte // access units, which are repeated
	speaker   int
	said      []byte // what is left of the words of the one who talks; nil: a tone
	sharing   int
	shared    [][]byte
	frames    int
	buffered  []sound
	packets   []Packet
	pictures  [5]int
	twice     bool // each packet of sound is sent twice
	delayed   time.Duration
	waiting   []sound    // to be sent late
	turn      *sync.Cond // after which more was sent
	next      int        // packet of sound
}

// Open opens a meeting.
func (s *Server) Open(settings Settings) *Meeting {
	if settings.UUID == "" {
		settings.UUID = rand.Text() + "=="
	}
	if settings.StreamID == "" {
		settings.StreamID = rand.Text()
	}
	for _, one := range []struct {
		setting   *time.Duration
		otherwise time.Duration
	}{{&settings.KeepAlive, 10 * time.Second}, {&settings.Reconnect, time.Minute}, {&settings.Buffer, time.Minute}} {
		if *one.setting == 0 {
			*one.setting = one.otherwise
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &Meeting{
		server: s, settings: settings, startedAt: time.Now().Truncate(time.Millisecond), stop: cancel, refusals: slices.Clone(settings.Refusals),
		events: make(map[int]bool), talking: make(map[int]bool), cameras: make(map[int][][]byte),
	}
	m.turn = sync.NewCond(&m.mu)
	s.mu.Lock()
	s.meetings[settings.StreamID] = m
	s.mu.Unlock()
	m.running.Go(func() { m.run(ctx) })
	return m
}

func (m *Meeting) close() {
	m.stop()
	m.running.Wait()
}

// Join lets people join.
func (m *Meeting) Join(joining ...Person) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.people = append(m.people, joining...)
	m.tell(3, map[string]any{"participants": people(joining)})
}

// Leave lets somebody leave.
func (m *Meeting) Leave(id int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.people = slices.DeleteFunc(m.people, func(p Person) bool { return p.ID == id })
	delete(m.talking, id)
	m.tell(4, map[string]any{"participants": []map[string]any{{"user_id": id}}})
}

// Talk sets who talks. The first one is the active speaker.
func (m *Meeting) Talk(ids ...int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.talking)
	for _, id := range ids {
		m.talking[id] = true
	}
	if len(ids) > 0 && ids[0] != m.speaker {
		m.speaker, m.frames = ids[0], 0
		m.tell(2, map[string]any{"user_id": m.speaker, "user_name": m.name(m.speaker)})
	}
}

// Camera sets the video of somebody: access units of 25 per second, which are repeated. Without any, the camera is off.
func (m *Meeting) Camera(id int, units [][]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cameras[id] = units
	m.frames = 0
}

// Share sets the shared screen of somebody, like Camera. Without any, nobody shares.
func (m *Meeting) Share(id int, units [][]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sharing, m.shared, m.frames = id, units, 0
	if len(units) > 0 {
		m.tell(5, map[string]any{"user_id": id, "user_name": m.name(id)})
	} else {
		m.tell(6, map[string]any{})
	}
}

func (m *Meeting) name(id int) string {
	for _, p := range m.people {
		if p.ID == id {
			return p.Name
		}
	}
	return ""
}

// Say sends a part of the transcript.
func (m *Meeting) Say(id int, text string, from, to time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.send(Transcript, map[string]any{"msg_type": 17, "content": map[string]any{
		"user_id": id, "user_name": m.name(id), "data": text, "timestamp": to.UnixMilli(), "start_time": from.UnixMilli(),
		"end_time": to.UnixMilli(), "language": 9, "attribute": 1,
	}})
}

// Write sends a chat message.
func (m *Meeting) Write(id int, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.send(Chat, map[string]any{"msg_type": 18, "content": map[string]any{
		"user_id": id, "user_name": m.name(id), "data": text, "timestamp": time.Now().UnixMilli(),
	}})
}

// Raw sends any message, on the connection of a medium or, with -1, for signaling.
func (m *Meeting) Raw(kind int, message map[string]any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.signaling; kind < 0 && c != nil {
		c.send(message)
	} else if kind >= 0 {
		m.send(kind, message)
	}
}

// Twice lets each packet of sound be sent twice, or no longer.
func (m *Meeting) Twice(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.twice = on
}

// Delay lets packets of sound be late.
func (m *Meeting) Delay(by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delayed = by
}

// Cut ends connections: of the media, or with none the signaling connection.
func (m *Meeting) Cut(kinds ...int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(kinds) == 0 && m.signaling != nil {
		_ = m.signaling.conn.CloseNow()
	}
	m.media = slices.DeleteFunc(m.media, func(c *socket) bool {
		cut := len(kinds) == 0 || slices.ContainsFunc(kinds, func(kind int) bool { return c.kinds&(1<<kind) != 0 })
		if cut {
			_ = c.conn.CloseNow()
		}
		return cut
	})
}

// Refuse sets the statuses of the next handshakes.
func (m *Meeting) Refuse(statuses ...int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusals = statuses
}

// Stop ends the stream for a reason.
func (m *Meeting) Stop(reason int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return
	}
	m.over = true
	now := time.Now().UnixMilli()
	if m.signaling != nil {
		m.signaling.send(map[string]any{
			"msg_type": 9, "state": 5, "stop_reason": reason, "reason": reason, "timestamp": now, "rtms_session_id": m.settings.StreamID,
		})
		m.signaling.send(map[string]any{"msg_type": 8, "state": 4, "reason": reason, "timestamp": now})
	}
	for _, c := range m.media {
		_ = c.conn.Close(websocket.StatusNormalClosure, "")
	}
	if m.signaling != nil {
		_ = m.signaling.conn.Close(websocket.StatusNormalClosure, "")
	}
}
