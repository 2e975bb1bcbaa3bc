package rtmsdouble

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
)

// Packet is a packet of sound that was made, whether or not it could be sent.
type Packet struct {
	Person int
	At     time.Time
	PCM    []byte // as at 48 kHz
}

// Over reports whether the stream has ended.
func (m *Meeting) Over() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over
}

// Pass returns when the meeting has gone on for a time, or has ended.
func (m *Meeting) Pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for end := m.next + int(d/period); m.next < end && !m.over; {
		m.turn.Wait()
	}
}

// Drain returns when the client has received all that was sent, or an error if it does not receive it.
func (m *Meeting) Drain(ctx context.Context) error {
	m.mu.Lock()
	for len(m.waiting) > 0 {
		m.turn.Wait()
	}
	media := slices.Clone(m.media)
	m.mu.Unlock()
	for _, c := range media {
		if err := c.conn.Ping(ctx); err != nil { // which is answered in its turn
			return fmt.Errorf("the client does not receive what the meeting sent: %w", err)
		}
	}
	return nil
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
