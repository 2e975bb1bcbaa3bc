package recorder

import (
	"context"
	"errors"
	"fmt"

	"standin/internal/bot/browser"
)

// SoundMonitor follows how loud a page is while nothing is recorded.
type SoundMonitor struct {
	recorder *Recorder // whose encoder never runs
}

// Listen begins to follow the sound of a page that was prepared. Like Start it
// opens a page of its own in the same browser, and ctx bounds the start only.
func MonitorSound(ctx context.Context, b *browser.Browser, meeting *browser.Page, settings Settings) (*SoundMonitor, error) {
	settings = settings.withDefaults()
	intake, err := listen(ctx, settings, nothing{})
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		settings: settings, browser: b, meeting: meeting, intake: intake,
		abandoned: make(chan struct{}), done: make(chan struct{}),
	}
	err = r.openTab(ctx)
	if err == nil {
		err = r.tab.Eval(ctx, "standin.listen()", nil)
	}
	if err != nil {
		if r.tab != nil {
			r.tab.Close()
		}
		return nil, errors.Join(fmt.Errorf("starting to listen: %w", err), intake.close())
	}
	go r.watch()
	return &SoundMonitor{recorder: r}, nil
}

// Stats tell of the sound alone.
func (l *SoundMonitor) Stats() Stats { return l.recorder.Stats() }

// Done is closed when nothing is heard any more.
func (l *SoundMonitor) Done() <-chan struct{} { return l.recorder.Done() }

// Close ends the listening.
func (l *SoundMonitor) Close() {
	l.recorder.abandonOnce.Do(func() { close(l.recorder.abandoned) })
	<-l.recorder.done
}

// nothing takes no chunks: a listener makes none.
type nothing struct{}

// Append implements Sink.
func (nothing) Append(Chunk) error { return errors.New("a listener records nothing") }
