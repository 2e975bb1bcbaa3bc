package session

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/output"
	"standin/internal/bot/recorder"
	"standin/internal/bot/sound"
	"standin/internal/jobs/job"
)

const (
	// maxShown limits how long one picture is shown.
	maxShown = 24 * time.Hour
	// showName shows a card with the bot's name. No command does.
	showName ingest.PictureKind = "name"
	// pageRate is how often at most the picture of a page is taken, per second.
	pageRate = 10
)

var errStoppedByHost = &outputError{ingest.StoppedByHost, "it was turned off in the meeting"}

// display shows the pictures of commands in one browser, on the camera or on the shared
// screen. A picture is shown until the next one: its command is acknowledged then, so that
// a bot that comes back shows it again. The session's loop calls all methods.
type display struct {
	pageDevice

	screen  output.Screen
	opener  *opener
	sound   *sound.Link // of the meeting
	speaker *speaker

	started  bool // others see the current picture
	replaced bool // the queue is being cleared for another picture
	final    bool // no other session follows
}

// newDisplay returns the display of a session for a device.
func (a *attempt) newDisplay(page *meetingPage, speaker *speaker, device meeting.Device, screen output.Screen) *display {
	d := &display{pageDevice: a.newDevice(page, device), screen: screen, opener: a.opener, sound: a.sound, speaker: speaker}
	if screen == output.SharedScreen {
		d.prepare = screen.Offer
	}
	d.queue.settle = d.settle
	return d
}

// show executes a command that shows a picture, or none.
func (d *display) show(ctx context.Context, command ingest.Command) {
	var args ingest.PictureArgs
	if !d.decode(command, &args) {
		return
	}
	d.clear(ctx)
	if args.Show == ingest.ShowNone {
		d.hide(ctx, &command)
		return
	}
	d.add(ctx, command, args)
}

func (d *display) add(ctx context.Context, command ingest.Command, args ingest.PictureArgs) {
	d.queue.add(ctx, task{
		timeout: maxShown, command: &command,
		do: func(ctx context.Context) error { return d.run(ctx, command, args) },
		onDone: func(ctx context.Context, err error) *exitResult {
			if err != nil && !d.replaced && ctx.Err() == nil {
				d.hide(ctx, nil)
			}
			return nil
		},
	})
}

// clear ends the current picture for another one.
func (d *display) clear(ctx context.Context) {
	d.replaced = true
	d.queue.clear(ctx)
	d.replaced = false
}

// hide turns the device off for a command, which may be nil.
func (d *display) hide(ctx context.Context, command *ingest.Command) {
	wasOn := d.on
	d.turnOff(ctx, task{
		command: command,
		do: func(ctx context.Context) error {
			if !wasOn {
				return nil
			}
			if d.screen == output.SharedScreen { // most pages turn it off then
				return errors.Join(d.screen.End(ctx, d.page.tab), d.set(ctx, false))
			}
			return errors.Join(d.set(ctx, false), d.screen.Clear(ctx, d.page.tab))
		},
	})
}

// close ends the current picture with the session. With final, no other session follows.
func (d *display) close(ctx context.Context, final bool) {
	d.final = final
	d.queue.close(ctx)
}

// run shows the picture of a command until ctx ends. It runs beside the loop.
func (d *display) run(ctx context.Context, command ingest.Command, args ingest.PictureArgs) error {
	switch args.Show {
	case ingest.ShowPage:
		return d.showPage(ctx, command, args.URI)
	case showName:
		return d.keep(ctx, command, func(ctx context.Context) error { return d.screen.ShowName(ctx, d.page.tab, d.page.displayName) })
	}
	content, err := d.read(ctx, cmp.Or(command.ID, ingest.CameraOutput))
	if err != nil {
		return &outputError{ingest.OutputUnavailable, "the picture could not be read from the service: " + err.Error()}
	}
	pictures := ingest.SplitPictures(content)
	if len(pictures) == 0 {
		return &outputError{ingest.OutputUnavailable, "it has no picture"}
	}
	first := func(ctx context.Context) error { return d.screen.Show(ctx, d.page.tab, pictures[0]) }
	if args.Show == ingest.ShowImage {
		return d.keep(ctx, command, first)
	}
	if err := d.start(ctx, command, first); err != nil {
		return err
	}
	const interval = time.Second / ingest.VideoRate
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	begin := time.Now()
	for shown, last := 0, len(pictures)-1; shown < last; { // the last one stays
		select {
		case now := <-ticker.C:
			shown = min(int(now.Sub(begin)/interval), last)
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := d.screen.Show(ctx, d.page.tab, pictures[shown]); err != nil {
			return err
		}
	}
	return nil
}

// keep shows a still picture until ctx ends.
func (d *display) keep(ctx context.Context, command ingest.Command, show func(context.Context) error) error {
	if err := d.start(ctx, command, show); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// showPage shows a web page until ctx ends. Others hear what it plays, and its microphone
// hears the meeting as far as that is recorded.
func (d *display) showPage(ctx context.Context, command ingest.Command, address string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	voice := &pageVoice{say: func(speech *sound.Speech) {
		d.page.inLoop(ctx, func(loop context.Context) { d.speaker.playLive(loop, speech, ingest.OutputPage) })
	}}
	var beside sync.WaitGroup
	defer voice.close()
	defer beside.Wait()
	defer cancel(nil) // before both are awaited, because the loop may wait for this function
	// The page is captured before it is loaded, because it must not learn the title by which the
	// browser finds a tab to capture.
	page, err := d.opener.openShown(ctx, d.page.browser, address, func(ctx context.Context, page *browser.Page) (err error) {
		settings := recorder.Settings{AudioOnly: true, Log: d.log, AllowAddress: d.opener.egress.Allow, LiveSound: voice}
		voice.captured, err = recorder.MonitorSound(ctx, d.page.browser, page, settings)
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &outputError{ingest.OutputUnavailable, "the page could not be opened: " + err.Error()}
	}
	defer page.Close()
	beside.Go(func() { output.Hear(ctx, page, d.sound.Listen) })
	beside.Go(func() {
		select {
		case <-voice.captured.Done():
			cancel(&outputError{ingest.OutputUnavailable, "the sound of the page is not captured any longer"})
		case <-ctx.Done():
		}
	})
	started := false
	err = page.Screencast(ctx, ingest.PictureWidth, ingest.PictureHeight, pageRate, func(image []byte) error {
		show := func(ctx context.Context) error { return d.screen.Show(ctx, d.page.tab, image) }
		if started {
			return show(ctx)
		}
		started = true
		return d.start(ctx, command, show)
	})
	if errors.Is(err, browser.ErrPageCrashed) {
		return &outputError{ingest.OutputUnavailable, "the page crashed"}
	}
	if lost, ok := errors.AsType[*outputError](context.Cause(ctx)); ok && d.page.browser.Err() == nil {
		return lost
	}
	return err
}

// start shows the first picture and then turns the device on.
func (d *display) start(ctx context.Context, command ingest.Command, show func(context.Context) error) error {
	if err := show(ctx); err != nil {
		return err
	}
	if err := d.turnOn(ctx); err != nil {
		return err
	}
	if err := d.screen.CheckUsed(ctx, d.page.tab); err != nil {
		return err
	}
	d.page.inLoop(ctx, func(context.Context) {
		d.started = true
		d.emit(job.BotOutputStarted, command, nil)
	})
	return nil
}

// settle reports how the picture of a command ended.
func (d *display) settle(command ingest.Command, err error) {
	started := d.started
	d.started = false
	failure := d.cause
	switch {
	case failure != nil, err == nil, d.replaced && started:
	case d.replaced:
		failure = errInterrupted
	default:
		failure = outputFailure(err)
	}
	switch {
	case failure == errPageLeft && d.final && started:
		d.finish(command, nil, nil)
	case failure == errPageLeft: // it is shown again on the next page
		if started {
			d.emit(job.BotOutputFinished, command, nil)
		}
		d.ack(command, errNotStarted)
	default:
		d.finish(command, failure, err)
	}
}

// handleSnapshot ends the picture when the host turns the device off.
func (d *display) handleSnapshot(ctx context.Context, snap snapshot) {
	if !d.turnedOff(snap) {
		return
	}
	d.cause = errStoppedByHost
	d.queue.clear(ctx)
	d.cause = nil
	d.hide(ctx, nil) // otherwise the page could turn it on again
}
