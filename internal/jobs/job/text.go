package job

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// TextKind is the kind of a MeetingText or a SearchText.
type TextKind string

// The kinds of texts.
const (
	ChatText    TextKind = "chat"    // a message in the chat of the meeting
	CaptionText TextKind = "caption" // a sentence of the platform's live captions

	TranscriptText TextKind = "transcript" // a segment of a transcript; as a MeetingText, of the live transcriber
)

// MeetingText is a text that a bot read in a meeting. Job, attempt, kind and ID
// identify it. A corrected text replaces the earlier one under a new sequence.
type MeetingText struct {
	JobID         uuid.UUID
	Sequence      int64 // of its last change within the job, from 1
	Attempt       int
	Kind          TextKind
	ID            string // chosen by the bot, unique within its attempt and kind
	ParticipantID string // in the roster of the attempt; empty if unknown
	Author        string // the name on the page; empty if unknown
	Text          string // plain text, not markup
	Language      string // BCP 47, of what was said; empty if unknown
	StartedAt     time.Time
	EndedAt       time.Time // that of a message is StartedAt
	Speech        *Speech   // of a transcript; nil for others
}

// Speech is what the live transcriber has heard, beside its text. Times are milliseconds
// since the start of the recording.
type Speech struct {
	Revision  int          `json:"revision"` // from 1
	Final     bool         `json:"final"`    // there are no later revisions
	StartMs   int64        `json:"startMs"`
	EndMs     int64        `json:"endMs"`
	Confirmed int          `json:"confirmed"` // how many of the first words do not change any more
	Words     []SpokenWord `json:"words"`
	// Mixed means that it was heard in the mixed sound. Its author is who was seen to speak.
	Mixed bool `json:"mixed,omitempty"`
}

// SpokenWord is a word of Speech.
type SpokenWord struct {
	Text       string   `json:"text"`
	StartMs    int64    `json:"startMs,omitempty"` // 0, like EndMs, if unknown
	EndMs      int64    `json:"endMs,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
}

// Size returns about how many bytes the words need.
func (s *Speech) Size() (bytes int) {
	if s == nil {
		return 0
	}
	for _, word := range s.Words {
		bytes += len(word.Text) + bytesPerWord
	}
	return bytes
}

// bytesPerWord is about what the times of a word need.
const bytesPerWord = 60

// firstReading is how long the bot of a new attempt may take to read the messages
// that the chat already shows.
const firstReading = 3 * time.Second

// WithoutRepeatedChat removes the messages that the bot of a later attempt read
// again, because the chat shows what was written before it joined: the longest
// beginning of its first messages that ends the messages of earlier attempts. The
// texts are sorted by their start.
func WithoutRepeatedChat(texts []MeetingText) []MeetingText {
	var before, current []MeetingText // messages of earlier attempts and of this one
	repeated := make(map[int64]bool)  // by sequence
	end := func() {
		for range overlap(before, current) {
			repeated[current[0].Sequence], current = true, current[1:]
		}
		before, current = append(before, current...), nil
	}
	for _, text := range texts {
		if text.Kind != ChatText || text.Text == "" {
			continue
		}
		if len(current) > 0 && current[0].Attempt != text.Attempt {
			end()
		}
		current = append(current, text)
	}
	end()
	return slices.DeleteFunc(texts, func(t MeetingText) bool { return repeated[t.Sequence] })
}

// overlap returns how many of the first messages of an attempt end the messages
// before it.
func overlap(before, current []MeetingText) int {
	if len(current) == 0 {
		return 0
	}
	first := slices.IndexFunc(current, func(t MeetingText) bool { return t.StartedAt.Sub(current[0].StartedAt) > firstReading })
	if first < 0 {
		first = len(current)
	}
	equal := func(a, b MeetingText) bool { return a.Author == b.Author && a.Text == b.Text }
	for count := min(first, len(before)); count > 0; count-- {
		if slices.EqualFunc(before[len(before)-count:], current[:count], equal) {
			return count
		}
	}
	return 0
}

// Limits of the texts of a job's bots. A correction counts as another text.
const (
	MaxTexts     = 100_000
	MaxTextBytes = 32 << 20 // of texts and authors, in UTF-8
)
