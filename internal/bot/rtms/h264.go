package rtms

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"
)

// camera is the video of a participant, or a shared screen, as far as it arrives: H.264 in access units of NAL units
// (ITU-T H.264, annex B). Nothing is decoded.
type camera struct {
	track    *track    // nil before a key frame
	settings [2][]byte // the last sequence and picture parameter sets
	frame    frame     // the last one, whose duration is not known yet
}

// cameraKey is a camera or a shared screen, and whose it is.
type cameraKey struct {
	kind int
	user string
}

type frame struct {
	at   time.Time
	data []byte
	key  bool
}

// Types of NAL units.
const (
	nalKeyFrame = 5
	nalSequence = 7
	nalPicture  = 8
)

// addFrame adds a packet of video. A track begins with a key frame, and has one set of parameters.
func (r *Recording) addFrame(p packet, at time.Time) {
	key := cameraKey{p.kind, p.user}
	c := r.cameras[key]
	if c == nil {
		c = &camera{}
		r.cameras[key] = c
	}
	added, settings := frame{at: at}, c.settings
	for _, unit := range splitNAL(p.data) {
		switch kind := unit[0] & 0x1F; kind {
		case nalSequence, nalPicture:
			settings[kind-nalSequence] = unit
			continue
		case nalKeyFrame:
			added.key = true
		}
		added.data = append(binary.BigEndian.AppendUint32(added.data, uint32(len(unit))), unit...)
	}
	if !bytes.Equal(settings[0], c.settings[0]) || !bytes.Equal(settings[1], c.settings[1]) {
		r.endTracks(func(t *track) bool { return t == c.track })
	}
	c.settings = settings
	switch {
	case c.track == nil && (!added.key || len(settings[0]) < 4 || settings[1] == nil):
	case c.track == nil:
		c.track, c.frame = newTrack(p.kind, p.user, at, 1000, avc1(settings)), added
	case at.Before(c.frame.at) || len(added.data) == 0:
	case at.Equal(c.frame.at): // another slice, or the same packet again
		if len(c.frame.data) < maxMessage && !bytes.Contains(c.frame.data, added.data) {
			c.frame.data, c.frame.key = append(c.frame.data, added.data...), c.frame.key || added.key
		}
	default:
		c.flush(at)
		c.frame = added
	}
}

// flush adds the last frame to the track. It is shown until a time.
func (c *camera) flush(until time.Time) {
	flags := uint32(otherFrame)
	if c.frame.key {
		flags = keyFrame
	}
	start := c.frame.at.Sub(c.track.StartedAt).Round(time.Millisecond)
	c.track.add(c.frame.data, uint32((until.Sub(c.track.StartedAt).Round(time.Millisecond) - start).Milliseconds()), flags)
}

// splitNAL returns the NAL units of an access unit.
func splitNAL(data []byte) [][]byte {
	var units [][]byte
	for _, unit := range bytes.Split(data, []byte{0, 0, 1}) {
		if unit = bytes.TrimRight(unit, "\x00"); len(unit) > 0 {
			units = append(units, unit)
		}
	}
	return slices.Clip(units)
}

// avc1 returns the box that describes H.264 (ISO/IEC 14496-15). The size of the picture is in the parameters.
func avc1(settings [2][]byte) []byte {
	sps, pps := settings[0], settings[1]
	config := []byte{1, sps[1], sps[2], sps[3], 0xFF, 0xE1}
	config = append(binary.BigEndian.AppendUint16(config, uint16(len(sps))), sps...)
	config = append(config, 1)
	config = append(binary.BigEndian.AppendUint16(config, uint16(len(pps))), pps...)
	entry := append(words(0, 1, 0, 0, 0, 0, 0, 0x480000, 0x480000, 0, 1<<16), make([]byte, 30)...)
	return box("avc1", append(entry, 0, 0x18, 0xFF, 0xFF), box("avcC", config))
}
