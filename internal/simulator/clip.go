package simulator

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the clip
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

// The format of the embedded second; see clip/README.md.
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

// recordingName is the name of the uploaded file.
const recordingName = "recording.mp4"

// clip makes recordings of any duration by repeating one second of video and
// audio. It encodes nothing and needs no ffmpeg.
type clip struct {
	picture, sound loop
	codecs         string
}

// loop is one second of a track.
type loop struct {
	description []byte // the stsd box
	rolls       []byte // the sgpd box; nil if there is none
	data        []byte // of all samples
	ends        []int  // offset of the end of each sample in data
}

// prefix returns the data of the first samples.
func (u loop) prefix(samples int) []byte { return u.data[:u.ends[samples-1]] }

// size returns the size of a sample.
func (u loop) size(sample int) int {
	if sample == 0 {
		return u.ends[0]
	}
	return u.ends[sample] - u.ends[sample-1]
}

// newClip parses the embedded second.
func newClip() (*clip, error) {
	picture, err := parseLoop(pictureMP4, framesPerSecond)
	if err != nil {
		return nil, fmt.Errorf("parse the embedded video: %w", err)
	}
	sound, err := parseLoop(soundMP4, packetsPerSecond)
	if err != nil {
		return nil, fmt.Errorf("parse the embedded audio: %w", err)
	}
	// RFC 6381, 3.3: profile, constraints and level, the second to fourth byte
	// of the avcC box (ISO/IEC 14496-15, 5.3.3.1).
	_, settings, found := bytes.Cut(picture.description, []byte("avcC"))
	if !found || len(settings) < 4 {
		return nil, errors.New("the embedded video is not H.264")
	}
	return &clip{picture: picture, sound: sound, codecs: fmt.Sprintf("avc1.%02X%02X%02X,opus", settings[1], settings[2], settings[3])}, nil
}

// parseLoop parses the first samples of a file with one track and contiguous
// samples.
func parseLoop(file []byte, samples int) (loop, error) {
	table, err := find(file, "moov", "trak", "mdia", "minf", "stbl")
	if err != nil {
		return loop{}, err
	}
	sizes, err := find(table, "stsz")
	if err != nil {
		return loop{}, err
	}
	data, err := find(file, "mdat")
	if err != nil {
		return loop{}, err
	}
	description, err := find(table, "stsd")
	if err != nil {
		return loop{}, err
	}
	read := loop{description: box("stsd", description), data: data}
	if rolls, err := find(table, "sgpd"); err == nil {
		read.rolls = box("sgpd", rolls)
	}
	end := 0
	for i := range samples {
		size, err := sampleSize(sizes, i)
		if end += size; err != nil || end > len(data) {
			return loop{}, fmt.Errorf("missing sample %d", i)
		}
		read.ends = append(read.ends, end)
	}
	return read, nil
}

// sampleSize parses the content of an stsz box (ISO/IEC 14496-12, 8.7.3).
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

// find returns the content of the first box with the path.
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
	return nil, fmt.Errorf("missing %s box", path[0])
}

// recordingFile is a finished recording.
type recordingFile struct {
	recording.File
	open func() io.Reader
}

// record makes a recording of the given duration, rounded to a frame and at
// least one.
func (c *clip) record(length time.Duration) (recordingFile, error) {
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
		return recordingFile{}, fmt.Errorf("hash the recording: %w", err)
	}
	return recordingFile{
		File: recording.File{
			Name: recordingName, Kind: recording.Video, ContentType: "video/mp4", Codecs: c.codecs,
			Bytes: size, SHA256: hex.EncodeToString(sum.Sum(nil)),
			DurationMs: int64(frames) * frameLength.Milliseconds(), Width: pictureWidth, Height: pictureHeight,
		},
		open: open,
	}, nil
}

// layOut returns everything before the media, and the media: for each second,
// its video and then its audio.
func (c *clip) layOut(frames int) (head []byte, media [][]byte) {
	picture, sound := track{loop: c.picture, perSecond: framesPerSecond}, track{loop: c.sound, perSecond: packetsPerSecond}
	size := 0
	for at := 0; at < frames; at += framesPerSecond {
		count := min(framesPerSecond, frames-at)
		for _, run := range []struct {
			*track
			count int
		}{{&picture, count}, {&sound, count * packetsPerFrame}} {
			prefix := run.prefix(run.count)
			run.offsets = append(run.offsets, size)
			media = append(media, prefix)
			size += len(prefix)
		}
	}
	picture.count, sound.count = frames, frames*packetsPerFrame
	// The index precedes the media, so that playback can start at once. Its length
	// does not depend on the offsets in it.
	start := len(index(&picture, &sound, 0)) + boxHead
	head = index(&picture, &sound, start)
	return append(head, boxHeader("mdat", size)...), media
}
