package dashboard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"standin/internal/account"
	"standin/internal/host"
	"standin/internal/job"
	"standin/internal/store"
)

// Capacity tells where bots run, how many have room there, and how many will be
// needed.
type Capacity interface {
	Capacity(ctx context.Context) (CapacityView, error)
}

// CapacityView is what an operator sees of the room for bots.
type CapacityView struct {
	Hosts    []HostView
	Room     int // for bots in all
	Bots     int // that take room
	Foreseen []Foreseen
}

// HostView is a machine that runs bots.
type HostView struct {
	Name    string
	Running int
	Room    int // for bots in all
	SeenAt  time.Time
	Note    string // why no further bot fits; empty when one does
}

// Foreseen is how many bots begin in the minutes from a time on.
type Foreseen struct {
	At   time.Time
	Bots int
}

// operatorView is what the operator's page shows.
type operatorView struct {
	store.Overview
	Now      time.Time
	Machine  host.Metrics
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
	store.RunningBot
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
	shown.Machine = d.settings.Machine.Read(ctx)
	if shown.Machine.UptimeSec != nil {
		shown.Uptime = time.Duration(*shown.Machine.UptimeSec) * time.Second
	}
	for _, status := range job.Statuses() {
		jobs := shown.Unended[status]
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

func viewBot(b store.RunningBot, now time.Time) botView {
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
