package rtmsdouble

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"time"
)

// period is how much a packet of sound has.
const period = 20 * time.Millisecond

// sound is packet n of somebody.
type sound struct {
	person Person
	n      int
	due    time.Time
	pcm    []byte // at 48 kHz
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
		var pcm []byte // every third sample for 16 kHz
		for i := 0; i < len(packet.pcm); i += 2 * 48_000 / rate {
			pcm = append(pcm, packet.pcm[i:i+2]...)
		}
		c.send(m.content(Audio, packet.person.ID, m.at(packet.n), pcm))
		return
	}
	if m.settings.Buffer < 0 {
		return
	}
	m.buffered = append(m.buffered, packet)
	limit := int(m.settings.Buffer / period)
	m.buffered = m.buffered[max(0, len(m.buffered)-limit*max(1, len(m.talking))):]
}

// content returns a packet of somebody.
func (m *Meeting) content(kind, id int, at time.Time, data []byte) map[string]any {
	return map[string]any{"msg_type": 14 + kind, "content": map[string]any{
		"user_id": id, "user_name": m.name(id), "data": base64.StdEncoding.EncodeToString(data), "length": len(data), "timestamp": at.UnixMilli(),
	}}
}

// run sends the sound of each person who talks, and video, as time passes.
func (m *Meeting) run(ctx context.Context) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		m.mu.Lock()
		for ; !m.over && !m.at(m.next).After(time.Now()); m.next++ {
			m.sendAt(m.next, m.at(m.next))
		}
		for len(m.waiting) > 0 && !m.waiting[0].due.After(time.Now()) {
			m.sendSound(m.waiting[0])
			m.waiting = m.waiting[1:]
		}
		if !m.over && m.signaling == nil && !m.awaySince.IsZero() && time.Since(m.awaySince) > m.settings.Reconnect {
			m.over = true
		}
		m.turn.Broadcast()
		m.mu.Unlock()
	}
}

func (m *Meeting) at(n int) time.Time {
	return m.startedAt.Add(time.Duration(n) * period)
}

func (m *Meeting) sendAt(n int, at time.Time) {
	for _, p := range m.people {
		if !m.talking[p.ID] {
			continue
		}
		pcm := tone(p.Tone, n, 48_000)
		if m.said != nil {
			pcm = make([]byte, len(pcm))
			m.said = m.said[copy(pcm, m.said):]
		} else {
			m.packets = append(m.packets, Packet{p.ID, at, pcm})
		}
		packet := sound{p, n, time.Now().Add(m.delayed), pcm}
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
