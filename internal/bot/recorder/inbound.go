package recorder

import (
	"context"
	_ "embed" // for the script
	"fmt"

	"standin/internal/bot/browser"
)

//go:embed inbound.js
var inboundScript string

// Inbound is the media that a page received since the last call.
type Inbound struct {
	Packets, Bytes int64   // audio packets and bytes
	Energy         float64 // energy of the audio that the page plays, in squares of full scale times seconds
	Audible        bool    // a source of the audio is marked as loud by its sender
	Frames         int64   // decoded video frames
	PictureChanged bool    // a video that the page shows, or the track that it should show, has changed
	UnplayedMs     float64 // sound that the page was too late to play: it did not run
	Received       int64   // packets of the connections, of any kind
	ReceivedAgoMs  float64 // how long ago the last one of audio or video arrived; -1 if none did
}

const (
	// audibleEnergy is that of a quarter of a second at the level of a quiet voice
	// (-40 dBFS).
	audibleEnergy = 0.25 * 0.01 * 0.01

	// Opus packets of silence or comfort noise have at most about 12 bytes; those of
	// speech have 40 and more. A second of speech has 50 packets of 20 ms, or 16 of
	// 60 ms.
	minSpeechPackets     = 10
	minSpeechPacketBytes = 30
)

// ReceivesSound reports whether others can be heard, or could be if the page played
// what it receives.
func (i Inbound) ReceivesSound() bool {
	unplayed := i.Energy == 0 && i.Packets >= minSpeechPackets && i.Bytes >= i.Packets*minSpeechPacketBytes
	return i.Audible || i.Energy >= audibleEnergy || unplayed
}

// ReceivesMotion reports whether a moving video is received that the page shows or
// should show.
func (i Inbound) ReceivesMotion() bool { return i.Frames > 0 && i.PictureChanged }

// MeasureInbound returns what a prepared page received since the last call. The first
// call returns little.
func MeasureInbound(ctx context.Context, meeting *browser.Page) (Inbound, error) {
	var inbound Inbound
	if err := meeting.EvalInPage(ctx, withViews(inboundScript), &inbound); err != nil {
		return Inbound{}, fmt.Errorf("measure the received media: %w", err)
	}
	return inbound, nil
}

//go:embed resume.js
var resumeScript string

// ResumeVideos plays the videos of others that the page shows but has paused, and
// returns how many there were.
func ResumeVideos(ctx context.Context, meeting *browser.Page) (resumed int, err error) {
	if err := meeting.Eval(ctx, withViews(resumeScript), &resumed); err != nil {
		return 0, fmt.Errorf("resume the videos of the page: %w", err)
	}
	return resumed, nil
}

// connectedScript returns whether a peer connection of the page or its same-origin
// frames is connected. See receivers.js.
const connectedScript = `views => views().some(view => [...view[Symbol.for("standin.connections")] || []]
	.some(reference => reference.deref()?.connectionState === "connected"))`

// Connected reports whether a prepared page has a connected peer connection. Pages
// that transport audio and video in another way have none.
func Connected(ctx context.Context, meeting *browser.Page) (bool, error) {
	var connected bool
	if err := meeting.EvalInPage(ctx, withViews(connectedScript), &connected); err != nil {
		return false, fmt.Errorf("check the page's connections: %w", err)
	}
	return connected, nil
}
