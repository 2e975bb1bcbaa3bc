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

// maxPayloadBytes keeps packets below the size of an Ethernet frame.
const maxPayloadBytes = 1150

// publisher is the media of a participant.
type publisher struct {
	id        string // of the participant and of the MediaStream
	source    *source
	soundOn   bool
	pictureOn bool
	silent    atomic.Bool // send silence
	speech    atomic.Pointer[speech]
}

// speech is what a participant says once, instead of the sound of its source.
type speech struct {
	from  int64 // unit of the source
	units [][]byte
}

// content returns what is said instead of a unit of the source; nil if nothing is.
func (s *speech) content(unit int64) []byte {
	if s == nil || unit < s.from || unit >= s.from+int64(len(s.units)) {
		return nil
	}
	return s.units[unit-s.from]
}

// speaks reports whether the participant says something at a time of the meeting.
func (p *publisher) speaks(at time.Duration) bool {
	return p.speech.Load().content(p.source.audio.unitAt(at)) != nil
}

// track sends one loop to one page.
type track struct {
	*webrtc.TrackLocalStaticRTP
	cursor   cursor
	enabled  bool
	payloads func(unit int64) [][]byte
	ends     bool // set the marker in the last packet of a unit (video)

	ssrc      atomic.Uint32 // 0 until the page accepted the track
	base      uint32        // random offset of the timestamps (RFC 3550, section 5.1)
	sequence  uint16
	packets   uint32
	octets    uint32
	reportDue time.Duration
}

// newTracks creates the audio and video tracks of a participant, in one stream so
// that browsers synchronize them.
func newTracks(p *publisher) ([]*track, error) {
	sound, err := newTrack(p, webrtc.MimeTypeOpus, "sound", p.source.audio, p.soundOn)
	if err != nil {
		return nil, err
	}
	sound.payloads = func(unit int64) [][]byte {
		content := p.speech.Load().content(unit)
		switch {
		case content != nil:
		case p.silent.Load():
			content = silentPacket()
		default:
			content = p.source.audio.content(unit)
		}
		return [][]byte{content}
	}
	picture, err := newTrack(p, webrtc.MimeTypeVP8, "picture", p.source.video, p.pictureOn)
	if err != nil {
		return nil, err
	}
	// Picture IDs, which are optional (RFC 7741, section 4.2), are off: the library
	// skips number 0, and the browser waits for it until the next key frame.
	payloader := &codecs.VP8Payloader{}
	talks, second := false, p.source.video.clockRate/p.source.video.ticks
	picture.payloads = func(unit int64) [][]byte {
		if unit%second == 0 { // a key picture
			talks = len(p.source.talks.units) > 0 && p.speaks(p.source.video.position(unit)+time.Second/2)
		}
		if talks {
			return payloader.Payload(maxPayloadBytes, p.source.talks.content(unit))
		}
		return payloader.Payload(maxPayloadBytes, p.source.video.content(unit))
	}
	picture.ends = true
	return []*track{sound, picture}, nil
}

func newTrack(p *publisher, codec, kind string, content loop, enabled bool) (*track, error) {
	local, err := webrtc.NewTrackLocalStaticRTP(
		webrtc.RTPCodecCapability{MimeType: codec}, p.id+"-"+kind, p.id)
	if err != nil {
		return nil, fmt.Errorf("create the %s track of participant %s: %w", kind, p.id, err)
	}
	return &track{
		TrackLocalStaticRTP: local,
		cursor:              cursor{loop: content},
		enabled:             enabled,
		base:                rand.Uint32(),
		sequence:            uint16(rand.Uint32()),
	}, nil
}

// Bind is called by pion when the page has accepted the track.
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

// send sends the units that are due.
func (t *track) send(now time.Duration) error {
	switch active := t.ssrc.Load() != 0 && t.enabled; {
	case !active:
		t.cursor.stop()
		return nil
	case !t.cursor.running:
		t.cursor.start(now)
		t.reportDue = t.cursor.wake()
	}
	return t.cursor.due(now, t.sendUnit)
}

func (t *track) sendUnit(unit int64) error {
	payloads := t.payloads(unit)
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

// silentPacket returns an Opus packet with 20 ms of silence.
func silentPacket() []byte { return []byte{0xf8, 0xff, 0xfe} }

const reportInterval = 500 * time.Millisecond

// report returns a sender report (RFC 3550, section 6.4.1), or nil if none is due.
// Unlike pion's own reports, it uses the time at which a packet was due and not the
// time at which it was written.
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
