package service

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/operation/alert"
	"standin/internal/operation/host"
)

// newAlerts returns what checks the rules of alerts and sends them.
func (s *Service) newAlerts(machine *host.Reader, ended *endedJobs, node string) *alert.Watcher {
	options := s.Alerts
	rules := []alert.Rule{
		{
			Name: "failure_rate", Node: node, Setting: "STANDIN_ALERT_FAILURE_RATE", Off: options.FailureRate == 0,
			When:  fmt.Sprintf("More than %d %% of the live jobs that ended on a node within an hour, and at least %d jobs, failed for reasons other than their meetings", options.FailureRate, minFailures),
			Check: func(context.Context) (string, error) { return ended.problem(time.Now(), options.FailureRate), nil },
		},
		{
			Name: "endpoint_failing", Setting: "STANDIN_ALERT_ENDPOINT", Off: options.Endpoint == 0,
			When: fmt.Sprintf("A webhook endpoint has failed for %s while webhooks wait for it", duration.HumanDuration(options.Endpoint)),
			Check: func(ctx context.Context) (string, error) {
				const shown = 20
				failing, err := s.store.FailingEndpoints(ctx, time.Now().Add(-options.Endpoint), shown)
				var lines []string
				for _, e := range failing {
					// The path and the query may contain secrets of the receiver.
					lines = append(lines, fmt.Sprintf("the endpoint of team %s at %s has failed since %s", e.Consumer, webhook.HostOf(e.URL),
						e.Since.Format(time.RFC3339)))
				}
				return strings.Join(lines, "\n"), err
			},
		},
		{
			Name: "no_capacity", For: options.Capacity, Setting: "STANDIN_ALERT_CAPACITY", Off: options.Capacity == 0,
			When: fmt.Sprintf("Due jobs have waited for a bot for %s", duration.HumanDuration(options.Capacity)),
			Check: func(ctx context.Context) (string, error) {
				fleet, err := s.fleet.Fleet(ctx)
				if waiting := fleet.Jobs[job.Pending]; err == nil && waiting > 0 {
					return fmt.Sprintf("%d due jobs wait for a bot; %d of %d bots run", waiting, fleet.Bots, fleet.Capacity), nil
				}
				return "", err
			},
		},
		{
			Name: "node_unhealthy", Node: node, For: options.Capacity, Setting: "STANDIN_ALERT_CAPACITY", Off: options.Capacity == 0,
			When: fmt.Sprintf("The database, the storage or the launcher of bots has not worked for %s", duration.HumanDuration(options.Capacity)),
			Check: func(context.Context) (string, error) {
				var problems []string
				for _, problem := range s.health.problems() {
					problems = append(problems, problem.Check+": "+problem.Detail)
				}
				return strings.Join(problems, "\n"), nil
			},
		},
		{
			Name: "disk", Node: node, Setting: "STANDIN_ALERT_DISK", Off: options.Disk == 0,
			When: fmt.Sprintf("%d %% of the disk of the data directory is used", options.Disk),
			Check: func(ctx context.Context) (string, error) {
				if disk := machine.Read(ctx).Disk; disk != nil && disk.UsedPct >= float64(options.Disk) {
					return fmt.Sprintf("%.0f %% of the disk of the data directory is used; %.1f GiB are free", disk.UsedPct, disk.FreeGB), nil
				}
				return "", nil
			},
		},
	}
	return alert.NewWatcher(alert.Settings{
		Options: options, Rules: rules, Store: s.store, Poster: s.sender, SendMail: s.AlertMail.Send,
		BaseURL: s.Settings.BaseURL, Now: time.Now, Log: s.Log,
	})
}

// endedJobs remembers how the live jobs of this process ended within the last hour.
type endedJobs struct {
	mu   sync.Mutex
	ends []jobEnd
}

type jobEnd struct {
	at     time.Time
	failed bool // for a reason other than its meeting
}

const (
	endedWindow = time.Hour
	maxEnds     = 10_000
	minFailures = 3
)

// add adds a job that has ended.
func (j *endedJobs) add(e event.StateApplied) {
	if !e.Result.Changed() || e.Job.Mode != job.Live || e.Result.To != job.Completed && e.Result.To != job.Failed {
		return
	}
	failed := false
	switch e.Job.FailureCode {
	case job.InternalError, job.NetworkLoss, job.DispatchTimeout, job.AuthFailure:
		failed = true
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ends = append(j.ends, jobEnd{e.Job.StatusSince, failed})
	if len(j.ends) > maxEnds {
		j.ends = j.ends[len(j.ends)-maxEnds:]
	}
}

// problem says that too many of the jobs have failed, if they have.
func (j *endedJobs) problem(now time.Time, percent int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	all, failed := 0, 0
	for _, end := range j.ends {
		if now.Sub(end.at) > endedWindow {
			continue
		}
		all++
		if end.failed {
			failed++
		}
	}
	if failed < minFailures || failed*100 <= percent*all {
		return ""
	}
	return fmt.Sprintf("%d of the %d jobs that ended within an hour failed for reasons other than their meetings", failed, all)
}
