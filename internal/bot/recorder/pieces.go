package recorder

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"standin/internal/recording"
)

// codec is the codec of encoded video, in the numbers of streamsworker.js.
type codec byte

const (
	unknownCodec codec = iota
	vp8
	vp9
	av1
	h264
)

const (
	frameHeader  = 36 // bytes, see streamsworker.js
	maxLayers    = 8  // spatial layers of a picture
	maxPixels    = 16384
	rtpClock     = 90 // ticks of a millisecond
	maxDisorder  = 500 * rtpClock
	maxDeviation = 300  // ms by which frames may differ from the clock of their sender
	followTime   = 500  // ms
	maxSilence   = 5000 // ms within a piece
	// settleTime is how long the page may show the last participant of a track that changes.
	settleTime       = time.Second
	maxWaitingFrames = 1000
)

// frame is an encoded frame of a track, as it arrived.
type frame struct {
	track         int
	codec         codec
	key           bool
	timestamp     uint32 // RTP
	count         uint32 // of the frames of the track
	source        uint32 // the participant's SSRC, as far as the sender tells
	width, height int    // 0 if unknown
	layer         int    // spatial
	settings      uint16 // checksum, of a key frame of AV1
	at            float64
	data          []byte
}

var errBatch = errors.New("the page reports a malformed batch of frames")

// decodeBatch returns the frames of a batch, which share its memory, up to the first one that is malformed.
func decodeBatch(batch []byte) ([]frame, error) {
	var frames []frame
	for len(batch) > 0 {
		if len(batch) < frameHeader {
			return frames, errBatch
		}
		number := binary.LittleEndian
		size := int64(number.Uint32(batch))
		f := frame{
			track: int(number.Uint16(batch[4:])), codec: codec(batch[6]), key: batch[7] == 1,
			timestamp: number.Uint32(batch[8:]), count: number.Uint32(batch[12:]), source: number.Uint32(batch[16:]),
			width: int(number.Uint16(batch[20:])), height: int(number.Uint16(batch[22:])), layer: int(batch[24]),
			settings: number.Uint16(batch[26:]),
			at:       math.Float64frombits(number.Uint64(batch[28:])),
		}
		batch = batch[frameHeader:]
		if size > int64(len(batch)) || f.codec > h264 || f.layer >= maxLayers || max(f.width, f.height) > maxPixels || !(math.Abs(f.at) < 1<<43) {
			return frames, errBatch
		}
		f.data, batch = batch[:size:size], batch[size:]
		frames = append(frames, f)
	}
	return frames, nil
}

// videoTrack cuts the video of a track into pieces of one owner, size and codec, and writes them as they come.
type videoTrack struct {
	id      string // of the page's MediaStreamTrack
	clock   func(ms float64) time.Time
	waiting []frame
	count   uint32  // of the last frame
	delay   float64 // ms until the page plays what has arrived

	piece   *videoPiece // nil until a key frame comes
	needKey bool        // the bot has to ask for one
	parts   []ParticipantTrackPart

	seenAt time.Time // when its owner was last seen
	fault  error     // why its frames cannot be read: a codec that is not known, or encryption

	hooked   bool // its frames come
	bytes    int64
	receives bool
	cameAt   time.Time // the last frame, or when nothing arrived
}

// videoPiece is a piece with what decides where it ends.
type videoPiece struct {
	*Piece
	first     frame   // without its data
	startedAt float64 // on the clock of the page, with the delay
	lastAt    float64 // of the last picture
	lastTicks uint32
	ending    bool // the owner has changed: the next key frame begins another piece
}

// fourCC are the codecs in IVF.
var fourCC = []string{vp8: "VP80", vp9: "VP90", av1: "AV01", h264: H264}

// H264 is the codec of a Piece with access units of H.264 (ITU-T H.264, annex B).
const H264 = "H264"

// add takes a frame that has arrived.
func (t *videoTrack) add(f frame) {
	missing := t.count != 0 && f.count != t.count+1 // the page had no room for them
	if missing || len(t.waiting) == maxWaitingFrames {
		t.flush(0)
	}
	if missing {
		t.endPiece()
	}
	t.count = f.count
	t.waiting = append(t.waiting, f)
}

// flush writes the pictures that are older than the newest one by a time in RTP ticks: frames may arrive in another order.
func (t *videoTrack) flush(disorder int32) {
	if len(t.waiting) == 0 {
		return
	}
	base := t.waiting[0].timestamp
	slices.SortStableFunc(t.waiting, func(a, b frame) int {
		return cmp.Or(cmp.Compare(int32(a.timestamp-base), int32(b.timestamp-base)), cmp.Compare(a.layer, b.layer))
	})
	newest := t.waiting[len(t.waiting)-1].timestamp
	for len(t.waiting) > 0 {
		first := t.waiting[0]
		if int32(newest-first.timestamp) < disorder {
			return
		}
		layers := 1 // others have the same time when a server changes from one encoding of a camera to another
		for layers < min(len(t.waiting), maxLayers) && t.waiting[layers].timestamp == first.timestamp &&
			t.waiting[layers].layer > t.waiting[layers-1].layer {
			layers++
		}
		picture := first
		if picture.data = joinLayers(t.waiting[:layers]); layers > 1 {
			picture.width, picture.height = t.waiting[layers-1].width, t.waiting[layers-1].height
		}
		t.waiting = t.waiting[layers:]
		t.write(picture)
	}
	t.waiting = nil
}

// write adds a picture to the piece, or begins one with a key frame.
func (t *videoTrack) write(f frame) {
	at := f.at + t.delay
	if p := t.piece; p != nil {
		elapsed := float64(int32(f.timestamp-p.lastTicks)) / rtpClock
		switch {
		case elapsed < 0 && f.key:
			t.endPiece() // what follows needs it
			return
		case elapsed < 0 || elapsed == 0 && !f.key:
			return // a picture that came too late
		}
		// The clock of the sender is steady, unlike the network; what else changes is followed within a second.
		if deviation := at - p.lastAt - elapsed; math.Abs(deviation) > maxDeviation {
			at = max(at, p.lastAt+1)
		} else {
			at = p.lastAt + elapsed + deviation*min(elapsed/followTime, 1)
		}
		resized := f.key && (p.ending || f.width != p.first.width || f.height != p.first.height || f.settings != p.first.settings)
		if resized || f.codec != p.first.codec || f.source != p.first.source || at-p.lastAt > maxSilence {
			t.endPiece()
		}
	}
	if f.key {
		if t.fault = f.check(); t.fault != nil {
			t.endPiece()
		} else if t.piece == nil {
			t.needKey = false
			track := ParticipantTrack{ID: rand.Text(), TrackID: t.id, Kind: string(recording.ParticipantVideo), StartedAt: t.clock(at)}
			t.piece = &videoPiece{Piece: NewPiece(track, fourCC[f.codec], f.width, f.height), first: f, startedAt: at}
			t.piece.first.data = nil
		}
	}
	p := t.piece
	if p == nil {
		t.needKey = true
		return
	}
	p.Add(time.Duration((at-p.startedAt)*float64(time.Millisecond)), f.data)
	p.lastAt, p.lastTicks = at, f.timestamp
}

// endPiece ends the piece, if there is one.
func (t *videoTrack) endPiece() {
	t.store(true)
	t.piece, t.needKey = nil, true
}

// store makes what was written a part to be stored.
func (t *videoTrack) store(ended bool) {
	if t.piece != nil {
		t.parts = t.piece.AppendPart(t.parts, ended)
	}
}

// setOwner tells whose tile plays the track at a time. The page may show that too late: a piece belongs to the one
// who is seen after a while, and, when another one is seen, until a while before.
func (t *videoTrack) setOwner(owner string, at time.Time) {
	if p := t.piece; p != nil && !p.ending && at.Sub(p.StartedAt) >= settleTime {
		switch p.PersonID {
		case owner:
		case "":
			p.PersonID = owner
		default:
			p.ending, p.OwnedUntil, t.needKey = true, t.seenAt.Add(-settleTime), true
		}
	}
	t.seenAt = at
}

// check returns an error for a key frame that no decoder can read.
func (f frame) check() error {
	ok := false
	switch start := string(f.data[:min(len(f.data), 6)]); f.codec {
	case unknownCodec:
		return errors.New("its codec is unknown")
	case vp8: // RFC 6386, section 9.1
		ok = strings.HasSuffix(start, "\x9D\x01\x2A")
	case vp9: // VP9 bitstream, section 6.2
		ok = len(start) > 4 && start[1:4] == "\x49\x83\x42"
	case av1: // AV1 bitstream, section 5.3.2
		ok = len(start) > 1 && slices.Contains([]byte{1, 2}, start[0]>>3)
	case h264: // ITU-T H.264, annex B
		ok = strings.HasPrefix(start, "\x00\x00\x01") || strings.HasPrefix(start, "\x00\x00\x00\x01")
	}
	if !ok {
		return errors.New("it is encrypted, or of another codec")
	}
	return nil
}

// joinLayers returns the picture of spatial layers in the form that decoders take.
func joinLayers(layers []frame) []byte {
	if len(layers) == 1 {
		return layers[0].data
	}
	var picture []byte
	index := []byte{0xD8 | byte(len(layers)-1)} // of a superframe of VP9 with sizes of four bytes (VP9 bitstream, annex B)
	marker := index[0]
	for _, layer := range layers {
		picture = append(picture, layer.data...)
		index = binary.LittleEndian.AppendUint32(index, uint32(len(layer.data)))
	}
	if layers[0].codec == vp9 {
		picture = append(append(picture, index...), marker)
	}
	return picture
}
