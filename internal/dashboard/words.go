package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/transcript"
)

const (
	// shownWords bounds the segments and the messages of a job's page. All of
	// them are in the files.
	shownWords = 3000
	// shownMatches bounds the results of a search.
	shownMatches = 100
	// maxTranscript bounds a transcript that is read into memory, in bytes.
	maxTranscript = 64 << 20
)

// wordsView is what was said and written during a recording.
type wordsView struct {
	Segments []transcript.Segment
	Captions bool // the segments are captions, because there is no transcript
	Partial  bool // the transcript lacks audio beyond the limit
	Chat     []chatView
	More     bool // there is more than is shown
}

// chatView is a message of the chat.
type chatView struct {
	Author, Text string
	AtMs         int64
}

// wordsOf reads what was said and written during a recording.
func (d *Dashboard) wordsOf(ctx context.Context, j job.Job, m recording.Manifest) (wordsView, error) {
	document, found, err := d.transcriptOf(ctx, j)
	if err != nil {
		return wordsView{}, err
	}
	texts, err := d.settings.Search.Texts(ctx, j.ID)
	if err != nil {
		return wordsView{}, fmt.Errorf("read texts: %w", err)
	}
	start := m.Timeline.Origin()
	if !found {
		document = transcript.FromCaptions(m.JobID, texts, start, m.Participants)
	}
	view := wordsView{Segments: document.Segments, Captions: !found && len(document.Segments) > 0, Partial: document.Partial}
	for _, text := range texts {
		if text.Kind == job.ChatText && text.Text != "" {
			view.Chat = append(view.Chat, chatView{Author: text.Author, Text: text.Text, AtMs: max(0, text.StartedAt.Sub(start).Milliseconds())})
		}
	}
	view.More = len(view.Segments) > shownWords || len(view.Chat) > shownWords
	view.Segments, view.Chat = view.Segments[:min(len(view.Segments), shownWords)], view.Chat[:min(len(view.Chat), shownWords)]
	return view, nil
}

// transcriptOf reads the transcript of a job; false when there is none.
func (d *Dashboard) transcriptOf(ctx context.Context, j job.Job) (transcript.Document, bool, error) {
	content, _, _, err := d.settings.Recordings.OpenMedia(ctx, j.ID, transcript.FileName)
	if missing := (*recording.NotFoundError)(nil); errors.As(err, &missing) {
		return transcript.Document{}, false, nil
	}
	if err != nil {
		return transcript.Document{}, false, fmt.Errorf("open a transcript: %w", err)
	}
	defer content.Close() // read only
	text, err := io.ReadAll(io.LimitReader(content, maxTranscript))
	if err != nil {
		return transcript.Document{}, false, fmt.Errorf("read a transcript: %w", err)
	}
	document, err := transcript.Parse(text)
	return document, true, err
}

// searchView is the data of the page that searches words.
type searchView struct {
	Mode    job.Mode
	Query   string
	Matches []job.SearchMatch
	Limit   int // of the matches
}

// searchPage searches what was said and written in the recordings of the user's
// consumer.
func (d *Dashboard) searchPage(req *pageRequest, session account.Session) error {
	query := req.r.URL.Query()
	view := searchView{Mode: modeOf(query), Query: clip(strings.TrimSpace(query.Get("q")), 500), Limit: shownMatches}
	if view.Query != "" {
		release, err := req.costlyRead(session.User.ConsumerID)
		if err != nil {
			return err
		}
		view.Matches, err = d.settings.Search.SearchTexts(req.r.Context(), session.User.ConsumerID, view.Mode, view.Query, shownMatches)
		release()
		if err != nil {
			return err
		}
	}
	return req.show("search", "Search", view)
}

// ModeURL returns the URL of the same search among the jobs of another mode.
func (v searchView) ModeURL(mode string) string {
	return "/search?" + url.Values{"mode": {mode}, "q": {v.Query}}.Encode()
}

// sourcesText names where a meeting is known from.
func sourcesText(sources []string) string {
	names := map[string]string{
		"api": "the API", "feed": "a calendar address", "google": "Google Calendar", "intake": "calendar intake", "mail": "mail", "microsoft": "Microsoft 365",
	}
	var found []string
	for _, source := range sources {
		found = append(found, names[source])
	}
	return strings.Join(found, ", ")
}
