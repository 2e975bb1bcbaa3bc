package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/capture"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
)

// stayTime is how long a visit stays after admission, so that the controls of the
// call have been drawn.
const stayTime = 3 * time.Second

// Visit is what a meeting's page showed during a visit that records nothing.
type Visit struct {
	Profile   *meeting.Profile
	Snapshots []meeting.CapturedSnapshot // oldest first
	Decisions []meeting.Decision         // decision on each snapshot
	Problem   string                     // why the visit did not reach the meeting; empty if it did
	Left      bool                       // left by the page's own control
	Capture   *capture.Capture           // nil unless it was wanted
}

// VisitMeeting joins a meeting under the display name of the settings, stays for a
// few seconds and leaves. It records nothing and needs no service. wantCapture
// decides, before the bot leaves, whether the page is captured, and returns the
// reason. The error is of this machine, not of the page.
func VisitMeeting(ctx context.Context, settings Settings, wantCapture func(Visit) (reason string)) (_ Visit, err error) {
	settings = settings.withDefaults()
	o := newOpener(settings, nil, settings.Log)
	defer o.close()
	if end := o.prepare(ctx); end != nil {
		return Visit{}, errors.New(end.detail)
	}
	chromium, tab, err := o.open(ctx, 0, func(context.Context) error { return nil })
	if err != nil {
		return Visit{Profile: o.profile, Problem: err.Error()}, nil
	}
	defer func() { err = errors.Join(err, chromium.Close()) }()
	v := &visitor{opener: o, tab: tab, log: settings.Log}
	made := Visit{Profile: o.profile, Problem: v.enter(ctx)}
	made.Snapshots, made.Decisions, _ = v.seen.Content()
	if reason := wantCapture(made); reason != "" {
		capturing, cancel := context.WithTimeout(ctx, 2*diagnosticsTimeout)
		defer cancel()
		made.Capture, _ = capture.New(capturing, tab, capture.Visit{
			Version: settings.Version, Platform: settings.Platform, Profile: o.profile, DisplayName: settings.DisplayName, Log: &v.seen,
		}, reason)
	}
	made.Left = v.leave(ctx)
	return made, ctx.Err()
}

// visitor is the state of a visit.
type visitor struct {
	opener *opener
	tab    *browser.Page
	log    *slog.Logger
	seen   capture.Log
	last   meeting.Observation
}

// enter joins the meeting and waits until it was shown for the stay time. It
// returns why it was not, or "".
func (v *visitor) enter(ctx context.Context) (problem string) {
	settings := v.opener.settings
	joining, cancel := context.WithTimeout(ctx, settings.Timeouts.Join)
	defer cancel()
	err := v.opener.join(joining, v.tab, meeting.JoinOptions{
		Name: settings.DisplayName, Passcode: v.opener.address.Passcode,
		Observed: func(seen meeting.Observation) { v.last = seen; v.seen.Add(seen) },
	})
	if err != nil {
		return fmt.Sprintf("joining: %v", err)
	}
	deadline := time.Now().Add(seconds(settings.AutoLeave.AfterEntryDelaySeconds))
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var admittedAt time.Time
	for {
		snap := takeSnapshot(ctx, v.opener.adapter, v.tab, job.LayoutPage)
		switch {
		case snap.err != nil:
		case snap.seen.Screen == meeting.InMeeting && admittedAt.IsZero():
			admittedAt = snap.at
		case snap.seen.Screen.Terminal():
			v.last = snap.seen
			v.seen.Add(snap.seen)
			return fmt.Sprintf("the page shows %s (%s)", snap.seen.Screen, snap.seen.Evidence)
		}
		if snap.err == nil {
			v.last = snap.seen
			v.seen.Add(snap.seen)
			if err := v.opener.adapter.HandleNotices(ctx, v.tab, snap.seen); err != nil {
				v.log.Debug("cannot handle the notices of the page", "error", err)
			}
		}
		switch {
		case !admittedAt.IsZero() && snap.at.Sub(admittedAt) >= stayTime:
			return ""
		case admittedAt.IsZero() && time.Now().After(deadline):
			return fmt.Sprintf("not admitted within %d s; the page shows %s (%s)", settings.AutoLeave.AfterEntryDelaySeconds, v.last.Screen,
				v.last.Evidence)
		}
		select {
		case <-ticker.C:
		case <-v.tab.Crashed():
			return "the page crashed"
		case <-ctx.Done():
			return ctx.Err().Error()
		}
	}
}

// leave leaves by the page's own control, also when ctx has ended.
func (v *visitor) leave(ctx context.Context) bool {
	if v.last.Screen.Terminal() {
		return true
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.opener.settings.Timeouts.Leave)
	defer cancel()
	if err := v.opener.adapter.Leave(leaving, v.tab); err != nil {
		v.log.Warn("cannot leave with the button of the page; closing the browser instead", "error", err)
		return false
	}
	return true
}
