package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
)

// relay is what the other guests get of a guest.
type relay struct {
	sound, picture *webrtc.TrackLocalStaticRTP
	loudSince      time.Time // zero unless the guest is loud
}

const (
	loudness      = 50                     // -dBov: the microphone of somebody who speaks is louder
	speechBegins  = 120 * time.Millisecond // of sound
	speechEnds    = 800 * time.Millisecond // of silence
	beforeSpeech  = 400 * time.Millisecond // that belongs to an utterance
	longUtterance = 30 * time.Second
	keyInterval   = 2 * time.Second // of pictures that a new guest can begin with
	recognizeTime = time.Minute
)

// hasMedia reports whether participants send anything.
func (m *Meeting) hasMedia() bool { return m.media != nil || len(m.films) > 0 }

// loadFilms returns the sources of the participants who have films.
func loadFilms(participants []Participant) (map[string]*source, error) {
	const rate, length = 15, 6 * time.Second
	films := map[string]*source{}
	for _, participant := range participants {
		if participant.Film == "" {
			continue
		}
		film := &source{audio: loop{clockRate: sampleRate, ticks: packetSamples, units: [][]byte{silentPacket()}}}
		for does, to := range map[string]*loop{"listens": &film.video, "talks": &film.talks} {
			file, err := recorded.Open("people/" + participant.Film + "-" + does + ".ivf")
			if err != nil {
				return nil, err
			}
			pictures, err := readPictures(file, quality{width: pictureWidth, height: pictureHeight, rate: rate}, length)
			if err = errors.Join(err, file.Close()); err != nil {
				return nil, fmt.Errorf("film of %s: %w", participant.Film, err)
			}
			*to = loop{clockRate: 90000, ticks: 90000 / rate, units: pictures}
		}
		films[participant.Film] = film
	}
	return films, nil
}

// relayTo adds the tracks of other guests to a connection.
func (m *Meeting) relayTo(p *peer, self string, wanted []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.guests {
		if !m.settings.Relay || g.ID == self || !slices.Contains(wanted, g.ID) {
			continue
		}
		if g.relay.sound == nil {
			var err1, err2 error
			g.relay.sound, err1 = webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, g.ID+"-sound", g.ID)
			g.relay.picture, err2 = webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8}, g.ID+"-picture", g.ID)
			if err := errors.Join(err1, err2); err != nil {
				return fmt.Errorf("relay guest %s: %w", g.ID, err)
			}
		}
		if err := p.relay(g.ID, g.relay.sound, g.relay.picture); err != nil {
			return err
		}
	}
	return nil
}

// relay sends tracks of another guest.
func (p *peer) relay(id string, tracks ...*webrtc.TrackLocalStaticRTP) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errPeerClosed
	}
	if p.sent[id] {
		return nil
	}
	p.sent[id] = true
	for _, track := range tracks {
		transceiver, err := p.connection.AddTransceiverFromTrack(track,
			webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		if err != nil {
			return fmt.Errorf("relay %s: %w", track.ID(), err)
		}
		p.tasks.Go(func() {
			discard(func(buffer []byte) error { _, _, err := transceiver.Sender().Read(buffer); return err })
		})
	}
	return nil
}

// askForKeys asks for a picture that others can begin with, now and then, until the connection ends.
func (p *peer) askForKeys(ctx context.Context, ssrc webrtc.SSRC) {
	tick := time.NewTicker(keyInterval)
	defer tick.Stop()
	for p.connection.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(ssrc)}}) == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// audioLevel returns the loudness of a packet in -dBov, or 127.
func audioLevel(packet *rtp.Packet, extension uint8) uint8 {
	const silence = 127
	var level rtp.AudioLevelExtension
	if raw := packet.GetExtension(extension); extension == 0 || level.Unmarshal(raw) != nil {
		return silence
	}
	return level.Level
}

// relay passes a packet of a guest on to the others, and notices who speaks.
func (m *Meeting) relay(g *guest, medium string, packet *rtp.Packet, level uint8) {
	if !m.settings.Relay {
		return
	}
	m.mu.Lock()
	to := map[string]*webrtc.TrackLocalStaticRTP{microphoneMedium: g.relay.sound, cameraMedium: g.relay.picture}[medium]
	m.mu.Unlock()
	if to != nil {
		passed := &rtp.Packet{Header: packet.Header, Payload: packet.Payload}
		passed.Extension, passed.Extensions = false, nil
		_ = to.WriteRTP(passed) // a guest who left does not matter to the others
	}
	if medium == microphoneMedium {
		m.listen(g, level < loudness)
	}
}

// listen notices that a guest begins or ends to speak.
func (m *Meeting) listen(g *guest, loud bool) {
	now := time.Now()
	m.mu.Lock()
	if loud {
		if g.relay.loudSince.IsZero() || now.Sub(g.spokeAt) > speechEnds {
			g.relay.loudSince = now
		}
		g.spokeAt = now
	}
	since := g.relay.loudSince
	speaking := !since.IsZero() && now.Sub(g.spokeAt) < speechEnds && (g.speaking || g.spokeAt.Sub(since) >= speechBegins)
	ended := g.speaking && (!speaking || now.Sub(since) > longUtterance)
	changed := g.speaking != speaking
	if ended {
		g.relay.loudSince = time.Time{}
		if speaking {
			g.relay.loudSince = now
		}
	}
	m.mu.Unlock()
	if changed {
		_ = m.change(func() error { g.speaking = speaking; return nil })
	}
	if changed && speaking {
		m.awaitSilence(g)
	}
	if ended && m.settings.Recognize != nil {
		select {
		case m.utterances <- utterance{g.ID, since.Add(-beforeSpeech)}:
		default: // the recognizer is too slow
		}
	}
}

// awaitSilence notices the end of speech also if no more packets come.
func (m *Meeting) awaitSilence(g *guest) {
	time.AfterFunc(speechEnds, func() {
		m.listen(g, false)
		m.mu.Lock()
		speaking := g.speaking
		m.mu.Unlock()
		if speaking {
			m.awaitSilence(g)
		}
	})
}

// utterance is what a guest has said since a time.
type utterance struct {
	guest string
	since time.Time
}

// recognizeAll adds what guests say to the captions until done is closed.
func (m *Meeting) recognizeAll(done <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case <-done:
			cancel()
			return
		case said := <-m.utterances:
			running.Go(func() { m.recognize(ctx, said) })
		}
	}
}

// recognize adds the words of an utterance to the captions.
func (m *Meeting) recognize(ctx context.Context, said utterance) {
	ctx, cancel := context.WithTimeout(ctx, recognizeTime)
	defer cancel()
	id := said.guest
	packets := slices.DeleteFunc(m.Heard(id), func(p Packet) bool { return p.At.Before(said.since) })
	folder, err := os.MkdirTemp("", "standin-utterance-")
	if err != nil {
		m.log.Warn("cannot make a folder for an utterance", "error", err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "utterance.ogg")
	text := ""
	if err = WriteOgg(path, packets); err == nil {
		text, err = m.settings.Recognize(ctx, path)
	}
	m.mu.Lock()
	g, guestErr := m.guest(id)
	m.mu.Unlock()
	if err = errors.Join(err, guestErr); err != nil {
		m.log.Warn("cannot recognize what a guest said", "guest", id, "error", err)
		return
	}
	if text != "" {
		if _, err := m.AddCaption(g.Name, text); err != nil {
			m.log.Warn("cannot show a caption", "error", err)
		}
	}
}

// waiting returns the guests in the lobby, for a host.
func (m *Meeting) waiting(self *guest) []pageIdentity {
	waiting := []pageIdentity{}
	for _, g := range m.guests {
		if self.host && g.State == StateLobby && !g.Vanished {
			waiting = append(waiting, pageIdentity{ID: g.ID, Name: g.Name, Speech: [][2]int64{}})
		}
	}
	return waiting
}

// decide carries out what a host decides about a guest, or the end of the meeting.
func (m *Meeting) decide(host, action, about string) error {
	m.mu.Lock()
	g, err := m.guestIn(host, StateAdmitted)
	m.mu.Unlock()
	if err != nil {
		return err
	}
	if !g.host {
		return fmt.Errorf("%w: guest %s is no host", ErrNotNow, host)
	}
	if action == "end" {
		m.End()
		return nil
	}
	if about == "" {
		return fmt.Errorf("%w: %q", ErrNoSuchGuest, about)
	}
	decisions := map[string]func(...string) int{"admit": m.Admit, "deny": m.Deny, "remove": m.Remove}
	if decisions[action](about) == 0 {
		return fmt.Errorf("%w: guest %s", ErrNotNow, about)
	}
	return nil
}
