package rtms

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"standin/internal/bot/recorder"
	"standin/internal/recording"
)

// track writes one stream as a fragmented MP4 (ISO/IEC 14496-12), which is complete up to its last fragment.
type track struct {
	recorder.ParticipantTrack

	kind      int    // audio, video or share
	timescale uint32 // units of time per second
	entry     []byte // the box that describes the samples

	chunks    int // taken so far
	fragments uint32
	base      uint64 // time of the first sample of the next fragment
	sizes     []uint32
	content   []byte
	frames    int // of sound
}

// newTrack returns a track of a person; user is empty for the mixed sound.
func newTrack(kind int, user string, startedAt time.Time, timescale uint32, entry []byte) *track {
	t := &track{kind: kind, timescale: timescale, entry: entry}
	t.ParticipantTrack = recorder.ParticipantTrack{ID: rand.Text(), TrackID: user, PersonID: user, StartedAt: startedAt}
	switch kind {
	case video:
		t.TrackID, t.Kind = user+" camera", string(recording.ParticipantVideo)
	case share:
		t.TrackID, t.Kind = user+" screen", string(recording.ScreenShare)
	}
	return t
}

// The flags of samples: key frames, and others.
const (
	keyFrame   = 0x02000000
	otherFrame = 0x01010000
)

// add adds a sample with its duration.
func (t *track) add(data []byte, duration, flags uint32) {
	t.sizes = append(t.sizes, duration, uint32(len(data)), flags)
	t.content = append(t.content, data...)
}

// flush returns what was added since the last call, after the header of the file the first time; nil if there is
// nothing.
func (t *track) flush() []byte {
	if len(t.sizes) == 0 {
		return nil
	}
	var chunk []byte
	if t.fragments == 0 {
		chunk = t.header()
	}
	t.fragments++
	moof := t.moof(0)
	chunk = append(append(chunk, t.moof(uint32(len(moof)+8))...), box("mdat", t.content)...)
	for i := 0; i < len(t.sizes); i += 3 {
		t.base += uint64(t.sizes[i])
	}
	t.sizes, t.content = nil, nil
	return chunk
}

// moof returns the header of a fragment, whose first sample is at an offset.
func (t *track) moof(offset uint32) []byte {
	run := append(words(0x701, uint32(len(t.sizes)/3), offset), words(t.sizes...)...)
	return box("moof", box("mfhd", words(0, t.fragments)), box("traf", box("tfhd", words(0x20000, 1)),
		box("tfdt", words(1<<24, uint32(t.base>>32), uint32(t.base))), box("trun", run)))
}

// appendPart appends what was added since the last call to the parts of tracks.
func (t *track) appendPart(parts []recorder.ParticipantTrackPart, ended bool) []recorder.ParticipantTrackPart {
	part := recorder.ParticipantTrackPart{ParticipantTrack: t.ParticipantTrack, First: t.chunks, Ended: ended}
	if chunk := t.flush(); chunk != nil {
		part.Chunks = [][]byte{chunk}
		t.chunks++
	} else if !ended || t.chunks == 0 {
		return parts
	}
	return append(parts, part)
}

// header returns the boxes before the first fragment.
func (t *track) header() []byte {
	matrix := words(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
	handler, volume, details := "vide", uint32(0), box("vmhd", words(1, 0, 0))
	if t.kind == audio {
		handler, volume, details = "soun", 0x1000000, box("smhd", words(0, 0))
	}
	empty := func(kind string, count int) []byte { return box(kind, make([]byte, 4*count)) }
	return append(box("ftyp", []byte("isom\x00\x00\x02\x00isomiso5mp41")), box("moov",
		box("mvhd", words(0, 0, 0, 1000, 0, 0x10000, 0x1000000, 0, 0), matrix, make([]byte, 24), words(2)),
		box("trak",
			box("tkhd", words(7, 0, 0, 1, 0, 0, 0, 0, 0, volume), matrix, words(0, 0)),
			box("mdia", box("mdhd", words(0, 0, 0, t.timescale, 0, 0x55C40000)),
				box("hdlr", words(0, 0), []byte(handler), make([]byte, 13)),
				box("minf", details, box("dinf", box("dref", words(0, 1), box("url ", words(1)))),
					box("stbl", box("stsd", words(0, 1), t.entry), empty("stts", 2), empty("stsc", 2), empty("stsz", 3), empty("stco", 2)))),
		),
		box("mvex", box("trex", words(0, 1, 1, 0, 0, 0))),
	)...)
}

// box returns a box with a content.
func box(kind string, content ...[]byte) []byte {
	data := append(make([]byte, 4), kind...)
	for _, part := range content {
		data = append(data, part...)
	}
	binary.BigEndian.PutUint32(data, uint32(len(data)))
	return data
}

// words returns numbers of 32 bits.
func words(numbers ...uint32) []byte {
	var data []byte
	for _, number := range numbers {
		data = binary.BigEndian.AppendUint32(data, number)
	}
	return data
}
