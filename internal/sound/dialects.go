package sound

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/coder/websocket"

	"standin/internal/job"
)

// newFormat returns the protocol of a stream.
func newFormat(stream Stream, name job.StreamFormat) format {
	switch name {
	case job.StreamRecall:
		return &recallFormat{stream}
	case job.StreamAttendee:
		return &attendeeFormat{stream: stream, chunks: newChunks(), sequences: make(map[string]int)}
	case job.StreamMeetingBaaS:
		return &meetingBaaSFormat{stream: stream, chunks: newChunks()}
	}
	return newStandinFormat(stream)
}

// chunkFrames is how many frames are sent together to receivers that expect 100 ms.
const chunkFrames = 5

// chunks joins frames of a source to chunks of 100 ms.
type chunks struct{ bySource map[int]*chunk }

// chunk is a chunk whose first frame is kept.
type chunk struct {
	Frame
	frames int
}

func newChunks() chunks { return chunks{make(map[int]*chunk)} }

// add adds a frame. It returns the chunk when it is complete; its PCM has the length of
// chunkFrames frames. Time that is missing within a chunk is silence.
func (c chunks) add(frame Frame) (Frame, bool) {
	open := c.bySource[frame.Source]
	if open == nil || frame.Start-open.Start >= chunkFrames*FrameDuration+FrameDuration/2 {
		open = &chunk{Frame: frame} // an incomplete chunk before a gap is discarded
		open.PCM = nil
		c.bySource[frame.Source] = open
	}
	open.PCM = append(open.PCM, frame.PCM...)
	if open.frames++; open.frames < chunkFrames {
		return Frame{}, false
	}
	delete(c.bySource, frame.Source)
	open.Participant = frame.Participant
	return open.Frame, true
}

// recallFormat is the protocol of the real-time WebSocket endpoints of Recall.ai
// (https://docs.recall.ai/docs/real-time-websocket-endpoints).
type recallFormat struct{ stream Stream }

type recallObject struct {
	ID       string         `json:"id"`
	Metadata map[string]any `json:"metadata"`
}

type recallTimestamp struct {
	Relative float64 `json:"relative"` // seconds
	Absolute string  `json:"absolute"`
}

type recallParticipant struct {
	ID        int            `json:"id"`
	Name      *string        `json:"name"`
	IsHost    *bool          `json:"is_host"`
	Platform  *string        `json:"platform"`
	ExtraData map[string]any `json:"extra_data"`
	Email     *string        `json:"email"`
}

func (*recallFormat) start() []message  { return nil }
func (*recallFormat) gap(Gap) []message { return nil }
func (*recallFormat) end() []message    { return nil }
func (*recallFormat) receive(websocket.MessageType, []byte) (received, bool) {
	return received{}, false
}

func (f *recallFormat) frame(frame Frame) []message {
	type payload struct {
		Buffer      []byte             `json:"buffer"`
		Timestamp   recallTimestamp    `json:"timestamp"`
		Participant *recallParticipant `json:"participant,omitempty"`
	}
	id, kind := f.stream.JobID.String(), "audio_mixed_raw"
	content := payload{Buffer: frame.PCM, Timestamp: recallTimestamp{
		Relative: math.Round(frame.Start.Seconds()*1000) / 1000, Absolute: frame.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
	}}
	if frame.Source != 0 {
		kind = "audio_separate_raw"
		content.Participant = &recallParticipant{ID: frame.Source, ExtraData: map[string]any{}}
		if frame.Participant != nil {
			content.Participant.Name = &frame.Participant.Name
		}
	}
	object := recallObject{ID: id, Metadata: map[string]any{}}
	return []message{textMessage(map[string]any{
		"event": kind + ".data",
		"data": map[string]any{
			"data": content, "realtime_endpoint": object, "recording": object, "bot": object, kind: object,
		},
	})}
}

// attendeeFormat is the protocol of Attendee's WebSockets
// (https://docs.attendee.dev/guides/realtimeaudio).
type attendeeFormat struct {
	stream    Stream
	chunks    chunks
	sequences map[string]int
}

func (*attendeeFormat) start() []message  { return nil }
func (*attendeeFormat) gap(Gap) []message { return nil }
func (*attendeeFormat) end() []message    { return nil }

func (f *attendeeFormat) frame(frame Frame) []message {
	frame, complete := f.chunks.add(frame)
	if !complete {
		return nil
	}
	data := map[string]any{"chunk": frame.PCM, "sample_rate": f.stream.SampleRate, "timestamp_ms": frame.At.UnixMilli()}
	trigger := "realtime_audio.mixed"
	if frame.Source != 0 {
		id := "track-" + strconv.Itoa(frame.Source)
		if frame.Participant != nil {
			id = frame.Participant.ID
			data["participant_name"] = frame.Participant.Name
		}
		f.sequences[id]++
		trigger, data["participant_uuid"], data["sequence"] = "realtime_audio.per_participant", id, f.sequences[id]
	}
	return []message{textMessage(map[string]any{"bot_id": f.stream.JobID, "trigger": trigger, "data": data})}
}

func (*attendeeFormat) receive(kind websocket.MessageType, data []byte) (received, bool) {
	var output struct {
		Trigger string `json:"trigger"`
		Data    struct {
			Chunk      []byte `json:"chunk"`
			SampleRate int    `json:"sample_rate"`
		} `json:"data"`
	}
	if kind != websocket.MessageText || json.Unmarshal(data, &output) != nil || output.Trigger != "realtime_audio.bot_output" || output.Data.SampleRate <= 0 {
		return received{}, false
	}
	return received{output.Data.Chunk, output.Data.SampleRate}, false
}

// meetingBaaSFormat is the protocol of Meeting BaaS's audio streaming: a handshake, binary
// chunks of 100 ms, and who speaks.
type meetingBaaSFormat struct {
	stream Stream
	chunks chunks
}

func (f *meetingBaaSFormat) start() []message {
	return []message{textMessage(map[string]any{
		"protocol_version": 1, "bot_id": f.stream.JobID, "offset": 0.0, "sample_rate": f.stream.SampleRate,
	})}
}

func (*meetingBaaSFormat) gap(Gap) []message { return nil }
func (*meetingBaaSFormat) end() []message    { return nil }

func (f *meetingBaaSFormat) frame(frame Frame) []message {
	if frame, complete := f.chunks.add(frame); complete {
		return []message{{websocket.MessageBinary, frame.PCM}}
	}
	return nil
}

func (f *meetingBaaSFormat) receive(kind websocket.MessageType, data []byte) (received, bool) {
	if kind != websocket.MessageBinary {
		return received{}, false
	}
	return received{data, f.stream.SampleRate}, false
}
