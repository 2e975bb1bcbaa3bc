package dispatch

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// action is what the dispatcher does with a job next. The values appear in
// the log.
type action string

const (
	wait             action = "wait"              // look again at decision.until
	queue            action = "queue"             // wait for capacity; look again at decision.until
	startAttempt     action = "start attempt"     // start an attempt and launch its bot
	launchBot        action = "launch"            // launch the bot of the attempt that has been started
	prelaunchBot     action = "prelaunch"         // launch the bot before joinAt
	skipPrelaunch    action = "skip prelaunch"    // wait for joinAt without a bot
	startPrelaunched action = "start prelaunched" // start an attempt with the prelaunched bot
	stopPrelaunched  action = "stop prelaunched"  // stop the prelaunched bot
	reportDelay      action = "report delay"      // wait, and put on the timeline why the bot has not started yet
	adoptBot         action = "adopt"             // record the launch of a bot that runs already
	salvage          action = "salvage"           // stop the bot and finalize what it uploaded
	giveUp           action = "give up"           // stop the bot and fail the job
	joinOther        action = "join other"        // leave the meeting to the bot of another job of the team
	cleanUp          action = "clean up"          // stop the bot of an ended job and delete its uploads
)

// decision is an action with its reason.
type decision struct {
	action action
	until  time.Time       // of wait and queue
	code   job.FailureCode // of giveUp
	detail string          // the reason, for people; empty for wait

	otherJob string // of joinOther
}

// situation is everything that a decision depends on.
type situation struct {
	job job.Record
	bot launch.State
	now time.Time

	hasMedia   bool   // the bots of the job uploaded something usable
	botReason  string // what the launcher reports about the bot beyond its state; may be empty
	noCapacity string // why this node cannot run another bot; empty when it can
	otherNode  bool   // the current attempt was started by another node, which is gone
	badLink    string // why the meeting link cannot lead to a meeting; empty when it may
	otherBot   string // job of the team whose bot is in the meeting, if events ask for this one; empty when there is none
	noZoomApp  bool   // the team has no app of Zoom, which a job of zoom-sdk needs
	noStream   bool   // there is no media stream of the meeting, which a job of zoom-sdk needs
	leaving    bool   // the consumer has told a bot that may be lost to leave the meeting
	stops      int    // how many bots were stopped by someone else than the service, if the bot may be lost
	wasIn      bool   // a bot of the job was in the meeting, if the bot may be lost

	timeouts    Timeouts
	latestStart time.Duration // see Options
	prelaunch   time.Duration // how long before joinAt a bot is launched
	// reachable is since when every bot could reach the service. Silence before
	// that does not count against a bot.
	reachable time.Time
}

// capacityRetry is how often a job that waits for capacity is looked at. A
// slot that becomes free wakes the dispatcher at once.
const capacityRetry = 15 * time.Second

// slowStart is how long a bot may start before the timeline says why.
const slowStart = 20 * time.Second

// minLaunches is how often the launch of an attempt's bot is tried at least, so that a
// late one does not depend on a single moment.
const minLaunches = 3

// decide returns what to do with a job. It is the dispatcher's whole policy:
// it reads no clock and changes nothing.
func decide(s situation) decision {
	status := s.job.Status
	switch {
	case s.job.Prelaunch == job.PrelaunchWithdrawn:
		return decision{action: stopPrelaunched, detail: "the job has changed"}
	case status == job.Completed || status == job.Failed || s.job.ManifestURI != "":
		if end := s.leaveBy(); s.bot == launch.Running && s.now.Before(end) {
			return waitUntil(end) // the bot still has events to report
		}
		return decision{action: cleanUp}
	case status == job.Cancelled:
		return s.decideCancelled()
	case status == job.Scheduled && s.job.Prelaunch == job.Prelaunched:
		return s.decidePrelaunched()
	case status == job.Scheduled || status == job.Pending:
		return s.decideDue()
	case status == job.Dispatching && s.job.LaunchedAt.IsZero():
		return s.decideLaunch()
	case status == job.Finalizing && s.job.Attempt > 0:
		return decision{action: salvage, detail: "the bot has left the meeting"}
	}
	if reason, lost := s.lostBot(); lost {
		return s.decideLost(s.explain(reason))
	}
	deadline := s.deadline()
	if s.now.Before(deadline) {
		return waitUntil(job.Earliest(deadline, s.heartbeatDue()))
	}
	detail := fmt.Sprintf("the bot has been %s since %s, longer than the limit of %s", describe(status),
		s.job.StatusSince.Format(time.RFC3339),
		deadline.Sub(s.job.StatusSince).Round(time.Second))
	return s.salvageOrFail(job.InternalError, detail)
}

// waitUntil is the decision to look at the job again at a time.
func waitUntil(at time.Time) decision { return decision{action: wait, until: at} }

// fail is the decision to stop the bot and fail the job.
func fail(code job.FailureCode, detail string) decision {
	return decision{action: giveUp, code: code, detail: detail}
}

// salvageOrFail keeps what has been recorded, or fails the job if that is nothing.
func (s situation) salvageOrFail(code job.FailureCode, detail string) decision {
	if s.hasMedia {
		return decision{action: salvage, detail: detail}
	}
	return fail(code, detail)
}

// describe returns a status as it continues "the bot has been".
func describe(status job.Status) string {
	switch status {
	case job.Dispatching, job.Joining, job.Finalizing:
		return string(status)
	case job.EnteringLobby:
		return "in the lobby"
	case job.InMeeting:
		return "in the meeting"
	}
	return "in the state " + string(status)
}

// decideDue starts the first attempt of a job whose time has come. If it comes
// soon, the bot is launched to be ready by then.
func (s situation) decideDue() decision {
	joinAt, end := s.job.JoinAt, s.startBy()
	switch {
	case s.now.Before(joinAt) && (s.now.Before(joinAt.Add(-s.prelaunch)) || s.noCapacity != "" || s.otherBot != ""):
		return waitUntil(joinAt)
	case s.now.Before(joinAt) && s.badLink == "" && s.job.Platform != job.ZoomSDK:
		return decision{action: prelaunchBot}
	case s.now.Before(joinAt):
		return decision{action: skipPrelaunch} // it fails at joinAt, or gets a stream after it
	case s.badLink != "":
		return fail(job.MeetingNotFound, s.badLink)
	case s.noZoomApp:
		return fail(job.InternalError, "the team has no credentials of an app of Zoom (POST /api/v1/zoom-apps); the platform zoom-web needs none")
	case s.noStream:
		limit := job.Earliest(end, job.Latest(joinAt, s.job.CreatedAt).Add(seconds(s.job.AutoLeave.AfterEntryDelaySeconds)))
		if s.now.Before(limit) {
			return decision{action: queue, until: limit, detail: "waiting for Zoom to announce the media stream of the meeting"}
		}
		return fail(job.WaitingForHost, "Zoom announced no media stream of the meeting. The host must have started the meeting, the app must "+
			"be allowed to start with it or be started by the host (Apps), and an administrator must allow meetings to share realtime content with apps.")
	case !s.now.Before(end) && s.otherBot != "":
		return decision{action: joinOther, otherJob: s.otherBot, detail: "the bot of another job was in the meeting until it was over"}
	case !s.now.Before(end):
		return s.missed("")
	case s.otherBot != "": // it goes in once that has left
		return decision{action: queue, until: job.Earliest(s.now.Add(capacityRetry), end),
			detail: "the team has a bot in this meeting, of job " + s.otherBot}
	case s.noCapacity != "":
		return decision{action: queue, until: job.Earliest(s.now.Add(capacityRetry), end), detail: s.noCapacity}
	}
	return decision{action: startAttempt}
}

// decidePrelaunched watches the bot that was launched before joinAt, and starts
// the first attempt with it at joinAt. A bot that fails before is replaced at
// joinAt.
func (s situation) decidePrelaunched() decision {
	joinAt, early := s.job.JoinAt, s.now.Before(s.job.JoinAt)
	launched := !s.job.LaunchedAt.IsZero()
	if reason, lost := s.lostBot(); lost && (launched || s.bot == launch.Gone) {
		return decision{action: stopPrelaunched, detail: s.explain(reason)}
	}
	switch {
	case !launched && s.bot == launch.Running:
		return decision{action: adoptBot}
	case !launched && s.bot != launch.Starting && s.otherNode:
		return decision{action: stopPrelaunched, detail: "the node that was to launch the bot is gone"}
	case !early && !s.now.Before(s.startBy()):
		return decision{action: stopPrelaunched, detail: s.missed("").detail}
	case !early && s.otherBot != "":
		return decision{action: stopPrelaunched, detail: "the team has another bot in the meeting"}
	case !early:
		return decision{action: startPrelaunched}
	case launched:
		return waitUntil(job.Earliest(joinAt, s.heartbeatDue()))
	case s.bot == launch.Starting:
		return waitUntil(joinAt)
	}
	return decision{action: launchBot}
}

// decideLaunch handles an attempt that has been started and whose bot has not,
// or has been handed to an engine that has yet to start it.
func (s situation) decideLaunch() decision {
	end, startBy := s.job.AttemptStartedAt.Add(s.timeouts.Launch), s.startBy()
	if !s.wasIn {
		end = job.Earliest(end, startBy)
	}
	switch {
	case s.bot == launch.Running:
		return decision{action: adoptBot}
	case s.bot == launch.Gone:
		return s.decideLost(s.explain("the bot ended before its first heartbeat"))
	case s.bot == launch.Starting && s.now.Before(end):
		if slow := s.job.AttemptStartedAt.Add(slowStart); s.now.Before(slow) {
			return waitUntil(job.Earliest(end, slow))
		}
		detail := s.explain("the bot has not started yet")
		if told, _, _ := strings.Cut(detail, " ("); strings.HasPrefix(s.job.LaunchError, told) { // details of a cluster change often
			return waitUntil(end)
		}
		return decision{action: reportDelay, until: end, detail: detail}
	case s.otherNode:
		// Only the node that started an attempt launches its bot: there would be
		// two bots if that node came back.
		return s.decideLost("the node that started the attempt is gone")
	case s.bot != launch.Starting && s.job.LaunchFailures < minLaunches && s.now.Before(startBy):
		return decision{action: launchBot} // however late: the dispatcher stopped before it tried
	case s.now.Before(end):
		return decision{action: launchBot}
	}
	reason := cmp.Or(s.botReason, s.job.LaunchError)
	if !s.wasIn && !s.now.Before(startBy) {
		return s.missed(reason)
	}
	detail := withReason(fmt.Sprintf("the bot could not be started within %s", s.timeouts.Launch), reason)
	return s.salvageOrFail(job.DispatchTimeout, detail)
}

// decideLost launches another bot while the meeting can still be in progress,
// and otherwise keeps what has been recorded.
func (s situation) decideLost(reason string) decision {
	status, end := s.job.Status, s.startBy()
	attempts := s.job.Attempts - min(s.stops, s.timeouts.MaxStops)
	wanted := !s.leaving && !status.Teardown() && status != job.RecordingStopped && attempts < s.timeouts.MaxAttempts
	retry := wanted && s.now.Before(end) && !s.noStream
	switch {
	case retry && s.noCapacity != "":
		return waitUntil(job.Earliest(s.now.Add(capacityRetry), end)) // or another node has capacity
	case retry:
		return decision{action: startAttempt, detail: reason}
	case s.hasMedia:
		return decision{action: salvage, detail: reason}
	case wanted && !s.wasIn:
		return s.missed(reason)
	case s.leaving:
		return fail(job.MeetingEnded, "the bot was told to leave, and nothing was recorded; "+reason)
	case s.bot == launch.Gone || s.job.BotLost != "":
		return fail(job.InternalError, reason+", and nothing was recorded")
	case status.InCall() || status.Teardown():
		return fail(job.NetworkLoss, reason+", and nothing was recorded")
	}
	return fail(job.DispatchTimeout, reason)
}

// decideCancelled waits for the bot of a cancelled job to upload what it
// recorded, and finalizes the recording when the bot does not.
func (s situation) decideCancelled() decision {
	_, lost := s.lostBot()
	end := s.leaveBy()
	switch {
	case !s.job.HasBot() && s.job.StartedAt.IsZero():
		return decision{action: cleanUp} // it never had a bot, or only one that was stopped before joinAt
	case s.bot == launch.Unknown && s.job.HeartbeatAt.IsZero() && s.job.StartedAt.IsZero():
		return decision{action: cleanUp} // a bot that starts later is told to leave
	case !lost && s.now.Before(end):
		return waitUntil(job.Earliest(end, s.heartbeatDue()))
	case s.hasMedia:
		return decision{action: salvage, detail: "cancelled"}
	}
	return decision{action: cleanUp}
}

// lostBot reports whether a bot that was started is gone, silent, or was stopped by
// someone else than the service.
func (s situation) lostBot() (reason string, lost bool) {
	switch {
	case s.job.BotLost != "":
		return s.job.BotLost, true
	case s.bot == launch.Gone:
		return "the bot's process has ended unexpectedly", true
	case s.now.Before(s.heartbeatDue()):
		return "", false
	case s.job.HeartbeatAt.IsZero():
		return fmt.Sprintf("the bot was started and sent no heartbeat for %s", s.timeouts.FirstHeartbeat), true
	}
	return fmt.Sprintf("the bot's last heartbeat was at %s", s.job.HeartbeatAt.Format(time.RFC3339)), true
}

// explain adds the launcher's reason to a sentence about a bot.
func (s situation) explain(sentence string) string { return withReason(sentence, s.botReason) }

func withReason(sentence, reason string) string {
	if reason == "" {
		return sentence
	}
	return sentence + ": " + reason
}

// missed fails a job that no bot could be sent for in time.
func (s situation) missed(reason string) decision {
	detail := "the meeting was over at "
	if s.job.Options.StartBefore.IsZero() {
		detail = "no bot could be sent by the latest start (STANDIN_LATEST_START) at "
	}
	detail += s.startBy().UTC().Format(time.RFC3339)
	return fail(job.DispatchTimeout, withReason(detail, reason))
}

// deadline is when the job has been in its state for too long. While bots could
// not reach the service they could not report progress: that time does not
// count.
func (s situation) deadline() time.Time {
	r := s.job
	since := job.Latest(r.StatusSince, s.reachable)
	switch {
	case r.Status == job.Dispatching: // the bot may have been launched before joinAt
		return job.Latest(r.LaunchedAt, r.JoinAt, s.reachable).Add(s.timeouts.FirstHeartbeat + s.timeouts.Joining)
	case r.Status == job.Joining:
		return since.Add(s.timeouts.Joining)
	case r.Status == job.EnteringLobby:
		return since.Add(seconds(r.AutoLeave.AfterEntryDelaySeconds) + s.timeouts.Lobby)
	case r.Status.Teardown():
		return since.Add(s.timeouts.Teardown)
	}
	started := r.AttemptStartedAt
	if started.IsZero() {
		started = r.StartedAt // the operator ran the bot before its time
	}
	return job.Latest(started.Add(seconds(r.AutoLeave.AfterEntryDelaySeconds)+maxLength(r)), s.reachable).Add(s.timeouts.Meeting)
}

// heartbeatDue is when the bot has been silent for too long.
func (s situation) heartbeatDue() time.Time {
	if s.job.HeartbeatAt.IsZero() {
		return job.Latest(s.job.LaunchedAt, s.reachable).Add(s.timeouts.FirstHeartbeat)
	}
	return job.Latest(s.job.HeartbeatAt, s.reachable).Add(s.timeouts.Heartbeat)
}

// leaveBy is until when the bot of an ended job may run.
func (s situation) leaveBy() time.Time {
	return job.Latest(s.job.StatusSince, s.reachable).Add(s.timeouts.Leaving)
}

// startBy is until when a bot may be sent: others may be in the room later. A bot that is
// lost is replaced until the job's own maximum length is over.
func (s situation) startBy() time.Time {
	r := s.job
	switch {
	case s.wasIn:
		return r.StartedAt.Add(maxLength(r))
	case !r.Options.StartBefore.IsZero():
		return r.Options.StartBefore.Time()
	}
	return job.Latest(r.JoinAt, r.CreatedAt).Add(s.latestStart)
}

// maxLength is the job's own maximum length of the meeting.
func maxLength(r job.Record) time.Duration { return seconds(r.AutoLeave.AfterMaxSeconds) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
