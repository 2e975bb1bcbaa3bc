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
	// pollInterval is how often the recorder fetches encoded audio from the page.
	// Together with the script's timeslice it limits what a killed browser loses.
	pollInterval = 1500 * time.Millisecond

	// pollTimeout limits one fetch, so that a page that hangs does not delay the
	// recording.
	pollTimeout = 3 * time.Second

	// Limits of one report, because pages are not trusted.
	maxReportedTracks = 256
	maxTrackChunk     = 4 << 20
	maxTrackIDLen     = 200
)

// ParticipantTrack is one audio track of the page's calls, recorded on its own from
// its first packets until it ends or the recording pauses.
type ParticipantTrack struct {
	ID        string // unique among all recordings
	TrackID   string // ID of the page's MediaStreamTrack
	PersonID  string // the participant, if the platform names him
	Kind      string // as in the manifest, of a track that is not the audio of a participant
	StartedAt time.Time
	// OwnedUntil is until when it is of the participant; zero if it is to its end.
	OwnedUntil time.Time
}

// ParticipantTrackPart is the next part of a track.
type ParticipantTrackPart struct {
	ParticipantTrack
	First  int      // index of the first chunk within the track
	Chunks [][]byte // all chunks of a track, concatenated, are a file: MP4, or IVF of a picture
	Ended  bool     // this is the last part
	// Cause is why the track ended early, so that its end is missing. It is empty
	// if the track is complete.
	Cause string
}

// ParticipantTrackSink stores the parts of tracks. AppendTracks may be called
// concurrently. When it returns nil, all parts are durable; otherwise they are
// offered again.
type ParticipantTrackSink interface {
	AppendTracks([]ParticipantTrackPart) error
}

//go:embed participantaudio.js
var participantAudioBody string

// participantAudioScript records the audio of participants in the meeting page.
var participantAudioScript = inScope(remoteAudioScript, participantAudioBody)

// pullScript sends a request to the page and its same-origin frames and merges
// their reports.
const pullScript = `async (views, request) => {
	const tracks = [];
	let skipped = 0;
	for (const view of views()) {
		try {
			const report = await view[Symbol.for("standin.participantAudio")]?.pull(request);
			tracks.push(...report?.tracks ?? []);
			skipped += report?.skipped ?? 0;
		} catch (error) {
			if (view === window) throw error; // otherwise a frame that was removed
		}
	}
	return {tracks, skipped};
}`

// pullReport is the page's response.
type pullReport struct {
	Tracks []struct {
		ID, Track          string
		Epoch, First       int
		StartedAtMs, AgoMs float64 // Unix time, and time since then
		Chunks             [][]byte
		Ended              bool
		Cause              string
	}
	Skipped int // tracks beyond the maximum
}

// participantAudio records the audio tracks of a page individually, in addition to
// the mixed recording. Its failures do not affect the mixed recording: they are
// logged, and incomplete tracks end with a cause.
type participantAudio struct {
	page *browser.Page
	sink ParticipantTrackSink
	log  *slog.Logger

	maxTracks int

	done    chan struct{}
	running sync.WaitGroup

	polling     sync.Mutex // guards the following fields
	enabled     bool
	epoch       int                   // to which the tracks belong that start in it; a pause starts a new one
	trackIndex  map[string]*openTrack // ID -> track
	unreachable bool                  // the last pull failed
	failing     bool
	skipped     int
}

// openTrack is a track that has not ended, or whose end the page has not forgotten.
type openTrack struct {
	ParticipantTrack
	next  int // index of the next chunk
	ended bool
}

// startParticipantAudio starts to record the tracks of a page. It returns nil if the
// settings have no sink for them.
func startParticipantAudio(ctx context.Context, page *browser.Page, settings Settings) *participantAudio {
	if settings.ParticipantAudio == nil {
		return nil
	}
	a := &participantAudio{
		page: page, sink: settings.ParticipantAudio, log: settings.Log,
		maxTracks: settings.MaxParticipantTracks,
		done:      make(chan struct{}), enabled: true, trackIndex: make(map[string]*openTrack),
	}
	a.running.Go(func() {
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		a.polling.Lock()
		a.poll(ctx)
		a.polling.Unlock()
		for {
			select {
			case <-ticker.C:
				a.polling.Lock()
				if a.enabled || len(a.trackIndex) > 0 {
					a.poll(ctx)
				}
				a.polling.Unlock()
			case <-a.done:
				a.setEnabled(ctx, false)
				a.endTracks("the page could not be reached any more")
				return
			}
		}
	})
	return a
}

// setEnabled turns the recording of tracks on, with a new epoch, or off. It returns when
// the audio until then is stored or cannot be fetched. Audio of the time in which recording
// is off never reaches the sink. If the page does not respond, the rest of the epoch is
// discarded: the page may continue to record, and its data is ignored.
func (a *participantAudio) setEnabled(ctx context.Context, enabled bool) {
	if a == nil {
		return
	}
	a.polling.Lock()
	defer a.polling.Unlock()
	if a.enabled == enabled {
		return
	}
	a.enabled = enabled
	if enabled {
		a.nextEpoch("the page could not be reached when the recording paused")
	}
	a.poll(ctx)
	if !enabled && a.unreachable {
		a.nextEpoch("the page did not respond when the recording paused or ended")
	}
}

// close ends the recording of tracks and waits for it.
func (a *participantAudio) close() {
	if a == nil {
		return
	}
	close(a.done)
	a.running.Wait()
}

// nextEpoch ends the tracks of the current epoch.
func (a *participantAudio) nextEpoch(cause string) {
	a.endTracks(cause)
	a.epoch++
}

// poll fetches encoded audio from the page and stores it.
func (a *participantAudio) poll(ctx context.Context) {
	report, receivedAt, err := a.pull(ctx)
	a.unreachable = err != nil
	if err == nil {
		err = a.store(a.newParts(report, receivedAt))
	}
	switch {
	case err != nil && !a.failing:
		a.log.Warn("cannot record participants' audio; the recording continues without it", "error", err)
	case err == nil && a.failing:
		a.log.Info("recording participants' audio again")
	}
	a.failing = err != nil
}

// pull sends a request to the page and returns its report.
func (a *participantAudio) pull(ctx context.Context) (report pullReport, receivedAt time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	stored := make(map[string]int, len(a.trackIndex)) // number of stored chunks by track
	for id, track := range a.trackIndex {
		stored[id] = track.next
	}
	request := map[string]any{
		"enabled": a.enabled, "epoch": a.epoch, "maxTracks": a.maxTracks, "bitsPerSecond": 32_000, "stored": stored,
	}
	if err = a.page.EvalInPage(ctx, withViews(pullScript, request), &report); err == nil {
		err = report.validate()
	}
	if err != nil {
		return pullReport{}, time.Time{}, err
	}
	if report.Skipped > a.skipped {
		a.log.Warn("more participants send audio than are recorded individually", "max", a.maxTracks, "skipped", report.Skipped)
	}
	a.skipped = report.Skipped
	return report, time.Now(), nil
}

// validate returns an error for a report that the script cannot produce.
func (r pullReport) validate() error {
	if len(r.Tracks) > maxReportedTracks {
		return fmt.Errorf("the page reports %d tracks", len(r.Tracks))
	}
	seen := make(map[string]bool)
	for _, track := range r.Tracks {
		if track.ID == "" || len(track.ID) > maxTrackIDLen || len(track.Track) > maxTrackIDLen || track.First < 0 || seen[track.ID] {
			return errors.New("the page reports an invalid track")
		}
		seen[track.ID] = true
		for _, chunk := range track.Chunks {
			if len(chunk) == 0 || len(chunk) > maxTrackChunk {
				return fmt.Errorf("the page reports a chunk of %d bytes", len(chunk))
			}
		}
	}
	return nil
}

// newParts returns the parts of a report that are not stored yet.
func (a *participantAudio) newParts(report pullReport, receivedAt time.Time) []ParticipantTrackPart {
	var parts []ParticipantTrackPart
	present := make(map[string]bool)
	for _, reported := range report.Tracks {
		if reported.Epoch != a.epoch {
			continue // the track is of an earlier epoch, which was fetched or discarded
		}
		present[reported.ID] = true
		track := a.trackIndex[reported.ID]
		switch {
		case track == nil && len(reported.Chunks) == 0 && reported.Cause != "":
			a.log.Warn("cannot record a participant's audio", "cause", reported.Cause)
			continue
		case track == nil && (len(reported.Chunks) == 0 || reported.First > 0):
			continue // nothing is recorded yet, or the end is stored
		case track == nil:
			track = &openTrack{ParticipantTrack: ParticipantTrack{
				ID: reported.ID, TrackID: reported.Track, StartedAt: localTime(reported.StartedAtMs, reported.AgoMs, receivedAt),
			}}
			a.trackIndex[reported.ID] = track
		case track.ended:
			continue
		}
		part := ParticipantTrackPart{ParticipantTrack: track.ParticipantTrack, First: track.next, Ended: reported.Ended, Cause: reported.Cause}
		if stored := track.next - reported.First; stored >= 0 && stored <= len(reported.Chunks) {
			part.Chunks = reported.Chunks[stored:]
		}
		if len(part.Chunks) > 0 || part.Ended {
			parts = append(parts, part)
		}
	}
	for id, track := range a.trackIndex {
		if present[id] {
			continue
		}
		if track.ended {
			delete(a.trackIndex, id)
		} else { // its document is gone
			parts = append(parts, track.endPart("the page was left or reloaded"))
		}
	}
	return parts
}

// endPart returns the last part of a track that ends early.
func (t *openTrack) endPart(cause string) ParticipantTrackPart {
	return ParticipantTrackPart{ParticipantTrack: t.ParticipantTrack, First: t.next, Ended: true, Cause: cause}
}

// store passes parts to the sink and updates the track index.
func (a *participantAudio) store(parts []ParticipantTrackPart) error {
	if len(parts) == 0 {
		return nil
	}
	if err := a.sink.AppendTracks(parts); err != nil {
		return fmt.Errorf("store participants' audio: %w", err)
	}
	for _, part := range parts {
		track := a.trackIndex[part.ID]
		track.next += len(part.Chunks)
		track.ended = part.Ended
	}
	return nil
}

// endTracks ends all tracks, with the cause, and clears the index.
func (a *participantAudio) endTracks(cause string) {
	var parts []ParticipantTrackPart
	for _, track := range a.trackIndex {
		if !track.ended {
			parts = append(parts, track.endPart(cause))
		}
	}
	if err := a.store(parts); err != nil {
		a.log.Warn("cannot mark participants' audio as incomplete", "error", err)
	}
	clear(a.trackIndex)
}
