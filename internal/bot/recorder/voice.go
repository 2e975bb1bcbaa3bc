package recorder

import (
	"context"
	"encoding/base64"
	"fmt"
)

// StartBotAudio begins sound of the bot, which MixBotAudio adds to the recording. Until StopBotAudio, the recording
// waits for it. Without Settings.Voice it is discarded.
func (r *Recorder) StartBotAudio(ctx context.Context) error {
	return r.addVoice(ctx, "standin.speak()")
}

// MixBotAudio adds sound of the bot, which the recording does not capture: PCM S16LE, mono, 48 kHz,
// that begins at a Unix time in ms of the browser's clock.
func (r *Recorder) MixBotAudio(ctx context.Context, pcm []byte, atMs float64) error {
	return r.addVoice(ctx, fmt.Sprintf("standin.mix(%q, %f)", base64.StdEncoding.EncodeToString(pcm), atMs))
}

// addVoice calls a function that returns the bot's own track.
func (r *Recorder) addVoice(ctx context.Context, script string) error {
	var track string
	err := r.tab.EvalInPage(ctx, script, &track)
	if err == nil {
		r.ownTrack.Store(&track)
	}
	return err
}

// StopBotAudio ends sound of the bot at a time, and removes what was added for later.
func (r *Recorder) StopBotAudio(ctx context.Context, atMs float64) error {
	return r.tab.EvalInPage(ctx, fmt.Sprintf("standin.hush(%f)", atMs), nil)
}

// OwnTrack returns the TrackID of the bot's own sound among the tracks of participants, or
// "" before StartBotAudio.
func (r *Recorder) OwnTrack() string {
	if track := r.ownTrack.Load(); track != nil {
		return *track
	}
	return ""
}
