package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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

// wordsView is what was said and written during a recording, in the order of its times.
type wordsView struct {
	Lines    []wordView
	Spoken   bool // there is a transcript, or captions
	Captions bool // there are captions and no transcript
	Partial  bool // the transcript lacks audio beyond the limit
	More     bool // there is more than is shown
}

// wordView is a passage of speech, or a message of the chat.
type wordView struct {
	AtMs, UntilMs int64
	Chat          bool
	Speaker, Text string
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
	view := wordsView{Spoken: len(document.Segments) > 0, Captions: !found, Partial: document.Partial}
	for _, segment := range document.Segments {
		view.Lines = append(view.Lines, wordView{AtMs: segment.StartMs, UntilMs: segment.EndMs, Speaker: segment.Speaker, Text: segment.Text})
	}
	for _, text := range texts {
		if text.Kind == job.ChatText && text.Text != "" {
			at := max(0, text.StartedAt.Sub(start).Milliseconds())
			view.Lines = append(view.Lines, wordView{AtMs: at, UntilMs: at, Chat: true, Speaker: text.Author, Text: text.Text})
		}
	}
	slices.SortStableFunc(view.Lines, func(a, b wordView) int { return cmp.Compare(a.AtMs, b.AtMs) })
	view.More = len(view.Lines) > shownWords
	view.Lines = view.Lines[:min(len(view.Lines), shownWords)]
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

// transcriptFile sends what was said in a recording as text, or as subtitles.
func (d *Dashboard) transcriptFile(req *pageRequest, session account.Session) error {
	found, _, err := d.namedJob(req, session)
	if err != nil {
		return err
	}
	release, err := req.costlyRead(session.User.ConsumerID)
	if err != nil {
		return err
	}
	defer release()
	manifest, err := d.manifestOf(req.r.Context(), found)
	if err != nil {
		return err
	}
	document, ok, err := d.transcriptOf(req.r.Context(), found)
	if err != nil {
		return err
	}
	if !ok {
		texts, err := d.settings.Search.Texts(req.r.Context(), found.ID)
		if err != nil {
			return fmt.Errorf("read texts: %w", err)
		}
		document = transcript.FromCaptions(manifest.JobID, texts, manifest.Timeline.Origin(), manifest.Participants)
	}
	content, kind, suffix := document.Text(), "text/plain", "txt"
	if req.r.URL.Query().Get("format") == "vtt" {
		content, kind, suffix = document.VTT(manifest.Gaps), "text/vtt", "vtt"
	}
	header := req.Header()
	header.Set("Content-Type", kind+"; charset=utf-8")
	header.Set("Content-Disposition", `attachment; filename="`+found.ID.String()[:8]+"-transcript."+suffix+`"`)
	_, _ = req.Write(content) // the client may be gone
	return nil
}

// manifestOf reads the manifest of a job.
func (d *Dashboard) manifestOf(ctx context.Context, j job.Job) (m recording.Manifest, err error) {
	text, err := d.settings.Recordings.Manifest(ctx, j.ID)
	if missing := (*recording.NotFoundError)(nil); errors.As(err, &missing) {
		return m, notFound("The job has no recording.")
	}
	if err != nil {
		return m, fmt.Errorf("read a manifest: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("read a manifest: %w", err)
	}
	return m, nil
}

// searchView is the data of the page that searches words.
type searchView struct {
	Mode     job.Mode
	Query    string
	Speaker  string
	From, To string // days (UTC) on which jobs were created, as date inputs format them
	Matches  []job.SearchMatch
	Limit    int // of the matches
}

// Filtered reports whether there is a filter beside the words.
func (v searchView) Filtered() bool { return v.Speaker != "" || v.From != "" || v.To != "" }

// searchPage searches what was said and written in the recordings of the user's
// consumer.
func (d *Dashboard) searchPage(req *pageRequest, session account.Session) error {
	query := req.r.URL.Query()
	view := searchView{
		Mode: modeOf(query), Query: clip(strings.TrimSpace(query.Get("q")), 500), Speaker: clip(strings.TrimSpace(query.Get("speaker")), 200),
		From: query.Get("from"), To: query.Get("to"), Limit: shownMatches,
	}
	filter := job.TextFilter{Speaker: view.Speaker}
	var err error
	if filter.From, filter.To, err = dayRange(view.From, view.To); err != nil {
		return err
	}
	if view.Query != "" {
		release, err := req.costlyRead(session.User.ConsumerID)
		if err != nil {
			return err
		}
		view.Matches, err = d.settings.Search.SearchTexts(req.r.Context(), session.User.ConsumerID, view.Mode, view.Query, filter, shownMatches)
		release()
		if err != nil {
			return err
		}
	}
	return req.show("search", "Search", view)
}

// sourcesText names where a meeting is known from.
func sourcesText(sources []string) string {
	names := map[string]string{
		"api": "API or dashboard", "feed": "iCal address", "google": "Google Calendar", "intake": "calendar intake", "mail": "mail", "microsoft": "Microsoft 365",
	}
	var found []string
	for _, source := range sources {
		found = append(found, names[source])
	}
	return strings.Join(found, ", ")
}
