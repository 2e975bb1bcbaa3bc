package simulator

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/transcript"
)

// meetingMP4 is the recording of every simulated meeting, in fragments, and meetingJSON what its
// people say; internal/replica/people/generate makes both. The meeting repeats.
var (
	//go:embed meeting.mp4
	meetingMP4 []byte
	//go:embed meeting.json
	meetingJSON []byte
)

const (
	meetingLength  = 57_600 * time.Millisecond
	fragmentLength = 400 * time.Millisecond
	meetingScale   = 48_000 // ticks of both tracks in a second
)

// turn is what a person says.
type turn struct {
	Person, Name, Text, Chat string
	StartMs, EndMs           int
}

// turns returns what is said in one round of the meeting.
var turns = sync.OnceValue(func() (turns []turn) {
	if err := json.Unmarshal(meetingJSON, &turns); err != nil {
		panic(err) // embedded
	}
	return turns
})

// fragment is a piece of the recording; times are where its decode times are.
type fragment struct {
	content []byte
	times   []int
}

// fragments returns the beginning of the recording and its pieces.
var fragments = sync.OnceValues(func() (header []byte, pieces []fragment) {
	for kind, box := range boxes(meetingMP4) {
		switch kind {
		case "ftyp", "moov":
			header = append(header, box...)
		case "moof":
			piece := fragment{content: slices.Clone(box)}
			for kind, track := range boxes(box[8:]) {
				if kind != "traf" {
					continue
				}
				for kind, field := range boxes(track[8:]) {
					if kind == "tfdt" {
						piece.times = append(piece.times, cap(box)-cap(field)+12)
					}
				}
			}
			pieces = append(pieces, piece)
		case "mdat":
			last := &pieces[len(pieces)-1]
			last.content = append(last.content, box...)
		}
	}
	return header, pieces
})

// boxes iterates over the boxes of an MP4 file or box.
func boxes(content []byte) func(yield func(kind string, box []byte) bool) {
	return func(yield func(string, []byte) bool) {
		for len(content) >= 8 {
			size := int(binary.BigEndian.Uint32(content))
			if !yield(string(content[4:8]), content[:size]) {
				return
			}
			content = content[size:]
		}
	}
}

// writeMeeting writes a recording of a length.
func writeMeeting(w io.Writer, length time.Duration) error {
	header, pieces := fragments()
	if _, err := w.Write(header); err != nil {
		return err
	}
	for i := range max(1, int((length+fragmentLength/2)/fragmentLength)) {
		piece := pieces[i%len(pieces)]
		content := slices.Clone(piece.content)
		for _, at := range piece.times {
			decoded := binary.BigEndian.Uint64(content[at:]) + uint64(i/len(pieces))*uint64(meetingLength.Seconds()*meetingScale)
			binary.BigEndian.PutUint64(content[at:], decoded)
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return nil
}

// meetingFile describes a recording of a length.
func meetingFile(length time.Duration) (file recording.File, err error) {
	sum, counter := sha256.New(), &countingWriter{}
	if err := writeMeeting(io.MultiWriter(sum, counter), length); err != nil {
		return recording.File{}, err
	}
	return recording.File{
		Name: "recording.mp4", Kind: recording.Video, ContentType: "video/mp4", Codecs: "avc1.42C01E,mp4a.40.2", Bytes: counter.bytes,
		SHA256: hex.EncodeToString(sum.Sum(nil)), DurationMs: max(fragmentLength, length.Round(fragmentLength)).Milliseconds(),
		Width: 640, Height: 360,
	}, nil
}

type countingWriter struct{ bytes int64 }

func (c *countingWriter) Write(content []byte) (int, error) {
	c.bytes += int64(len(content))
	return len(content), nil
}

// pictures are stills of the recording: while each turn is spoken.
//
//go:embed pictures/*.jpg
var pictures embed.FS

// Transcript returns what is said in the recording of a test job, by the speech of its manifest.
func Transcript(requested *job.Simulation, metadata json.RawMessage, m recording.Manifest) ([]transcript.Segment, error) {
	if options, err := parseOptions(requested, metadata); err != nil || options.failsTranscript {
		return nil, errors.Join(err, transcript.ErrSimulated)
	}
	segments := []transcript.Segment{}
	for _, speech := range m.Speech {
		within := int(speech.StartMs % meetingLength.Milliseconds())
		at := slices.IndexFunc(turns(), func(t turn) bool { return t.Person == speech.ParticipantID && t.EndMs > within })
		if at < 0 {
			continue
		}
		one := turns()[at]
		segment := transcript.Segment{
			StartMs: speech.StartMs, EndMs: speech.EndMs, ParticipantID: one.Person, Speaker: one.Name, Source: transcript.ParticipantAudio,
		}
		words := strings.Fields(one.Text)
		each := int64(one.EndMs-one.StartMs) / int64(len(words))
		for i, word := range words {
			if from := speech.StartMs + int64(i)*each; from < speech.EndMs {
				segment.Words = append(segment.Words, transcript.Word{StartMs: from, EndMs: min(from+each, speech.EndMs), Text: word})
			}
		}
		segment.Text = strings.Join(words[:len(segment.Words)], " ")
		segments = append(segments, segment)
	}
	return segments, nil
}
