package session

import (
	"context"
	"slices"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/jobs/job"
)

// The faults of the recorded media.
const (
	faultNoSound       = "no_sound"       // digital silence, although others speak, or no packet of sound from them
	faultFrozenPicture = "frozen_picture" // the picture does not change, although video flows
	faultNoCaptions    = "no_captions"    // the page does not show the captions that the job wants
	faultNoChat        = "no_chat"
	faultNoStreams     = "no_streams" // the video of participants does not come: the page is recorded instead
)

const (
	// noSoundAfter is how long the sound must be digital silence. Noise suppression
	// makes pauses of a few seconds between sentences digitally silent.
	noSoundAfter = 10 * time.Second
	// minSoundEvidence is for how long of that time others must have spoken: longer
	// than a cough, a click, or a mark that the page shows too long.
	minSoundEvidence = 3 * time.Second
	// captionDelay is how long captions may follow the words.
	captionDelay = 5 * time.Second
	// noPacketsAfter is how long others may send no sound at all. People who wait for a
	// meeting to begin may all be muted.
	noPacketsAfter = time.Minute
	// frozenAfter is how long the picture must be the same. Chromium captures a
	// change within a frame, but a busy machine takes seconds.
	frozenAfter = 15 * time.Second
	// minMotionEvidence is for how long of that time a video must have moved. A still
	// slide show or a paused video does not.
	minMotionEvidence = 8 * time.Second
	// inboundInterval is how often the received media is measured.
	inboundInterval = time.Second
)

// faultAction is what to do about a fault.
type faultAction int

const (
	noAction    faultAction = iota
	repairFault             // the fault is new, or a repair did not help and another one is left
	markFault               // no repair helped
	endFault                // the media is good again
)

// faultWatch detects one kind of fault. It is a value without clocks, and the
// caller repairs.
type faultWatch struct {
	after, evidence time.Duration // noSoundAfter and minSoundEvidence, or their equivalents for the picture
	repairs         int           // number of repairs to try

	goodAt   time.Time     // last time at which the media was good, or a repair or recorder started
	since    time.Time     // start of the fault; zero without one
	seen     time.Duration // evidence since goodAt
	repaired int           // repairs so far
	marked   bool
}

// update adds a measurement of inboundInterval. started is when the recorder started,
// good is when the media was last good (zero: not since then), and evidence whether
// the page received media meanwhile.
func (w *faultWatch) update(now, started, good time.Time, evidence bool) faultAction {
	if good.After(w.goodAt) {
		faulty := !w.since.IsZero()
		*w = faultWatch{after: w.after, evidence: w.evidence, repairs: w.repairs, goodAt: good}
		if faulty {
			return endFault
		}
	}
	if started.After(w.goodAt) {
		w.goodAt, w.seen = started, 0
	}
	if evidence {
		w.seen += inboundInterval
	}
	if w.marked || now.Sub(w.goodAt) < w.after || w.seen < w.evidence {
		return noAction
	}
	if w.since.IsZero() {
		w.since = w.goodAt
	}
	if w.repaired == w.repairs {
		w.marked = true
		return markFault
	}
	w.repaired++
	w.goodAt, w.seen = now, 0
	return repairFault
}

const (
	// maxFaultReports is how many events about faults a session emits within
	// faultWindow, and maxCaptureRestarts how often it restarts the capture.
	maxFaultReports    = 20
	maxCaptureRestarts = 4
	faultWindow        = 10 * time.Minute

	// reasonRestarted is why a part ended whose capture was faulty.
	reasonRestarted = "capture_restarted"
)

// mediaFaults repairs faults of the recorded media, and reports those that remain.
type mediaFaults struct {
	*recordingSession

	sound, picture    faultWatch
	packets           faultWatch // of the first packet of sound
	received          bool       // the page has received sound
	captions          []meeting.CaptionLine
	marked            []string // whom the page marked although all levels were 0
	reports, restarts limit
}

func newMediaFaults(recording *recordingSession) *mediaFaults {
	timeouts := recording.page.timeouts
	return &mediaFaults{
		recordingSession: recording,

		sound:    faultWatch{after: timeouts.NoSound, evidence: minSoundEvidence, repairs: 2},
		packets:  faultWatch{after: timeouts.NoPackets},
		picture:  faultWatch{after: timeouts.Frozen, evidence: minMotionEvidence, repairs: 2},
		reports:  limit{max: maxFaultReports, window: faultWindow},
		restarts: limit{max: maxCaptureRestarts, window: faultWindow},
	}
}

// handleSnapshot compares what is recorded with what the page receives.
func (m *mediaFaults) handleSnapshot(ctx context.Context, s snapshot) *exitResult {
	running := m.recorder
	if !s.measured || running == nil || m.stopping || m.state.paused {
		return nil
	}
	stats, started := running.Stats(), running.StartedAt()
	if s.at.Sub(stats.LastReportAt) > maxPulseAge {
		return nil // nothing is known of the recorded media
	}
	if end := m.awaitSound(s, started, stats.LastSignalAt); end != nil {
		return end
	}
	action := m.sound.update(s.at, started, stats.LastSignalAt, m.othersSpeak(s, stats.LastSignalAt))
	if end := m.act(ctx, faultNoSound, action, &m.sound, s.at); end != nil || m.settings.AudioOnly || m.sink.soundOnly {
		return end
	}
	action = m.picture.update(s.at, started, stats.LastPictureAt, s.inbound.ReceivesMotion())
	return m.act(ctx, faultFrozenPicture, action, &m.picture, s.at)
}

// othersSpeak reports whether the page receives sound, marks somebody as speaking, or shows new
// captions long after the last signal. While all levels are 0, only a new mark counts: a page
// may keep that of the last speaker.
func (m *mediaFaults) othersSpeak(s snapshot, lastSignal time.Time) bool {
	speaking := func(p meeting.Participant) bool { return p.Speaking }
	written := func(line meeting.CaptionLine) bool { return !slices.Contains(m.captions, line) }
	begins := func(id string) bool { return !slices.Contains(m.marked, id) }
	captioned := slices.ContainsFunc(s.seen.Captions, written) && s.at.Sub(lastSignal) >= captionDelay
	begun := slices.ContainsFunc(s.seen.Marked, begins)
	m.captions, m.marked = s.seen.Captions, s.seen.Marked
	return captioned || begun || slices.ContainsFunc(s.seen.Participants, speaking) || s.inbound.ReceivesSound()
}

// awaitSound reports a fault of sound while others are in the meeting and the page has not
// received a single packet. If that ends with the first packet, there was nothing to record
// before, and the report does not keep the fault.
func (m *mediaFaults) awaitSound(s snapshot, started, lastSignal time.Time) *exitResult {
	if m.received {
		return nil
	}
	m.received = s.inbound.Packets > 0 || s.inbound.Audible || !lastSignal.IsZero()
	good := time.Time{}
	if m.received || s.seen.Others <= 0 {
		good = s.at
	}
	since := m.packets.since
	switch action := m.packets.update(s.at, started, good, false); {
	case m.soundFaulty(): // known, and the other watch ends it
	case action == markFault:
		m.report.StartFault(faultNoSound, m.packets.since)
		return m.emit(faultNoSound, "not_repaired", s.at)
	case action == endFault:
		if !m.received {
			since = good
		}
		m.report.EndFault(faultNoSound, since)
		return m.emit(faultNoSound, "ended", s.at)
	}
	return nil
}

// soundFaulty reports whether the recorded sound is known to be silent although others
// speak.
func (m *mediaFaults) soundFaulty() bool { return !m.sound.since.IsZero() }

// act repairs or reports a fault.
func (m *mediaFaults) act(ctx context.Context, kind string, action faultAction, watch *faultWatch, now time.Time) *exitResult {
	switch action {
	case repairFault:
		m.report.StartFault(kind, watch.since)
		// The page is repaired first. If that does not apply or did not help, the capture is
		// restarted, and the audio joined again: on a busy machine the page may have shown the
		// control too late.
		joins := kind == faultNoSound
		if joins {
			m.page.pageQueue.add(ctx, task{
				timeout: snapshotTimeout,
				do:      func(ctx context.Context) error { return m.page.adapter.RejoinAudio(ctx, m.page.tab) },
				onDone:  logFailure(m.log.Warn, "cannot join the audio of the page"),
			})
		}
		switch {
		case joins && watch.repaired == 1:
		case kind == faultFrozenPicture && watch.repaired == 1:
			// Without a video that the page has paused, the capture is faulty.
			resumed := 0
			m.page.pageQueue.add(ctx, task{
				timeout: snapshotTimeout,
				do: func(ctx context.Context) (err error) {
					resumed, err = recorder.ResumeVideos(ctx, m.page.tab)
					return err
				},
				onDone: func(ctx context.Context, err error) *exitResult {
					if err != nil && ctx.Err() == nil {
						m.log.Warn("cannot resume the videos of the page", "error", err)
					}
					if resumed == 0 {
						m.restartCapture(ctx, time.Now())
					}
					return nil
				},
			})
		default:
			m.restartCapture(ctx, now)
		}
		return m.emit(kind, "repairing", now)
	case markFault:
		return m.emit(kind, "not_repaired", now)
	case endFault:
		m.report.EndFault(kind, watch.goodAt)
		return m.emit(kind, "ended", now)
	}
	return nil
}

// restartCapture starts another part, with a new capture of the page.
func (m *mediaFaults) restartCapture(ctx context.Context, now time.Time) {
	if _, ok := m.restarts.allow(now); ok {
		m.interrupt(ctx, reasonRestarted)
		m.start(ctx)
	}
}

// faultData is the data of the event media_fault.
type faultData struct {
	Fault string `json:"fault"`
	State string `json:"state"` // repairing, not_repaired or ended

	Detail string `json:"detail,omitempty"`
}

// emit puts a fault on the timeline.
func (m *mediaFaults) emit(kind string, state string, now time.Time) *exitResult {
	m.log.Warn("media fault", "fault", kind, "state", state)
	if _, ok := m.reports.allow(now); !ok {
		return nil
	}
	return m.events.emitOrExit(job.BotMediaFault, faultData{Fault: kind, State: state})
}
