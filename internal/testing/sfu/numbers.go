package main

import "encoding/binary"

// numbers are those of a packet's frame beside its sequence number. They go on when a recording begins again, or a server takes the
// frames for old ones.
type numbers struct {
	picture uint16 // 15 bits, of VP8 (RFC 7741, section 4.2) and VP9 (RFC 9628, section 4.2)
	base    uint8  // TL0PICIDX of VP8
	frame   uint16 // of the dependency descriptor (AV1 RTP specification, section A.8.1)
}

// addTo adds numbers to those of a packet, and returns the sums.
func (n numbers) addTo(codec string, payload, descriptor []byte) (sums numbers) {
	if len(descriptor) >= 3 {
		sums.frame = binary.BigEndian.Uint16(descriptor[1:]) + n.frame
		binary.BigEndian.PutUint16(descriptor[1:], sums.frame)
	}
	at := 0 // of the picture's number
	switch {
	case codec == "VP8" && len(payload) > 5 && payload[0]&0x80 != 0 && payload[1]&0x80 != 0 && payload[2]&0x80 != 0:
		at = 2
		if payload[1]&0x40 != 0 {
			sums.base = payload[4] + n.base
			payload[4] = sums.base
		}
	case codec == "VP9" && len(payload) > 3 && payload[0]&0x80 != 0 && payload[1]&0x80 != 0:
		at = 1
	default:
		return sums
	}
	sums.picture = (binary.BigEndian.Uint16(payload[at:]) + n.picture) & 0x7FFF
	binary.BigEndian.PutUint16(payload[at:], sums.picture|0x8000)
	return sums
}

// after returns what to add to frames that begin with first so that they follow n.
func (n numbers) after(first numbers) numbers {
	return numbers{picture: n.picture - first.picture + 1, base: n.base - first.base + 1, frame: n.frame - first.frame + 1}
}
