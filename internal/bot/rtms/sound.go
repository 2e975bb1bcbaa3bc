package rtms

import (
	"bytes"
	"crypto/rand"
	"math/bits"
	"slices"
	"time"

	"github.com/Eyevinn/mp4ff/mp4"
	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
	"github.com/mewkiz/flac/meta"

	"standin/internal/bot/recorder"
)

// soundTrack writes sound without loss, as FLAC in a fragmented MP4, which is complete up to its last fragment.
type soundTrack struct {
	recorder.ParticipantTrack

	encoder  *flac.Encoder
	encoded  bytes.Buffer  // of the encoder
	header   []byte        // of the file, until it was taken
	fragment *mp4.Fragment // nil if nothing was added since the last one was taken
	length   uint64        // in samples
	chunks   int           // taken so far
}

// newSound returns a track of a participant; user is empty for the mixed sound.
func newSound(user string, startedAt time.Time) *soundTrack {
	t := &soundTrack{ParticipantTrack: recorder.ParticipantTrack{ID: rand.Text(), TrackID: user, PersonID: user, StartedAt: startedAt}}
	// What follows fails only if it cannot be written, and it is written to memory.
	t.encoder, _ = flac.NewEncoder(&t.encoded, &meta.StreamInfo{
		BlockSizeMin: block, BlockSizeMax: block, SampleRate: rate, NChannels: 1, BitsPerSample: 16,
	})
	config := append(make([]byte, 4), t.encoded.Bytes()[len("fLaC"):]...) // version and flags, then the stream's settings
	init := mp4.CreateEmptyInit()
	init.AddEmptyTrack(rate, "audio", "und")
	init.Moov.Trak.Mdia.Minf.Stbl.Stsd.AddChild(
		mp4.CreateAudioSampleEntryBox("fLaC", 1, 16, rate, mp4.CreateUnknownBox("dfLa", uint64(8+len(config)), config)))
	var header bytes.Buffer
	_ = init.Encode(&header)
	t.header = header.Bytes()
	return t
}

// add adds a block of sound: silence is a constant, anything else the differences from a prediction by two samples, in Rice
// codes for their mean.
func (t *soundTrack) add(pcm []int16) {
	values := make([]int32, len(pcm))
	sum, last, before := 0, 0, 0
	for i, sample := range pcm {
		values[i] = int32(sample)
		difference := int(sample) - 2*last + before
		sum += max(difference, -difference)
		last, before = int(sample), last
	}
	form := frame.SubHeader{Pred: frame.PredConstant}
	if slices.Min(pcm) != slices.Max(pcm) {
		parameter := min(uint(bits.Len(uint(sum/len(pcm)))), 14)
		form = frame.SubHeader{
			Pred: frame.PredFixed, Order: 2, ResidualCodingMethod: frame.ResidualCodingMethodRice1,
			RiceSubframe: &frame.RiceSubframe{Partitions: []frame.RicePartition{{Param: parameter}}},
		}
	}
	t.encoded.Reset()
	_ = t.encoder.WriteFrame(&frame.Frame{ // to memory
		Header: frame.Header{
			HasFixedBlockSize: true, BlockSize: block, SampleRate: rate, Channels: frame.ChannelsMono, BitsPerSample: 16,
		},
		Subframes: []*frame.Subframe{{SubHeader: form, Samples: values, NSamples: block}},
	})
	data := bytes.Clone(t.encoded.Bytes())
	if t.fragment == nil {
		t.fragment, _ = mp4.CreateFragment(uint32(t.chunks+1), 1)
	}
	t.fragment.AddFullSample(mp4.FullSample{
		Sample: mp4.NewSample(mp4.SyncSampleFlags, block, uint32(len(data)), 0), DecodeTime: t.length, Data: data,
	})
	t.length += block
}

// take returns what was added since the last call; nil if that is nothing.
func (t *soundTrack) take() []byte {
	if t.fragment == nil {
		return nil
	}
	chunk := bytes.NewBuffer(t.header)
	_ = t.fragment.Encode(chunk) // to memory
	t.header, t.fragment = nil, nil
	t.chunks++
	return chunk.Bytes()
}

// appendPart appends what was added since the last call to the parts of tracks.
func (t *soundTrack) appendPart(parts []recorder.ParticipantTrackPart, ended bool) []recorder.ParticipantTrackPart {
	part := recorder.ParticipantTrackPart{ParticipantTrack: t.ParticipantTrack, First: t.chunks, Ended: ended}
	if chunk := t.take(); chunk != nil {
		part.Chunks = [][]byte{chunk}
	} else if !ended || t.chunks == 0 {
		return parts
	}
	return append(parts, part)
}
