package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/ingest"
	"standin/internal/job"
)

const (
	lookEvery  = 250 * time.Millisecond // at the page
	lookTime   = 5 * time.Second        // for one look
	startTime  = 60 * time.Second       // browser and page
	joinTime   = 90 * time.Second       // from the page to the join button
	leaveTime  = 10 * time.Second
	recordTime = 20 * time.Second // to start the recorder
	obeyTime   = 30 * time.Second // to do what a command says
	lostTime   = 60 * time.Second // without a readable page, or on a page that cannot connect
	reportTime = 10 * time.Second // between reports when nothing else happens
)

// visit is one browser's stay at the meeting.
type visit struct {
	*bot
	browser *browser.Browser
	page    *browser.Page

	last    meeting.Observation
	lastAt  time.Time // of the last readable look
	wrongAt time.Time // since when the page shows no meeting; zero while it does

	take  *take     // the recording; nil until admitted
	alone time.Time // since when nobody else was seen; zero while somebody is there
}

// visit goes to the meeting with a new browser and stays until it ends.
func (b *bot) visit(ctx context.Context, try int) ending {
	v := &visit{bot: b}
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var err error
	v.browser, v.page, err = b.openBrowser(starting, try)
	if err != nil {
		return v.openFailed(ctx, err)
	}
	defer func() {
		if err := v.browser.Close(); err != nil {
			b.Log.Warn("the browser does not end cleanly", "error", err)
		}
	}()
	end, ok := v.join(ctx)
	if !ok {
		return end
	}
	end = v.stay(ctx)
	v.depart(end)
	return end
}

// openFailed is the ending for a page that could not even be opened.
func (v *visit) openFailed(ctx context.Context, err error) ending {
	var navigation *browser.NavigationError
	switch {
	case ctx.Err() != nil:
		return shutdown()
	case errors.As(err, &navigation):
		return failed(job.NetworkLoss, err.Error())
	}
	return failed(job.InternalError, err.Error())
}

// join goes from the opened page into the meeting; false when it did not get
// there.
func (v *visit) join(ctx context.Context) (ending, bool) {
	joining, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	stop := v.leaveOnOrder(cancel)
	err := v.adapter.Join(joining, v.page, meeting.Visitor{Name: v.DisplayName, Passcode: v.address.Passcode})
	if order, ordered := stop(); ordered {
		v.leave()
		return order, false
	}
	if ctx.Err() != nil {
		v.leave()
		return shutdown(), false
	}
	if err != nil {
		return v.joinFailed(err), false
	}
	asked := time.Now()
	v.report.joined(asked)
	return v.await(ctx, asked)
}

// leaveOnOrder watches for orders to leave while joining, and calls cancel
// when one comes. The function it returns ends the watch and tells.
func (v *visit) leaveOnOrder(cancel context.CancelFunc) func() (ending, bool) {
	quit, done := make(chan struct{}), make(chan struct{})
	var order ending
	var ordered bool
	go func() {
		defer close(done)
		for {
			select {
			case command := <-v.channel.Commands():
				if order, ordered = v.obeyOutside(command); ordered {
					cancel()
					return
				}
			case <-v.channel.Done():
				order, ordered = v.superseded(), true
				cancel()
				return
			case <-quit:
				return
			}
		}
	}()
	return func() (ending, bool) { close(quit); <-done; return order, ordered }
}

// obeyOutside obeys a command before the bot is in the meeting: leaving is
// all that can be done there.
func (v *visit) obeyOutside(command ingest.Command) (ending, bool) {
	v.channel.Ack(command.ID)
	if command.Kind == ingest.LeaveCall {
		return ending{reason: reasonCommand, detail: "told to leave before it was admitted"}, true
	}
	v.Log.Warn("a command came before the bot was in the meeting", "command", command.ID, "kind", command.Kind)
	return ending{}, false
}

// joinFailed is the ending for a join button that was not reached.
func (v *visit) joinFailed(err error) ending {
	var screen *meeting.ScreenError
	if errors.As(err, &screen) {
		if code, detail, ok := screen.Observation.Failure(); ok {
			return failed(code, detail)
		}
	}
	return v.lost(err)
}

// lost is the ending for a page or browser that can no longer be used.
func (v *visit) lost(err error) ending {
	end := failed(job.InternalError, err.Error())
	var gone *browser.GoneError
	if errors.As(err, &gone) || errors.Is(err, browser.ErrPageCrashed) {
		end.lostBrowser, end.reason = true, reasonBrowserLost
	}
	return end
}

// await waits to be let in. Only the job's entry delay counts here (platforms,
// Failure codes).
func (v *visit) await(ctx context.Context, asked time.Time) (ending, bool) {
	patience := time.NewTimer(time.Until(asked.Add(seconds(v.AutoLeave.AfterEntryDelaySeconds))))
	defer patience.Stop()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			v.leave()
			return shutdown(), false
		case <-v.channel.Done():
			v.leave()
			return v.superseded(), false
		case command := <-v.channel.Commands():
			if end, leave := v.obeyOutside(command); leave {
				v.leave()
				return end, false
			}
		case <-patience.C:
			v.leave()
			code, detail, ok := v.last.Failure()
			if !ok {
				code, detail = job.LobbyTimeout, "Nobody let the bot in."
			}
			return failed(code, fmt.Sprintf("%s It waited %d s.", detail, v.AutoLeave.AfterEntryDelaySeconds)), false
		case <-v.browser.Done():
			return v.lost(&browser.GoneError{Cause: v.browser.Err()}), false
		case <-ticker.C:
		}
		if end, decided, in := v.lookFromOutside(ctx); decided {
			return end, in
		}
	}
}

// lookFromOutside looks at the page once while the bot waits to be let in.
func (v *visit) lookFromOutside(ctx context.Context) (end ending, decided, in bool) {
	if end, ok := v.look(ctx); !ok {
		return end, true, false
	}
	switch screen := v.last.Screen; {
	case screen == meeting.Lobby || screen == meeting.HostAbsent:
		if err := v.tell(job.BotEnteringLobby, nil); err != nil {
			return failed(job.InternalError, err.Error()), true, false
		}
	case screen == meeting.InMeeting:
		v.report.admitted(time.Now())
		if err := v.tell(job.BotInMeeting, nil); err != nil {
			return failed(job.InternalError, err.Error()), true, false
		}
		return ending{}, true, true
	case screen.Over() && screen != meeting.CannotConnect:
		code, detail, _ := v.last.Failure()
		return failed(code, detail), true, false
	}
	return ending{}, false, false
}

// look observes the page and tidies it up; false when the page is lost for
// good.
func (v *visit) look(ctx context.Context) (ending, bool) {
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if v.lastAt.IsZero() {
		v.lastAt = time.Now()
	}
	observation, err := v.adapter.Observe(looking, v.page)
	if err == nil {
		v.last, v.lastAt = observation, time.Now()
		err = v.adapter.Tidy(looking, v.page, observation)
	}
	if err != nil && ctx.Err() == nil {
		if end := v.lost(err); end.lostBrowser {
			return end, false
		}
		v.Log.Debug("a look at the page gave nothing", "error", err)
	}
	switch now := time.Now(); {
	case !v.last.Screen.Over():
		v.wrongAt = time.Time{}
	case v.wrongAt.IsZero():
		v.wrongAt = now
	case now.Sub(v.wrongAt) > lostTime:
		code, detail, _ := v.last.Failure()
		return ending{code: code, reason: reasonPageLost, detail: fmt.Sprintf("for %s: %s", lostTime, detail)}, false
	}
	if time.Since(v.lastAt) > lostTime {
		return ending{code: job.NetworkLoss, reason: reasonPageLost, detail: fmt.Sprintf("the page did not answer for %s", lostTime)}, false
	}
	return ending{}, true
}

// superseded is the ending for a bot that the service no longer wants.
func (v *visit) superseded() ending {
	verdict := v.channel.Verdict()
	return ending{reason: reasonSuperseded, detail: fmt.Sprintf("the service wants no more of this bot (%s): %s", verdict.Cause, verdict.Detail)}
}

// leave leaves the meeting or its lobby by the page's own button, so that no
// ghost stays behind.
func (v *visit) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if err := v.adapter.Leave(ctx, v.page); err != nil {
		v.Log.Warn("cannot leave by the page's button; the browser is closed instead", "error", err)
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
