package recorder

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// epoch is when the video of the tests begins, in milliseconds of the page's clock.
const epoch = 1_700_000_000_000

// videoFrame returns the frame of a video of 25 frames per second, of which every tenth is a key frame.
func videoFrame(number int, source uint32) frame {
	f := frame{
		codec: vp8, key: number%10 == 0, timestamp: math.MaxUint32 - 20*3600 + uint32(number)*3600, count: uint32(number + 1), source: source,
		at: epoch + float64(number)*40, data: []byte{1, 0, 0},
	}
	if f.key {
		f.data, f.width = []byte{0x10, 0, 0, 0x9D, 0x01, 0x2A}, 640
	}
	return f
}

// startedTrack returns a track, and what it has stored.
func startedTrack() *videoTrack {
	return &videoTrack{id: "track", clock: func(ms float64) time.Time { return time.UnixMicro(int64(ms * 1000)) }}
}

// describePieces returns the pieces of a track: their owners, and their first and last time in ms.
func describePieces(t *videoTrack) []string {
	t.flush(0)
	t.endPiece()
	var order []string
	pieces := map[string]string{}
	for _, part := range t.parts {
		if pieces[part.ID] == "" {
			order = append(order, part.ID)
		}
		from, until := part.StartedAt.UnixMilli()-epoch, ""
		if !part.OwnedUntil.IsZero() {
			until = fmt.Sprintf(" until %d", part.OwnedUntil.UnixMilli()-epoch)
		}
		pieces[part.ID] = fmt.Sprintf("%d %q%s", from, part.PersonID, until)
	}
	var described []string
	for _, id := range order {
		described = append(described, pieces[id])
	}
	return described
}

// TestVideoPieces cuts the video of a track where its content changes, and gives each piece the participant who is sure to be
// its owner.
func TestVideoPieces(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(epoch + int64(ms)) }
	for name, test := range map[string]struct {
		run  func(*videoTrack)
		want []string
	}{
		"one participant": {func(track *videoTrack) {
			for i := range 100 {
				track.add(videoFrame(i, 1))
				track.flush(0)
				track.setOwner("ada", at(i*40))
			}
		}, []string{`0 "ada"`}},
		"begins within a group of pictures": {func(track *videoTrack) {
			for i := range 100 {
				if i > 3 {
					track.add(videoFrame(i, 1))
				}
			}
		}, []string{`400 ""`}},
		"another source": {func(track *videoTrack) {
			for i := range 150 {
				source, owner := uint32(1), "ada"
				if i >= 75 {
					source = 2
				}
				if i >= 85 { // the page shows it later
					owner = "ben"
				}
				track.add(videoFrame(i, source))
				track.flush(0)
				track.setOwner(owner, at(i*40))
			}
		}, []string{`0 "ada"`, `3200 "ben"`}},
		"another participant in a slot that looks the same": {func(track *videoTrack) {
			for i := range 200 {
				owner := "ada"
				if i >= 85 {
					owner = "ben"
				}
				track.add(videoFrame(i, 1))
				track.flush(0)
				track.setOwner(owner, at(i*40))
			}
		}, []string{`0 "ada" until 2360`, `3600 "ben"`}},
		"a participant who is seen for too short a time": {func(track *videoTrack) {
			for i := range 20 {
				track.add(videoFrame(i, 1))
				track.flush(0)
				track.setOwner("ada", at(i*40))
			}
		}, []string{`0 ""`}},
		"another size": {func(track *videoTrack) {
			for i := range 100 {
				f := videoFrame(i, 1)
				if f.key && i >= 50 {
					f.width = 320
				}
				track.add(f)
			}
		}, []string{`0 ""`, `2000 ""`}},
		"another encoding of the same moment": {func(track *videoTrack) {
			for i := range 100 {
				f := videoFrame(i, 1)
				if i == 50 { // the last picture of the first one
					last := f
					last.key, last.count = false, track.count+1
					track.add(last)
				}
				if f.count = track.count + 1; f.key && i >= 50 {
					f.width = 320
				}
				track.add(f)
			}
		}, []string{`0 ""`, `2000 ""`}},
		"another codec": {func(track *videoTrack) {
			for i := range 100 {
				f := videoFrame(i, 1)
				if i >= 47 {
					if f.codec = vp9; f.key {
						f.data = []byte{0x82, 0x49, 0x83, 0x42, 0}
					}
				}
				track.add(f)
			}
		}, []string{`0 ""`, `2000 ""`}},
		"a camera that was off": {func(track *videoTrack) {
			for i := range 250 {
				if i < 50 || i >= 195 {
					f := videoFrame(i, 1)
					f.count = track.count + 1
					track.add(f)
				}
			}
		}, []string{`0 ""`, `8000 ""`}},
		"frames for which the page had no room": {func(track *videoTrack) {
			for i := range 100 {
				if i < 33 || i >= 37 {
					track.add(videoFrame(i, 1))
				}
			}
		}, []string{`0 ""`, `1600 ""`}},
		"a codec that nobody knows": {func(track *videoTrack) {
			for i := range 100 {
				f := videoFrame(i, 1)
				f.codec = unknownCodec
				track.add(f)
			}
			track.flush(0)
			if track.fault == nil {
				t.Error("an unknown codec is no fault")
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			track := startedTrack()
			test.run(track)
			if got := describePieces(track); !slices.Equal(got, test.want) {
				t.Errorf("pieces %q, want %q", got, test.want)
			}
		})
	}
}

// TestVideoDisorder writes frames that arrive in another order in theirs, also across the end of RTP's numbers.
func TestVideoDisorder(t *testing.T) {
	t.Parallel()
	ordered, mixed := startedTrack(), startedTrack()
	for i := range 40 {
		f := videoFrame(i, 1)
		f.data = append(f.data, byte(i))
		ordered.add(f)
		j := i
		switch i % 4 {
		case 1:
			j++
		case 2:
			j--
		}
		g := videoFrame(j, 1)
		g.data, g.count = append(g.data, byte(j)), uint32(i+1)
		mixed.add(g)
		mixed.flush(maxDisorder)
	}
	describePieces(ordered)
	describePieces(mixed)
	if len(mixed.parts) != 1 || !bytes.Equal(mixed.parts[0].Chunks[0], ordered.parts[0].Chunks[0]) {
		t.Errorf("%d parts differ from those in order", len(mixed.parts))
	}
}

// TestVideoLayers joins the spatial layers of a picture to a superframe (VP9 bitstream, annex B).
func TestVideoLayers(t *testing.T) {
	t.Parallel()
	got := joinLayers([]frame{{codec: vp9, data: []byte{1, 2, 3}}, {codec: vp9, layer: 1, data: []byte{4, 5}}})
	want := []byte{1, 2, 3, 4, 5, 0xD9, 3, 0, 0, 0, 2, 0, 0, 0, 0xD9}
	if !bytes.Equal(got, want) {
		t.Errorf("superframe %x, want %x", got, want)
	}
}

// FuzzFrames takes batches of frames that a hostile page reports.
func FuzzFrames(f *testing.F) {
	batch := func(frames ...frame) (encoded []byte) {
		for _, one := range frames {
			header := make([]byte, frameHeader)
			binary.LittleEndian.PutUint32(header, uint32(len(one.data)))
			header[6] = byte(one.codec)
			if one.key {
				header[7] = 1
			}
			binary.LittleEndian.PutUint32(header[8:], one.timestamp)
			binary.LittleEndian.PutUint32(header[12:], one.count)
			header[24] = byte(one.layer)
			binary.LittleEndian.PutUint64(header[28:], math.Float64bits(one.at))
			encoded = append(append(encoded, header...), one.data...)
		}
		return encoded
	}
	f.Add(batch(videoFrame(0, 1), videoFrame(1, 1), videoFrame(2, 1)))
	f.Add(batch(frame{codec: av1, key: true, data: []byte{0x12, 0, 0x0A, 2, 1, 2, 0x32, 1, 0}}))
	f.Add(batch(frame{codec: h264, key: true, data: []byte("\x00\x00\x00\x01\x67abcd\x00\x00\x01\x68a\x00\x00\x01\x65b")}))
	f.Add(batch(frame{codec: vp9, key: true, data: []byte{0x82, 0x49, 0x83, 0x42}}, frame{codec: vp9, layer: 1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		frames, _ := decodeBatch(data)
		total := 0
		track := startedTrack()
		for _, one := range frames {
			total += frameHeader + len(one.data)
			track.add(one)
		}
		describePieces(track)
		written := 0
		for _, part := range track.parts {
			for _, chunk := range part.Chunks {
				written += len(chunk)
			}
		}
		if total > len(data) || written > 2*total {
			t.Errorf("%d bytes of frames of %d became %d", total, len(data), written)
		}
	})
}
