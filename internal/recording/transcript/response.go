package transcript

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"standin/internal/base/text"
)

// Limits of what a recognizer reports, in characters.
const (
	MaxWord        = 500
	maxSegmentText = 100_000 // without times, a segment is a whole piece
	maxLanguage    = 100
)

// Recognized is what a recognizer heard in a piece of audio. Times are
// milliseconds since its start.
type Recognized struct {
	Language string    `json:"language,omitempty"`
	Timed    bool      `json:"timed"` // false when the only segment is the whole piece
	Segments []Segment `json:"segments"`
}

// responseBody is a response in the format verbose_json or json.
type responseBody struct {
	Text     *string
	Language string
	Segments []struct {
		Start, End float64
		Text       string
		AvgLogprob *float64 `json:"avg_logprob"`
		NoSpeech   float64  `json:"no_speech_prob"`
		Words      []responseWord
	}
	Words []responseWord
}

type responseWord struct {
	Word        string
	Start, End  float64
	Probability *float64
}

// parseResponse parses the response for audio of the given length.
func parseResponse(body []byte, length time.Duration) (Recognized, error) {
	var parsed responseBody
	if err := json.Unmarshal(body, &parsed); err != nil {
		return Recognized{}, errors.New("the response is not the JSON of a transcription")
	}
	if parsed.Text == nil && parsed.Segments == nil {
		return Recognized{}, errors.New("the response has no text")
	}
	total := length.Milliseconds()
	all := words(parsed.Words, total)
	result := Recognized{Language: text.CleanLine(parsed.Language, maxLanguage), Timed: len(parsed.Segments) > 0 || len(all) > 0}
	for _, s := range parsed.Segments {
		// Whisper reports text for silence; this is its own rule to drop it.
		if s.AvgLogprob != nil && s.NoSpeech > 0.6 && *s.AvgLogprob < -1 {
			continue
		}
		segment := Segment{Text: text.CleanLine(s.Text, maxSegmentText), Words: words(s.Words, total)}
		segment.StartMs, segment.EndMs = clampTimes(s.Start, s.End, total)
		if s.AvgLogprob != nil {
			segment.Confidence = probability(math.Exp(*s.AvgLogprob))
		}
		if segment.Text != "" {
			result.Segments = append(result.Segments, segment)
		}
	}
	switch {
	case len(result.Segments) > 0:
		distribute(result.Segments, all)
	case len(parsed.Segments) > 0: // all of them are silence
	case len(all) > 0:
		result.Segments = []Segment{joinWords(all)}
	case parsed.Text != nil:
		if whole := text.CleanLine(*parsed.Text, maxSegmentText); whole != "" {
			result.Segments = []Segment{{EndMs: total, Text: whole}}
		}
	}
	return result, nil
}

// words converts words of a response.
func words(from []responseWord, total int64) []Word {
	var all []Word
	for _, w := range from {
		word := Word{Text: text.CleanLine(w.Word, MaxWord)}
		if word.Text == "" {
			continue
		}
		word.StartMs, word.EndMs = clampTimes(w.Start, w.End, total)
		if w.Probability != nil {
			word.Confidence = probability(*w.Probability)
		}
		all = append(all, word)
	}
	return all
}

// distribute adds words to the segments in which they begin, unless the segments
// have words of their own. Both are in the order of time.
func distribute(segments []Segment, words []Word) {
	if len(words) == 0 {
		return
	}
	for _, s := range segments {
		if len(s.Words) > 0 {
			return
		}
	}
	at := 0
	for _, word := range words {
		for at+1 < len(segments) && word.StartMs >= segments[at+1].StartMs {
			at++
		}
		segments[at].Words = append(segments[at].Words, word)
	}
}

// clampTimes converts seconds to milliseconds within the audio.
func clampTimes(start, end float64, total int64) (startMs, endMs int64) {
	ms := func(seconds float64) int64 {
		return int64(math.Round(min(max(0, seconds*1000), float64(total))))
	}
	return ms(start), max(ms(start), ms(end))
}

// probability returns a probability with four digits.
func probability(p float64) *float64 {
	p = math.Round(min(max(0, p), 1)*10_000) / 10_000
	return &p
}
