package sound

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"

	"standin/internal/base/wsconn"
	"standin/internal/server/live"
)

const (
	// maxReceived limits a message of a receiver: half a minute of sound as base64 in JSON.
	maxReceived = 4 << 20
	// minJump is the shortest time without mixed sound that is told as a gap.
	minJump = 100 * time.Millisecond
)

// ErrEnded as the cause of a context means that there will be no more sound.
var ErrEnded = errors.New("the bot has left the meeting")

// ErrMoved as the cause of a context means that another node has the sound. The listener
// is told to connect again.
var ErrMoved = errors.New("the bot is connected to another node")

// Listen sends the sound of a subscription to a listener of the API until it ends, the
// listener is gone, or ctx ends. It closes the connection.
func Listen(ctx context.Context, conn *websocket.Conn, subscription *Subscription, stream Stream) error {
	o := &outlet{
		conn: conn, kind: kindListener, subscription: subscription, format: newStandinFormat(stream), rate: stream.SampleRate,
		received: ignore,
	}
	return o.run(ctx)
}

// ignore ignores what a listener sends.
func ignore(websocket.MessageType, []byte) {}

// outlet sends sound over a connection.
type outlet struct {
	conn         *websocket.Conn
	kind         string // of the receiver
	subscription *Subscription
	format       format
	rate         int                                 // of the format
	received     func(websocket.MessageType, []byte) // handles a message of the receiver
	events       <-chan live.Event                   // to send beside the sound; nil for none

	resamplers Resamplers    // by source
	mixedUntil time.Duration // end of the last frame of the mixed sound
}

// run sends the sound until it ends, which is no error.
func (o *outlet) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.resamplers = make(Resamplers)
	o.conn.SetReadLimit(maxReceived)
	open := o.subscription.hub.metrics.receivers.WithLabelValues(o.kind)
	open.Inc()
	defer open.Dec()
	// Reads and pings end when the connection is closed, so that a listener still gets the
	// end after ctx has ended.
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		for {
			kind, data, err := o.conn.Read(connected)
			if err != nil {
				cancel(err)
				return
			}
			o.received(kind, data)
		}
	})
	running.Go(func() { cancel(wsconn.KeepAlive(connected, o.conn)) })
	err := o.send(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, io.EOF) || errors.Is(err, ErrEnded) {
		if err = o.write(connected, o.format.end()); err == nil {
			_ = o.conn.Close(websocket.StatusNormalClosure, "")
		}
	}
	if errors.Is(err, ErrMoved) {
		_ = o.conn.Close(websocket.StatusServiceRestart, "connect again: the bot is connected to another node")
	}
	if errors.Is(err, errBotLost) {
		_ = o.conn.Close(websocket.StatusGoingAway, "")
	}
	disconnect()
	_ = o.conn.CloseNow()
	running.Wait()
	return err
}

// send sends the sound. Its error is io.EOF at the end.
func (o *outlet) send(ctx context.Context) error {
	if err := o.write(ctx, o.format.start()); err != nil {
		return err
	}
	metrics := o.subscription.hub.metrics
	for {
		select {
		case event := <-o.events: // also while frames wait
			if err := o.write(ctx, o.format.event(event)); err != nil {
				return err
			}
		default:
		}
		frame, gap, ok := o.subscription.take()
		if !ok {
			if o.subscription.over() {
				return io.EOF
			}
			select {
			case event := <-o.events:
				if err := o.write(ctx, o.format.event(event)); err != nil {
					return err
				}
			case <-o.subscription.ready:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		if gap != nil {
			metrics.gap.Inc()
			metrics.lost.Add(float64(gap.Frames))
		} else if frame.Source == 0 && o.mixedUntil > 0 && frame.Start-o.mixedUntil >= minJump { // such as a pause of the recording
			gap = &Gap{From: o.mixedUntil, To: frame.Start}
		}
		if gap != nil {
			if err := o.write(ctx, o.format.gap(*gap)); err != nil {
				return err
			}
		}
		if frame.Source == 0 {
			o.mixedUntil = frame.Start + frameDuration
		}
		frame.PCM = o.resamplers.Get(frame.Source, Downsampler, o.rate)(frame.PCM)
		if err := o.write(ctx, o.format.frame(frame)); err != nil {
			return err
		}
		metrics.frames.Inc()
	}
}

func (o *outlet) write(ctx context.Context, messages []message) error {
	for _, m := range messages {
		if err := wsconn.Write(ctx, o.conn, m.kind, m.data); err != nil {
			return err
		}
	}
	return nil
}
