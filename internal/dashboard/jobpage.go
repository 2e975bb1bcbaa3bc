package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/outcome"
	"standin/internal/recording"
	"standin/internal/webhook"
)

// Bounds of a job's page. What is beyond them is on the pages of the timeline and
// of the deliveries, and in the manifest.
const (
	shownEntries      = 500
	shownData         = 4 << 10 // bytes of an entry's data
	shownDeliveries   = 200
	shownParticipants = 100
	shownSpeech       = 2000 // of all participants
	shownGaps         = 100
	shownConsent      = 100
	shownFiles        = 200
)

// jobView is the data of a job's page.
type jobView struct {
	job.Job
	Explanation    outcome.Explanation
	Entries        []entryView
	MoreEntries    string // URL of the rest; empty when all are shown
	Deliveries     []webhook.DeliveryRecord
	MoreDeliveries string         // URL of the rest; empty when all are shown
	Recording      *recordingView // nil without one
	Captures       []recording.Capture
	Deleted        bool // the recording was deleted
	Controls       controls
	Metadata       string // indented
}

// controls are the actions that a job allows now.
type controls struct {
	Cancel, Command, InCall, Delete bool
	Pause, Resume, Stop, Ask        bool
}

// entryView is an entry of the timeline.
type entryView struct {
	job.TimelineEntry
	Text   string
	Reason string // why it was not applied
	Data   string // indented JSON, clipped; empty without data
	Rest   string // where the rest of the data is; empty when all of it is shown
}

func (d *Dashboard) jobPage(req *pageRequest, session account.Session) error {
	view, err := d.readJob(req, session, new(recordingCache))
	if err != nil {
		return err
	}
	return req.show("job", meetingName(view.MeetingURL), view)
}

// namedJob returns the job in the path, live or test, and the caller to act as.
func (d *Dashboard) namedJob(req *pageRequest, session account.Session) (job.Job, account.Caller, error) {
	id, err := uuid.Parse(req.r.PathValue("id"))
	if err != nil {
		return job.Job{}, account.Caller{}, notFound("There is no such job.")
	}
	for _, mode := range []job.Mode{job.Live, job.Test} {
		as := caller(session.User, mode)
		found, err := d.settings.Jobs.Job(req.r.Context(), as, id)
		if err == nil {
			return found, as, nil
		}
		if !job.ErrorIs(err, job.NotFound) {
			return job.Job{}, account.Caller{}, err
		}
	}
	return job.Job{}, account.Caller{}, notFound("There is no such job. It may belong to another team, or the URL may be incomplete.")
}

// recordingCache caches the recording of a job, because a live page is refreshed
// often and the manifest of a long meeting is large.
type recordingCache struct {
	manifestURI string
	deleted     bool
	transcribed bool
	view        *recordingView
}

// readJob reads the data of a job's page.
func (d *Dashboard) readJob(req *pageRequest, session account.Session, cache *recordingCache) (jobView, error) {
	found, as, err := d.namedJob(req, session)
	if err != nil {
		return jobView{}, err
	}
	ctx := req.r.Context()
	view := jobView{Job: found, Metadata: indented(found.Metadata)}
	entries, next, err := d.firstEntries(ctx, as, found.ID)
	if err != nil {
		return view, fmt.Errorf("read a timeline: %w", err)
	}
	transcribed := false
	view.MoreEntries = restURL(found.ID, "timeline", next)
	for _, e := range entries {
		view.Entries = append(view.Entries, newEntryView(e, shownData))
		view.Deleted = view.Deleted || e.Kind == lifecycle.RecordingDeleted
		transcribed = transcribed || e.Kind == lifecycle.TranscriptAttached
	}
	if view.Deliveries, next, err = d.firstDeliveries(ctx, as, found.ID); err != nil {
		return view, fmt.Errorf("read deliveries: %w", err)
	}
	view.MoreDeliveries = restURL(found.ID, "deliveries", next)
	if cache.manifestURI != found.ManifestURI || cache.deleted != view.Deleted || cache.transcribed != transcribed {
		if cache.view, err = d.recordingOf(ctx, found); err != nil {
			return view, err
		}
		cache.manifestURI, cache.deleted, cache.transcribed = found.ManifestURI, view.Deleted, transcribed
	}
	view.Recording = cache.view
	if found.Status.Terminal() { // before, the job has many uploads
		if view.Captures, err = d.settings.Recordings.Captures(ctx, found.ID); err != nil {
			return view, fmt.Errorf("list captures: %w", err)
		}
	}
	end, partial := "", false
	if view.Recording != nil {
		end, partial = view.Recording.End.Reason, view.Recording.Partial
	}
	view.Explanation = outcome.Explain(found, statusBefore(entries, job.Failed), end, partial)
	view.Controls = controlsOf(found, view.Recording != nil)
	return view, nil
}

// controlsOf returns the actions that a job allows.
func controlsOf(j job.Job, recorded bool) controls {
	status := j.Status
	can := controls{
		Cancel:  !status.Terminal(),
		Command: status.Dispatched() && !status.Teardown(),
		InCall:  status.InCall(),
		Delete:  status.Terminal() && recorded,
	}
	can.Pause = status == job.RecordingStarted
	can.Resume = status == job.RecordingPaused
	can.Stop = status == job.RecordingStarted || status == job.RecordingPaused
	can.Ask = status.InCall() && status != job.PermissionRequested
	return can
}

// restURL returns the URL of the page that starts at a cursor; empty without one.
func restURL(id uuid.UUID, list, cursor string) string {
	if cursor == "" {
		return ""
	}
	return "/jobs/" + id.String() + "/" + list + "?cursor=" + url.QueryEscape(cursor)
}

// firstEntries returns the entries that a job's page shows and the cursor of the
// rest.
func (d *Dashboard) firstEntries(ctx context.Context, as account.Caller, id uuid.UUID) ([]job.TimelineEntry, string, error) {
	return firstOf(shownEntries, func(page lifecycle.Page) ([]job.TimelineEntry, string, error) {
		return d.settings.Jobs.Timeline(ctx, as, id, page)
	})
}

// firstDeliveries returns the deliveries that a job's page shows and the cursor of
// the rest.
func (d *Dashboard) firstDeliveries(ctx context.Context, as account.Caller, id uuid.UUID) ([]webhook.DeliveryRecord, string, error) {
	return firstOf(shownDeliveries, func(page lifecycle.Page) ([]webhook.DeliveryRecord, string, error) {
		return d.settings.Jobs.Deliveries(ctx, as, id, page)
	})
}

// firstOf reads pages of a list until it has enough, and returns the cursor of the
// rest; empty without a rest.
func firstOf[T any](enough int, read func(lifecycle.Page) ([]T, string, error)) (all []T, cursor string, err error) {
	for {
		page, next, err := read(lifecycle.Page{Cursor: cursor, Limit: lifecycle.MaxPage})
		if err != nil {
			return nil, "", err
		}
		all, cursor = append(all, page...), next
		if cursor == "" || len(all) >= enough {
			return all, cursor, nil
		}
	}
}

// newEntryView returns the view of an entry with at most so many bytes of data.
func newEntryView(e job.TimelineEntry, maxData int) entryView {
	view := entryView{TimelineEntry: e, Text: KindText(e.Kind), Reason: ReasonText(e.Reason)}
	if text := string(bytes.TrimSpace(e.Data)); text != "" && text != "{}" {
		view.Data = indented(e.Data)
	}
	if len(view.Data) > maxData {
		view.Data = strings.ToValidUTF8(view.Data[:maxData], "") + "…"
		view.Rest = fmt.Sprintf("The API returns all %s.", bytesText(int64(len(e.Data))))
	}
	return view
}

// historyView is a page of a job's timeline or of its deliveries.
type historyView struct {
	job.Job
	Entries    []entryView
	Deliveries []webhook.DeliveryRecord
	More       string // URL of the next page; empty on the last
}

// timelinePage shows the part of a job's timeline that starts at a cursor.
func (d *Dashboard) timelinePage(req *pageRequest, session account.Session) error {
	found, as, err := d.namedJob(req, session)
	if err != nil {
		return err
	}
	page := lifecycle.Page{Cursor: req.r.URL.Query().Get("cursor"), Limit: lifecycle.MaxPage}
	entries, next, err := d.settings.Jobs.Timeline(req.r.Context(), as, found.ID, page)
	if err != nil {
		return err
	}
	view := historyView{Job: found, More: restURL(found.ID, "timeline", next)}
	for _, e := range entries {
		view.Entries = append(view.Entries, newEntryView(e, shownData))
	}
	return req.show("history", "Timeline", view)
}

// deliveriesPage shows the part of a job's deliveries that starts at a cursor.
func (d *Dashboard) deliveriesPage(req *pageRequest, session account.Session) error {
	found, as, err := d.namedJob(req, session)
	if err != nil {
		return err
	}
	page := lifecycle.Page{Cursor: req.r.URL.Query().Get("cursor"), Limit: lifecycle.MaxPage}
	deliveries, next, err := d.settings.Jobs.Deliveries(req.r.Context(), as, found.ID, page)
	if err != nil {
		return err
	}
	return req.show("history", "Webhooks", historyView{Job: found, Deliveries: deliveries, More: restURL(found.ID, "deliveries", next)})
}

// indented returns JSON over several lines.
func indented(text json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return string(text)
	}
	return out.String()
}

// recordingView is the manifest of a recording, arranged for the player.
type recordingView struct {
	recording.Manifest
	Player   []playable // files in the order in which they are played
	Video    bool       // the files are video
	Playlist string     // Player as JSON, for the script
	TotalMs  int64
	Lanes    []speechRow
	Files    []recording.Media
	Words    wordsView
	More     bool // the manifest has more than is shown
}

// playable is a video or audio file of the player.
type playable struct {
	Address string `json:"address"`
	Start   int64  `json:"start"` // ms from the start of the recording
	Length  int64  `json:"length"`
	Width   int    `json:"-"` // of the video, so that the layout does not shift
	Height  int    `json:"-"`
}

// speechRow is the speech of a participant.
type speechRow struct {
	recording.Participant
	Spoke  int64 // total in ms
	Speech []recording.Speech
}

// recordingOf reads the recording of a job. It returns nil when there is none in
// this storage.
func (d *Dashboard) recordingOf(ctx context.Context, j job.Job) (*recordingView, error) {
	if j.ManifestURI == "" {
		return nil, nil
	}
	text, err := d.settings.Recordings.Manifest(ctx, j.ID)
	if missing := (*recording.NotFoundError)(nil); errors.As(err, &missing) {
		return nil, nil // deleted, or stored elsewhere
	}
	if err != nil {
		return nil, fmt.Errorf("read a manifest: %w", err)
	}
	view := new(recordingView)
	if err := json.Unmarshal(text, &view.Manifest); err != nil {
		return nil, fmt.Errorf("read a manifest: %w", err)
	}
	if view.Words, err = d.wordsOf(ctx, j, view.Manifest); err != nil {
		return nil, err
	}
	view.arrange(j.ID)
	return view, nil
}

// arrange fills the player and the speech rows from the manifest.
func (v *recordingView) arrange(id uuid.UUID) {
	v.Files = v.Media
	clipList(v, &v.Files, shownFiles)
	clipList(v, &v.Participants, shownParticipants)
	clipList(v, &v.Speech, shownSpeech)
	clipList(v, &v.Gaps, shownGaps)
	clipList(v, &v.Consent, shownConsent)
	kind := recording.MediaKind("audio")
	for _, file := range v.Media {
		if file.Kind == "video" {
			kind, v.Video = "video", true
		}
		v.TotalMs = max(v.TotalMs, file.StartOffsetMs+file.DurationMs)
	}
	for _, file := range v.Media {
		if file.Kind == kind {
			v.Player = append(v.Player, playable{mediaPath(id, file.Name), file.StartOffsetMs, file.DurationMs, file.Width, file.Height})
		}
	}
	list, err := json.Marshal(v.Player)
	if err == nil {
		v.Playlist = string(list)
	}
	at := make(map[string]int)
	for i, p := range v.Participants {
		at[p.ID] = i
		v.Lanes = append(v.Lanes, speechRow{Participant: p})
	}
	for _, s := range v.Speech {
		i, known := at[s.ParticipantID]
		if !known {
			continue
		}
		v.Lanes[i].Speech = append(v.Lanes[i].Speech, s)
		v.Lanes[i].Spoke += s.EndMs - s.StartMs
		v.TotalMs = max(v.TotalMs, s.EndMs)
	}
	for _, gap := range v.Gaps {
		v.TotalMs = max(v.TotalMs, gap.EndMs)
	}
	v.TotalMs = max(v.TotalMs, 1)
}

// clipList shortens a list of the view.
func clipList[T any](v *recordingView, list *[]T, length int) {
	if len(*list) > length {
		*list, v.More = (*list)[:length], true
	}
}

func mediaPath(id uuid.UUID, name string) string {
	return "/jobs/" + id.String() + "/media/" + strings.ReplaceAll(name, "/", "")
}
