package replica

import (
	"slices"
	"time"

	"github.com/pion/rtp"
)

// maxHeard is how many packets of a guest's audio a meeting keeps: half an hour's.
const maxHeard = 90_000

// HeardPacket is a packet of a guest's audio as it arrives at the others. Its payload is
// Opus.
type HeardPacket struct {
	At time.Time
	*rtp.Packet
}

// Heard returns the last packets of a guest's audio, oldest first.
func (m *Meeting) Heard(guest string) []HeardPacket {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.guests {
		if g.ID == guest {
			return slices.Clone(g.heard)
		}
	}
	return nil
}

// hear keeps a packet of a guest's audio.
func (m *Meeting) hear(g *guest, packet *rtp.Packet) {
	at := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(g.heard) == maxHeard {
		g.heard = slices.Delete(g.heard, 0, maxHeard/10)
	}
	g.heard = append(g.heard, HeardPacket{At: at, Packet: packet})
}
