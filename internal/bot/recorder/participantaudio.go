package recorder

import (
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"standin/internal/bot/browser"
)

const (
	// pullInterval is how often the page is asked for what voices said. With the
	// script's timeslice it bounds what a killed browser takes of them.
	pullInterval = 1500 * time.Millisecond

	// pullTimeout bounds one such exchange: a page that hangs must not hold up
	// the recording.
	pullTimeout = 3 * time.Second

	// mostTold bounds how many voices one answer of the page may tell of, and
	// largestVoiceChunk a chunk of one: pages are not trusted.
	mostTold          = 256
	largestVoiceChunk = 4 << 20
	longestID         = 200
)

// ParticipantTrack is what one stream of the page's calls says by itself, from when it
// begins to arrive until it ends, or the recording pauses.
type ParticipantTrack struct {
	ID        string // unique among all recordings
	TrackID   string // of the page's track
	StartedAt time.Time
}

// ParticipantTrackPart is a further part of a voice.
type ParticipantTrackPart struct {
	ParticipantTrack
	First  int      // place of the first chunk in the voice, from 0
	Chunks [][]byte // one behind the other, from the first on, they are an MP4 file
	Ended  bool     // nothing comes after it
	// Cause tells why it ended before its time: something of its end is
	// missing. It is empty for one that ended in order.
	Cause string
}

// ParticipantTrackSink takes what voices say, one call at a time. All parts of a call are
// durable when it returns nil; until then they are offered again.
type ParticipantTrackSink interface {
	AppendTracks([]ParticipantTrackPart) error
}

//go:embed participantaudio.js
var voicesScript string

// pullScript passes an order to the page and to those of its frames that are of
// its own origin.
const pullScript = `(async order => {
	const voices = [];
	let passedOver = 0;
	const pull = async view => {
		const here = view[Symbol.for("standin.voices")];
		if (here) {
			const told = await here.pull(order);
			voices.push(...told.voices);
			passedOver += told.passedOver;
		}
		for (let i = 0; i < view.length; i++) {
			try { await pull(view[i]); } catch { /* another site's frame, or one that goes */ }
		}
	};
	await pull(window);
	return {voices, passedOver};
})`

// order is what the page is told. ParticipantAudio belong to the epoch in which they
// began; a pause begins another.
type order struct {
	On            bool           `json:"on"`
	Epoch         int            `json:"epoch"`
	Most          int            `json:"most"`
	BitsPerSecond int            `json:"bitsPerSecond"`
	Have          map[string]int `json:"have"`
}

// told is the page's answer.
type told struct {
	ParticipantAudio []toldVoice `json:"voices"`
	PassedOver       int         `json:"passedOver"` // tracks for which there is no place
}

// toldVoice is a voice as the page tells of it.
type toldVoice struct {
	ID          string   `json:"id"`
	Track       string   `json:"track"`
	Epoch       int      `json:"epoch"`
	StartedAtMs float64  `json:"startedAtMs"` // by the machine's clock
	AgoMs       float64  `json:"agoMs"`
	First       int      `json:"first"`
	Chunks      [][]byte `json:"chunks"`
	Ended       bool     `json:"ended"`
	Cause       string   `json:"cause"`
}

// voices records the voices of a page beside its picture and mixed sound, which
// its failures never reach: they end in the log, and in what the sink is told of
// voices that are not whole.
type voices struct {
	page *browser.Page
	sink ParticipantTrackSink
	log  *slog.Logger

	most, bitsPerSecond int

	wishes  chan wish
	done    chan struct{}
	working sync.WaitGroup

	// Of the loop alone.
	on         bool
	epoch      int
	open       map[string]*openVoice
	unanswered bool // the last order
	failing    bool
	passedOver int
}

// openVoice is a voice that has not ended, or whose end the page does not know
// to be taken.
type openVoice struct {
	ParticipantTrack
	next  int // the place of the chunk that is due
	ended bool
}

// wish changes whether voices are recorded; answered is closed once that is so.
type wish struct {
	on       bool
	answered chan struct{}
}

// hear begins to record the voices of a page; nil where none are wanted.
func hear(page *browser.Page, settings Settings) *voices {
	if settings.ParticipantAudio == nil {
		return nil
	}
	v := &voices{
		page: page, sink: settings.ParticipantAudio, log: settings.Log,
		most: settings.MaxParticipantTracks, bitsPerSecond: settings.ParticipantBitsPerSecond,
		wishes: make(chan wish), done: make(chan struct{}),
		on: true, open: make(map[string]*openVoice),
	}
	v.working.Go(v.run)
	return v
}

// set has voices recorded or not, and returns once what was said until then is
// with the sink, or cannot be had. Nothing that is said while they are not
// wanted ever reaches the sink.
func (v *voices) set(ctx context.Context, on bool) {
	if v == nil {
		return
	}
	w := wish{on: on, answered: make(chan struct{})}
	select {
	case v.wishes <- w:
	case <-v.done:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-w.answered:
	case <-ctx.Done():
	}
}

// close ends the recording of voices and waits for it.
func (v *voices) close() {
	if v == nil {
		return
	}
	close(v.done)
	v.working.Wait()
}

// run asks the page again and again, until it is closed.
func (v *voices) run() {
	again := time.NewTicker(pullInterval)
	defer again.Stop()
	v.pull()
	for {
		select {
		case <-again.C:
			if v.on || len(v.open) > 0 {
				v.pull()
			}
		case w := <-v.wishes:
			v.change(w.on)
			close(w.answered)
		case <-v.done:
			v.change(false)
			v.giveUp("the page was not reached any more")
			return
		}
	}
}

// change begins an epoch when voices are wanted again, and fetches the rest of
// the present one when they are not. Where the page does not answer, the rest is
// given up: it may go on to record what it must not, and nobody takes it.
func (v *voices) change(on bool) {
	if v.on == on {
		return
	}
	v.on = on
	if on {
		v.newEpoch("the page was not reached when the recording paused")
	}
	v.pull()
	if !on && v.unanswered {
		v.newEpoch("the page did not answer when the recording paused or ended")
	}
}

// newEpoch gives up what is left of the present epoch.
func (v *voices) newEpoch(cause string) {
	v.giveUp(cause)
	v.epoch++
}

// pull exchanges an order for what voices said.
func (v *voices) pull() {
	answer, heard, err := v.ask()
	v.unanswered = err != nil
	if err == nil {
		err = v.hand(v.fresh(answer, heard))
	}
	switch {
	case err != nil && !v.failing:
		v.log.Warn("participants' own sound cannot be had; the recording goes on without it", "error", err)
	case err == nil && v.failing:
		v.log.Info("participants' own sound can be had again")
	}
	v.failing = err != nil
}

// ask gives the page its order.
func (v *voices) ask() (answer told, heard time.Time, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), pullTimeout)
	defer cancel()
	have := make(map[string]int, len(v.open))
	for id, voice := range v.open {
		have[id] = voice.next
	}
	request := order{On: v.on, Epoch: v.epoch, Most: v.most, BitsPerSecond: v.bitsPerSecond, Have: have}
	if err := v.page.Eval(ctx, call(pullScript, request), &answer); err != nil {
		return told{}, time.Time{}, err
	}
	if err := answer.check(); err != nil {
		return told{}, time.Time{}, err
	}
	if answer.PassedOver > v.passedOver {
		v.log.Warn("more participants send sound than are recorded by themselves", "most", v.most, "passed_over", answer.PassedOver)
	}
	v.passedOver = answer.PassedOver
	return answer, time.Now(), nil
}

// check refuses what no honest page tells.
func (t told) check() error {
	if len(t.ParticipantAudio) > mostTold {
		return fmt.Errorf("the page tells of %d voices", len(t.ParticipantAudio))
	}
	for _, one := range t.ParticipantAudio {
		if one.ID == "" || len(one.ID) > longestID || len(one.Track) > longestID || one.First < 0 {
			return errors.New("the page tells of a voice that cannot be")
		}
		for _, chunk := range one.Chunks {
			if len(chunk) == 0 || len(chunk) > largestVoiceChunk {
				return fmt.Errorf("the page tells of a chunk of %d bytes", len(chunk))
			}
		}
	}
	return nil
}

// fresh is what of an answer the sink does not have yet.
func (v *voices) fresh(answer told, heard time.Time) []ParticipantTrackPart {
	var parts []ParticipantTrackPart
	present := make(map[string]bool)
	for _, one := range answer.ParticipantAudio {
		if one.Epoch != v.epoch {
			continue // a pause has begun since: what belongs to it was fetched, or is given up
		}
		present[one.ID] = true
		known := v.open[one.ID]
		switch {
		case known == nil && len(one.Chunks) == 0 && one.Cause != "":
			v.log.Warn("a participant's own sound cannot be recorded", "cause", one.Cause)
			continue
		case known == nil && (len(one.Chunks) == 0 || one.First > 0):
			continue // nothing was said yet, or its end is known
		case known == nil:
			known = &openVoice{ParticipantTrack: one.begun(heard)}
			v.open[one.ID] = known
		case known.ended:
			continue
		}
		part := ParticipantTrackPart{ParticipantTrack: known.ParticipantTrack, First: known.next, Ended: one.Ended, Cause: one.Cause}
		if old := known.next - one.First; old >= 0 && old <= len(one.Chunks) {
			part.Chunks = one.Chunks[old:]
		}
		if len(part.Chunks) > 0 || part.Ended {
			parts = append(parts, part)
		}
	}
	for id, voice := range v.open {
		if present[id] {
			continue
		}
		if voice.ended {
			delete(v.open, id)
		} else { // it went with its document
			parts = append(parts, ParticipantTrackPart{ParticipantTrack: voice.ParticipantTrack, First: voice.next, Ended: true, Cause: "the page was left or loaded again"})
		}
	}
	return parts
}

// begun is a voice that was not known until the page told of it.
func (t toldVoice) begun(heard time.Time) ParticipantTrack {
	at := startedAt(time.UnixMicro(int64(t.StartedAtMs*1000)), heard.Add(-milliseconds(t.AgoMs)))
	return ParticipantTrack{ID: t.ID, TrackID: t.Track, StartedAt: at}
}

// hand gives parts to the sink and counts what it took.
func (v *voices) hand(parts []ParticipantTrackPart) error {
	if len(parts) == 0 {
		return nil
	}
	if err := v.sink.AppendTracks(parts); err != nil {
		return fmt.Errorf("keep what participants said: %w", err)
	}
	for _, part := range parts {
		voice := v.open[part.ID]
		voice.next += len(part.Chunks)
		voice.ended = part.Ended
	}
	return nil
}

// giveUp ends the voices of which the rest cannot be had.
func (v *voices) giveUp(cause string) {
	var parts []ParticipantTrackPart
	for _, voice := range v.open {
		if !voice.ended {
			parts = append(parts, ParticipantTrackPart{ParticipantTrack: voice.ParticipantTrack, First: voice.next, Ended: true, Cause: cause})
		}
	}
	if err := v.hand(parts); err != nil {
		v.log.Warn("it cannot be told that participants' own sound is not whole", "error", err)
	}
	clear(v.open)
}
