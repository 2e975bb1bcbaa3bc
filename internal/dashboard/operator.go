package dashboard

import (
	"context"
	"fmt"
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
}

// HostView is a machine that runs bots.
type HostView struct {
	Name            string
	Bots            int // bots that run now
	Capacity        int // bots that it can run
	LastHeartbeatAt time.Time
	FullReason      string // why no further bot fits; empty when one does
}

// Forecast is the number of bots that start in the five minutes after From.
type Forecast struct {
	From time.Time
	Bots int
}

// operatorView is what the operator's page shows.
type operatorView struct {
	job.Overview
	Now      time.Time
	Host     host.Metrics
	Uptime   time.Duration
	Running  int
	Queued   int // scheduled for later, or waiting for room
	States   []stateCount
	Bots     []botView
	Capacity *CapacityView
	Plot     failurePlot
}

type stateCount struct {
	Status job.Status
	Jobs   int
}

// botView is a running bot with how long it has been silent.
type botView struct {
	job.RunningBot
	Silent time.Duration
	Tone   string
	Never  bool // nothing was heard of it
}

// How long a bot may be silent before its line changes colour. Bots are heard
// of every few seconds.
const (
	silentWarn = 30 * time.Second
	silentBad  = 2 * time.Minute
)

func (d *Dashboard) operatorPage(x *exchange, _ account.Session) error {
	shown, err := d.operatorView(x.r.Context())
	if err != nil {
		return err
	}
	return x.show("operator", "Operator", shown)
}

// liveOperator sends what has changed of the operator's page.
func (d *Dashboard) liveOperator(x *exchange, _ account.Session) error {
	return x.stream(func() (parts, error) {
		shown, err := d.operatorView(x.r.Context())
		if err != nil {
			return nil, err
		}
		return x.parts("operator", shown, "figures", "bots", "failures", "recent")
	})
}

// overviewAge is how old the operator's figures may be: however many look at
// them, they are read this often.
const overviewAge = 3 * time.Second

// lookedAt keeps the operator's figures.
type lookedAt struct {
	mu    sync.Mutex
	shown operatorView
}

func (d *Dashboard) operatorView(ctx context.Context) (operatorView, error) {
	d.looked.mu.Lock()
	defer d.looked.mu.Unlock()
	if d.settings.Now().Sub(d.looked.shown.Now) < overviewAge {
		return d.looked.shown, nil
	}
	shown, err := d.readOverview(ctx)
	if err == nil {
		d.looked.shown = shown
	}
	return shown, err
}

func (d *Dashboard) readOverview(ctx context.Context) (shown operatorView, err error) {
	shown.Now = d.settings.Now()
	if shown.Overview, err = d.settings.Records.Overview(ctx, shown.Now); err != nil {
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
