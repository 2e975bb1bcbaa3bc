package recorder

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Piece is encoded video of one owner and size, which is written to one file as it comes. The format is IVF, which
// ffmpeg reads for all codecs; its times are milliseconds.
type Piece struct {
	ParticipantTrack

	data    []byte
	chunks  int
	written int64 // time of the last picture
}

// NewPiece begins a piece in a codec, by its four letters in IVF. The size may be unknown.
func NewPiece(track ParticipantTrack, codec string, width, height int) *Piece {
	header := fmt.Appendf(nil, "DKIF\x00\x00\x20\x00%s", codec)
	header = binary.LittleEndian.AppendUint16(header, uint16(width))
	header = binary.LittleEndian.AppendUint16(header, uint16(height))
	header = append(header, "\xE8\x03\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...) // 1000 units of time per second
	return &Piece{ParticipantTrack: track, data: header, written: -1}
}

// Add adds a picture at a time since the start of the piece. Each is after the one before it.
func (p *Piece) Add(at time.Duration, picture []byte) {
	p.written = max(p.written+1, at.Round(time.Millisecond).Milliseconds())
	p.data = binary.LittleEndian.AppendUint32(p.data, uint32(len(picture)))
	p.data = append(binary.LittleEndian.AppendUint64(p.data, uint64(p.written)), picture...)
}

// AppendPart appends what was added since the last call to the parts of tracks.
func (p *Piece) AppendPart(parts []ParticipantTrackPart, ended bool) []ParticipantTrackPart {
	if len(p.data) == 0 && !ended {
		return parts
	}
	part := ParticipantTrackPart{ParticipantTrack: p.ParticipantTrack, First: p.chunks, Ended: ended}
	if len(p.data) > 0 {
		part.Chunks, p.data = [][]byte{p.data}, nil
		p.chunks++
	}
	return append(parts, part)
}
