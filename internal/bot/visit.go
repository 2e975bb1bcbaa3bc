package bot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/hostpolicy"
	"standin/internal/bot/meeting"
	"standin/internal/job"
)

// phase is how far a visit has come.
type phase int

const (
	arriving phase = iota // on the way to the join button
	waiting               // to be let in
	inside
)

// visit is one browser's stay at the meeting. One loop owns all of it; what
// takes its time is done beside the loop, so that an order to leave is heard at
// any moment.
type visit struct {
	*bot
	number  int
	browser *browser.Browser // nil until it is open, and so is page
	page    *browser.Page

	phase phase
	hands lane // what is done on the meeting's page
	desk  lane // what is done about the recording
	take  take

	watching  sync.WaitGroup
	sights    chan sighting // nil until the page is watched
	last      meeting.Observation
	lastAt    time.Time // of the last readable look
	home      string    // the meeting's host
	connected bool      // see sighting
	trouble   trouble

	admitted time.Time // this visit's coming into the meeting, the last one
	wasIn    bool
}

// visit goes to the meeting with a new browser and stays until it ends.
func (b *bot) visit(ctx context.Context, number int) ending {
	v := &visit{bot: b, number: number, take: newTake()}
	return v.depart(v.run(ctx))
}

// run is the course of the visit until its end is known.
func (v *visit) run(ctx context.Context) ending {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v.open(ctx)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		end, over := v.next(ctx, ticker.C)
		if over && ctx.Err() != nil && (end.again || end.reason == "") {
			end = shutdown() // what failed was only cut short
		}
		if over {
			return end
		}
	}
}

// next takes in the next thing that happens; true when it ends the visit.
func (v *visit) next(ctx context.Context, tick <-chan time.Time) (ending, bool) {
	var browserGone, pageCrashed <-chan struct{}
	if v.browser != nil {
		browserGone, pageCrashed = v.browser.Done(), v.page.Crashed()
	}
	select {
	case <-ctx.Done():
		return shutdown(), true
	case <-v.channel.Done():
		return v.superseded(), true
	case command := <-v.channel.Commands():
		return v.order(ctx, command)
	case err := <-v.hands.done:
		return v.hands.finished(ctx, err)
	case err := <-v.desk.done:
		return v.desk.finished(ctx, err)
	case seen := <-v.sights:
		return v.saw(ctx, seen)
	case <-browserGone:
		return v.lost(v.browser.Err()), true
	case <-pageCrashed:
		return v.lost(browser.ErrPageCrashed), true
	case <-v.take.ended():
		return v.recorderEnded(ctx)
	case <-tick:
		return v.check(ctx, time.Now())
	}
}

// open starts a browser and opens the meeting's page.
func (v *visit) open(ctx context.Context) {
	var chromium *browser.Browser
	var page *browser.Page
	v.hands.add(ctx, errand{
		name: "open the meeting's page", patience: startTime + v.Timeouts.Open + max(0, time.Until(v.JoinAt)),
		do: func(ctx context.Context) (err error) {
			chromium, page, err = v.openBrowser(ctx, v.number)
			return err
		},
		then: func(ctx context.Context, err error) (ending, bool) {
			if err != nil {
				return v.openFailed(err), true
			}
			v.browser, v.page = chromium, page
			v.join(ctx)
			return ending{}, false
		},
	})
}

// openFailed is the ending for a page that could not even be opened.
func (v *visit) openFailed(err error) ending {
	end := failed(job.InternalError, err.Error())
	var refused *browser.NavigationBlockedError
	if errors.As(err, &refused) {
		return failed(job.MeetingNotFound, fmt.Sprintf("The meeting's address leads to %s, which is no meeting platform's own; "+
			"an operator who trusts it adds it to %s.", refused.Host, hostpolicy.AllowedHostsSetting))
	}
	var navigation *browser.NavigationError
	if errors.As(err, &navigation) {
		end = failed(job.NetworkLoss, err.Error())
	}
	end.again = true
	return end
}

// join goes from the opened page to the pressed join button.
func (v *visit) join(ctx context.Context) {
	v.phase = arriving
	v.hands.add(ctx, errand{
		name: "join", patience: v.Timeouts.Join,
		do: func(ctx context.Context) error {
			return v.adapter.Join(ctx, v.page, meeting.JoinOptions{Name: v.DisplayName, Passcode: v.address.Passcode})
		},
		then: func(ctx context.Context, err error) (ending, bool) {
			if err != nil {
				return v.joinFailed(err), true
			}
			now := time.Now()
			if v.asked.IsZero() {
				v.asked = now
			}
			v.report.joined(now)
			v.wait(ctx, now)
			return ending{}, false
		},
	})
}

// wait waits to be let in.
func (v *visit) wait(ctx context.Context, now time.Time) {
	v.phase, v.trouble, v.lastAt = waiting, trouble{}, now
	if v.sights == nil {
		v.sights = make(chan sighting)
		v.watching.Go(func() { watch(ctx, v.adapter, v.page, v.sights) })
	}
}

// joinFailed is the ending for a join button that was not reached.
func (v *visit) joinFailed(err error) ending {
	var screen *meeting.ScreenError
	if !errors.As(err, &screen) {
		return v.lost(err)
	}
	v.last = screen.Observation
	code, detail, ok := v.last.Failure()
	if !ok {
		return v.lost(err)
	}
	end := failed(code, detail)
	end.again = v.last.Screen == meeting.CannotConnect
	if screen.Cause != nil {
		end.detail += fmt.Sprintf(" The way to the join button took longer than %s.", v.Timeouts.Join)
	}
	end.unclear = !v.last.Screen.Terminal()
	return end
}

// lost is the ending for a page or browser that can no longer be used.
func (v *visit) lost(err error) ending {
	end := failed(job.InternalError, err.Error())
	var gone *browser.GoneError
	if errors.As(err, &gone) || errors.Is(err, browser.ErrPageCrashed) {
		end.again, end.reason = true, reasonBrowserLost
		return end
	}
	end.unclear = true
	return end
}

// saw takes in a look at the page.
func (v *visit) saw(ctx context.Context, s sighting) (ending, bool) {
	if s.err != nil {
		if ctx.Err() == nil {
			v.Log.Debug("a look at the page gave nothing", "error", s.err)
		}
		return ending{}, false
	}
	v.lastAt = s.at
	if v.phase == arriving {
		return ending{}, false // whoever joins looks for himself
	}
	if s.seen.Screen != v.last.Screen {
		v.Log.Info("the page shows another screen", "screen", s.seen.Screen, "evidence", s.seen.Evidence)
	}
	v.last, v.connected = s.seen, s.connected
	v.trouble = v.trouble.follow(s.at, stateOf(s, v.home))
	v.tidy(ctx)
	if v.phase == waiting {
		return v.sawFromOutside(ctx, s)
	}
	return v.sawFromInside(ctx, s)
}

// tidy has the page tidied up when nothing else is being done on it.
func (v *visit) tidy(ctx context.Context) {
	if v.last.Screen.Terminal() || !v.hands.idle() {
		return
	}
	observation := v.last
	v.hands.add(ctx, errand{
		name: "tidy up", patience: lookTime,
		do: func(ctx context.Context) error { return v.adapter.Tidy(ctx, v.page, observation) },
		then: func(ctx context.Context, err error) (ending, bool) {
			if err != nil && ctx.Err() == nil {
				v.Log.Debug("tidying up failed", "error", err)
			}
			return ending{}, false
		},
	})
}

// sawFromOutside acts on a look of a bot that waits to be let in.
func (v *visit) sawFromOutside(ctx context.Context, s sighting) (ending, bool) {
	switch screen := s.seen.Screen; {
	case screen == meeting.Lobby || screen == meeting.HostAbsent:
		return v.told(job.BotEnteringLobby, nil)
	case screen == meeting.InMeeting:
		return v.enter(ctx, s)
	case screen.Terminal() && screen != meeting.CannotConnect:
		code, detail, _ := s.seen.Failure()
		return failed(code, detail), true
	}
	return ending{}, false
}

// told tells an event in the middle of a visit.
func (v *visit) told(kind job.Trigger, data any) (ending, bool) {
	if err := v.tell(kind, data); err != nil {
		return failed(job.InternalError, err.Error()), true
	}
	return ending{}, false
}

// check looks at the clock: whether something has lasted too long.
func (v *visit) check(ctx context.Context, now time.Time) (ending, bool) {
	if by := v.clock.set(now, time.Now()); by != 0 {
		v.Log.Warn("the machine's clock was set; what the bot tells goes on by the old one", "by", by)
	}
	if end, over := v.overdue(now); over {
		return end, true
	}
	switch v.phase {
	case waiting:
		return v.checkWaiting(ctx, now)
	case inside:
		return v.checkInside(ctx, now)
	}
	return ending{}, false
}

// dead is the ending for a page that has not answered for too long.
func (v *visit) dead(now time.Time) (ending, bool) {
	if now.Sub(v.lastAt) < v.Timeouts.Unresponsive {
		return ending{}, false
	}
	return interrupted(fmt.Sprintf("The page gave no answer for %s.", v.Timeouts.Unresponsive)), true
}

// checkWaiting is check for a bot that waits to be let in. Only the job's entry
// delay counts here (platforms, Failure codes), unless the page is of no use.
func (v *visit) checkWaiting(ctx context.Context, now time.Time) (ending, bool) {
	if end, over := v.dead(now); over {
		return end, true
	}
	if now.Sub(v.asked) >= seconds(v.AutoLeave.AfterEntryDelaySeconds) {
		code, detail, ok := v.last.Failure()
		if !ok {
			code, detail = job.LobbyTimeout, "Nobody let the bot in."
		}
		end := failed(code, fmt.Sprintf("%s It waited %d s.", detail, v.AutoLeave.AfterEntryDelaySeconds))
		end.unclear = v.last.Screen == meeting.Unknown || v.last.Screen == meeting.PreJoin
		return end, true
	}
	switch v.trouble.cure(now, v.Timeouts, true) {
	case joinAgain:
		return v.goBack(ctx, arriving, "The page was loaded again.")
	case comeAgain:
		return interrupted(fmt.Sprintf("The page had no connection for %s (%s).", v.Timeouts.Connection, v.last.Evidence)), true
	}
	return ending{}, false
}

// goBack takes the bot back to an earlier phase in the same page, as the page
// itself has done. What was recorded is kept; recording goes on once the bot is
// let in again.
func (v *visit) goBack(ctx context.Context, to phase, why string) (ending, bool) {
	wasInside := v.phase == inside
	if wasInside {
		v.interruption = ending{reason: reasonConnection, detail: why}
		if to == waiting {
			v.interruption.reason = reasonRemoved
		}
	}
	others, ok := v.comebacks.take(time.Now())
	if !ok {
		return interrupted(fmt.Sprintf("%s It was so %d times within %s.", why, others, comebackWindow)), true
	}
	v.Log.Warn("joining again in the same page", "why", why)
	v.phase = to
	if wasInside {
		v.endStretch(ctx, "rejoining")
	}
	v.postponed = append(v.hands.clear(ctx), v.postponed...)
	if to == arriving {
		v.join(ctx)
		return ending{}, false
	}
	v.asked = time.Now()
	v.wait(ctx, v.asked)
	return ending{}, false
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
