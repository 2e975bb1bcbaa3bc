package sound

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"standin/internal/jobs/job"
	"standin/internal/server/live"
)

// newFormat returns the protocol of a stream.
func newFormat(stream Stream, name job.StreamFormat) format {
	switch name {
	case job.StreamRecall:
		return &recallFormat{stream: stream, people: newPeople()}
	case job.StreamAttendee:
		return &attendeeFormat{stream: stream, chunks: make(chunks), sequences: make(map[string]int)}
	case job.StreamMeetingBaaS:
		return &meetingBaaSFormat{stream: stream, chunks: make(chunks), people: newPeople()}
	}
	return newStandinFormat(stream)
}

// chunkFrames is how many frames are sent together to receivers that expect 100 ms.
const chunkFrames = 5

// chunks joins the frames of each source to chunks of 100 ms.
type chunks map[int]*Frame

// add adds a frame, and returns the chunks that are complete: each has the length of
// chunkFrames frames. Time that is missing within a chunk is silence.
func (c chunks) add(frame Frame) (complete []Frame) {
	size := len(frame.PCM)
	open := c[frame.Source]
	if open != nil {
		position := int((frame.Start - open.Start + frameDuration/2) / frameDuration)
		open.PCM = append(open.PCM, make([]byte, max(0, min(position, chunkFrames)*size-len(open.PCM)))...)
		if position >= chunkFrames {
			complete, open = append(complete, *open), nil
		}
	}
	if open == nil {
		open = &Frame{Source: frame.Source, Start: frame.Start, At: frame.At}
	}
	open.PCM, open.Participant = append(open.PCM, frame.PCM...), frame.Participant
	if c[frame.Source] = open; len(open.PCM) >= chunkFrames*size {
		delete(c, frame.Source)
		complete = append(complete, *open)
	}
	return complete
}

// silent is embedded in formats for the messages that their protocols do not have.
type silent struct{}

func (silent) start() []message           { return nil }
func (silent) gap(Gap) []message          { return nil }
func (silent) event(live.Event) []message { return nil }
func (silent) end() []message             { return nil }
func (silent) receive(websocket.MessageType, []byte) (received, bool) {
	return received{}, false
}

// recallFormat is the protocol of the real-time WebSocket endpoints of Recall.ai
// (https://docs.recall.ai/docs/real-time-websocket-endpoints).
type recallFormat struct {
	silent
	stream Stream
	people *people
}

type recallObject struct {
	ID       string            `json:"id"`
	Metadata map[string]string `json:"metadata"`
}

type recallTimestamp struct {
	Relative float64 `json:"relative"` // seconds
	Absolute string  `json:"absolute"`
}

func newRecallTimestamp(relative time.Duration, at time.Time) recallTimestamp {
	return recallTimestamp{math.Round(relative.Seconds()*1000) / 1000, job.Timestamp(at).String()}
}

type recallParticipant struct {
	ID        int            `json:"id"`
	Name      *string        `json:"name"`
	IsHost    bool           `json:"is_host"` // false: platforms do not tell
	Platform  *string        `json:"platform"`
	ExtraData map[string]any `json:"extra_data"`
	Email     *string        `json:"email"`
}

func (f *recallFormat) frame(frame Frame) []message {
	type payload struct {
		Buffer      []byte             `json:"buffer"`
		Timestamp   recallTimestamp    `json:"timestamp"`
		Participant *recallParticipant `json:"participant,omitempty"`
	}
	kind, content := "audio_mixed_raw", payload{Buffer: frame.PCM, Timestamp: newRecallTimestamp(frame.Start, frame.At)}
	if frame.Source != 0 {
		kind = "audio_separate_raw"
		participant := recallParticipant{ID: frame.Source, ExtraData: map[string]any{}}
		if frame.Participant != nil {
			participant = f.participant(frame.Participant.ID, frame.Participant.Name)
		}
		content.Participant = &participant
	}
	return []message{f.message(kind+".data", kind, content)}
}

// participant returns a participant, whose ID and name may be unknown.
func (f *recallFormat) participant(id, name string) recallParticipant {
	participant := recallParticipant{Name: nullText(name), ExtraData: map[string]any{}}
	if id != "" || name != "" {
		participant.ID = f.people.number(cmp.Or(id, name))
	}
	return participant
}

// message returns a message whose content belongs to an object of the API. Objects with raw
// sound have two names there: the documents say audio_mixed_raw, and the schemas audio_mixed.
func (f *recallFormat) message(event, object string, content any) message {
	of := recallObject{ID: f.stream.JobID.String(), Metadata: map[string]string{}}
	named := recallObject{ID: of.ID, Metadata: f.stream.Metadata}
	return textMessage(map[string]any{
		"event": event,
		"data": map[string]any{
			"data": content, "realtime_endpoint": of, "recording": named, "bot": named, object: of, strings.TrimSuffix(object, "_raw"): of,
		},
	})
}

func (f *recallFormat) event(event live.Event) (messages []message) {
	for _, change := range f.people.changes(event) {
		messages = append(messages, f.participantEvent(change, time.Now(), nil))
	}
	switch job.StreamEvent(event.Name) {
	case job.ChatEvents:
		var chat live.Text
		if json.Unmarshal(event.Data, &chat) == nil {
			by := change{"chat_message", chat.ParticipantID, chat.Author}
			messages = append(messages, f.participantEvent(by, chat.StartedAt.Time(), map[string]any{"text": chat.Text, "to": "everyone"}))
		}
	case job.TranscriptEvents:
		messages = f.transcript(event.Data)
	}
	if !f.stream.wants(event) { // changes of people were noted
		return nil
	}
	return messages
}

// participantEvent returns the message about what a participant did.
func (f *recallFormat) participantEvent(of change, at time.Time, data any) message {
	return f.message("participant_events."+of.what, "participant_events", map[string]any{
		"participant": f.participant(of.id, of.name), "timestamp": newRecallTimestamp(at.Sub(f.stream.StartedAt), at), "data": data,
	})
}

// transcript returns the message about what somebody says.
func (f *recallFormat) transcript(data []byte) []message {
	type word struct {
		Text  string           `json:"text"`
		Start recallTimestamp  `json:"start_timestamp"`
		End   *recallTimestamp `json:"end_timestamp"`
	}
	var said live.Transcript
	if json.Unmarshal(data, &said) != nil || said.Text == "" {
		return nil
	}
	at := func(ms int64) recallTimestamp {
		relative := time.Duration(ms) * time.Millisecond
		return newRecallTimestamp(relative, f.stream.StartedAt.Add(relative))
	}
	var words []word
	for _, spoken := range said.Words {
		w := word{Text: spoken.Text, Start: at(said.StartMs)}
		if spoken.EndMs > 0 {
			end := at(spoken.EndMs)
			w.Start, w.End = at(spoken.StartMs), &end
		}
		words = append(words, w)
	}
	event := "transcript.partial_data"
	if said.Final {
		event = "transcript.data"
	}
	return []message{f.message(event, "transcript", map[string]any{
		"words": words, "language_code": said.Language, "participant": f.participant(said.ParticipantID, said.Speaker),
	})}
}

// attendeeFormat is the protocol of Attendee's WebSockets, which have media only
// (https://docs.attendee.dev/guides/realtimeaudio).
type attendeeFormat struct {
	silent
	stream    Stream
	chunks    chunks
	sequences map[string]int
}

func (f *attendeeFormat) frame(frame Frame) (messages []message) {
	for _, chunk := range f.chunks.add(frame) {
		data := map[string]any{"chunk": chunk.PCM, "sample_rate": f.stream.SampleRate, "timestamp_ms": chunk.At.UnixMilli()}
		trigger := "realtime_audio.mixed"
		if chunk.Source != 0 {
			id := "track-" + strconv.Itoa(chunk.Source)
			if chunk.Participant != nil {
				id = chunk.Participant.ID
				data["participant_name"] = chunk.Participant.Name
			}
			f.sequences[id]++
			trigger, data["participant_uuid"], data["sequence"] = "realtime_audio.per_participant", id, f.sequences[id]
		}
		messages = append(messages, textMessage(map[string]any{"bot_id": f.stream.JobID, "trigger": trigger, "data": data}))
	}
	return messages
}

func (*attendeeFormat) receive(kind websocket.MessageType, data []byte) (received, bool) {
	var output struct {
		Trigger string
		Data    struct {
			Chunk      []byte
			SampleRate int `json:"sample_rate"`
		}
	}
	if kind != websocket.MessageText || json.Unmarshal(data, &output) != nil || output.Trigger != "realtime_audio.bot_output" ||
		output.Data.SampleRate <= 0 {
		return received{}, false
	}
	return received{output.Data.Chunk, output.Data.SampleRate}, false
}

// meetingBaaSFormat is the protocol of Meeting BaaS's audio streaming: a handshake, binary
// chunks of 100 ms, and who speaks
// (https://docs.meetingbaas.com/docs/api/getting-started/streaming-meeting-data).
type meetingBaaSFormat struct {
	silent
	stream Stream
	chunks chunks
	people *people
}

func (f *meetingBaaSFormat) start() []message {
	return []message{textMessage(map[string]any{
		"protocol_version": 1, "bot_id": f.stream.JobID, "offset": 0.0, "sample_rate": f.stream.SampleRate,
	})}
}

// event sends everybody, with whether they speak, when that has changed.
func (f *meetingBaaSFormat) event(event live.Event) []message {
	type speaker struct {
		Name       string `json:"name"`
		ID         int    `json:"id"`
		Timestamp  int64  `json:"timestamp"` // Unix time in ms
		IsSpeaking bool   `json:"isSpeaking"`
	}
	if len(f.people.changes(event)) == 0 || len(f.people.present) == 0 {
		return nil
	}
	var speakers []speaker
	for _, p := range f.people.present {
		speakers = append(speakers, speaker{p.Name, f.people.number(p.ID), time.Now().UnixMilli(), slices.Contains(f.people.speaking, p.ID)})
	}
	return []message{textMessage(speakers)}
}

func (f *meetingBaaSFormat) frame(frame Frame) (messages []message) {
	for _, chunk := range f.chunks.add(frame) {
		messages = append(messages, message{websocket.MessageBinary, chunk.PCM})
	}
	return messages
}

func (f *meetingBaaSFormat) receive(kind websocket.MessageType, data []byte) (received, bool) {
	if kind != websocket.MessageBinary {
		return received{}, false
	}
	return received{data, f.stream.SampleRate}, false
}
