package dashboard

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/operation/host"
)

// CapacityView is where bots run, how many fit there, and how many will be needed.
type CapacityView struct {
	Hosts    []job.Node
	Capacity int                 // bots that all hosts can run
	Bots     int                 // bots that run now
	Forecast []job.UpcomingCount // of a day, in intervals of five minutes
	Week     []job.UpcomingCount
	Problems []Problem // of this node
}

// Problem is something that a node needs and that does not work.
type Problem struct {
	Check  string // "database", "schema", "storage" or "launcher"
	Detail string
}

// operatorView is the data of the operator page.
type operatorView struct {
	job.Overview
	Mode     job.Mode // of the failures
	Now      time.Time
	Host     host.Metrics
	Uptime   time.Duration
	Running  int
	Queued   int // scheduled, or waiting for capacity
	States   []stateCount
	Bots     []botView
	Capacity CapacityView
	Plot     failurePlot
	Forecast []plot
	Names    map[uuid.UUID]string // of the jobs of bots and failures
}

type stateCount struct {
	Status job.Status
	Jobs   int
}

// botView is a running bot and the time since its last heartbeat.
type botView struct {
	job.RunningBot
	Silent time.Duration
	Tone   string
	Never  bool // no heartbeat yet
}

// The time since the last heartbeat from which a bot is shown as late. Bots send
// a heartbeat every few seconds.
const (
	silentWarn = 30 * time.Second
	silentBad  = 2 * time.Minute
)

func (d *Dashboard) operatorPage(req *pageRequest) error {
	shown, err := d.operatorView(req.Context(), modeOf(req.URL.Query()))
	return req.showAfter(err, "operator", "Operator", shown)
}

// maxBots is the number of running bots on a page.
const maxBots = 200

// botsView is the data of a page of running bots.
type botsView struct {
	Bots  []botView
	Names map[uuid.UUID]string // of their jobs
	More  string               // URL of the next page; empty on the last
}

// botsPage shows the running bots that do not fit on the operator page.
func (d *Dashboard) botsPage(req *pageRequest) error {
	skip, err := strconv.ParseUint("0"+req.URL.Query().Get("skip"), 10, 31)
	if err != nil {
		return errNoPage
	}
	bots, err := d.Jobs.Store.RunningBots(req.Context(), int(skip), maxBots+1)
	if err != nil {
		return err
	}
	var view botsView
	bots, more := lifecycle.Cut(bots, maxBots)
	if more {
		view.More = fmt.Sprintf("/operator/bots?skip=%d", skip+maxBots)
	}
	now := d.Now()
	for _, b := range bots {
		view.Bots = append(view.Bots, viewBot(b, now))
	}
	view.Names, err = names(req, bots, func(b job.RunningBot) uuid.UUID { return b.JobID })
	return req.showAfter(err, "bots", "Running bots", view)
}

// failuresView is the data of a page of failed jobs.
type failuresView struct {
	Mode      job.Mode
	Code      job.FailureCode
	Platform  job.Platform
	Hours     int // within which they failed; 0 for any time
	Periods   []period
	Codes     []job.FailureCode
	Platforms []job.Platform
	Jobs      []job.FailedJob
	Names     map[uuid.UUID]string
	Older     string // URL of the next page; empty on the last
}

// period is a time before now.
type period struct {
	Hours int
	Name  string
}

// failuresPage shows failed jobs of all teams.
func (d *Dashboard) failuresPage(req *pageRequest) error {
	const shownJobs = 50
	query := req.URL.Query()
	shown := failuresView{
		Mode: modeOf(query), Code: job.FailureCode(query.Get("code")), Platform: job.Platform(query.Get("platform")),
		Periods: []period{{24, "24 hours"}, {7 * 24, "7 days"}, {30 * 24, "30 days"}}, Codes: job.FailureCodes(), Platforms: job.Platforms(),
	}
	filter := job.FailureFilter{Code: shown.Code, Platform: shown.Platform}
	shown.Hours, _ = strconv.Atoi(query.Get("hours")) // anything else is any time
	if shown.Hours > 0 {
		filter.Since = d.Now().Add(-time.Duration(min(shown.Hours, 10*365*24)) * time.Hour)
	}
	if at, id, found := strings.Cut(query.Get("after"), "."); found {
		since, err := strconv.ParseInt(at, 10, 64)
		last, wrong := uuid.Parse(id)
		if err != nil || wrong != nil {
			return errNoPage
		}
		filter.After = job.FailureCursor{At: time.UnixMilli(since), ID: last}
	}
	var err error
	if shown.Jobs, err = d.Jobs.Store.FailedJobs(req.Context(), shown.Mode, filter, shownJobs+1); err != nil {
		return err
	}
	var more bool
	if shown.Jobs, more = lifecycle.Cut(shown.Jobs, shownJobs); more {
		last := shown.Jobs[shownJobs-1]
		query.Set("after", fmt.Sprintf("%d.%s", last.At.UnixMilli(), last.JobID))
		shown.Older = "/operator/failures?" + query.Encode()
	}
	shown.Names, err = names(req, shown.Jobs, func(f job.FailedJob) uuid.UUID { return f.JobID })
	return req.showAfter(err, "failures", "Failed jobs", shown)
}

// liveOperator streams the changes of the operator page.
func (d *Dashboard) liveOperator(req *pageRequest) error {
	mode := modeOf(req.URL.Query())
	return req.stream("operator", func() (any, error) { return d.operatorView(req.Context(), mode) },
		"figures", "bots", "failures", "reasons", "recent")
}

func (d *Dashboard) operatorView(ctx context.Context, mode job.Mode) (shown operatorView, err error) {
	shown.Mode, shown.Now = mode, d.Now()
	if shown.Overview, err = d.Jobs.Store.Overview(ctx, mode, shown.Now); err != nil {
		return shown, err
	}
	shown.Host = d.Host.Read(ctx)
	if shown.Host.UptimeSec != nil {
		shown.Uptime = time.Duration(*shown.Host.UptimeSec) * time.Second
	}
	for _, status := range job.Statuses() {
		jobs := shown.Active[status]
		if jobs == 0 {
			continue
		}
		shown.States = append(shown.States, stateCount{status, jobs})
		if status.Dispatched() {
			shown.Running += jobs
		} else {
			shown.Queued += jobs
		}
	}
	var ids []uuid.UUID
	for _, b := range shown.Overview.Bots {
		ids = append(ids, b.JobID)
		shown.Bots = append(shown.Bots, viewBot(b, shown.Now))
	}
	if shown.Capacity, err = d.Capacity(ctx); err != nil {
		return shown, err
	}
	shown.Forecast = []plot{
		plotForecast("Most bots at once (UTC)", "15:04", shown.Capacity, shown.Capacity.Forecast, shown.Now, time.Hour, 24),
		plotForecast("Most bots at once by day (UTC)", "2 Jan", shown.Capacity, shown.Capacity.Week, shown.Now, 24*time.Hour, 7),
	}
	for _, f := range shown.Recent {
		ids = append(ids, f.JobID)
	}
	if shown.Names, err = d.Jobs.Store.JobNames(ctx, ids); err != nil {
		return shown, err
	}
	shown.Plot = plotFailures(shown.Failures, shown.Now)
	return shown, nil
}

func viewBot(b job.RunningBot, now time.Time) botView {
	shown := botView{RunningBot: b, Tone: "good", Never: b.HeartbeatAt.IsZero()}
	since := b.HeartbeatAt
	if shown.Never {
		since = b.StatusSince
	}
	shown.Silent = now.Sub(since).Truncate(time.Second)
	switch {
	case shown.Silent > silentBad:
		shown.Tone = "bad"
	case shown.Silent > silentWarn || shown.Never:
		shown.Tone = "busy"
	}
	return shown
}
