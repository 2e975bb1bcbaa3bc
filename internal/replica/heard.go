package replica

import (
	"errors"
	"slices"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4/pkg/media/oggwriter"
)

// maxPackets is how many packets of a guest's microphone, camera or screen a meeting
// keeps: half an hour's of a microphone.
const maxPackets = 90_000

// maxRelayed is how many a meeting keeps that relays them: a minute's of a microphone.
const maxRelayed = 3000

// The media of guests.
const (
	microphoneMedium = "microphone"
	cameraMedium     = "camera"
	screenMedium     = "screen"
)

// Packet is a packet of a guest's media as it arrives at the others. Its payload is Opus or
// VP8.
type Packet struct {
	At time.Time
	*rtp.Packet
}

// Heard returns the last packets of a guest's microphone, oldest first.
func (m *Meeting) Heard(guest string) []Packet { return m.packets(guest, microphoneMedium) }

// WriteOgg writes packets of a microphone to a new file.
func WriteOgg(path string, packets []Packet) error {
	const sampleRate, channels = 48_000, 2
	writer, err := oggwriter.New(path, sampleRate, channels)
	if err != nil {
		return err
	}
	for _, packet := range packets {
		if err := writer.WriteRTP(packet.Packet); err != nil {
			return errors.Join(err, writer.Close())
		}
	}
	return writer.Close()
}

// Seen returns the last packets of a guest's camera, oldest first.
func (m *Meeting) Seen(guest string) []Packet { return m.packets(guest, cameraMedium) }

// Shared returns the last packets of a guest's shared screen, oldest first.
func (m *Meeting) Shared(guest string) []Packet { return m.packets(guest, screenMedium) }

func (m *Meeting) packets(guest, medium string) []Packet {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.guests {
		if g.ID == guest {
			return slices.Clone(g.received[medium])
		}
	}
	return nil
}

// receive keeps and relays a packet of a guest's media, of a level of sound.
func (m *Meeting) receive(g *guest, medium string, packet *rtp.Packet, level uint8) {
	at := time.Now()
	m.relay(g, medium, packet, level)
	m.mu.Lock()
	defer m.mu.Unlock()
	if g.received == nil {
		g.received = make(map[string][]Packet)
	}
	packets := g.received[medium]
	kept := maxPackets
	if m.settings.Relay {
		kept = maxRelayed
	}
	if len(packets) >= kept {
		packets = slices.Delete(packets, 0, kept/10)
	}
	g.received[medium] = append(packets, Packet{At: at, Packet: packet})
}
