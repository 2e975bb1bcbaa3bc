package streaming

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"standin/internal/recording/transcript"
)

// deepgram speaks https://developers.deepgram.com/reference/speech-to-text/listen-streaming.
type deepgram struct {
	model   string
	options Options

	sentMs    int64 // sound on this connection
	beginMs   int64 // position of the utterance in it
	confirmed []transcript.Word
	pending   []transcript.Word
}

func openDeepgram(c *connector, options Options) protocol {
	return &deepgram{model: c.model, options: options}
}

func (d *deepgram) query() url.Values {
	q := url.Values{
		"model": {d.model}, "encoding": {"linear16"}, "sample_rate": {strconv.Itoa(SampleRate)}, "channels": {"1"},
		"interim_results": {"true"}, "endpointing": {"300"}, "smart_format": {"true"}, "keyterm": d.options.Keyterms,
	}
	if d.options.Language != "" {
		q.Set("language", d.options.Language)
	}
	return q
}

func (d *deepgram) handshake(context.Context, connection) error { return nil }

func (d *deepgram) begin() []message {
	d.beginMs, d.confirmed, d.pending = d.sentMs, nil, nil
	return nil
}

func (d *deepgram) audio(pcm []byte) message {
	d.sentMs += int64(len(pcm)) / bytesPerMs
	return message{websocket.MessageBinary, pcm}
}

func (d *deepgram) end() message              { return textMessage(`{"type":"Finalize"}`) }
func (d *deepgram) keepAliveMessage() message { return textMessage(`{"type":"KeepAlive"}`) }
func (d *deepgram) closeMessage() message     { return textMessage(`{"type":"CloseStream"}`) }

func textMessage(json string) message { return message{websocket.MessageText, []byte(json)} }

// deepgramMessage is a message of the recognizer.
type deepgramMessage struct {
	Type, Description string
	Start, Duration   float64
	IsFinal           bool `json:"is_final"`
	FromFinalize      bool `json:"from_finalize"`
	Channel           struct {
		Alternatives []struct {
			Words []struct {
				Word           string
				PunctuatedWord string `json:"punctuated_word"`
				Start, End     float64
				Confidence     *float64
			}
		}
	}
}

func (d *deepgram) decode(data []byte) (Result, bool, error) {
	var m deepgramMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return Result{}, false, unusable(err)
	}
	if m.Type == "Error" {
		return Result{}, false, &transcript.Error{Detail: cmp.Or(m.Description, "Error")}
	}
	// The rest of an earlier utterance may come late.
	if m.Type != "Results" || milliseconds(m.Start+m.Duration) <= d.beginMs && !m.FromFinalize {
		return Result{}, false, nil
	}
	d.pending = nil
	if len(m.Channel.Alternatives) > 0 {
		for _, w := range m.Channel.Alternatives[0].Words {
			d.pending = append(d.pending, transcript.Word{
				Text: cmp.Or(w.PunctuatedWord, w.Word), Confidence: w.Confidence,
				StartMs: max(0, milliseconds(w.Start)-d.beginMs), EndMs: max(0, milliseconds(w.End)-d.beginMs),
			})
		}
	}
	if m.IsFinal {
		d.confirmed, d.pending = append(d.confirmed, d.pending...), nil
	}
	return d.result(m.FromFinalize), true, nil
}

// finalOnTimeout implements protocol: Deepgram does not always answer a Finalize without new words.
func (d *deepgram) finalOnTimeout() (Result, error) { return d.result(true), nil }

func (d *deepgram) result(final bool) Result {
	return Result{Words: slices.Concat(d.confirmed, d.pending), Confirmed: len(d.confirmed), Final: final}
}

func milliseconds(seconds float64) int64 {
	return time.Duration(min(max(0, seconds), 1e6) * float64(time.Second)).Milliseconds()
}
