package simulator

import (
	"encoding/binary"
	"time"
)

// This file writes the index of an MP4 file (ISO/IEC 14496-12, and the Opus
// project's encapsulation of Opus in it). Numbers are big-endian.

// boxHead is the length of a box header.
const boxHead = 8

// movieScale is the number of time units per second of the movie and its
// video.
const movieScale = 1000

// track is a track of a recording: the samples of a loop, repeated.
type track struct {
	loop
	perSecond int
	count     int   // all samples
	offsets   []int // of each second in the media
}

// box returns a box with the parts.
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

// numbers encodes each value in four bytes.
func numbers(values ...int) []byte {
	var written []byte
	for _, value := range values {
		written = binary.BigEndian.AppendUint32(written, uint32(value)) // #nosec G115 -- an hour's recording stays far below
	}
	return written
}

// matrix returns the identity transformation (8.2.2.2).
func matrix() []byte { return numbers(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000) }

// index returns everything before the media, which starts at the offset.
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

// media returns the description of a track's content.
func media(handler string, scale, length int, header, table []byte) []byte {
	const undeterminedLanguage = 0x55c40000
	return box("mdia",
		box("mdhd", numbers(0, 0, 0, scale, length, undeterminedLanguage)),
		box("hdlr", numbers(0, 0), []byte(handler), numbers(0, 0, 0), []byte("simulator\x00")),
		box("minf", header, box("dinf", box("dref", numbers(0, 1), box("url ", numbers(1)))), table))
}

// table returns the offset and duration of each sample.
func (t *track) table(start, sampleLength int, more []byte) []byte {
	sizes := numbers(0, 0, t.count)
	for i := range t.count {
		sizes = append(sizes, numbers(t.size(i%t.perSecond))...)
	}
	chunkOffsets := numbers(0, len(t.offsets))
	for _, offset := range t.offsets {
		chunkOffsets = append(chunkOffsets, numbers(start+offset)...)
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
		box("stsc", runs), box("stsz", sizes), box("stco", chunkOffsets), more)
}

// keyFrames lists the first frame of each second.
func (t *track) keyFrames() []byte {
	list := numbers(0, len(t.offsets))
	for second := range t.offsets {
		list = append(list, numbers(second*t.perSecond+1)...)
	}
	return box("stss", list)
}

// rollGroups assigns every packet to the group that says how many preceding
// packets a decoder needs.
func (t *track) rollGroups() []byte {
	if t.rolls == nil {
		return nil
	}
	return append(box("sbgp", numbers(0), []byte("roll"), numbers(1, t.count, 1)), t.rolls...)
}
