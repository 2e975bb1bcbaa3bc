package mcpserver

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"standin/client"
)

// Limits of transcripts.
const (
	maxLine         = 4000     // characters of a line
	maxCallText     = 40_000   // characters of all lines in the result of a tool
	maxResourceText = 400_000  // characters of all lines in a resource
	maxTranscript   = 64 << 20 // bytes that are read
)

type transcriptInput struct {
	JobID       string  `json:"jobId" jsonschema:"ID of the job, from send_bot or list_jobs."`
	FromMinute  float64 `json:"fromMinute,omitempty" jsonschema:"Start of the window, in minutes since the start of the recording."`
	ToMinute    float64 `json:"toMinute,omitempty" jsonschema:"End of the window, in minutes since the start of the recording. Default: no end."`
	LastMinutes float64 `json:"lastMinutes,omitempty" jsonschema:"Only the last minutes, instead of fromMinute and toMinute."`
	Chat        bool    `json:"chat,omitempty" jsonschema:"Whether to include the chat messages of the meeting."`
}

type transcriptResult struct {
	labeled
	JobID              string         `json:"jobId"`
	Status             string         `json:"status" jsonschema:"Status of the job."`
	Live               bool           `json:"live" jsonschema:"Whether the job goes on: the last lines can still change, and more can follow."`
	ContinueFromMinute float64        `json:"continueFromMinute,omitempty" jsonschema:"There is more in the window than a result may have: call the tool again with this as fromMinute."`
	Note               string         `json:"note,omitempty" jsonschema:"Why there are no lines."`
	Untrusted          transcriptText `json:"untrusted"`
}

type transcriptText struct {
	Lines []string `json:"lines" jsonschema:"What was said, such as [00:01:02] Ada: Good morning. Times are since the start of the recording."`
	Chat  []string `json:"chat,omitempty" jsonschema:"Chat messages, in the same form."`
}

// getTranscript returns a window of a transcript. Without one, for example while the
// meeting runs, it consists of the captions.
func (s session) getTranscript(ctx context.Context, in transcriptInput) (transcriptResult, error) {
	return s.transcript(ctx, in, maxCallText)
}

// transcript returns a window of a transcript with up to limit characters.
func (s session) transcript(ctx context.Context, in transcriptInput, limit int) (transcriptResult, error) {
	j, err := s.api.Job(ctx, in.JobID)
	if err != nil {
		return transcriptResult{}, err
	}
	words, err := s.words(ctx, j, in.Chat)
	if err != nil {
		return transcriptResult{}, err
	}
	from, to := minutes(in.FromMinute), forever
	switch {
	case in.LastMinutes > 0:
		from = max(0, words.end-minutes(in.LastMinutes))
	case in.ToMinute > 0:
		to = minutes(in.ToMinute)
	}
	kept, next := within(words.lines, from, to, limit)
	result := transcriptResult{
		labeled: label(), JobID: j.ID, Status: j.Status, Live: !j.Ended(), ContinueFromMinute: next.Minutes(),
	}
	result.Untrusted.Lines, result.Untrusted.Chat = texts(kept)
	if len(result.Untrusted.Lines) == 0 {
		result.Note = words.silence(j)
	}
	return result, nil
}

// texts returns what was said, an empty list and not null if there is nothing, and the chat messages.
func texts(lines []line) (said, chat []string) {
	said = []string{}
	for _, l := range lines {
		if l.chat {
			chat = append(chat, l.String())
		} else {
			said = append(said, l.String())
		}
	}
	return said, chat
}

// forever is after the end of every meeting.
const forever = 1 << 20 * time.Hour

func minutes(number float64) time.Duration {
	return time.Duration(number * float64(time.Minute)).Round(time.Millisecond)
}

// line is a line of a transcript, or a chat message.
type line struct {
	at   time.Duration // since the start of the recording
	text string        // with the speaker
	chat bool
}

// String returns the line as a result has it.
func (l line) String() string {
	seconds := int(l.at.Seconds())
	return fmt.Sprintf("[%02d:%02d:%02d] %s", seconds/3600, seconds/60%60, seconds%60, l.text)
}

// within returns the lines of a window, sorted by time, as far as they have up to limit
// characters, and the time of the first line that is left out, 0 for none.
func within(lines []line, from, to time.Duration, limit int) (kept []line, next time.Duration) {
	for _, l := range lines {
		if l.at < from || l.at >= to {
			continue
		}
		length := utf8.RuneCountInString(l.text)
		if length > limit {
			if l.at > from {
				return kept, l.at
			}
			continue // the window that begins here would never advance
		}
		limit -= length
		kept = append(kept, l)
	}
	return kept, 0
}

// words are what was said and written in a meeting.
type words struct {
	lines []line // sorted by time
	heard bool   // whether there is a line that is no chat message
	end   time.Duration
	// speaking are the names of those who speak; nil if that is unknown.
	speaking []string
}

// silence returns why a window has no lines.
func (w words) silence(j client.Job) string {
	switch {
	case w.heard:
		return "Nothing was said in this window."
	case !j.Ended():
		return "There are no captions so far. The bot reads them only if it was sent with captions."
	case j.ManifestURI == nil:
		return "Nothing was recorded."
	}
	return `The recording has no captions and no transcript so far. If the service makes one, wait_for with until "transcript" waits for it.`
}

// words returns what was said in a meeting, and with chat what was written.
func (s session) words(ctx context.Context, j client.Job, chat bool) (w words, err error) {
	if j.ManifestURI != nil {
		if w.lines, err = s.recorded(ctx, j.ID); err != nil && !client.Is(err, "not_found") {
			return words{}, err
		}
	}
	w.heard = len(w.lines) > 0
	if chat || !w.heard {
		texts, err := s.liveWords(ctx, j.ID)
		if err != nil {
			return words{}, err
		}
		for _, l := range texts.lines {
			if l.chat && chat || !l.chat && !w.heard {
				w.lines = append(w.lines, l)
			}
		}
		w.heard = w.heard || texts.heard
		if !j.Ended() {
			w.end, w.speaking = texts.end, texts.speaking
		}
	}
	slices.SortStableFunc(w.lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	if n := len(w.lines); n > 0 {
		w.end = max(w.end, w.lines[n-1].at)
	}
	return w, nil
}

// recorded returns the transcript of a recording, or else its captions.
func (s session) recorded(ctx context.Context, id string) (lines []line, err error) {
	text, err := s.api.TranscriptText(ctx, id, "text") // its JSON has each word too
	if err != nil {
		return nil, err
	}
	defer text.Close()
	rows := bufio.NewScanner(io.LimitReader(text, maxTranscript))
	rows.Buffer(nil, maxTranscript)
	for rows.Scan() {
		at, text, _ := strings.Cut(rows.Text(), "] ")
		var hours, minutes, seconds time.Duration
		if _, err := fmt.Sscanf(at, "[%d:%d:%d", &hours, &minutes, &seconds); err != nil {
			return nil, fmt.Errorf("read the transcript: %w", err)
		}
		lines = append(lines, line{at: hours*time.Hour + minutes*time.Minute + seconds*time.Second, text: quote(text, maxLine)})
	}
	return lines, rows.Err()
}
