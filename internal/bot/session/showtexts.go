package session

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"standin/internal/bot/captions"
	"standin/internal/bot/meeting"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
)

const (
	// showTextsPause is the pause after a failure to open the chat or to turn on
	// captions. It grows with each failure, up to maxShowTextsPause.
	showTextsPause    = 5 * time.Second
	maxShowTextsPause = 5 * time.Minute
	showTextsTimeout  = 15 * time.Second
	// textsMissing is how often it fails before that is a fault.
	textsMissing = 2
)

// textOpener keeps the chat open and captions on, so that texts can read them. It
// outlives a browser.
type textOpener struct {
	log         *slog.Logger
	texts       *captions.Texts
	wanted      meeting.TextOptions
	events      events
	report      *report.Report
	diagnostics *diagnostics

	showing  bool      // the page is being prepared
	showAt   time.Time // time at which it is prepared again
	failures int
	fault    string // that is on the timeline; empty if there is none
}

// show opens the chat and turns on captions, as wanted, if the page does not show
// them.
func (t *textOpener) show(ctx context.Context, page *meetingPage, now time.Time) {
	seen := page.last.seen
	if faulty := t.fault == faultNoCaptions && !seen.CaptionsOn || t.fault == faultNoChat && !seen.ChatOpen; t.fault != "" && !faulty {
		t.report.EndFault(t.fault, now)
		_ = t.events.Emit(job.BotMediaFault, faultData{Fault: t.fault, State: "ended"})
		t.fault = ""
	}
	missing := t.wanted.Chat && !seen.ChatOpen || t.wanted.Captions && !seen.CaptionsOn
	if !missing || seen.Screen != meeting.InMeeting || now.Before(t.showAt) || t.showing {
		return
	}
	t.showing = true
	page.pageQueue.add(ctx, task{
		timeout: min(page.timeouts.Command, showTextsTimeout),
		do:      func(ctx context.Context) error { return page.adapter.ShowTexts(ctx, page.tab, t.wanted) },
		onDone: func(ctx context.Context, err error) *exitResult {
			t.showing = false
			pause := showTextsPause
			if errors.As(err, new(*meeting.LanguageError)) {
				t.log.Warn("captions are in the language of the page", "error", err)
				t.texts.SetLanguage("")
				t.wanted.Language, err = "", nil
			}
			if err == nil {
				t.failures = 0
			} else if ctx.Err() == nil {
				t.failures++
				pause = min(showTextsPause<<min(t.failures, 10), maxShowTextsPause)
				t.log.Warn("chat or captions are not available", "error", err, "retry_in", pause)
				if t.failures == textsMissing && t.fault == "" {
					t.fault = faultNoChat
					if t.wanted.Captions && !page.last.seen.CaptionsOn {
						t.fault = faultNoCaptions
					}
					t.report.StartFault(t.fault, now)
					t.diagnostics.saveLater(ctx, page, "chat or captions are not available: "+err.Error())
					_ = t.events.Emit(job.BotMediaFault, faultData{Fault: t.fault, State: "not_repaired"})
				}
			}
			t.showAt = time.Now().Add(pause)
			return nil
		},
	})
}
