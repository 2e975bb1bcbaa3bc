package captions

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"standin/internal/base/text"
	"standin/internal/bot/meeting"
)

const (
	// captionSettle is how long a line is unchanged before it counts as settled.
	// After that it is not corrected any more: another text is another utterance.
	captionSettle = 4 * time.Second
	// captionCorrection is how soon after its beginning a line may change to
	// entirely different words.
	captionCorrection = 1500 * time.Millisecond
	// maxUtterances is how many utterances are compared with lines that appear.
	maxUtterances = 60
	// Utterances are divided at the first end of a sentence after minSegment
	// bytes, or at the first space after maxSegment.
	minSegment = 150
	maxSegment = 600
	// maxSegments is after how many segments a line that is still corrected is another
	// utterance: after hours of speech.
	maxSegments = 500
)

// tracker derives utterances from the lines of live captions. A line grows
// and is corrected while it is recognized; its beginning may scroll away; and
// pages replace the elements of lines, or use one for another line.
type tracker struct {
	count     int
	recent    []*utterance        // ordered by their beginning
	byElement map[int]*utterance  // element -> utterance that it last showed
	inElement map[*utterance]bool // the same utterances
}

// utterance is what one participant said without interruption.
type utterance struct {
	number    int
	author    string   // author of its lines; empty if the page does not name authors
	speaker   string   // the author, or who spoke when it began
	hidden    []string // words that scrolled away
	shown     []string // words of the line
	startedAt time.Time
	changedAt time.Time
	dropped   bool // must not be reported

	segments []segment
}

// segment is a part of an utterance.
type segment struct {
	text             string
	startedAt, endAt time.Time
	reported         string // text of the last report
}

// update updates the utterances from the lines that a page shows, oldest first.
// speaker is who spoke if a line has no author.
func (t *tracker) update(lines []meeting.CaptionLine, speaker string, at time.Time) {
	if len(lines) == 0 {
		return // the page hides captions while nobody speaks
	}
	// The utterances of lines that the page already showed. That of another line is nil.
	matched, used := make([]*utterance, len(lines)), make(map[*utterance]bool)
	match := func(i int, u *utterance, is func(*utterance, meeting.CaptionLine) bool) {
		if matched[i] == nil && u != nil && !used[u] && is(u, lines[i]) {
			matched[i], used[u] = u, true
		}
	}
	// Unchanged lines come first, in any element but in their order: the element of
	// one may now show a similar line.
	for i, line := range lines {
		match(i, t.byElement[line.Element], (*utterance).shows)
	}
	last := 0
	for i := range lines {
		for _, u := range t.recent {
			if u.number > last && t.inElement[u] {
				match(i, u, (*utterance).shows)
			}
		}
		if matched[i] != nil {
			last = matched[i].number
		}
	}
	for i, line := range lines {
		match(i, t.byElement[line.Element], func(u *utterance, line meeting.CaptionLine) bool { return u.continues(line, at) })
	}
	byElement := make(map[int]*utterance, len(lines))
	for i, line := range lines {
		u := matched[i]
		// A line in a new element shows an utterance that was shown in another element or, if another line follows,
		// one that had scrolled away.
		moved := func(other *utterance) bool {
			return !used[other] && (i < len(lines)-1 || t.inElement[other]) && other.continues(line, at)
		}
		if u == nil {
			if known := slices.IndexFunc(t.recent, moved); known >= 0 {
				u = t.recent[known]
			}
		}
		if u == nil {
			t.count++
			u = &utterance{number: t.count, author: line.Author, speaker: cmp.Or(line.Author, speaker), startedAt: at, changedAt: at}
			t.recent = append(t.recent, u)
		}
		used[u] = true
		if u.author != line.Author { // the page names it after the text
			u.author, u.speaker = line.Author, line.Author
			for i := range u.segments {
				u.segments[i].reported = ""
			}
		}
		u.setShown(strings.Fields(line.Text), at)
		byElement[line.Element] = u
	}
	t.byElement, t.inElement = byElement, used
}

// shows reports whether a line is the utterance as it was last shown.
func (u *utterance) shows(line meeting.CaptionLine) bool {
	return u.author == line.Author && slices.Equal(u.shown, strings.Fields(line.Text))
}

// continues reports whether a line is a later version of the utterance.
func (u *utterance) continues(line meeting.CaptionLine, at time.Time) bool {
	if u.author != line.Author && u.author != "" || len(u.segments) >= maxSegments {
		return false
	}
	before, after := foldWords(u.shown), foldWords(strings.Fields(line.Text))
	if len(before) >= 4 && 2*len(after) < len(before) && extends(after, before) {
		return false // it begins anew
	}
	index, score := alignWords(before, after)
	sentence := strings.Join(u.shown, " ")
	hasEnded := strings.TrimRight(sentence, ".?!") != sentence
	switch settled := at.Sub(u.changedAt) >= captionSettle; {
	case settled:
		return extends(before, after) && len(after) >= len(before) || index > 0 && score >= 0.8 // scrolled
	case extends(before, after), score >= 0.6:
		return true
	case at.Sub(u.startedAt) < captionCorrection && !hasEnded:
		return true
	}
	old, shown := []byte(strings.Join(before, " ")), []byte(strings.Join(after, " "))
	return len(old) < 200 && 2*slices.Min(text.PrefixDistances(old, shown[:min(len(shown), 2*len(old))])) <= len(old)
}

// setShown sets the words of the line.
func (u *utterance) setShown(words []string, at time.Time) {
	if slices.Equal(words, u.shown) {
		return
	}
	if before, after := foldWords(u.shown), foldWords(words); len(before) > 0 && !extends(before, after) {
		if at, score := alignWords(before, after); score >= 0.6 {
			u.hidden = append(u.hidden, u.shown[:at]...)
		}
	}
	u.shown, u.changedAt = words, at
	texts := divideText(strings.Join(slices.Concat(u.hidden, u.shown), " "))
	for len(u.segments) < len(texts) {
		startedAt := at
		if len(u.segments) == 0 {
			startedAt = u.startedAt
		}
		u.segments = append(u.segments, segment{startedAt: startedAt})
	}
	for i := range u.segments {
		text := ""
		if i < len(texts) {
			text = texts[i]
		}
		if text != u.segments[i].text {
			u.segments[i].text, u.segments[i].endAt = text, at
		}
	}
}

// divideText divides a text into segments. A text that grows changes only the
// last one.
func divideText(text string) (segments []string) {
	for end := minSegment; end < len(text); end++ {
		if text[end] == ' ' && (end >= maxSegment || strings.ContainsRune(".?!", rune(text[end-1]))) {
			segments = append(segments, text[:end])
			text, end = text[end+1:], minSegment-1
		}
	}
	return append(segments, text)
}

// foldWords returns words without case and punctuation.
func foldWords(words []string) []string {
	folded := make([]string, len(words))
	for i, word := range words {
		folded[i] = strings.ToLower(strings.Trim(word, ".,;:!?…\"'’“”()-–—"))
	}
	return folded
}

// extends reports whether after begins with the words of before, except for the
// last two, which may change.
func extends(before, after []string) bool {
	if len(before) < 3 {
		return len(after) >= len(before) && slices.Equal(before, after[:len(before)])
	}
	kept := len(before) - 2
	return len(after) >= kept && slices.Equal(before[:kept], after[:kept])
}

// alignWords returns the index in before at which after begins, and how well their
// words agree there, from 0 to 1. Of equal ones it returns the first.
func alignWords(before, after []string) (index int, score float64) {
	const window = 8
	for i := range before {
		n := min(window, len(before)-i, len(after))
		if n < 3 && i > 0 || n == 0 {
			break
		}
		if agreement := float64(commonWords(before[i:i+n], after[:n])) / float64(n); agreement > score {
			index, score = i, agreement
		}
	}
	return index, score
}

// commonWords returns the length of the longest common subsequence.
func commonWords(a, b []string) int {
	previous := make([]int, len(b)+1)
	for _, word := range a {
		current := make([]int, len(b)+1)
		for j, other := range b {
			if word == other {
				current[j+1] = previous[j] + 1
			} else {
				current[j+1] = max(previous[j+1], current[j])
			}
		}
		previous = current
	}
	return previous[len(b)]
}
