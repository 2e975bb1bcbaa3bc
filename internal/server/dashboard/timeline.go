package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
)

// entryView is an entry of the timeline.
type entryView struct {
	job.TimelineEntry
	Text   string
	Reason string    // why it was not applied
	At     time.Time // by the clock of its source
	Offset string    // from the first entry; empty for that one
	Late   string    // how much later the service received it; empty when it is not worth a word
	Number int       // of the attempt, from 1; 0 if the job has only one
	Data   string    // indented JSON, clipped; empty without data
	Rest   string    // where the rest of the data is; empty when all of it is shown
}

// newEntryView returns the view of an entry. first is the time of the first entry of the job.
func newEntryView(e job.TimelineEntry, j job.Job, first time.Time) entryView {
	view := entryView{TimelineEntry: e, Text: KindText(e.Kind), Reason: ReasonText(e.Reason), At: e.ReceivedAt}
	if e.Source == job.SourceBot {
		view.At = e.EmittedAt
	}
	if !view.At.Equal(first) {
		view.Offset = offsetText(view.At.Sub(first))
	}
	if late := e.ReceivedAt.Sub(view.At); late > time.Second {
		view.Late = durationText(late)
	}
	if e.Kind == job.BotExited && (e.From == job.Dispatching || e.From == job.Joining || e.From == job.EnteringLobby) {
		view.Text = "Bot gave up"
	}
	var command struct {
		Kind string `json:"command"`
	}
	if json.Unmarshal(e.Data, &command) == nil && command.Kind != "" {
		view.Text = strings.Replace(view.Text, "Command", "Command “"+strings.ReplaceAll(job.Clip(command.Kind, maxTitle), "_", " ")+"”", 1)
	}
	if j.Attempts > 1 {
		view.Number = e.Attempt + 1
	}
	if text := string(bytes.TrimSpace(e.Data)); text != "" && text != "{}" {
		view.Data = indented(e.Data)
	}
	if len(view.Data) > shownData {
		view.Data = strings.ToValidUTF8(view.Data[:shownData], "") + "…"
		view.Rest = fmt.Sprintf("The API returns all %s.", humanize.Bytes(uint64(len(e.Data))))
	}
	return view
}

// maxTitle bounds a title in characters.
const maxTitle = 120

// offsetText formats the time since the first entry: +0.2 s, +12 s, +3:05 or +1:02:03.
func offsetText(since time.Duration) string {
	sign := "+"
	if since < 0 {
		sign, since = "−", -since
	}
	switch {
	case since < 10*time.Second:
		return fmt.Sprintf("%s%.1f s", sign, since.Seconds())
	case since < time.Minute:
		return fmt.Sprintf("%s%d s", sign, int(since.Seconds()))
	}
	return sign + Clock(since.Milliseconds())
}

// historyView is a page of a job's timeline or of its deliveries.
type historyView struct {
	job.Job
	Entries    []entryView
	Deliveries []webhook.DeliveryRecord
	Receivers  []receiverView
	More       string // URL of the next page; empty on the last
}

// timelinePage shows the part of a job's timeline that starts at a cursor.
func (d *Dashboard) timelinePage(req *pageRequest, found job.Job, as account.Caller) error {
	page := lifecycle.Page{Cursor: req.URL.Query().Get("cursor"), Limit: lifecycle.MaxPage}
	entries, next, err := d.Jobs.Timeline(req.Context(), as, found.ID, page)
	if err != nil {
		return err
	}
	view := historyView{Job: found, More: restURL(found.ID, "timeline", next)}
	first, _, err := d.Jobs.Timeline(req.Context(), as, found.ID, lifecycle.Page{Limit: 1})
	if err != nil {
		return err
	}
	for _, e := range entries {
		view.Entries = append(view.Entries, newEntryView(e, found, first[0].ReceivedAt))
	}
	return req.show("history", "Timeline", view)
}

// deliveriesPage shows the part of a job's deliveries that starts at a cursor.
func (d *Dashboard) deliveriesPage(req *pageRequest, found job.Job, as account.Caller) error {
	page := lifecycle.Page{Cursor: req.URL.Query().Get("cursor"), Limit: lifecycle.MaxPage}
	deliveries, next, err := d.Jobs.Deliveries(req.Context(), as, found.ID, page)
	return req.showAfter(err, "history", "Webhooks", historyView{
		Job: found, Deliveries: deliveries, Receivers: receiversOf(deliveries), More: restURL(found.ID, "deliveries", next),
	})
}
