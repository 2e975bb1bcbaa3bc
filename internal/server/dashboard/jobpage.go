package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/outcome"
	"standin/internal/jobs/webhook"
	"standin/internal/recording"
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
	Receivers      []receiverView // of the deliveries
	Obstacle       string         // the check that fails and on which the job waits; empty without one
	MoreDeliveries string         // URL of the rest; empty when all are shown
	Recording      *recordingView // nil without one
	Captures       []recording.Capture
	Links          []job.ShareLink // that show the recording, the newest first
	Deleted        bool            // the recording was deleted
	Controls       controls
	Meeting        meetingView // while it runs
	Detail         string      // of the failure, unless the explanation says it
	Records        string      // what the bot keeps, in words
	Resources      string      // what its bots used, for people
	Sources        []string    // how the bot was asked for, if not only by a request for a job
	Metadata       string      // indented
}

// receiverView are the deliveries of a job to a URL.
type receiverView struct {
	URL        string
	Counts     map[string]int // by state
	Deliveries []webhook.DeliveryRecord
}

// receiversOf returns deliveries by their URLs.
func receiversOf(deliveries []webhook.DeliveryRecord) (receivers []receiverView) {
	for _, d := range deliveries {
		at := slices.IndexFunc(receivers, func(r receiverView) bool { return r.URL == d.URL })
		if at < 0 {
			at, receivers = len(receivers), append(receivers, receiverView{URL: d.URL, Counts: make(map[string]int)})
		}
		r := &receivers[at]
		r.Deliveries = append(r.Deliveries, d)
		r.Counts[string(d.State)]++
	}
	return receivers
}

// controls are the actions that a job allows now.
type controls struct {
	Cancel, Command, InCall, Delete bool
	Pause, Resume, Stop, Ask        bool
	Again                           bool // the same bot can be sent again
	Share                           bool // the recording can be shared
}

func (d *Dashboard) jobPage(req *pageRequest, found job.Job, as account.Caller) error {
	view, err := d.readJob(req.Context(), found, as, new(recordingCache))
	return req.showAfter(err, "job", view.Name(), view)
}

// namedJob returns the job in the path, live or test, and the caller to act as.
func (d *Dashboard) namedJob(req *pageRequest) (job.Job, account.Caller, error) {
	return d.findJob(req, req.PathValue("id"))
}

// findJob returns a job of the user's team, live or test, and the caller to act as.
func (d *Dashboard) findJob(req *pageRequest, text string) (job.Job, account.Caller, error) {
	if uuid.Validate(text) != nil {
		return job.Job{}, account.Caller{}, notFound("There is no such job.")
	}
	missing := notFound("There is no such job. It may belong to another team, or the URL may be incomplete.")
	return named(req, missing, text, d.Jobs.Job, job.Live, job.Test)
}

// recordingCache caches the recording of a job, because a live page is refreshed
// often and the manifest of a long meeting is large.
type recordingCache struct {
	manifestURI string
	deleted     bool
	attached    int
	view        *recordingView
}

// readJob reads the data of a job's page.
func (d *Dashboard) readJob(ctx context.Context, found job.Job, as account.Caller, cache *recordingCache) (jobView, error) {
	view := jobView{Job: found, Metadata: indented(found.Metadata), Records: recordsText(found)}
	entries, next, err := firstOf(ctx, as, found.ID, shownEntries, d.Jobs.Timeline)
	if err != nil {
		return view, err
	}
	attached := 0
	view.MoreEntries = restURL(found.ID, "timeline", next)
	for _, e := range entries {
		view.Entries = append(view.Entries, newEntryView(e, found, entries[0].ReceivedAt))
		view.Deleted = view.Deleted || e.Kind == lifecycle.RecordingDeleted
		if e.Kind == lifecycle.TranscriptAttached || e.Kind == lifecycle.VideoAttached {
			attached++
		}
	}
	view.Deliveries, next, err = firstOf(ctx, as, found.ID, shownDeliveries, d.Jobs.Deliveries)
	if err != nil {
		return view, err
	}
	view.Receivers = receiversOf(view.Deliveries)
	view.MoreDeliveries = restURL(found.ID, "deliveries", next)
	if cache.manifestURI != found.ManifestURI || cache.deleted != view.Deleted || cache.attached != attached {
		if cache.view, err = d.recordingAt(ctx, found, "/jobs/"+found.ID.String(), ""); err != nil {
			return view, err
		}
		cache.manifestURI, cache.deleted, cache.attached = found.ManifestURI, view.Deleted, attached
	}
	view.Recording = cache.view
	if found.Status.Terminal() { // before, the job has many uploads
		if view.Captures, err = d.Recordings.Captures(ctx, found.ID); err != nil {
			return view, err
		}
	}
	end, partial := "", false
	if view.Recording != nil {
		end, partial = view.Recording.End.Reason, view.Recording.Partial
	}
	all, err := d.Jobs.Details(ctx, []job.Job{found})
	if err != nil {
		return view, err
	}
	details := all[found.ID]
	view.Explanation = outcome.Explain(found, details.FailedIn, end, partial)
	same := func(text string) bool {
		return strings.EqualFold(strings.TrimRight(found.FailureDetail, ". "), strings.TrimRight(text, ". "))
	}
	if !same(view.Explanation.Title) && !same(view.Explanation.Text) {
		view.Detail = found.FailureDetail
	}
	view.Resources = resourcesText(details.Resources, d.Jobs.Prices)
	if view.Sources = details.Sources; slices.Equal(view.Sources, []string{"api"}) {
		view.Sources = nil // as usual
	}
	if view.Meeting, err = d.readMeeting(ctx, as, found, details, entries); err != nil {
		return view, err
	}
	if found.Status.Teardown() || found.Status == job.Pending || found.Status == job.Dispatching {
		capacity, err := d.Capacity(ctx)
		if err != nil {
			return view, err
		}
		view.Obstacle = find(capacity.Problems, func(p Problem) bool { return (p.Check == "storage") == found.Status.Teardown() }).Check
	}
	status := found.Status
	view.Controls = controls{
		Cancel:  !status.Terminal(),
		Command: status.Dispatched() && !status.Teardown(),
		InCall:  status.InCall(),
		Delete:  status.Terminal() && view.Recording != nil,
		Again:   status.Terminal(),
		Pause:   status == job.RecordingStarted,
		Resume:  status == job.RecordingPaused,
		Stop:    status == job.RecordingStarted || status == job.RecordingPaused,
		Ask:     status.InCall() && status != job.PermissionRequested,
	}
	if view.Recording != nil {
		view.Controls.Share = d.ShareLifetime > 0
		if view.Links, err = d.Jobs.Store.ShareLinks(ctx, found.ID, shownLinks); err != nil {
			return view, err
		}
	}
	return view, nil
}

// recordsText says what the bot of a job keeps.
func recordsText(j job.Job) string {
	options := j.Resolved()
	video := "video"
	if options.Recording.Capture == job.CaptureStreams {
		video = "video of each participant"
	}
	names := map[job.RecordingMode]string{job.RecordAudio: "audio", job.RecordNothing: "no recording"}
	kept := []string{cmp.Or(names[options.Recording.Mode], video)}
	for _, option := range []struct {
		set  *bool
		name string
	}{
		{options.Recording.ParticipantAudio, "audio per participant"}, {options.Captions.Enabled, "captions"},
		{options.Chat, "chat"}, {options.Transcript.Live, "live transcript"}, {options.Consent.Required, "only with the host’s permission"},
	} {
		if on(option.set) {
			kept = append(kept, option.name)
		}
	}
	return strings.Join(kept, " · ")
}

// restURL returns the URL of the page that starts at a cursor; empty without one.
func restURL(id uuid.UUID, list, cursor string) string {
	if cursor == "" {
		return ""
	}
	return "/jobs/" + id.String() + "/" + list + "?cursor=" + url.QueryEscape(cursor)
}

// firstOf reads pages of a job's list until it has enough, and returns the cursor of the
// rest; empty without a rest.
func firstOf[T any](ctx context.Context, as account.Caller, id uuid.UUID, enough int,
	read func(context.Context, account.Caller, uuid.UUID, lifecycle.Page) ([]T, string, error)) (all []T, cursor string, err error) {
	for {
		page, next, err := read(ctx, as, id, lifecycle.Page{Cursor: cursor, Limit: lifecycle.MaxPage})
		if err != nil {
			return nil, "", err
		}
		all, cursor = append(all, page...), next
		if cursor == "" || len(all) >= enough {
			return all, cursor, nil
		}
	}
}

// indented returns JSON over several lines.
func indented(text json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return string(text)
	}
	return out.String()
}
