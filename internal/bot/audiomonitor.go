package bot

import (
	"context"
	"slices"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
)

// maxPulseAge is how long the recorder's page may report nothing about the
// sound before silence is no longer evidence.
const maxPulseAge = 10 * time.Second

// monitorAudio follows the meeting's audio while nothing is recorded: the limit
// of silence applies to a paused or stopped recording too. Without the host's
// permission audio is not monitored.
func (r *recordingSession) monitorAudio(ctx context.Context) {
	if r.listener != nil {
		select {
		case <-r.listener.Done():
			r.listener = nil
		default:
		}
	}
	needed := func() bool {
		return r.page.phase == phaseAdmitted && r.recorder == nil && r.listener == nil &&
			(r.state.paused || r.state.stopped || r.state.full || r.state.suspended)
	}
	if !needed() {
		return
	}
	var listener *recorder.SoundMonitor
	r.recordingQueue.add(ctx, task{
		name: "monitor audio", timeout: recorderStartTimeout,
		shouldRun: needed,
		do: func(ctx context.Context) (err error) {
			settings := r.settings
			settings.ParticipantAudio = nil // nothing is recorded
			listener, err = recorder.MonitorSound(ctx, r.page.browser, r.page.tab, settings)
			return err
		},
		onDone: func(_ context.Context, err error) *exitResult {
			if err != nil {
				r.log.Warn("monitoring audio failed; trying again later", "error", err)
				return nil
			}
			r.listener = listener
			return nil
		},
	})
}

// audioStats returns the statistics of the audio; false if it is not monitored.
func (r *recordingSession) audioStats() (recorder.Stats, bool) {
	switch {
	case r.recorder != nil:
		return r.recorder.Stats(), true
	case r.listener != nil:
		return r.listener.Stats(), true
	}
	return recorder.Stats{}, false
}

// updateLastAudio updates when audio was last received.
func (r *recordingSession) updateLastAudio() {
	if stats, ok := r.audioStats(); ok && stats.LastSoundAt.After(r.state.lastAudio) {
		r.state.lastAudio = stats.LastSoundAt
	}
}

// audioStatus is what the leave policy needs to know about the audio.
type audioStatus struct {
	last      time.Time // when audio was last received; zero if never
	monitored bool      // silence is evidence
}

// audio returns the status of the audio.
func (r *recordingSession) audio(now time.Time) audioStatus {
	r.updateLastAudio()
	stats, ok := r.audioStats()
	return audioStatus{last: r.state.lastAudio, monitored: ok && now.Sub(stats.LastReportAt) <= maxPulseAge}
}

// maxSpeechSilence is how long the meeting's sound may have been silent while a
// participant speaks.
const maxSpeechSilence = 1500 * time.Millisecond

// withoutSilent returns participants of whom nobody speaks while the meeting's sound
// is silent. Pages mark the last speaker, or one whose sound does not arrive.
func withoutSilent(participants []meeting.Participant, stats recorder.Stats, monitored bool) []meeting.Participant {
	if !monitored || stats.LastReportAt.Sub(stats.LastSoundAt) < maxSpeechSilence {
		return participants
	}
	silent := slices.Clone(participants)
	for i := range silent {
		silent[i].Speaking = false
	}
	return silent
}
