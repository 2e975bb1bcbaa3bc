package sound

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/server/live"
)

// message is a message to a receiver.
type message struct {
	kind websocket.MessageType
	data []byte
}

// format converts the sound of a job to the messages of a protocol.
type format interface {
	// start returns the messages before all others.
	start() []message
	// frame returns the messages with a frame, whose PCM has the rate of the format.
	frame(Frame) []message
	gap(Gap) []message
	// event returns the messages about an event of the live stream.
	event(live.Event) []message
	// end returns the messages after all others.
	end() []message
	// receive reads a message of a receiver that sends sound. stop means that what was not
	// played yet is forgotten first.
	receive(kind websocket.MessageType, data []byte) (sound received, stop bool)
}

// received is sound of a receiver: signed 16-bit little-endian, mono.
type received struct {
	pcm  []byte
	rate int
}

// Stream is what a receiver gets.
type Stream struct {
	JobID      uuid.UUID
	Audio      job.StreamAudio
	SampleRate int
	Events     []job.StreamEvent
	StartedAt  time.Time         // start of the recording
	Metadata   map[string]string // of the job; never nil
}

// wants reports whether the receiver gets an event.
func (s Stream) wants(event live.Event) bool {
	return slices.Contains(s.Events, job.StreamEvent(event.Name))
}

// standinFormat is the protocol of docs/real-time.md.
type standinFormat struct {
	stream   Stream
	speakers map[int]Participant
}

func newStandinFormat(stream Stream) *standinFormat {
	return &standinFormat{stream: stream, speakers: make(map[int]Participant)}
}

func (f *standinFormat) start() []message {
	return []message{textMessage(struct {
		Type       string          `json:"type"`
		Version    int             `json:"version"`
		JobID      uuid.UUID       `json:"jobId"`
		Audio      job.StreamAudio `json:"audio"`
		Encoding   string          `json:"encoding"`
		SampleRate int             `json:"sampleRate"`
		Channels   int             `json:"channels"`
		FrameMs    int64           `json:"frameMs"`
	}{"start", 1, f.stream.JobID, f.stream.Audio, "pcm_s16le", f.stream.SampleRate, 1, frameDuration.Milliseconds()})}
}

// frame puts the source and the time of the frame before its samples, and tells whose the
// source is when that changes.
func (f *standinFormat) frame(frame Frame) []message {
	var messages []message
	if frame.Source != 0 {
		var of Participant
		if frame.Participant != nil {
			of = *frame.Participant
		}
		if before, known := f.speakers[frame.Source]; !known || before != of {
			f.speakers[frame.Source] = of
			messages = append(messages, textMessage(struct {
				Type          string  `json:"type"`
				Source        int     `json:"source"`
				ParticipantID *string `json:"participantId"`
				Name          *string `json:"name"`
			}{"speaker", frame.Source, nullText(of.ID), nullText(of.Name)}))
		}
	}
	data := make([]byte, 0, 8+len(frame.PCM))
	data = binary.LittleEndian.AppendUint32(data, uint32(frame.Source))              //nolint:gosec // from 0
	data = binary.LittleEndian.AppendUint32(data, uint32(milliseconds(frame.Start))) //nolint:gosec // a recording lasts less than 49 days
	return append(messages, message{websocket.MessageBinary, append(data, frame.PCM...)})
}

func (f *standinFormat) gap(gap Gap) []message {
	return []message{textMessage(struct {
		Type       string `json:"type"`
		FromMs     int64  `json:"fromMs"`
		ToMs       int64  `json:"toMs"`
		LostFrames int    `json:"lostFrames"`
	}{"gap", milliseconds(gap.From), milliseconds(gap.To), gap.Frames})}
}

// event sends the data of the live stream as it is.
func (f *standinFormat) event(event live.Event) []message {
	if !f.stream.wants(event) {
		return nil
	}
	return []message{{websocket.MessageText, event.Data}}
}

func (f *standinFormat) end() []message {
	return []message{textMessage(struct {
		Type string `json:"type"`
	}{"end"})}
}

// receive reads samples from a binary message, and the text {"type": "clear"}.
func (f *standinFormat) receive(kind websocket.MessageType, data []byte) (sound received, stop bool) {
	if kind == websocket.MessageBinary {
		return received{data, f.stream.SampleRate}, false
	}
	var command struct{ Type string }
	return received{}, json.Unmarshal(data, &command) == nil && command.Type == "clear"
}

// milliseconds rounds a time of the recording to milliseconds.
func milliseconds(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }

// textMessage encodes a value that can be encoded.
func textMessage(value any) message {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // every value is of this package
	}
	return message{websocket.MessageText, encoded}
}

func nullText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
