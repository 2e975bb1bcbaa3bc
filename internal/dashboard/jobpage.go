package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/recording"
	"standin/internal/webhook"
)

// Bounds of what a job's page shows.
const (
	shownEntries    = 500
	shownDeliveries = 200
)

// jobView is what a job's page shows.
type jobView struct {
	job.Job
	Explained  explanation
	Entries    []entryView
	More       bool // there are more entries than are shown
	Deliveries []webhook.DeliveryRecord
	MoreSent   bool
	Recording  *recordingView // nil without one
	Deleted    bool           // it was deleted
	Controls   controls
	Metadata   string // indented
}

// controls are what can be done with a job now.
type controls struct {
	Cancel, Command, InCall, Delete bool
	Pause, Resume, Stop, Ask        bool
}

// entryView is a line of the timeline.
type entryView struct {
	job.TimelineEntry
	What string
	Why  string // why it was not applied
	Data string // indented; empty for none
	Late time.Duration
}

func (d *Dashboard) jobPage(x *exchange, session account.Session) error {
	shown, err := d.shownJob(x, session, new(readRecording))
	if err != nil {
		return err
	}
	return x.show("job", meetingName(shown.MeetingURL), shown)
}

// namedJob returns the job of the path, live or test, and as whom to act on it.
func (d *Dashboard) namedJob(x *exchange, session account.Session) (job.Job, account.Caller, error) {
	id, err := uuid.Parse(x.r.PathValue("id"))
	if err != nil {
		return job.Job{}, account.Caller{}, notFound("There is no such job.")
	}
	for _, mode := range []job.Mode{job.Live, job.Test} {
		as := caller(session.User, mode)
		found, err := d.settings.Jobs.Job(x.r.Context(), as, id)
		if err == nil {
			return found, as, nil
		}
		if !job.ErrorIs(err, job.NotFound) {
			return job.Job{}, account.Caller{}, err
		}
	}
	return job.Job{}, account.Caller{}, notFound("There is no such job. It may be another team’s, or the address may be incomplete.")
}

// readRecording keeps what was read of a recording: a live page looks often,
// and a long meeting's manifest is large.
type readRecording struct {
	manifestURI string
	deleted     bool
	shown       *recordingView
}

// shownJob reads all that a job's page shows.
func (d *Dashboard) shownJob(x *exchange, session account.Session, kept *readRecording) (jobView, error) {
	found, as, err := d.namedJob(x, session)
	if err != nil {
		return jobView{}, err
	}
	ctx := x.r.Context()
	shown := jobView{Job: found, Metadata: indented(found.Metadata)}
	entries, more, err := d.allEntries(ctx, as, found.ID)
	if err != nil {
		return shown, fmt.Errorf("read a timeline: %w", err)
	}
	shown.More = more
	for _, e := range entries {
		shown.Entries = append(shown.Entries, viewEntry(e))
		shown.Deleted = shown.Deleted || e.Kind == lifecycle.RecordingDeleted
	}
	if shown.Deliveries, shown.MoreSent, err = d.allDeliveries(ctx, as, found.ID); err != nil {
		return shown, fmt.Errorf("read deliveries: %w", err)
	}
	if kept.manifestURI != found.ManifestURI || kept.deleted != shown.Deleted {
		if kept.shown, err = d.recordingOf(ctx, found); err != nil {
			return shown, err
		}
		kept.manifestURI, kept.deleted = found.ManifestURI, shown.Deleted
	}
	shown.Recording = kept.shown
	end, partial := "", false
	if shown.Recording != nil {
		end, partial = shown.Recording.End.Reason, shown.Recording.Partial
	}
	shown.Explained = explain(found, entries, end, partial)
	shown.Controls = controlsOf(found, shown.Recording != nil)
	return shown, nil
}

// controlsOf says what can be done with a job.
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

func (d *Dashboard) allEntries(ctx context.Context, as account.Caller, id uuid.UUID) (entries []job.TimelineEntry, more bool, err error) {
	for cursor := ""; len(entries) < shownEntries; {
		page, next, err := d.settings.Jobs.Timeline(ctx, as, id, lifecycle.Page{Cursor: cursor, Limit: lifecycle.MaxPage})
		if err != nil {
			return nil, false, err
		}
		if entries = append(entries, page...); next == "" {
			return entries, false, nil
		}
		cursor = next
	}
	return entries, true, nil
}

func (d *Dashboard) allDeliveries(ctx context.Context, as account.Caller, id uuid.UUID) (deliveries []webhook.DeliveryRecord, more bool, err error) {
	for cursor := ""; len(deliveries) < shownDeliveries; {
		page, next, err := d.settings.Jobs.Deliveries(ctx, as, id, lifecycle.Page{Cursor: cursor, Limit: lifecycle.MaxPage})
		if err != nil {
			return nil, false, err
		}
		if deliveries = append(deliveries, page...); next == "" {
			return deliveries, false, nil
		}
		cursor = next
	}
	return deliveries, true, nil
}

func viewEntry(e job.TimelineEntry) entryView {
	shown := entryView{TimelineEntry: e, What: kindWords(e), Why: reasonWords(e.Reason), Late: e.ReceivedAt.Sub(e.EmittedAt).Round(time.Millisecond)}
	if text := string(bytes.TrimSpace(e.Data)); text != "" && text != "{}" {
		shown.Data = indented(e.Data)
	}
	return shown
}

// indented writes JSON for people.
func indented(text json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return string(text)
	}
	return out.String()
}

// recordingView is a manifest as the player shows it.
type recordingView struct {
	recording.Manifest
	Player   []playable // what the player plays one after the other
	Video    bool       // there is a picture
	Playlist string     // Player for the script
	TotalMs  int64
	Lanes    []lane
	Files    []recording.Media
}

// playable is a file of the recording's picture or sound.
type playable struct {
	Address string `json:"address"`
	Start   int64  `json:"start"` // ms from the recording's beginning
	Length  int64  `json:"length"`
	Width   int    `json:"-"` // of the picture, so that the page keeps its place
	Height  int    `json:"-"`
}

// lane is who spoke when.
type lane struct {
	recording.Participant
	Spoke  int64 // ms in all
	Speech []recording.Speech
}

// recordingOf reads a job's manifest; nil when there is none here.
func (d *Dashboard) recordingOf(ctx context.Context, j job.Job) (*recordingView, error) {
	if j.ManifestURI == "" {
		return nil, nil
	}
	text, err := d.settings.Recordings.Manifest(ctx, j.ID)
	if missing := (*recording.NotFoundError)(nil); errors.As(err, &missing) {
		return nil, nil // deleted, or kept elsewhere
	}
	if err != nil {
		return nil, fmt.Errorf("read a manifest: %w", err)
	}
	shown := new(recordingView)
	if err := json.Unmarshal(text, &shown.Manifest); err != nil {
		return nil, fmt.Errorf("read a manifest: %w", err)
	}
	shown.arrange(j.ID)
	return shown, nil
}

// arrange finds what is played, and puts speech into lanes.
func (v *recordingView) arrange(id uuid.UUID) {
	v.Files = v.Media
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
		v.Lanes = append(v.Lanes, lane{Participant: p})
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

func mediaPath(id uuid.UUID, name string) string {
	return "/jobs/" + id.String() + "/media/" + strings.ReplaceAll(name, "/", "")
}
