package recorder

import (
	"context"
	_ "embed" // for the scripts
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
)

const (
	// fetchWait is how long a page waits for sound before it responds.
	fetchWait = 500 * time.Millisecond
	// fetchTimeout limits one fetch.
	fetchTimeout = 5 * time.Second
	// fetchRetry is the pause after a failed fetch, such as one of a page that is
	// being loaded.
	fetchRetry = 250 * time.Millisecond
	// maxFetchedFrames limits one fetch, because pages are not trusted: livesound.js
	// returns at most 400 of each of the page's frames.
	maxFetchedFrames = 4000
	// maxSoundAge is how old fetched sound may be.
	maxSoundAge = 10 * time.Second
)

// liveSoundScript declares what the scripts of live sound share.
//
//go:embed livesound.js
var liveSoundScript string

//go:embed participantsound.js
var participantSoundBody string

// participantSoundScript collects the sound of participants in the meeting page.
var participantSoundScript = inScope(liveSoundScript, remoteAudioScript, participantSoundBody)

const (
	// PlayDelay is by how much later the page plays what it receives: its jitter buffers, as in
	// receivers.js.
	PlayDelay = 200 * time.Millisecond
	// liveDelay is the same while somebody listens.
	liveDelay = 100 * time.Millisecond
)

// delayScript sets the jitter buffers of the page and its same-origin frames.
const delayScript = `(views, ms) => {
	for (const view of views()) {
		view[Symbol.for("standin.jitterBufferMs")] = ms;
		for (const reference of view[Symbol.for("standin.connections")] || []) {
			for (const receiver of reference.deref()?.getReceivers() || []) receiver.jitterBufferTarget = ms;
		}
	}
}`

// LiveSound is sound that was just heard: ingest.SoundFrameBytes of PCM.
type LiveSound struct {
	// TrackID is the ID of the page's MediaStreamTrack of one participant; empty for
	// the mixed sound of the page.
	TrackID string
	At      time.Time // time of the first sample
	PCM     []byte
}

// LiveSoundListener receives the sound of a running recording, without the time during
// which it is paused.
type LiveSoundListener interface {
	// Wanted returns which sound to send, and a channel that is closed when that
	// changes.
	Wanted() (wanted ingest.SoundWanted, changed <-chan struct{})
	// Hear is not called concurrently, and must not block.
	Hear([]LiveSound)
}

// fetchSoundScript waits for sound of the queues that its expression yields, and returns it.
const fetchSoundScript = `async (views, waitMs) => {
	const queues = %s;
	await Promise.race([new Promise(resolve => setTimeout(resolve, waitMs)), ...queues.map(queue => queue.ready())]);
	return queues.flatMap(queue => queue.take());
}`

// The queues of the recorder tab, and of the meeting page with its same-origin frames.
const (
	mixedQueues       = `[standin.liveSound]`
	participantQueues = `views().flatMap(view => view[Symbol.for("standin.participantSound")] ?? [])`
)

// fetchedSound is a frame as a page returns it.
type fetchedSound struct {
	Source      string
	AtMs, AgoMs float64 // Unix time, and time since then
	PCM         []byte
}

// liveSound passes the sound of a page to a listener while it is wanted.
type liveSound struct {
	listener LiveSoundListener
	log      *slog.Logger
	stop     context.CancelFunc
	fetching sync.WaitGroup

	mu   sync.Mutex
	from time.Time // sound before it is discarded; zero while paused
}

// startLiveSound starts to pass on the sound that tab and meeting collect. It returns nil
// without a listener.
func startLiveSound(ctx context.Context, tab, meeting *browser.Page, settings Settings, from time.Time) *liveSound {
	if settings.LiveSound == nil {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	s := &liveSound{listener: settings.LiveSound, log: settings.Log, stop: stop, from: from}
	s.fetching.Go(func() { s.fetch(ctx, tab, true) })
	s.fetching.Go(func() { s.fetch(ctx, meeting, false) })
	s.fetching.Go(func() { // keeps the jitter buffers of the meeting page small while somebody listens
		for delay := PlayDelay; ctx.Err() == nil; {
			wanted, changed := s.listener.Wanted()
			want := PlayDelay
			if wanted.Mixed || wanted.Participants {
				want = liveDelay
			}
			if want != delay {
				delay = want
				setting, cancel := context.WithTimeout(ctx, fetchTimeout)
				if err := meeting.EvalInPage(setting, withViews(delayScript, delay.Milliseconds()), nil); err != nil && ctx.Err() == nil {
					s.log.Debug("cannot set the jitter buffers", "error", err)
				}
				cancel()
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	})
	return s
}

// pause discards all sound from now on.
func (s *liveSound) pause() { s.resume(time.Time{}) }

// resume passes on sound from a time on.
func (s *liveSound) resume(from time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = from
}

// close ends it. The listener is not called after close returns.
func (s *liveSound) close() {
	if s == nil {
		return
	}
	s.stop()
	s.fetching.Wait()
}

// fetch fetches the mixed sound, or that of participants, from its page while it is wanted, until ctx ends.
func (s *liveSound) fetch(ctx context.Context, page *browser.Page, mixed bool) {
	queues := participantQueues
	if mixed {
		queues = mixedQueues
	}
	script := withViews(fmt.Sprintf(fetchSoundScript, queues), fetchWait.Milliseconds())
	failing := false
	for ctx.Err() == nil {
		wanted, changed := s.listener.Wanted()
		if mixed && !wanted.Mixed || !mixed && !wanted.Participants {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		err := s.fetchOnce(ctx, page, script, mixed)
		if err != nil && ctx.Err() == nil && !failing {
			s.log.Debug("cannot fetch live sound", "error", err)
		}
		if failing = err != nil; failing {
			_ = retry.Sleep(ctx, fetchRetry)
		}
	}
}

// fetchOnce fetches the sound that waits, or the next.
func (s *liveSound) fetchOnce(ctx context.Context, page *browser.Page, script string, mixed bool) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var fetched []fetchedSound
	if err := page.EvalInPage(ctx, script, &fetched); err != nil {
		return err
	}
	sound, err := convertSound(fetched, time.Now(), mixed)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock() // no sound is passed on once pause has returned
	if s.from.IsZero() {
		return nil
	}
	for len(sound) > 0 && sound[0].At.Before(s.from) {
		sound = sound[1:]
	}
	if len(sound) > 0 {
		s.listener.Hear(sound)
	}
	return nil
}

// convertSound converts frames of a page. It returns an error for frames that the script
// cannot produce.
func convertSound(fetched []fetchedSound, now time.Time, mixed bool) ([]LiveSound, error) {
	if len(fetched) > maxFetchedFrames {
		return nil, fmt.Errorf("the page returns %d frames of sound", len(fetched))
	}
	sound := make([]LiveSound, 0, len(fetched))
	for _, f := range fetched {
		at := localTime(f.AtMs, f.AgoMs, now)
		if len(f.PCM) != ingest.SoundFrameBytes || len(f.Source) > maxTrackIDLen || (f.Source == "") != mixed {
			return nil, errors.New("the page returns an invalid frame of sound")
		}
		if age := now.Sub(at); age < -time.Second || age > maxSoundAge {
			continue
		}
		sound = append(sound, LiveSound{TrackID: f.Source, At: at, PCM: f.PCM})
	}
	return sound, nil
}
