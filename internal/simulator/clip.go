package simulator

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the second that is repeated
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"standin/internal/recording"
)

//go:embed clip/picture.mp4
var pictureMP4 []byte

//go:embed clip/sound.mp4
var soundMP4 []byte

// How the embedded second is made up: see clip/README.md.
const (
	framesPerSecond  = 10
	packetsPerSecond = 50
	packetsPerFrame  = packetsPerSecond / framesPerSecond
	frameLength      = time.Second / framesPerSecond
	soundRate        = 48000
	soundPreSkip     = 312 // samples
	pictureWidth     = 320
	pictureHeight    = 180
)

// recordingName is the name of the one file a simulated bot hands in.
const recordingName = "recording.mp4"

// clip makes recordings of any length by repeating one second of picture and
// sound. Nothing is encoded, so no ffmpeg is needed.
type clip struct {
	picture, sound unit
	codecs         string
}

// unit is one second of a track.
type unit struct {
	description []byte // the stsd box, whole
	rolls       []byte // the sgpd box, whole; nil when there is none
	data        []byte // the samples, one behind the other
	ends        []int  // of each sample, in data
}

// piece is the first samples.
func (u unit) piece(samples int) []byte { return u.data[:u.ends[samples-1]] }

// size is how long a sample is.
func (u unit) size(sample int) int {
	if sample == 0 {
		return u.ends[0]
	}
	return u.ends[sample] - u.ends[sample-1]
}

// newClip reads the embedded second.
func newClip() (*clip, error) {
	picture, err := readUnit(pictureMP4, framesPerSecond)
	if err != nil {
		return nil, fmt.Errorf("read the embedded picture: %w", err)
	}
	sound, err := readUnit(soundMP4, packetsPerSecond)
	if err != nil {
		return nil, fmt.Errorf("read the embedded sound: %w", err)
	}
	// RFC 6381, 3.3: profile, constraints and level, the second to fourth byte
	// of the avcC box (ISO/IEC 14496-15, 5.3.3.1).
	_, settings, found := bytes.Cut(picture.description, []byte("avcC"))
	if !found || len(settings) < 4 {
		return nil, errors.New("the embedded picture is no H.264")
	}
	return &clip{picture: picture, sound: sound, codecs: fmt.Sprintf("avc1.%02X%02X%02X,opus", settings[1], settings[2], settings[3])}, nil
}

// readUnit reads the first samples of a file that has one track, whose samples
// follow each other without a gap.
func readUnit(file []byte, samples int) (unit, error) {
	table, err := find(file, "moov", "trak", "mdia", "minf", "stbl")
	if err != nil {
		return unit{}, err
	}
	sizes, err := find(table, "stsz")
	if err != nil {
		return unit{}, err
	}
	data, err := find(file, "mdat")
	if err != nil {
		return unit{}, err
	}
	description, err := find(table, "stsd")
	if err != nil {
		return unit{}, err
	}
	read := unit{description: box("stsd", description), data: data}
	if rolls, err := find(table, "sgpd"); err == nil {
		read.rolls = box("sgpd", rolls)
	}
	end := 0
	for i := range samples {
		size, err := sampleSize(sizes, i)
		if end += size; err != nil || end > len(data) {
			return unit{}, fmt.Errorf("there is no sample %d", i)
		}
		read.ends = append(read.ends, end)
	}
	return read, nil
}

// sampleSize reads an stsz box's content (ISO/IEC 14496-12, 8.7.3).
func sampleSize(content []byte, i int) (int, error) {
	if len(content) < 12 || i >= int(binary.BigEndian.Uint32(content[8:])) {
		return 0, io.ErrUnexpectedEOF
	}
	if same := binary.BigEndian.Uint32(content[4:]); same != 0 {
		return int(same), nil
	}
	if len(content) < 12+4*(i+1) {
		return 0, io.ErrUnexpectedEOF
	}
	return int(binary.BigEndian.Uint32(content[12+4*i:])), nil
}

// find returns the content of the first box that lies at the end of the path.
func find(content []byte, path ...string) ([]byte, error) {
	for len(content) >= boxHead {
		size := int(binary.BigEndian.Uint32(content))
		if size < boxHead || size > len(content) {
			break
		}
		if string(content[4:boxHead]) == path[0] {
			if len(path) > 1 {
				return find(content[boxHead:size], path[1:]...)
			}
			return content[boxHead:size], nil
		}
		content = content[size:]
	}
	return nil, fmt.Errorf("there is no %s box", path[0])
}

// take is a finished recording: what the report says of it, and how to read
// it, as often as needed.
type take struct {
	recording.File
	open func() io.Reader
}

// record makes a recording of about the given length, exact to a frame and at
// least one.
func (c *clip) record(length time.Duration) (take, error) {
	frames := max(1, int((length+frameLength/2)/frameLength))
	head, parts := c.layOut(frames)
	open := func() io.Reader {
		readers := []io.Reader{bytes.NewReader(head)}
		for _, part := range parts {
			readers = append(readers, bytes.NewReader(part))
		}
		return io.MultiReader(readers...)
	}
	sum := sha256.New()
	size, err := io.Copy(sum, open())
	if err != nil {
		return take{}, fmt.Errorf("sum up the recording: %w", err)
	}
	return take{
		File: recording.File{
			Name: recordingName, Kind: recording.Video, ContentType: "video/mp4", Codecs: c.codecs,
			Bytes: size, SHA256: hex.EncodeToString(sum.Sum(nil)),
			DurationMs: int64(frames) * frameLength.Milliseconds(), Width: pictureWidth, Height: pictureHeight,
		},
		open: open,
	}, nil
}

// layOut arranges a recording of so many frames: everything up to the media,
// and the media piece by piece, a second of picture before its sound.
func (c *clip) layOut(frames int) (head []byte, media [][]byte) {
	picture, sound := track{unit: c.picture, perSecond: framesPerSecond}, track{unit: c.sound, perSecond: packetsPerSecond}
	size := 0
	for at := 0; at < frames; at += framesPerSecond {
		count := min(framesPerSecond, frames-at)
		for _, run := range []struct {
			*track
			count int
		}{{&picture, count}, {&sound, count * packetsPerFrame}} {
			piece := run.piece(run.count)
			run.offsets = append(run.offsets, size)
			media = append(media, piece)
			size += len(piece)
		}
	}
	picture.count, sound.count = frames, frames*packetsPerFrame
	// The index stands first, so that playing can begin at once; its length
	// does not depend on the offsets in it.
	start := len(index(&picture, &sound, 0)) + boxHead
	head = index(&picture, &sound, start)
	return append(head, boxHeader("mdat", size)...), media
}
