package dispatch

import "time"

// Timeouts bound how long a job may stay in each phase. Every state that is
// not terminal has one, so no job can hang.
type Timeouts struct {
	Launch         time.Duration // from the start of an attempt until its bot has been started
	FirstHeartbeat time.Duration // from the start of a bot until its first heartbeat
	Heartbeat      time.Duration // since the last heartbeat
	Joining        time.Duration // in joining: the page opens and the join button is found
	Lobby          time.Duration // in the lobby, beyond the job's own entry delay
	Meeting        time.Duration // in the meeting, beyond the job's own maximum
	Teardown       time.Duration // in each state in which the recording is put together
	Leaving        time.Duration // for the bot of an ended job to leave and to upload what it has
	MaxAttempts    int           // of a job
	MaxStops       int           // attempts that do not count, because someone else than the service stopped the bot
}

// DefaultTimeouts returns the timeouts for bots that the service launches.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Launch:         2 * time.Minute,
		FirstHeartbeat: 45 * time.Second,
		Heartbeat:      60 * time.Second,
		Joining:        5 * time.Minute,
		Lobby:          2 * time.Minute,
		Meeting:        5 * time.Minute,
		Teardown:       30 * time.Minute,
		Leaving:        10 * time.Minute,
		MaxAttempts:    3,
		MaxStops:       10,
	}
}

// Manual returns the timeouts for bots that the operator runs. Nobody can
// predict when that happens, and a silent bot cannot be replaced.
func (t Timeouts) Manual() Timeouts {
	t.FirstHeartbeat = 4 * time.Hour
	t.Heartbeat = 30 * time.Minute
	t.Joining = 30 * time.Minute
	t.MaxAttempts, t.MaxStops = 1, 0
	return t
}

// Simulated returns the timeouts for the simulated bots of test keys, which
// are fast and send a heartbeat every few seconds.
func (t Timeouts) Simulated() Timeouts {
	t.Launch = min(t.Launch, 3*time.Second)
	t.FirstHeartbeat = min(t.FirstHeartbeat, 10*time.Second)
	t.Heartbeat = min(t.Heartbeat, 15*time.Second)
	t.Teardown = min(t.Teardown, time.Minute)
	t.Leaving = min(t.Leaving, 30*time.Second)
	t.MaxAttempts = max(t.MaxAttempts, 3)
	return t
}
