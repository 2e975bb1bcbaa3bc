package session

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
)

// maxOff is in how many snapshots a device must be off until the host has turned it off. The
// first may be older than what is played or shown.
const maxOff = 2

// pageDevice is a device of the meeting's page on which the bot plays or shows the output of
// commands. The session's loop calls all methods without another comment.
type pageDevice struct {
	log     *slog.Logger
	kind    meeting.Device
	enabled bool // by the job
	page    *meetingPage
	events  events
	ack     func(command ingest.Command, err error)
	read    func(ctx context.Context, commandID string) ([]byte, error) // what a command plays or shows

	on      bool      // it was turned on, or will be
	onSince time.Time // zero until it is on
	off     int       // snapshots since then that show it off

	queue taskQueue
	cause *outputError // why the queue is being cleared

	// prepare prepares the page before the device is turned on. It may be nil.
	prepare func(context.Context, *browser.Page) error
}

// newDevice returns a device of a session's page.
func (a *attempt) newDevice(page *meetingPage, kind meeting.Device) pageDevice {
	return pageDevice{
		log: a.log, kind: kind, enabled: a.settings.Recording.Output, page: page, events: a.events, read: a.client.Output,
		ack: func(command ingest.Command, err error) {
			if command.ID != "" { // otherwise the bot plays or shows it by itself
				a.commands.settle(command, err)
			}
		},
	}
}

// decode decodes the arguments of a command. It refuses the command, and returns false, if
// that fails or the job does not allow output.
func (d *pageDevice) decode(command ingest.Command, args any) bool {
	err := decodeArgs(command, args)
	switch {
	case err != nil:
	case !d.enabled:
		err = errors.New("the job does not allow output")
	default:
		return true
	}
	d.ack(command, err)
	return false
}

// turnOn prepares the page and turns the device on. It is called beside the loop, and waits for it.
func (d *pageDevice) turnOn(ctx context.Context) error {
	done := make(chan error, 1)
	d.page.inLoop(ctx, func(loop context.Context) {
		d.on, d.onSince, d.off = true, time.Time{}, 0
		d.page.pageQueue.add(loop, task{
			timeout: d.page.timeouts.Command,
			do: func(ctx context.Context) error {
				if d.prepare != nil {
					if err := d.prepare(ctx, d.page.tab); err != nil {
						return err
					}
				}
				return d.set(ctx, true)
			},
			onDone: func(_ context.Context, err error) *exitResult {
				if err == nil {
					d.onSince = time.Now()
				}
				done <- err
				return nil
			},
		})
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turnOff turns the device off with a task, whose timeout is set here.
func (d *pageDevice) turnOff(ctx context.Context, off task) {
	d.on = false
	off.timeout = d.page.timeouts.Command
	if off.command == nil {
		off.onDone = logFailure(d.log.Warn, "cannot turn a device off", "device", d.kind)
	}
	d.page.pageQueue.add(ctx, off)
}

// leave ends the current output because the bot leaves the page. What waits is deferred until
// it is in the meeting again, and a picture is shown again then.
func (d *pageDevice) leave(ctx context.Context) {
	d.queue.clear(ctx)
	d.on = false
}

// set turns the device on or off on the page. It is called beside the loop.
func (d *pageDevice) set(ctx context.Context, on bool) error {
	return d.page.adapter.SetDevice(ctx, d.page.tab, d.kind, on)
}

// turnedOff reports whether a snapshot shows that the host has turned the device off.
func (d *pageDevice) turnedOff(snap snapshot) bool {
	state := snap.seen.Microphone
	switch d.kind {
	case meeting.Camera:
		state = snap.seen.Camera
	case meeting.ScreenShare:
		state = snap.seen.ScreenShare
	}
	if !d.on || d.onSince.IsZero() || snap.at.Before(d.onSince) || state != meeting.DeviceOff {
		d.off = 0
		return false
	}
	d.off++
	return d.off >= maxOff
}

// finish reports how the output of a command ended, and acknowledges the command. failure is nil
// for output that ended as it should; err is its cause.
func (d *pageDevice) finish(command ingest.Command, failure *outputError, err error) {
	if failure == nil {
		d.emit(job.BotOutputFinished, command, nil)
		d.ack(command, nil)
		return
	}
	d.log.Info("output failed", "command", command.ID, "reason", failure.reason, "error", err)
	d.emit(job.BotOutputFailed, command, failure)
	d.ack(command, failure)
}

// emit reports what became of the output of a command.
func (d *pageDevice) emit(kind job.Trigger, command ingest.Command, failure *outputError) {
	data := ingest.EventData{CommandID: command.ID, Command: string(command.Kind)}
	if failure != nil {
		data.Reason, data.Detail = string(failure.reason), failure.detail
	}
	if err := d.events.Emit(kind, data); err != nil {
		d.log.Error("cannot report the output of the bot", "error", err)
	}
}
