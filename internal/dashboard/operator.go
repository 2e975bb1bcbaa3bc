package dashboard

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"standin/internal/account"
	"standin/internal/host"
	"standin/internal/job"
)

// Capacity reports where bots run, how many fit there, and how many will be
// needed.
type Capacity interface {
	Capacity(ctx context.Context) (CapacityView, error)
}

// CapacityView is the bot capacity of all hosts.
type CapacityView struct {
	Hosts    []HostView
	Capacity int // bots that all hosts can run
	Bots     int // bots that run now
	Forecast []Forecast
	Problems []Problem // of this node
}

// Problem is something that a node needs and that does not work.
type Problem struct {
	Check  string // "database", "schema", "storage" or "launcher"
	Detail string
}

// HostView is a machine that runs bots.
type HostView struct {
	Name            string
	Bots            int // bots that run now
	Capacity        int // bots that it can run
	LastHeartbeatAt time.Time
	FullReason      string // why it cannot run another bot; empty when it can
}

// Forecast is the number of bots that start in the five minutes after From.
type Forecast struct {
	From time.Time
	Bots int
}

// operatorView is the data of the operator page.
type operatorView struct {
	job.Overview
	Now      time.Time
	Host     host.Metrics
	Uptime   time.Duration
	Running  int
	Queued   int // scheduled, or waiting for capacity
	States   []stateCount
	Bots     []botView
	Capacity *CapacityView
	Plot     failurePlot
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

func (d *Dashboard) operatorPage(req *pageRequest, _ account.Session) error {
	shown, err := d.operatorView(req.r.Context())
	if err != nil {
		return err
	}
	return req.show("operator", "Operator", shown)
}

// maxBots is the number of running bots on a page.
const maxBots = 200

// botsView is the data of a page of running bots.
type botsView struct {
	Bots []botView
	More string // URL of the next page; empty on the last
}

// botsPage shows the running bots that do not fit on the operator page.
func (d *Dashboard) botsPage(req *pageRequest, _ account.Session) error {
	skip, err := strconv.ParseUint("0"+req.r.URL.Query().Get("skip"), 10, 31)
	if err != nil {
		return notFound("There is no such page.")
	}
	bots, err := d.settings.Operator.RunningBots(req.r.Context(), int(skip), maxBots+1)
	if err != nil {
		return err
	}
	var view botsView
	if len(bots) > maxBots {
		bots = bots[:maxBots]
		view.More = fmt.Sprintf("/operator/bots?skip=%d", skip+maxBots)
	}
	now := d.settings.Now()
	for _, b := range bots {
		view.Bots = append(view.Bots, viewBot(b, now))
	}
	return req.show("bots", "Running bots", view)
}

// liveOperator streams the changes of the operator page.
func (d *Dashboard) liveOperator(req *pageRequest, _ account.Session) error {
	return req.stream("operator", func(*topic) (any, error) {
		return d.operatorView(req.r.Context())
	}, func(view any) (parts, error) {
		return req.parts("operator", view, "figures", "bots", "failures", "recent")
	})
}

// maxOverviewAge bounds the age of the overview. It is read at most this often,
// however many operators view it.
const maxOverviewAge = 3 * time.Second

// overviewCache caches the last overview.
type overviewCache struct {
	mu   sync.Mutex
	view operatorView
}

func (d *Dashboard) operatorView(ctx context.Context) (operatorView, error) {
	d.overview.mu.Lock()
	defer d.overview.mu.Unlock()
	if d.settings.Now().Sub(d.overview.view.Now) < maxOverviewAge {
		return d.overview.view, nil
	}
	shown, err := d.readOverview(ctx)
	if err == nil {
		d.overview.view = shown
	}
	return shown, err
}

func (d *Dashboard) readOverview(ctx context.Context) (shown operatorView, err error) {
	shown.Now = d.settings.Now()
	if shown.Overview, err = d.settings.Operator.Overview(ctx, shown.Now); err != nil {
		return shown, err
	}
	shown.Host = d.settings.Host.Read(ctx)
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
	for _, b := range shown.Overview.Bots {
		shown.Bots = append(shown.Bots, viewBot(b, shown.Now))
	}
	if d.settings.Capacity != nil {
		capacity, err := d.settings.Capacity.Capacity(ctx)
		if err != nil {
			return shown, fmt.Errorf("read the capacity: %w", err)
		}
		shown.Capacity = &capacity
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
