package rtmsdouble

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"math"
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

// Packet is a packet of sound that was made, whether or not it could be sent.
type Packet struct {
	Person int
	At     time.Time
	PCM    []byte // as at 48 kHz
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
	sharing   int
	shared    [][]byte
	frames    int
	buffered  []sound
	packets   []Packet
	pictures  [5]int
	twice     bool // each packet of sound is sent twice
	delayed   time.Duration
	waiting   []sound // to be sent late
}

// sound is packet n of somebody.
type sound struct {
	person Person
	n      int
	due    time.Time
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

// Over reports whether the stream has ended.
func (m *Meeting) Over() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over
}

func (m *Meeting) takeRefusal() (status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.refusals) > 0 {
		status, m.refusals = m.refusals[0], m.refusals[1:]
	}
	return status
}

// setSignaling sets the signaling connection. It ends an earlier one.
func (m *Meeting) setSignaling(c *socket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.signaling != nil {
		_ = m.signaling.conn.CloseNow()
	}
	m.signaling, m.awaySince = c, time.Time{}
	clear(m.events)
}

func (m *Meeting) dropSignaling(c *socket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.signaling == c {
		m.signaling, m.awaySince = nil, time.Now()
		for _, c := range m.media {
			_ = c.conn.CloseNow() // Zoom interrupts them too
		}
	}
}

func (m *Meeting) addMedia(c *socket, hello request, path string) int {
	kinds, status := checkMedia(hello, path, m.settings.Without)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, other := range m.media {
		switch {
		case status != 0:
		case other.kinds == 31 && kinds == 31:
			status = 15
		case other.kinds&kinds != 0:
			status = 16
		}
	}
	if m.signaling == nil && status == 0 {
		status = 2
	}
	if status == 0 {
		c.kinds, c.params = kinds, map[string]any{}
		for _, params := range hello.MediaParams {
			for key, value := range params {
				c.params[key] = value
			}
		}
		if audio, ok := hello.MediaParams["audio"]; ok {
			c.params = audio
		}
		m.media = append(m.media, c)
	}
	return status
}

func (m *Meeting) dropMedia(c *socket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.media = slices.DeleteFunc(m.media, func(other *socket) bool { return other == c })
}

// setReady lets media connections receive, and sends the sound that was kept.
func (m *Meeting) setReady() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.media {
		c.ready = true
	}
	buffered := m.buffered
	m.buffered = nil
	for _, packet := range buffered {
		m.sendSound(packet)
	}
}

// keepAlive asks a client whether it is there, and ends its connection after three requests without an answer.
func (m *Meeting) keepAlive(c *socket) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		ticker := time.NewTicker(m.settings.KeepAlive)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			c.mu.Lock()
			c.pending++
			lost := c.pending > 3
			c.mu.Unlock()
			if lost {
				_ = c.conn.CloseNow()
				return
			}
			c.send(map[string]any{"msg_type": 12, "timestamp": time.Now().UnixMilli()})
		}
	}()
	return cancel
}

// subscribe sends who is there to a client that wants to know it.
func (m *Meeting) subscribe(c *socket, got request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, event := range got.Events {
		m.events[event.Type] = event.Subscribe
	}
	if m.events[3] && len(m.people) > 0 {
		c.send(event(3, map[string]any{"participants": people(m.people)}))
	}
}

func people(all []Person) (list []map[string]any) {
	for _, p := range all {
		list = append(list, map[string]any{"user_id": p.ID, "user_name": p.Name})
	}
	return list
}

func event(kind int, fields map[string]any) map[string]any {
	fields["event_type"], fields["timestamp"] = kind, time.Now().UnixMilli()
	return map[string]any{"msg_type": 6, "event": fields}
}

// tell sends an event to a client that wants it.
func (m *Meeting) tell(kind int, fields map[string]any) {
	if m.signaling != nil && m.events[kind] {
		m.signaling.send(event(kind, fields))
	}
}

// receiver returns who receives a medium; nil if nobody does.
func (m *Meeting) receiver(kind int) *socket {
	for _, c := range m.media {
		if c.kinds&(1<<kind) != 0 && c.ready {
			return c
		}
	}
	return nil
}

// send sends a packet of a medium, if the client is there.
func (m *Meeting) send(kind int, message map[string]any) {
	if c := m.receiver(kind); c != nil {
		m.pictures[kind]++
		c.send(message)
	}
}

// sendSound sends a packet of sound at the rate that the client wants, or keeps it if the client is away.
func (m *Meeting) sendSound(packet sound) {
	if c := m.receiver(Audio); c != nil {
		rate := 16_000
		if wanted, ok := c.params["sample_rate"].(float64); ok {
			rate = []int{8_000, 16_000, 32_000, 48_000}[int(wanted)]
		}
		c.send(m.content(Audio, packet.person.ID, m.at(packet.n), tone(packet.person.Tone, packet.n, rate)))
		return
	}
	if m.settings.Buffer < 0 {
		return
	}
	m.buffered = append(m.buffered, packet)
	limit := int(m.settings.Buffer / (20 * time.Millisecond))
	m.buffered = m.buffered[max(0, len(m.buffered)-limit*max(1, len(m.talking))):]
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

// content returns a packet of somebody.
func (m *Meeting) content(kind, id int, at time.Time, data []byte) map[string]any {
	return map[string]any{"msg_type": 14 + kind, "content": map[string]any{
		"user_id": id, "user_name": m.name(id), "data": base64.StdEncoding.EncodeToString(data), "length": len(data), "timestamp": at.UnixMilli(),
	}}
}

// Say sends a part of the transcript.
func (m *Meeting) Say(id int, text string, from, to time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.send(Transcript, map[string]any{"msg_type": 17, "content": map[string]any{
		"user_id": id, "user_name": m.name(id), "data": text, "timestamp": to.UnixMilli(), "start_time": from.UnixMilli(), "end_time": to.UnixMilli(),
		"language": 9, "attribute": 1,
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
		m.signaling.send(map[string]any{"msg_type": 9, "state": 5, "stop_reason": reason, "reason": reason, "timestamp": now, "rtms_session_id": m.settings.StreamID})
		m.signaling.send(map[string]any{"msg_type": 8, "state": 4, "reason": reason, "timestamp": now})
	}
	for _, c := range m.media {
		_ = c.conn.Close(websocket.StatusNormalClosure, "")
	}
	if m.signaling != nil {
		_ = m.signaling.conn.Close(websocket.StatusNormalClosure, "")
	}
}

// Packets returns the packets of sound so far.
func (m *Meeting) Packets() []Packet {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.packets)
}

// Pictures returns how many packets of a camera or a shared screen were sent.
func (m *Meeting) Pictures(kind int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pictures[kind]
}

// Check looks for packets in the decoded sound of one person's files, in order: each as it was, and at its place.
func Check(packets []Packet, files [][]byte) (missing, misplaced int) {
	in, place := -1, 0
	var last Packet
	for _, p := range packets {
		if in >= 0 {
			place += int(p.At.Sub(last.At)*96_000/time.Second) &^ 1
			last = p
			if place+len(p.PCM) <= len(files[in]) && bytes.Equal(files[in][place:place+len(p.PCM)], p.PCM) {
				continue
			}
		}
		last = p
		found := false
		for i, file := range files {
			if at := bytes.Index(file, p.PCM); at >= 0 {
				if in == i {
					misplaced++
				}
				in, place, found = i, at, true
				break
			}
		}
		if !found {
			missing++
		}
	}
	return missing, misplaced
}

// Connected reports whether a client is connected, and receives a medium.
func (m *Meeting) Connected(kind int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.signaling != nil && slices.ContainsFunc(m.media, func(c *socket) bool { return c.kinds&(1<<kind) != 0 && c.ready })
}

// run sends a packet of sound of each person who talks every 20 ms, and a frame of video every 40 ms.
func (m *Meeting) run(ctx context.Context) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		m.mu.Lock()
		for at := m.at(n); !m.over && !at.After(time.Now()); at = m.at(n) {
			m.sendAt(n, at)
			n++
		}
		for len(m.waiting) > 0 && !m.waiting[0].due.After(time.Now()) {
			m.sendSound(m.waiting[0])
			m.waiting = m.waiting[1:]
		}
		if !m.over && m.signaling == nil && !m.awaySince.IsZero() && time.Since(m.awaySince) > m.settings.Reconnect {
			m.over = true
		}
		m.mu.Unlock()
	}
}

func (m *Meeting) at(n int) time.Time {
	return m.startedAt.Add(time.Duration(n) * 20 * time.Millisecond)
}

func (m *Meeting) sendAt(n int, at time.Time) {
	for _, p := range m.people {
		if !m.talking[p.ID] {
			continue
		}
		m.packets = append(m.packets, Packet{p.ID, at, tone(p.Tone, n, 48_000)})
		packet := sound{p, n, time.Now().Add(m.delayed)}
		for range map[bool]int{false: 1, true: 2}[m.twice] {
			if m.delayed > 0 {
				m.waiting = append(m.waiting, packet)
			} else {
				m.sendSound(packet)
			}
		}
	}
	if n%2 == 0 {
		if units := m.cameras[m.speaker]; len(units) > 0 {
			m.send(Video, m.content(Video, m.speaker, at, units[m.frames%len(units)]))
		}
		if len(m.shared) > 0 {
			m.send(Share, m.content(Share, m.sharing, at, m.shared[m.frames%len(m.shared)]))
		}
		m.frames++
	}
}

// tone returns packet n of a voice. No two of a minute are the same.
func tone(frequency float64, n, rate int) []byte {
	amplitude := float64(3000 + n*7919%3001)
	data := make([]byte, 0, rate/25)
	for i := range rate / 50 {
		at := float64(n*rate/50+i) / float64(rate)
		data = binary.LittleEndian.AppendUint16(data, uint16(int16(amplitude*math.Sin(2*math.Pi*frequency*at))))
	}
	return data
}
