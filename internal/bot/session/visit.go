package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/capture"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/jobs/job"
)

// stayTime is how long a visitor waits after admission, so that the controls of the
// call have been drawn.
const stayTime = 3 * time.Second

// Visitor is a bot on a meeting's page that records nothing and needs no service. Its
// methods are called one after the other, and may be mixed with those of its Adapter.
type Visitor struct {
	Adapter meeting.Adapter
	Profile *meeting.Profile
	Page    *browser.Page       // nil if it could not be opened
	Problem string              // why it is not in the meeting; empty if it is
	Seen    capture.Log         // what the page has shown
	Last    meeting.Observation // the last one
	Sound   bool                // the page received sound within a second before it; measured once in a second

	opener    *opener
	chromium  *browser.Browser
	snapshots chan snapshot
	polling   sync.WaitGroup
	stop      context.CancelFunc
}

// VisitMeeting joins a meeting under the display name of the settings, and waits until
// the visitor has been in it for a few seconds. The error is of this machine; what the
// page did not allow is the visitor's problem. The caller closes the visitor,
// also after an error.
func VisitMeeting(ctx context.Context, settings Settings) (v *Visitor, err error) {
	settings = settings.withDefaults()
	o := newOpener(settings)
	v = &Visitor{opener: o, snapshots: make(chan snapshot)}
	ctx, v.stop = context.WithCancel(ctx)
	if end := o.prepare(ctx); end != nil {
		return v, errors.New(end.detail)
	}
	if v.Adapter, v.Profile = o.adapter, o.profile; v.Profile == nil {
		return v, fmt.Errorf("the platform %s has no pages", settings.Platform)
	}
	if v.chromium, v.Page, err = o.open(ctx, 0, func(context.Context) error { return nil }); err != nil {
		v.Problem = err.Error()
		return v, nil
	}
	joining, cancel := context.WithTimeout(ctx, settings.Timeouts.Join)
	defer cancel()
	err = o.join(joining, v.Page, meeting.JoinOptions{
		Name: settings.DisplayName, Passcode: o.address.Passcode,
		Observed: func(seen meeting.Observation) { v.Last = seen; v.Seen.Add(seen) },
	})
	if err != nil {
		v.Problem = fmt.Sprintf("joining: %v", err)
		return v, nil
	}
	v.polling.Go(func() { pollSnapshots(ctx, v.Adapter, v.Page, job.LayoutPage, v.snapshots) })
	var admittedAt time.Time
	admitted := v.Watch(ctx, seconds(settings.AutoLeave.AfterEntryDelaySeconds)+stayTime, func() bool {
		if v.Last.Screen == meeting.InMeeting && admittedAt.IsZero() {
			admittedAt = time.Now()
		}
		return !admittedAt.IsZero() && time.Since(admittedAt) >= stayTime
	})
	if !admitted && v.Problem == "" {
		v.Problem = fmt.Sprintf("not admitted within %d s; the page shows %s (%s)", settings.AutoLeave.AfterEntryDelaySeconds,
			v.Last.Screen, v.Last.Evidence)
	}
	return v, nil
}

// Watch reads the page, and handles its notices, until done returns true, the visitor is
// out of the meeting, or the time is up. It reports whether done returned true. done is
// called after each observation.
func (v *Visitor) Watch(ctx context.Context, limit time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for started := time.Now(); v.Problem == ""; {
		select {
		case snap := <-v.snapshots:
			if snap.err != nil || snap.at.Before(started) {
				continue
			}
			v.Last, v.Sound = snap.seen, snap.inbound.ReceivesSound()
			v.Seen.Add(snap.seen)
			if done() {
				return true
			}
			if snap.seen.Screen.Terminal() {
				v.Problem = fmt.Sprintf("the page shows %s (%s)", snap.seen.Screen, snap.seen.Evidence)
			}
			if err := v.Adapter.HandleNotices(ctx, v.Page, snap.seen); err != nil {
				v.opener.log.Debug("cannot handle the notices of the page", "error", err)
			}
		case <-v.Page.Crashed():
			v.Problem = "the page crashed"
		case <-ctx.Done():
			return false
		}
	}
	return false
}

// TakeStreams begins to take the video of participants as the page receives it, without recording it. The settings must ask for
// streams. come reports whether it comes; the caller calls stop.
func (v *Visitor) TakeStreams(ctx context.Context) (come func() bool, stop func(), err error) {
	settings := v.opener.settings.recorder()
	settings.Tracks, settings.Log, settings.AllowAddress = discardedTracks{}, v.opener.log, v.opener.egress.Allow
	monitor, err := recorder.MonitorSound(ctx, v.chromium, v.Page, settings)
	if err != nil {
		return nil, nil, err
	}
	return func() bool { return monitor.Stats().Streams == recorder.StreamsConfirmed }, monitor.Close, nil
}

type discardedTracks struct{}

// AppendTracks implements recorder.ParticipantTrackSink.
func (discardedTracks) AppendTracks([]recorder.ParticipantTrackPart) error { return nil }

// Capture captures the page for a reason.
func (v *Visitor) Capture(ctx context.Context, reason string) *capture.Capture {
	ctx, cancel := context.WithTimeout(ctx, 2*diagnosticsTimeout)
	defer cancel()
	made, _ := capture.New(ctx, v.Page, v.opener.visit(&v.Seen), reason)
	return made
}

// Leave leaves by the page's own control, also when ctx has ended.
func (v *Visitor) Leave(ctx context.Context) error {
	if v.Page == nil || v.Last.Screen.Terminal() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.opener.settings.Timeouts.Leave)
	defer cancel()
	return v.Adapter.Leave(ctx, v.Page)
}

// Close closes the browser.
func (v *Visitor) Close() error {
	v.stop()
	v.polling.Wait()
	defer v.opener.close()
	if v.chromium == nil {
		return nil
	}
	return v.chromium.Close()
}
