package streaming

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"standin/internal/recording/sound"
	"standin/internal/recording/transcript"
)

// realtime speaks https://developers.openai.com/api/docs/guides/realtime-transcription, or
// that of vLLM (https://docs.vllm.ai, v1/realtime), which has no session in its first
// message.
type realtime struct {
	model   string
	options Options

	vllm     bool
	up, down sound.Resampler // convert the utterance to 48 kHz and on to 24 kHz
	text     strings.Builder
}

func openRealtime(c *connector, options Options) protocol {
	return &realtime{model: c.model, options: options}
}

func (r *realtime) query() url.Values { return url.Values{"intent": {"transcription"}} }

// object is a JSON object to send.
type object map[string]any

func (o object) message() message {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return message{websocket.MessageText, data}
}

func (r *realtime) handshake(ctx context.Context, on connection) error {
	data, err := on.read(ctx)
	if err != nil {
		return err
	}
	var created struct {
		Type    string
		Session json.RawMessage
	}
	if err := json.Unmarshal(data, &created); err != nil {
		return unusable(err)
	}
	if created.Type != "session.created" && created.Type != "transcription_session.created" {
		_, _, err := r.decode(data)
		return cmp.Or[error](err, unusable(errors.New("there is no session")))
	}
	if r.vllm = len(created.Session) == 0; r.vllm {
		return on.write(ctx, object{"type": "session.update", "model": r.model}.message())
	}
	transcription := object{"model": r.model}
	if language, _, _ := strings.Cut(strings.ToLower(r.options.Language), "-"); language != "" {
		transcription["language"] = language
	}
	switch {
	case len(r.options.Keyterms) == 0:
	case slices.Contains([]string{"gpt-transcribe", "gpt-live-transcribe"}, r.model):
		transcription["keywords"] = r.options.Keyterms
	default:
		transcription["prompt"] = strings.Join(r.options.Keyterms, ", ")
	}
	return on.write(ctx, object{"type": "session.update", "session": object{"type": "transcription", "audio": object{"input": object{
		"format": object{"type": "audio/pcm", "rate": 24_000}, "transcription": transcription, "turn_detection": nil,
	}}}}.message())
}

func (r *realtime) begin() []message {
	r.text.Reset()
	r.up, r.down = sound.Upsampler(SampleRate), sound.Downsampler(24_000)
	if r.vllm {
		return []message{object{"type": "input_audio_buffer.commit"}.message()} // begins to recognize
	}
	return nil
}

func (r *realtime) audio(pcm []byte) message {
	if !r.vllm {
		pcm = r.down(r.up(pcm))
	}
	return object{"type": "input_audio_buffer.append", "audio": base64.StdEncoding.EncodeToString(pcm)}.message()
}

func (r *realtime) end() message {
	if r.vllm {
		return object{"type": "input_audio_buffer.commit", "final": true}.message()
	}
	return object{"type": "input_audio_buffer.commit"}.message()
}

func (r *realtime) keepAliveMessage() message { return message{} }
func (r *realtime) closeMessage() message     { return message{} }

func (r *realtime) decode(data []byte) (Result, bool, error) {
	var event struct {
		Type, Delta string
		Text        string // vLLM
		Transcript  string // OpenAI
		Error       json.RawMessage
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return Result{}, false, unusable(err)
	}
	switch event.Type {
	case "conversation.item.input_audio_transcription.delta", "transcription.delta":
		if r.text.Len() < maxMessage {
			r.text.WriteString(event.Delta)
		}
		return Result{Words: plainWords(r.text.String())}, true, nil
	case "conversation.item.input_audio_transcription.completed", "transcription.done":
		return Result{Words: plainWords(cmp.Or(event.Transcript, event.Text)), Final: true}, true, nil
	case "conversation.item.input_audio_transcription.failed", "error":
		var detail string // a text, or an object with one
		var detailed struct{ Message string }
		if json.Unmarshal(event.Error, &detail) != nil && json.Unmarshal(event.Error, &detailed) == nil {
			detail = detailed.Message
		}
		return Result{}, false, &transcript.Error{Detail: cmp.Or(detail, "error")}
	}
	return Result{}, false, nil
}

func (r *realtime) finalOnTimeout() (Result, error) {
	return Result{}, &transcript.Error{Err: errors.New("the end of an utterance was not answered")}
}
