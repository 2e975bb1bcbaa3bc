package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

// listPage is the number of jobs on a page of the list.
const listPage = 25

// running is the filter for all statuses of jobs that have a bot.
const running = "running"

// jobList is the data of the list of jobs.
type jobList struct {
	Mode     job.Mode
	Status   job.Status // or running
	Platform job.Platform
	From, To string // creation days (UTC), as date inputs format them
	Search   string
	Cursor   string

	Jobs      []job.Job
	Rows      []jobRow
	Query     string // of the list's URL
	Older     string // URL of the next page; empty on the last page
	Newest    string // URL of the first page; empty on it
	Live      string // URL of the event stream
	Filtered  bool
	Statuses  []job.Status
	Platforms []job.Platform
	Depth     int // number of jobs that a search examines

	FormID string // of the form that sends a test bot
	Plot   plot
}

// Is reports whether the list is filtered by this status alone.
func (l jobList) Is(status string) bool {
	return string(l.Status) == status && l.Platform == "" && l.From == "" && l.To == "" && l.Search == ""
}

// jobRow is a row of the list.
type jobRow struct {
	job.Job
	Start  time.Time // when the bot was first heard of, or when it is to join
	Length string    // of the recording, or of the stay in the meeting; empty when unknown
	Since  time.Time // when a bot that is in its meeting was first heard of, else zero
	People []string
}

// names returns what people call the jobs that some rows are about.
func names[T any](req *pageRequest, rows []T, jobOf func(T) uuid.UUID) (map[uuid.UUID]string, error) {
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = jobOf(row)
	}
	return req.d.Jobs.Store.JobNames(req.Context(), ids)
}

// inModes returns what read finds for a user in the first of some modes, and the caller to act
// as. It returns missing if read finds nothing.
func inModes[T any](req *pageRequest, missing error, read func(account.Caller) (T, error),
	modes ...job.Mode) (found T, as account.Caller, err error) {
	for _, mode := range modes {
		as = req.as(mode)
		if found, err = read(as); !job.ErrorIs(err, job.NotFound) {
			return found, as, err
		}
	}
	return found, as, missing
}

// named returns what an ID in text form names, like inModes.
func named[T any](req *pageRequest, missing error, text string, read func(context.Context, account.Caller, uuid.UUID) (T, error),
	modes ...job.Mode) (found T, as account.Caller, err error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return found, as, missing
	}
	return inModes(req, missing, func(as account.Caller) (T, error) { return read(req.Context(), as, id) }, modes...)
}

// modeOf returns the mode in a query, live by default.
func modeOf(query url.Values) job.Mode {
	if query.Get("mode") == string(job.Test) {
		return job.Test
	}
	return job.Live
}

// readJobs returns the requested list.
func (d *Dashboard) readJobs(req *pageRequest) (jobList, error) {
	query := req.URL.Query()
	list := jobList{
		Mode: modeOf(query), Status: job.Status(query.Get("status")), Platform: job.Platform(query.Get("platform")),
		From: query.Get("from"), To: query.Get("to"), Search: strings.TrimSpace(query.Get("search")), Cursor: query.Get("cursor"),
		Statuses: job.Statuses(), Platforms: job.Platforms(), Depth: job.SearchDepth,
	}
	const longestSearch = 500
	list.Search = job.Clip(list.Search, longestSearch)
	list.Filtered = list.Status != "" || list.Platform != "" || list.From != "" || list.To != "" || list.Search != ""
	filter := job.Filter{Platform: list.Platform}
	switch list.Status {
	case "":
	case running:
		filter.Statuses = slices.DeleteFunc(job.Statuses(), func(s job.Status) bool { return !s.Dispatched() })
	default:
		filter.Statuses = []job.Status{list.Status}
	}
	// By creation, which is the order of the list: a filter by joinAt would make
	// the database sort all jobs.
	var err error
	if filter.CreatedFrom, filter.CreatedTo, err = dayRange(list.From, list.To); err != nil {
		return list, err
	}
	var next string
	if list.Search != "" {
		release, err := req.costlyRead(req.User.ConsumerID)
		if err != nil {
			return list, err
		}
		list.Jobs, err = d.Jobs.Store.SearchJobs(req.Context(), req.as(list.Mode), list.Search, lifecycle.MaxPage)
		release()
		if err != nil {
			return list, err
		}
		list.Jobs = slices.DeleteFunc(list.Jobs, func(j job.Job) bool { // that do not pass the filter
			return len(filter.Statuses) > 0 && !slices.Contains(filter.Statuses, j.Status) ||
				filter.Platform != "" && j.Platform != filter.Platform || j.CreatedAt.Before(filter.CreatedFrom) ||
				!filter.CreatedTo.IsZero() && !j.CreatedAt.Before(filter.CreatedTo)
		})
	} else {
		page := lifecycle.Page{Cursor: list.Cursor, Limit: listPage}
		list.Jobs, next, err = d.Jobs.Jobs(req.Context(), req.as(list.Mode), filter, page)
	}
	if err != nil {
		return list, err
	}
	details, err := d.Jobs.Details(req.Context(), list.Jobs)
	if err != nil {
		return list, err
	}
	for _, j := range list.Jobs {
		row, known := jobRow{Job: j, Start: j.JoinAt}, details[j.ID]
		if !j.StartedAt.IsZero() {
			row.Start = j.StartedAt
		}
		if known.DurationMs > 0 {
			row.Length = Clock(known.DurationMs)
		} else if j.Status.InCall() {
			row.Since = j.StartedAt
		}
		for _, p := range known.Participants {
			row.People = append(row.People, p.Name)
		}
		list.Rows = append(list.Rows, row)
	}
	query.Del("note")
	list.Query = query.Encode()
	list.Live = "/jobs/live?" + query.Encode()
	if next != "" {
		query.Set("cursor", next)
		list.Older = "/jobs?" + query.Encode()
	}
	if list.Cursor != "" {
		query.Del("cursor")
		list.Newest = "/jobs?" + query.Encode()
	}
	return list, nil
}

// dayRange returns the times from the first to the end of the last day (UTC), as date inputs
// format them; zero ones for empty days.
func dayRange(from, to string) (start, end time.Time, err error) {
	if from != "" {
		start, err = time.Parse(time.DateOnly, from)
	}
	if to != "" && err == nil {
		end, err = time.Parse(time.DateOnly, to)
		end = end.AddDate(0, 0, 1) // the last day is included
	}
	if err != nil {
		err = &pageError{http.StatusBadRequest, "Dates must have the form 2026-11-20."}
	}
	return start, end, err
}

func (d *Dashboard) listJobs(req *pageRequest) error {
	list, err := d.readJobs(req)
	if err != nil {
		return err
	}
	counts, err := d.Jobs.Store.JobHours(req.Context(), req.as(list.Mode), d.Now().Add(-24*time.Hour))
	list.FormID, list.Plot = uuid.NewString(), plotJobs(counts, d.Now())
	return req.showAfter(err, "jobs", "Jobs", list)
}

// landing shows the jobs of the chosen mode, or of the other one if only that has jobs.
func (d *Dashboard) landing(req *pageRequest) error {
	chosen := modeOf(req.URL.Query())
	for _, mode := range []job.Mode{chosen, job.Live, job.Test} {
		found, _, err := d.Jobs.Jobs(req.Context(), req.as(mode), job.Filter{}, lifecycle.Page{Limit: 1})
		if err != nil {
			return err
		}
		if len(found) > 0 {
			chosen = mode
			break
		}
	}
	return req.redirect("/jobs?mode=" + string(chosen))
}

// changeJobs cancels the selected jobs of the list, or sends their bots again.
func (d *Dashboard) changeJobs(req *pageRequest) error {
	ids, verb := req.PostForm["job"], req.PostForm.Get("verb")
	change, notice := d.Jobs.Cancel, "jobs-cancelled"
	switch {
	case verb == "again":
		change, notice = d.sendAgain, "jobs-sent"
	case verb != "cancel":
		return notFound("There is no such action.")
	}
	if len(ids) == 0 {
		notice = "none-selected"
	}
	for _, id := range ids {
		found, as, err := d.findJob(req, id)
		if err != nil {
			return err
		}
		if err := change(req.Context(), as, found.ID); err != nil {
			return err
		}
	}
	back, err := url.ParseQuery(req.PostForm.Get("back"))
	if err != nil {
		back = url.Values{}
	}
	back.Set("note", notice)
	return req.redirect("/jobs?" + back.Encode())
}

// sendAgain sends the bot of a job again, now.
func (d *Dashboard) sendAgain(ctx context.Context, as account.Caller, id uuid.UUID) error {
	j, err := d.Jobs.Job(ctx, as, id)
	if err != nil {
		return err
	}
	j.Options.StartBefore = job.Timestamp{}
	_, _, err = d.Jobs.Create(ctx, as, lifecycle.NewJob{
		ExternalID: "dashboard-" + uuid.NewString(), MeetingURL: j.MeetingURL, Platform: j.Platform, DisplayName: j.DisplayName,
		Webhooks: j.Webhooks, Metadata: j.Metadata, AutoLeave: j.AutoLeave, Options: j.Options,
	})
	return err
}

// liveJobs streams the changes of the list.
func (d *Dashboard) liveJobs(req *pageRequest) error {
	return req.stream("jobs", func() (any, error) { return d.readJobs(req) }, "rows")
}
