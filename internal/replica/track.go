package replica

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"
)

// largestPayload keeps a packet within an ordinary Ethernet frame, as a real
// sender would, whatever loopback could carry.
const largestPayload = 1150

// publisher is a participant as far as media go: what is sent, and whether.
type publisher struct {
	id        string // of the participant, and of the stream that holds both tracks
	source    *source
	soundOn   atomic.Bool
	pictureOn atomic.Bool
	silent    atomic.Bool // the sound that is sent is silence
}

// track sends one loop to one page.
type track struct {
	*webrtc.TrackLocalStaticRTP
	cursor   cursor
	wanted   *atomic.Bool
	payloads func(unit []byte) [][]byte
	ends     bool // the last packet of a unit is marked: pictures

	ssrc      atomic.Uint32 // 0 until the page accepted the track
	base      uint32        // random offset of the timestamps (RFC 3550, section 5.1)
	sequence  uint16
	packets   uint32
	octets    uint32
	reportDue time.Duration
}

// newTracks makes the sound and the picture of a participant. They share a
// stream, which is what tells a browser to keep lips and voice together.
func newTracks(p *publisher) ([]*track, error) {
	sound, err := newTrack(p, webrtc.MimeTypeOpus, "sound", p.source.sound, &p.soundOn)
	if err != nil {
		return nil, err
	}
	sound.payloads = func(unit []byte) [][]byte {
		if p.silent.Load() {
			unit = silentPacket()
		}
		return [][]byte{unit}
	}
	picture, err := newTrack(p, webrtc.MimeTypeVP8, "picture", p.source.picture, &p.pictureOn)
	if err != nil {
		return nil, err
	}
	// Without picture numbers, which are optional (RFC 7741, section 4.2): the
	// library leaves out number 0, and the browser then waits for it until the
	// next key picture.
	payloader := &codecs.VP8Payloader{}
	picture.payloads = func(unit []byte) [][]byte { return payloader.Payload(largestPayload, unit) }
	picture.ends = true
	return []*track{sound, picture}, nil
}

func newTrack(p *publisher, codec, kind string, content loop, wanted *atomic.Bool) (*track, error) {
	local, err := webrtc.NewTrackLocalStaticRTP(
		webrtc.RTPCodecCapability{MimeType: codec}, p.id+"-"+kind, p.id)
	if err != nil {
		return nil, fmt.Errorf("make the %s track of participant %s: %w", kind, p.id, err)
	}
	return &track{
		TrackLocalStaticRTP: local,
		cursor:              cursor{loop: content},
		wanted:              wanted,
		base:                rand.Uint32(),
		sequence:            uint16(rand.Uint32()),
	}, nil
}

// Bind is called by pion when the page accepted the track; from then on it can
// be sent, and its sender reports can name it.
func (t *track) Bind(context webrtc.TrackLocalContext) (webrtc.RTPCodecParameters, error) {
	parameters, err := t.TrackLocalStaticRTP.Bind(context)
	if err == nil {
		t.ssrc.Store(uint32(context.SSRC()))
	}
	return parameters, err
}

// Unbind is called by pion when the connection ends.
func (t *track) Unbind(context webrtc.TrackLocalContext) error {
	t.ssrc.Store(0)
	return t.TrackLocalStaticRTP.Unbind(context)
}

// send sends whatever of the track is due.
func (t *track) send(now time.Duration) error {
	switch flowing := t.ssrc.Load() != 0 && t.wanted.Load(); {
	case !flowing:
		t.cursor.stop()
		return nil
	case !t.cursor.running:
		t.cursor.begin(now)
		t.reportDue = t.cursor.wake()
	}
	return t.cursor.due(now, t.sendUnit)
}

func (t *track) sendUnit(unit int64) error {
	payloads := t.payloads(t.cursor.loop.content(unit))
	for i, payload := range payloads {
		packet := rtp.Packet{
			Header: rtp.Header{
				Version:        2,
				Marker:         t.ends && i == len(payloads)-1,
				SequenceNumber: t.sequence,
				Timestamp:      t.base + uint32(t.cursor.loop.timestamp(unit)),
			},
			Payload: payload,
		}
		if err := t.WriteRTP(&packet); err != nil {
			return err
		}
		t.sequence++
		t.packets++
		t.octets += uint32(len(payload))
	}
	return nil
}

// silentPacket is 20 ms of silence, of one packet's length in every loop: the
// header of a mono packet of the full band, and an empty one's two bytes.
func silentPacket() []byte { return []byte{0xf8, 0xff, 0xfe} }

const reportInterval = 500 * time.Millisecond

// report ties the track's timestamps to the clock all tracks share (RFC 3550,
// section 6.4.1); nil when none is due. pion's own reports would take the
// moment a packet happened to be written for the moment it was due; these are
// exact however late the sender wakes.
func (t *track) report(c clock, now time.Duration) *rtcp.SenderReport {
	if !t.cursor.running || now < t.reportDue {
		return nil
	}
	t.reportDue = now.Truncate(reportInterval) + reportInterval
	return &rtcp.SenderReport{
		SSRC:        t.ssrc.Load(),
		NTPTime:     c.networkTime(now),
		RTPTime:     t.base + uint32(t.cursor.loop.ticksAt(now)),
		PacketCount: t.packets,
		OctetCount:  t.octets,
	}
}
