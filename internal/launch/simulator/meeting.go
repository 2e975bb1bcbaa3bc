package simulator

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Eyevinn/mp4ff/mp4"

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

// writeMeeting writes a recording of a length.
func writeMeeting(w io.Writer, length time.Duration) error {
	meeting, err := mp4.DecodeFile(bytes.NewReader(meetingMP4))
	if err != nil {
		return err
	}
	if err := meeting.Init.Encode(w); err != nil {
		return err
	}
	var pieces []*mp4.Fragment
	for _, segment := range meeting.Segments {
		pieces = append(pieces, segment.Fragments...)
	}
	for i := range max(1, int((length+fragmentLength/2)/fragmentLength)) {
		piece := pieces[i%len(pieces)]
		if err := piece.Encode(w); err != nil {
			return err
		}
		for _, track := range piece.Moof.Trafs { // in the next round
			track.Tfdt.SetBaseMediaDecodeTime(track.Tfdt.BaseMediaDecodeTime() + uint64(meetingLength.Seconds()*meetingScale))
			track.Tfdt.Version = 1 // the media stays where the fragment says
		}
	}
	return nil
}

// readMeeting returns a recording of a length.
func readMeeting(length time.Duration) io.ReadCloser {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(writeMeeting(writer, length)) }()
	return reader
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
