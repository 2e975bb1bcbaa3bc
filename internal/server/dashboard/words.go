package dashboard

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/transcript"
)

const (
	// shownWords bounds the segments and the messages of a job's page. All of
	// them are in the files.
	shownWords = 3000
	// shownMatches bounds the results of a search.
	shownMatches = 100
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

// spokenIn reads the texts and the transcript of a job. If there is no transcript, it is made of the captions in the
// texts.
func (d *Dashboard) spokenIn(ctx context.Context, j job.Job, m recording.Manifest) (
	texts []job.MeetingText, document transcript.Document, captions bool, err error,
) {
	if texts, err = d.Jobs.Store.Texts(ctx, j.ID); err != nil {
		return nil, document, false, err
	}
	content, _, err := d.Recordings.OpenMedia(ctx, j.ID, transcript.FileName)
	if recording.IsNotFound(err) {
		return texts, transcript.FromCaptions(m.JobID, texts, m.Timeline.Origin(), m.Participants), true, nil
	}
	if err != nil {
		return nil, document, false, err
	}
	defer content.Close() // read only
	document, err = transcript.Read(content)
	return texts, document, false, err
}

// transcriptFile sends what was said in a recording as text, or as subtitles.
func (d *Dashboard) transcriptFile(req *pageRequest, found job.Job, as account.Caller) error {
	release, err := req.costlyRead(as.ConsumerID)
	if err != nil {
		return err
	}
	defer release()
	manifest, err := d.manifestOf(req.Context(), found)
	if err != nil {
		return err
	}
	_, document, _, err := d.spokenIn(req.Context(), found, manifest)
	if err != nil {
		return err
	}
	content, kind, suffix := document.Text(), "text/plain", "txt"
	if req.URL.Query().Get("format") == "vtt" {
		content, kind, suffix = document.VTT(manifest.Gaps), "text/vtt", "vtt"
	}
	return req.download(kind+"; charset=utf-8", found.ID.String()[:8]+"-transcript."+suffix, content)
}

// errNoRecording is the error of manifestOf for a job without a recording in this storage.
var errNoRecording = notFound("The job has no recording.")

// manifestOf reads the manifest of a job.
func (d *Dashboard) manifestOf(ctx context.Context, j job.Job) (m recording.Manifest, err error) {
	m, found, err := d.Recordings.StoredManifest(ctx, j.ID)
	if err == nil && !found {
		err = errNoRecording
	}
	return m, err
}

// searchView is the data of the page that searches words.
type searchView struct {
	Mode     job.Mode
	Query    string
	Speaker  string
	From, To string // days (UTC) on which jobs were created, as date inputs format them
	Matches  []job.SearchMatch
	Names    map[uuid.UUID]string // of their jobs
	Jobs     []job.Job            // with the words in their titles or IDs
	Limit    int                  // of the matches
}

// Filtered reports whether there is a filter beside the words.
func (v searchView) Filtered() bool { return v.Speaker != "" || v.From != "" || v.To != "" }

// searchPage searches what was said and written in the recordings of the user's
// consumer.
func (d *Dashboard) searchPage(req *pageRequest) error {
	query := req.URL.Query()
	view := searchView{
		Mode: modeOf(query), Query: job.Clip(strings.TrimSpace(query.Get("q")), 500), Speaker: job.Clip(strings.TrimSpace(query.Get("speaker")), 200),
		From: query.Get("from"), To: query.Get("to"), Limit: shownMatches,
	}
	filter := job.TextFilter{Speaker: view.Speaker}
	var err error
	if filter.From, filter.To, err = dayRange(view.From, view.To); err != nil {
		return err
	}
	if view.Query != "" {
		release, err := req.costlyRead(req.User.ConsumerID)
		if err != nil {
			return err
		}
		view.Matches, err = d.Jobs.Store.SearchTexts(req.Context(), req.as(view.Mode), view.Query, filter, shownMatches)
		if err == nil {
			view.Names, err = names(req, view.Matches, func(m job.SearchMatch) uuid.UUID { return m.JobID })
		}
		if err == nil && !view.Filtered() {
			view.Jobs, err = d.Jobs.Store.SearchJobs(req.Context(), req.as(view.Mode), view.Query, listPage)
		}
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
		"api": "API or dashboard", "feed": "iCal address", "google": "Google Calendar", "intake": "calendar intake", "mail": "mail",
		"microsoft": "Microsoft 365",
	}
	var found []string
	for _, source := range sources {
		found = append(found, names[source])
	}
	return strings.Join(found, ", ")
}
