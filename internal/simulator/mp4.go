package simulator

import (
	"encoding/binary"
	"time"
)

// This file writes the index of a plain MP4 file (ISO/IEC 14496-12; Opus in it
// by the encapsulation of the Opus project). Numbers are big-endian.

// boxHead is the length of a box's size and name.
const boxHead = 8

// movieScale is how many units a second of the movie and of its picture has.
const movieScale = 1000

// track is one track of a recording: the samples of a unit over and over.
type track struct {
	unit
	perSecond int
	count     int   // samples in all
	offsets   []int // where each second begins in the media
}

// box writes a box of the parts.
func box(name string, parts ...[]byte) []byte {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	whole := boxHeader(name, size)
	for _, part := range parts {
		whole = append(whole, part...)
	}
	return whole
}

func boxHeader(name string, contentSize int) []byte {
	return append(numbers(boxHead+contentSize), name...)
}

// numbers writes each number in four bytes.
func numbers(values ...int) []byte {
	var written []byte
	for _, value := range values {
		written = binary.BigEndian.AppendUint32(written, uint32(value)) // #nosec G115 -- an hour's recording stays far below
	}
	return written
}

// matrix shows the picture as it is (8.2.2.2).
func matrix() []byte { return numbers(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000) }

// index is all that stands before the media, which begins at start.
func index(picture, sound *track, start int) []byte {
	milliseconds := picture.count * int(frameLength/time.Millisecond)
	movie := box("mvhd", numbers(0, 0, 0, movieScale, milliseconds, 0x10000, 0x01000000, 0, 0), matrix(),
		numbers(0, 0, 0, 0, 0, 0, 3))
	pictureTrack := box("trak",
		box("tkhd", numbers(3, 0, 0, 1, 0, milliseconds, 0, 0, 0, 0), matrix(), numbers(pictureWidth<<16, pictureHeight<<16)),
		media("vide", movieScale, milliseconds, box("vmhd", numbers(1, 0, 0)),
			picture.table(start, movieScale/framesPerSecond, picture.keyFrames())))
	soundLength := sound.count * soundRate / packetsPerSecond
	soundTrack := box("trak",
		box("tkhd", numbers(3, 0, 0, 2, 0, milliseconds, 0, 0, 0, 0x01000000), matrix(), numbers(0, 0)),
		box("edts", box("elst", numbers(0, 1, milliseconds, soundPreSkip, 0x10000))),
		media("soun", soundRate, soundLength, box("smhd", numbers(0, 0)),
			sound.table(start, soundRate/packetsPerSecond, sound.rollGroups())))
	return append(box("ftyp", []byte("isom"), numbers(0x200), []byte("isomiso2avc1mp41")), box("moov", movie, pictureTrack, soundTrack)...)
}

// media describes what a track holds.
func media(handler string, scale, length int, header, table []byte) []byte {
	const undeterminedLanguage = 0x55c40000
	return box("mdia",
		box("mdhd", numbers(0, 0, 0, scale, length, undeterminedLanguage)),
		box("hdlr", numbers(0, 0), []byte(handler), numbers(0, 0, 0), []byte("simulator\x00")),
		box("minf", header, box("dinf", box("dref", numbers(0, 1), box("url ", numbers(1)))), table))
}

// table tells where each sample is and how long it lasts.
func (t *track) table(start, sampleLength int, more []byte) []byte {
	sizes := numbers(0, 0, t.count)
	for i := range t.count {
		sizes = append(sizes, numbers(t.size(i%t.perSecond))...)
	}
	places := numbers(0, len(t.offsets))
	for _, offset := range t.offsets {
		places = append(places, numbers(start+offset)...)
	}
	// Every second is a chunk; the last may be shorter.
	chunks := [][3]int{{1, min(t.perSecond, t.count), 1}}
	if rest := t.count % t.perSecond; rest != 0 && t.count > t.perSecond {
		chunks = append(chunks, [3]int{len(t.offsets), rest, 1})
	}
	runs := numbers(0, len(chunks))
	for _, chunk := range chunks {
		runs = append(runs, numbers(chunk[:]...)...)
	}
	return box("stbl", t.description,
		box("stts", numbers(0, 1, t.count, sampleLength)),
		box("stsc", runs), box("stsz", sizes), box("stco", places), more)
}

// keyFrames lists the first frame of each second.
func (t *track) keyFrames() []byte {
	list := numbers(0, len(t.offsets))
	for second := range t.offsets {
		list = append(list, numbers(second*t.perSecond+1)...)
	}
	return box("stss", list)
}

// rollGroups puts every packet into the group that tells how many packets
// before it a decoder needs.
func (t *track) rollGroups() []byte {
	if t.rolls == nil {
		return nil
	}
	return append(box("sbgp", numbers(0), []byte("roll"), numbers(1, t.count, 1)), t.rolls...)
}
