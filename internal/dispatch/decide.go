package dispatch

import (
	"fmt"
	"time"

	"standin/internal/job"
	"standin/internal/launch"
)

// Timeouts say how long the service waits for what. Every state that is not
// an end has one, so no job can hang.
type Timeouts struct {
	Launch         time.Duration // from the begin of an attempt until its bot could be started
	FirstHeartbeat time.Duration // from the start of a bot until it is first heard
	Heartbeat      time.Duration // since a bot was last heard
	Joining        time.Duration // in joining: the page opens and the join button is found
	Lobby          time.Duration // in the lobby beyond the job's own entry delay
	Meeting        time.Duration // in the meeting beyond the job's own maximum
	Teardown       time.Duration // in each state of putting the recording together
	Leaving        time.Duration // the bot of a job that has ended: to leave and to hand in what it has
	MaxAttempts    int
}

// DefaultTimeouts returns the timeouts of a service in earnest.
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
	}
}

// ByHand returns the timeouts for bots that the operator runs himself: nobody
// knows when he will, nor can another be started in place of a silent one.
func (t Timeouts) Manual() Timeouts {
	t.FirstHeartbeat = 4 * time.Hour
	t.Heartbeat = 30 * time.Minute
	t.Joining = 30 * time.Minute
	t.MaxAttempts = 1
	return t
}

// Simulated returns the timeouts for simulated bots of test keys, which are
// quick and are heard every few seconds.
func (t Timeouts) Simulated() Timeouts {
	t.Launch = min(t.Launch, 3*time.Second)
	t.FirstHeartbeat = min(t.FirstHeartbeat, 10*time.Second)
	t.Heartbeat = min(t.Heartbeat, 15*time.Second)
	t.Teardown = min(t.Teardown, time.Minute)
	t.Leaving = min(t.Leaving, 30*time.Second)
	t.MaxAttempts = max(t.MaxAttempts, 3)
	return t
}

// step is what the dispatcher does with a job next.
type step string

const (
	wait     step = "wait"     // look again at until
	begin    step = "begin"    // begin an attempt and launch its bot
	start    step = "launch"   // launch the bot of the attempt that has begun
	salvage  step = "salvage"  // end the bot and finalize what it uploaded
	giveUp   step = "give up"  // end the bot and fail the job
	queue    step = "queue"    // have the job wait for room; look again at until
	cleanUp  step = "let go"   // end the bot of a job that has ended, and tidy up
	adoptBot step = "adopt it" // the bot of the attempt runs though its start was not noted
)

// decision is a step with its reason.
type decision struct {
	step   step
	until  time.Time       // of wait and queue
	code   job.FailureCode // of giveUp
	detail string          // of all but wait: why, for people
}

// policy is what decide goes by beside the job itself.
type policy struct {
	Timeouts
	NoZoomSDK  string        // why bots cannot join with Zoom's Meeting SDK; empty when they can
	Reason     string        // what the launcher knows of the bot beyond its state; may be empty
	NoCapacity string        // why no bot more fits on this node; empty when one does
	Elsewhere  bool          // the current attempt was begun by another node, which is gone
	Prelaunch  time.Duration // how long before joinAt a bot is launched
	Listening  time.Time     // since when every bot could be heard; before that silence says nothing
}

// lookForRoom is how often a job that waits for room is looked at when no room
// has come. Room that comes wakes it at once.
const lookForRoom = 15 * time.Second

// explained adds what the launcher knows to a sentence about a bot.
func (p policy) explained(sentence string) string {
	if p.Reason == "" {
		return sentence
	}
	return sentence + ": " + p.Reason
}

// decide is the whole policy: what to do with a job, given what its bot does
// and whether any of its recording was saved. It reads no clock and changes
// nothing.
func decide(r job.Record, bot launch.State, saved bool, now time.Time, by policy) decision {
	switch {
	case r.Status == job.Completed || r.Status == job.Failed || r.ManifestURI != "":
		return decideEnded(r, bot, now, by)
	case r.Status == job.Cancelled:
		return decideCancelled(r, bot, saved, now, by)
	case r.Status == job.Scheduled || r.Status == job.Pending:
		return decideDue(r, now, by)
	case r.Status == job.Dispatching && r.LaunchedAt.IsZero():
		return decideLaunch(r, bot, saved, now, by)
	case r.Status == job.Finalizing && r.Attempt > 0:
		return decision{step: salvage, detail: "the bot has left the meeting"}
	}
	if why, lost := lostBot(r, bot, now, by); lost {
		return decideLost(r, bot, saved, now, by, by.explained(why))
	}
	if end := deadline(r, by); !now.Before(end) {
		why := fmt.Sprintf("the bot was in %s since %s, longer than it may", r.Status, r.StatusSince.Format(time.RFC3339))
		if saved {
			return decision{step: salvage, detail: why}
		}
		return decision{step: giveUp, code: job.InternalError, detail: why}
	}
	return decision{step: wait, until: earlier(deadline(r, by), silentAt(r, by))}
}

// decideDue begins the attempt of a job whose time has come, or comes so soon
// that its bot is launched to be ready then, while that still makes sense and
// there is room for its bot.
func decideDue(r job.Record, now time.Time, by policy) decision {
	over := r.JoinAt.Add(maximum(r))
	if !r.CreatedAt.Before(over) {
		over = r.CreatedAt.Add(maximum(r)) // asked for after its end: whoever did knows why
	}
	switch {
	case now.Before(r.JoinAt.Add(-by.Prelaunch)):
		return decision{step: wait, until: r.JoinAt}
	case r.Platform == job.ZoomSDK && by.NoZoomSDK != "":
		return decision{step: giveUp, code: job.InternalError,
			detail: by.NoZoomSDK + "; the platform zoom-web needs none of this"}
	case !now.Before(over):
		return decision{step: giveUp, code: job.DispatchTimeout,
			detail: fmt.Sprintf("no bot could be sent between joinAt %s and its end by afterMaxSeconds at %s",
				r.JoinAt.Format(time.RFC3339), over.Format(time.RFC3339))}
	case by.NoCapacity != "" && now.Before(r.JoinAt):
		return decision{step: wait, until: r.JoinAt} // it is not late yet
	case by.NoCapacity != "":
		return decision{step: queue, until: earlier(now.Add(lookForRoom), over), detail: by.NoCapacity}
	}
	return decision{step: begin}
}

// decideLaunch is for an attempt that has begun and whose bot was not started,
// or has been handed to an engine that has yet to start it.
func decideLaunch(r job.Record, bot launch.State, saved bool, now time.Time, by policy) decision {
	t := by.Timeouts
	end := r.AttemptStartedAt.Add(t.Launch)
	switch {
	case bot == launch.Running:
		return decision{step: adoptBot}
	case bot == launch.Gone:
		return decideLost(r, bot, saved, now, by, by.explained("the bot ended before it was heard"))
	case bot == launch.Starting && now.Before(end):
		return decision{step: wait, until: end}
	case by.Elsewhere:
		// Nobody but the node that began the attempt launches its bot: there
		// would be two if that node came back.
		return decideLost(r, bot, saved, now, by, "the node that began the attempt is gone")
	case bot != launch.Starting && r.LaunchFailures == 0 && now.Before(meetingStart(r).Add(maximum(r))):
		return decision{step: start} // however late: whoever began the attempt did not come to launch it
	case !now.Before(end):
		detail := by.explained(fmt.Sprintf("the bot could not be started within %s", t.Launch))
		if by.Reason == "" && r.LaunchError != "" {
			detail += ": " + r.LaunchError
		}
		if saved {
			return decision{step: salvage, detail: detail}
		}
		return decision{step: giveUp, code: job.DispatchTimeout, detail: detail}
	}
	return decision{step: start}
}

// lostBot reports whether a bot that was started is there no more.
func lostBot(r job.Record, bot launch.State, now time.Time, by policy) (why string, lost bool) {
	switch {
	case bot == launch.Gone:
		return "the bot's process has ended unexpectedly", true
	case now.Before(silentAt(r, by)):
		return "", false
	case r.HeartbeatAt.IsZero():
		return fmt.Sprintf("the bot was started and not heard for %s", by.FirstHeartbeat), true
	}
	return fmt.Sprintf("the bot was last heard at %s", r.HeartbeatAt.Format(time.RFC3339)), true
}

// decideLost sends another bot while the meeting can still be on, and
// otherwise keeps what there is (contract, State machine).
func decideLost(r job.Record, bot launch.State, saved bool, now time.Time, by policy, why string) decision {
	over := meetingStart(r).Add(maximum(r))
	another := !r.Status.Teardown() && r.Status != job.RecordingStopped && now.Before(over) && r.Attempts < by.MaxAttempts
	switch {
	case another && by.NoCapacity != "":
		return decision{step: wait, until: earlier(now.Add(lookForRoom), over)} // or another node has room
	case another:
		return decision{step: begin, detail: why}
	case saved:
		return decision{step: salvage, detail: why}
	case bot == launch.Gone:
		return decision{step: giveUp, code: job.InternalError, detail: why + ", and nothing was recorded"}
	case r.Status.InCall() || r.Status.Teardown():
		return decision{step: giveUp, code: job.NetworkLoss, detail: why + ", and nothing was recorded"}
	}
	return decision{step: giveUp, code: job.DispatchTimeout, detail: why}
}

// decideEnded lets the bot of a job that has ended go by itself, for a while:
// it still tells what it has to tell.
func decideEnded(r job.Record, bot launch.State, now time.Time, by policy) decision {
	if end := later(r.StatusSince, by.Listening).Add(by.Leaving); bot == launch.Running && now.Before(end) {
		return decision{step: wait, until: end}
	}
	return decision{step: cleanUp}
}

// decideCancelled waits for the bot of a cancelled job to hand in what it
// recorded, and looks after it when it does not.
func decideCancelled(r job.Record, bot launch.State, saved bool, now time.Time, by policy) decision {
	_, lost := lostBot(r, bot, now, by)
	end := later(r.StatusSince, by.Listening).Add(by.Leaving)
	switch {
	case !lost && now.Before(end):
		return decision{step: wait, until: earlier(end, silentAt(r, by))}
	case saved:
		return decision{step: salvage, detail: "cancelled"}
	}
	return decision{step: cleanUp}
}

// deadline is when a state has lasted too long. While nobody could hear a bot it
// could not tell that it had gone on: that time does not count.
func deadline(r job.Record, by policy) time.Time {
	since := later(r.StatusSince, by.Listening)
	switch {
	case r.Status == job.Dispatching: // it may have been launched early
		return later(later(r.LaunchedAt, r.JoinAt), by.Listening).Add(by.FirstHeartbeat + by.Joining)
	case r.Status == job.Joining:
		return since.Add(by.Joining)
	case r.Status == job.EnteringLobby:
		return since.Add(seconds(r.AutoLeave.AfterEntryDelaySeconds) + by.Lobby)
	case r.Status.Teardown():
		return since.Add(by.Teardown)
	}
	began := r.AttemptStartedAt
	if began.IsZero() {
		began = r.StartedAt // a bot run by hand came before its time
	}
	return later(began.Add(seconds(r.AutoLeave.AfterEntryDelaySeconds)+maximum(r)), by.Listening).Add(by.Meeting)
}

// silentAt is when a bot has not been heard for too long. While nobody could
// hear it, because the service or its database was away, it was not silent.
func silentAt(r job.Record, by policy) time.Time {
	if r.HeartbeatAt.IsZero() {
		return later(r.LaunchedAt, by.Listening).Add(by.FirstHeartbeat)
	}
	return later(r.HeartbeatAt, by.Listening).Add(by.Heartbeat)
}

// meetingStart is from when the job's maximum counts.
func meetingStart(r job.Record) time.Time {
	if r.StartedAt.IsZero() {
		return r.JoinAt
	}
	return r.StartedAt
}

// maximum is the job's own ceiling on the meeting's length.
func maximum(r job.Record) time.Duration { return seconds(r.AutoLeave.AfterMaxSeconds) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
