package bot

import (
	"context"
	"fmt"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/ingest"
	"standin/internal/job"
)

// reportTime is the time between reports when nothing else happens.
const reportTime = 10 * time.Second

// enter begins the stay in the meeting, or goes on with it.
func (v *visit) enter(ctx context.Context, s sighting) (ending, bool) {
	v.phase, v.wasIn, v.home, v.admitted = inside, true, s.host, s.at
	v.asked = time.Time{}
	if v.firstIn.IsZero() {
		v.firstIn = s.at
	}
	v.alone = time.Time{}
	v.report.admitted(s.at)
	if err := v.tell(job.BotInMeeting, nil); err != nil {
		return failed(job.InternalError, err.Error()), true
	}
	if v.paused {
		v.report.paused(s.at)
	}
	switch {
	case v.consent.open(): // the page that was asked is gone
		v.ask(ctx)
	case v.RequirePermission && !v.permitted:
		v.requestPermission(ctx, "")
	}
	v.record(ctx)
	orders := v.postponed
	v.postponed = nil
	for _, command := range orders {
		if end, over := v.obey(ctx, command); over {
			return end, true
		}
	}
	return v.sawFromInside(ctx, s)
}

// sawFromInside acts on a look of a bot that is in the meeting.
func (v *visit) sawFromInside(ctx context.Context, s sighting) (ending, bool) {
	switch s.seen.Screen {
	case meeting.Removed:
		return v.endedOn(reasonRemoved), true
	case meeting.Ended:
		return v.endedOn(reasonHostEnded), true
	case meeting.InMeeting:
		v.report.saw(s.seen.Participants, s.at)
		v.report.played(s.seen.TrackOwners)
	}
	v.alone = aloneSince(v.alone, s.seen, s.at)
	if end, over := v.sawNotetakers(s.seen.Participants); over {
		return end, true
	}
	return v.sawAnswer(ctx, s.seen)
}

// endedOn is the ending for a screen that says that the meeting is over for
// the bot: a success when something was recorded (contract, State machine).
func (v *visit) endedOn(reason string) ending {
	code, detail, _ := v.last.Failure()
	return ending{reason: reason, code: code, detail: detail}
}

// checkInside is check for a bot that is in the meeting.
func (v *visit) checkInside(ctx context.Context, now time.Time) (ending, bool) {
	if end, over := v.dead(now); over {
		return end, true
	}
	v.hear()
	v.channel.SetRecordedDuration(v.length())
	if now.Sub(v.reportedAt) >= reportTime {
		v.reportedAt = now
		v.note()
		v.listenAgain(ctx)
		v.recordAgain(ctx)
	}
	alive := v.connected || !v.heard.IsZero() && now.Sub(v.heard) < v.Timeouts.Unknown
	switch v.trouble.cure(now, v.Timeouts, alive) {
	case joinAgain:
		return v.goBack(ctx, arriving, "The page was loaded again.")
	case waitAgain:
		return v.goBack(ctx, waiting, "The bot was put back into the lobby.")
	case comeAgain:
		return interrupted(v.strayed(now)), true
	}
	if end, over := v.checkAnswer(ctx, now); over {
		return end, true
	}
	return tripped(v.AutoLeave, company{
		admitted: v.admitted,
		heard:    v.heard,
		deaf:     v.deaf(now),
		alone:    v.alone,
		isAlone:  showsNobody(v.last),
	}, now)
}

// strayed tells, for people, what is wrong with the page.
func (v *visit) strayed(now time.Time) string {
	lasted := now.Sub(v.trouble.since).Round(time.Second)
	switch v.trouble.state {
	case offline:
		return fmt.Sprintf("The page had no connection for %s (%s).", lasted, v.last.Evidence)
	case astray:
		return fmt.Sprintf("For %s the page was elsewhere: %s (%s).", lasted, v.last.Screen, v.last.Evidence)
	}
	return fmt.Sprintf("For %s the page was not recognised, and nothing arrived from the meeting.", lasted)
}

// overdue holds the job's ceiling, which counts from the first admission, in
// every phase.
func (b *bot) overdue(now time.Time) (ending, bool) {
	if b.firstIn.IsZero() || now.Sub(b.firstIn) < seconds(b.AutoLeave.AfterMaxSeconds) {
		return ending{}, false
	}
	return ending{reason: reasonMaximum, detail: fmt.Sprintf("in the meeting for %d s", b.AutoLeave.AfterMaxSeconds)}, true
}

// company is what the knobs are held against.
type company struct {
	admitted time.Time // by this visit
	heard    time.Time // when something was last heard; zero when nothing was
	deaf     bool      // nobody listens now: silence is no evidence
	alone    time.Time // since when nobody else was seen; zero while somebody is there
	isAlone  bool      // the last look showed that nobody else is there
}

// tripped reports whether a knob has tripped, and which: each fires on its own
// (specification, AutoLeaveConfig).
func tripped(knobs job.AutoLeave, c company, now time.Time) (ending, bool) {
	quiet := c.admitted
	if c.heard.After(quiet) {
		quiet = c.heard
	}
	switch {
	case c.isAlone && now.Sub(c.alone) >= seconds(knobs.AfterSoloSeconds):
		return ending{reason: reasonAlone, detail: fmt.Sprintf("alone in the meeting for %d s", knobs.AfterSoloSeconds)}, true
	case !c.deaf && now.Sub(quiet) >= seconds(knobs.AfterSilenceSeconds):
		return ending{reason: reasonSilence, detail: fmt.Sprintf("nothing was heard for %d s", knobs.AfterSilenceSeconds)}, true
	}
	return ending{}, false
}

// aloneSince follows since when nobody else was in the meeting. A page that
// does not tell, because its toolbars are hidden or it is drawn anew, changes
// nothing: it is no evidence of company.
func aloneSince(since time.Time, seen meeting.Observation, now time.Time) time.Time {
	switch {
	case seen.Screen == meeting.InMeeting && seen.Others > 0:
		return time.Time{}
	case since.IsZero() && showsNobody(seen):
		return now
	}
	return since
}

// showsNobody reports whether the page was seen to show nobody else.
func showsNobody(seen meeting.Observation) bool {
	return seen.Screen == meeting.InMeeting && seen.Others == 0
}

// sawNotetakers tells of each notetaker of another house once, and ends the
// visit where the job wants that (specification, AutoLeaveConfig).
func (v *visit) sawNotetakers(participants []meeting.Participant) (ending, bool) {
	found := ""
	for _, one := range participants {
		known, ok := v.notetakers.Match(one.Name)
		if !ok {
			continue
		}
		found = known
		if v.detected[one.ID] {
			continue
		}
		v.detected[one.ID] = true
		leaves := v.AutoLeave.OnBotDetected
		data := ingest.EventData{DetectedBotName: known, LeftMeeting: &leaves, Detail: "in the roster as " + one.Name}
		if end, over := v.told(job.BotCompetingDetected, data); over {
			return end, true
		}
	}
	if found != "" && v.AutoLeave.OnBotDetected {
		return ending{reason: reasonCompeting, detail: "another notetaker is in the meeting: " + found}, true
	}
	return ending{}, false
}
