package recorder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/bot/browser"
)

// SoundMonitor measures the level of a page's sound without recording it.
type SoundMonitor struct {
	recorder *Recorder // a recorder without an encoder
}

// MonitorSound starts to measure the sound of a prepared page, and passes it to
// Settings.LiveSound. Like Start, it opens another page in the same browser, and ctx
// applies to the start only.
func MonitorSound(ctx context.Context, b *browser.Browser, meeting *browser.Page, settings Settings) (*SoundMonitor, error) {
	settings = settings.withDefaults()
	server, err := startChunkServer(ctx, settings, noChunks{})
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		settings: settings, browser: b, meeting: meeting, server: server,
		abandoned: make(chan struct{}), done: make(chan struct{}),
	}
	err = r.openTab(ctx)
	if err == nil {
		err = r.tab.EvalInPage(ctx, "standin.monitor()", nil)
	}
	if err != nil {
		if r.tab != nil {
			r.tab.Close()
		}
		return nil, errors.Join(fmt.Errorf("monitor sound: %w", err), server.close())
	}
	running := context.WithoutCancel(ctx)
	r.sound = startLiveSound(running, r.tab, meeting, settings, time.Now())
	go r.watch(running)
	return &SoundMonitor{recorder: r}, nil
}

// Stats returns the statistics of the sound.
func (m *SoundMonitor) Stats() Stats { return m.recorder.Stats() }

// Done returns a channel that is closed when monitoring has ended.
func (m *SoundMonitor) Done() <-chan struct{} { return m.recorder.Done() }

// Close ends monitoring and waits for the end.
func (m *SoundMonitor) Close() {
	m.recorder.abandonOnce.Do(func() { close(m.recorder.abandoned) })
	<-m.recorder.done
}

// noChunks is the sink of a SoundMonitor, which produces no chunks.
type noChunks struct{}

// Append implements Sink.
func (noChunks) Append(Chunk) error { return errors.New("unexpected chunk of a sound monitor") }
