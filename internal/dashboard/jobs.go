package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
)

// listPage is how many jobs a page of the list holds.
const listPage = 25

// jobList is what the list of jobs shows.
type jobList struct {
	Mode     job.Mode
	Status   job.Status
	Platform job.Platform
	From, To string // days (UTC) on which jobs were made, as date inputs write them
	Search   string
	Cursor   string

	Jobs      []job.Job
	Older     string // address of the next page; empty when there is none
	Newest    string // address of the first page; empty on it
	Live      string // address of the stream
	Filtered  bool
	Statuses  []job.Status
	Platforms []job.Platform
	Depth     int // that a search looks at
}

// caller is who a user is for the API, in one of the two spaces of jobs.
func caller(user account.User, mode job.Mode) account.Caller {
	return account.Caller{ConsumerID: user.ConsumerID, Mode: mode}
}

// modeOf reads which space of jobs an address means.
func modeOf(query url.Values) job.Mode {
	if query.Get("mode") == string(job.Test) {
		return job.Test
	}
	return job.Live
}

// readList reads what an address of the list asks for.
func readList(query url.Values) (jobList, job.Filter, error) {
	list := jobList{
		Mode: modeOf(query), Status: job.Status(query.Get("status")), Platform: job.Platform(query.Get("platform")),
		From: query.Get("from"), To: query.Get("to"), Search: strings.TrimSpace(query.Get("search")), Cursor: query.Get("cursor"),
		Statuses: job.Statuses(), Platforms: []job.Platform{job.Meet, job.Teams, job.ZoomWeb, job.ZoomSDK}, Depth: job.SearchDepth,
	}
	list.Filtered = list.Status != "" || list.Platform != "" || list.From != "" || list.To != "" || list.Search != ""
	filter := job.Filter{Status: list.Status, Platform: list.Platform}
	// Days of making, which is the list's own order: to list a long time by when
	// jobs join, the database would have to sort them all.
	for text, into := range map[*string]*time.Time{&list.From: &filter.CreatedFrom, &list.To: &filter.CreatedTo} {
		if *text == "" {
			continue
		}
		day, err := time.Parse(time.DateOnly, *text)
		if err != nil {
			return list, filter, &pageError{http.StatusBadRequest, "A day is written as 2026-11-20."}
		}
		*into = day
	}
	if !filter.CreatedTo.IsZero() {
		filter.CreatedTo = filter.CreatedTo.AddDate(0, 0, 1) // the day itself is meant too
	}
	const longestSearch = 500
	list.Search = clip(list.Search, longestSearch)
	return list, filter, nil
}

// clip is the beginning of a text.
func clip(text string, longest int) string {
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest])
	}
	return text
}

// fill reads the list's jobs.
func (d *Dashboard) fill(x *exchange, user account.User) (jobList, error) {
	query := x.r.URL.Query()
	list, filter, err := readList(query)
	if err != nil {
		return list, err
	}
	var next string
	if list.Search != "" {
		list.Jobs, err = d.settings.Records.SearchJobs(x.r.Context(), user.ConsumerID, list.Mode, list.Search, lifecycle.MaxPage)
		list.Jobs = matching(list.Jobs, filter)
	} else {
		page := lifecycle.Page{Cursor: list.Cursor, Limit: listPage}
		list.Jobs, next, err = d.settings.Jobs.Jobs(x.r.Context(), caller(user, list.Mode), filter, page)
	}
	if err != nil {
		return list, err
	}
	query.Del("note")
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

// matching are the found jobs that pass the other filters too.
func matching(found []job.Job, filter job.Filter) []job.Job {
	var kept []job.Job
	for _, j := range found {
		switch {
		case filter.Status != "" && j.Status != filter.Status,
			filter.Platform != "" && j.Platform != filter.Platform,
			!filter.CreatedFrom.IsZero() && j.CreatedAt.Before(filter.CreatedFrom),
			!filter.CreatedTo.IsZero() && !j.CreatedAt.Before(filter.CreatedTo):
			continue
		}
		kept = append(kept, j)
	}
	return kept
}

func (d *Dashboard) listJobs(x *exchange, session account.Session) error {
	list, err := d.fill(x, session.User)
	if err != nil {
		return err
	}
	return x.show("jobs", "Jobs", list)
}

// liveJobs sends the list's rows whenever they have changed.
func (d *Dashboard) liveJobs(x *exchange, session account.Session) error {
	return x.stream(func() (parts, error) {
		list, err := d.fill(x, session.User)
		if err != nil {
			return nil, err
		}
		return x.parts("jobs", list, "rows")
	})
}
