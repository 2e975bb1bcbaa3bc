package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/ingest"
	"standin/internal/job"
)

// stay records the meeting until it ends, the bot is told to leave, or one of
// the job's knobs trips.
func (v *visit) stay(ctx context.Context) ending {
	v.take = newTake(v.bot, v.browser, v.page)
	if err := v.take.start(ctx); err != nil {
		if end := v.lost(err); end.lostBrowser {
			return end
		}
		return ending{code: job.InternalError, reason: reasonNoRecording, detail: err.Error()}
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	reports := time.NewTicker(reportTime)
	defer reports.Stop()
	for {
		select {
		case <-ctx.Done():
			return shutdown()
		case <-v.channel.Done():
			return v.superseded()
		case command := <-v.channel.Commands():
			if end, leave := v.obey(ctx, command); leave {
				return end
			}
		case <-v.browser.Done():
			return v.lost(&browser.GoneError{Cause: v.browser.Err()})
		case <-v.page.Crashed():
			return v.lost(browser.ErrPageCrashed)
		case <-v.take.ended():
			if end, over := v.recordAgain(ctx); over {
				return end
			}
		case <-reports.C:
			v.take.note()
		case <-ticker.C:
			if end, over := v.lookFromInside(ctx); over {
				return end
			}
		}
	}
}

// lookFromInside looks at the page once while the bot is in the meeting.
func (v *visit) lookFromInside(ctx context.Context) (ending, bool) {
	if end, ok := v.look(ctx); !ok {
		return end, true
	}
	now := time.Now()
	switch v.last.Screen {
	case meeting.InMeeting:
		v.report.saw(v.last.Participants, now)
	case meeting.Removed:
		return v.endedOn(reasonRemoved), true
	case meeting.Ended:
		return v.endedOn(reasonHostEnded), true
	}
	v.channel.SetRecorded(v.take.length())
	return v.autoLeave(now)
}

// endedOn is the ending for a screen that says that the meeting is over for
// the bot: a success when something was recorded (contract, State machine).
func (v *visit) endedOn(reason string) ending {
	code, detail, _ := v.last.Failure()
	return ending{reason: reason, code: code, detail: detail}
}

// autoLeave holds the job's knobs against what was seen and heard; each fires
// on its own (specification, AutoLeaveConfig).
func (v *visit) autoLeave(now time.Time) (ending, bool) {
	v.alone = aloneSince(v.alone, v.last, now)
	return tripped(v.AutoLeave, company{
		admitted: v.report.admittedAt(),
		heard:    v.take.lastSound(),
		alone:    v.alone,
		isAlone:  showsNobody(v.last),
	}, now)
}

// company is what the knobs are held against.
type company struct {
	admitted time.Time
	heard    time.Time // when something was last heard; zero when nothing was
	alone    time.Time // since when nobody else was seen; zero while somebody is there
	isAlone  bool      // the last look showed that nobody else is there
}

// tripped reports whether a knob has tripped, and which.
func tripped(knobs job.AutoLeave, c company, now time.Time) (ending, bool) {
	quiet := c.admitted
	if c.heard.After(quiet) {
		quiet = c.heard
	}
	switch {
	case c.isAlone && now.Sub(c.alone) >= seconds(knobs.AfterSoloSeconds):
		return ending{reason: reasonAlone, detail: fmt.Sprintf("alone in the meeting for %d s", knobs.AfterSoloSeconds)}, true
	case now.Sub(quiet) >= seconds(knobs.AfterSilenceSeconds):
		return ending{reason: reasonSilence, detail: fmt.Sprintf("nothing was heard for %d s", knobs.AfterSilenceSeconds)}, true
	case now.Sub(c.admitted) >= seconds(knobs.AfterMaxSeconds):
		return ending{reason: reasonMaximum, detail: fmt.Sprintf("in the meeting for %d s", knobs.AfterMaxSeconds)}, true
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

// obey does what a command says, and acknowledges it: one that cannot be done
// is not sent for ever.
func (v *visit) obey(ctx context.Context, command ingest.Command) (ending, bool) {
	v.channel.Ack(command.ID)
	ctx, cancel := context.WithTimeout(ctx, obeyTime)
	defer cancel()
	var err error
	switch command.Kind {
	case ingest.LeaveCall:
		return ending{reason: reasonCommand, detail: "told to leave"}, true
	case ingest.PauseRecording:
		err = v.take.pause(ctx)
	case ingest.ResumeRecording:
		err = v.take.resume(ctx)
	case ingest.StopRecording:
		err = v.take.stop(ctx)
	case ingest.SendChatMessage:
		var args struct {
			Text string `json:"text"`
		}
		if err = json.Unmarshal(command.Args, &args); err == nil {
			err = v.adapter.SendChat(ctx, v.page, args.Text)
		}
	case ingest.RequestRecordingPermission:
		err = v.permissionNotAsked(command.ID)
	default:
		err = errors.New("this version of the bot cannot do it")
	}
	v.Log.Info("command", "command", command.ID, "kind", command.Kind, "error", err)
	return ending{}, false
}

// permissionNotAsked answers a request for the host's permission to record:
// this version of the bot cannot ask, and a consumer who waits for an answer
// must not wait for ever.
func (v *visit) permissionNotAsked(commandID string) error {
	granted := false
	return v.tell(job.BotPermissionResponse, struct {
		ingest.EventData
		CommandID string `json:"commandId"`
	}{
		EventData: ingest.EventData{Granted: &granted, Outcome: "timeout", Detail: "the host was not asked: this version of the bot cannot"},
		CommandID: commandID,
	})
}

// recordAgain begins a new stretch after the recorder ended by itself.
func (v *visit) recordAgain(ctx context.Context) (ending, bool) {
	why := v.take.close()
	v.Log.Warn("the recorder ended by itself; starting it again", "error", why)
	err := v.take.start(ctx)
	if err == nil {
		return ending{}, false
	}
	if end := v.lost(err); end.lostBrowser {
		return end, true
	}
	return ending{code: job.InternalError, reason: reasonNoRecording, detail: fmt.Sprintf("recording ended (%v) and did not start again: %v", why, err)}, true
}

// depart ends the recording and leaves the meeting, as far as there still is
// a browser to do it with.
func (v *visit) depart(end ending) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if err := v.take.finish(ctx); err != nil {
		v.Log.Warn("the recording does not end in order", "error", err)
	}
	if !end.lostBrowser { // after a crash the recording may go on
		if v.report.recorded() {
			if err := v.tell(job.BotRecordingStopped, nil); err != nil {
				v.Log.Error("cannot tell that the recording has stopped", "error", err)
			}
		}
		if !v.last.Screen.Over() {
			v.leave()
		}
	}
	v.report.left(time.Now(), end)
}
