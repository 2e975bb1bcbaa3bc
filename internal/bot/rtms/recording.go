package rtms

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/bot/recorder"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// Positions and lengths of sound are numbers of samples.
const (
	rate  = ingest.SoundRate
	block = ingest.FLACFrameSamples // that are mixed and encoded at a time
	// maxDisorder is by how much a packet may be later than a newer one. When none arrives for maxDelay, nobody speaks.
	maxDisorder = rate / 5
	maxDelay    = 5 * rate
	// maxJitter is by how much a packet may differ from the end of the one before it.
	maxJitter = rate * 15 / 1000
	// loudness is the level from which sound counts as speech: root mean square of samples between -1 and 1.
	loudness  = 0.003
	maxEvents = 100 // of sound in the statistics

	flushInterval = 1500 * time.Millisecond // between writes to the disk
	frameTime     = 40 * time.Millisecond
)

// packet is a packet of sound or video.
type packet struct {
	kind      int
	user      string
	timestamp int64 // of Zoom
	data      []byte
}

// Recording writes what arrives: the mixed sound as segments, and the sound, the video and the shared screen of each
// participant as tracks. It implements recorder.Recording. Its fields are guarded by the mutex of its Meeting.
type Recording struct {
	meeting  *Meeting
	settings recorder.Settings
	sink     recorder.Sink // nil if the sound is only followed

	startedAt time.Time // of position 0
	mixed     int       // up to where the sound was mixed
	newest    int       // packet of sound
	paused    bool
	loud      bool
	main      *soundTrack
	voices    map[string]*voice
	cameras   map[source]*camera
	parts     []recorder.ParticipantTrackPart // to be stored
	stats     recorder.Stats

	stopOnce   sync.Once
	stop, done chan struct{}
	err        error
}

// voice is the sound of a participant.
type voice struct {
	waiting []int16     // from where the sound was mixed
	end     int         // position of the end of the last packet
	track   *soundTrack // nil while nothing is recorded
}

// Record implements the way into a meeting: it starts to record, with what Zoom has kept if that belongs to it. Without
// a sink, the sound is only followed.
func (m *Meeting) Record(ctx context.Context, settings recorder.Settings, sink recorder.Sink) (recorder.Recording, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.settings.Backlog && (len(m.backlog) == 0 || m.epoch.IsZero()) && (m.away.to.IsZero() || time.Since(m.away.to) < time.Second) {
		m.mu.Unlock()
		err := retry.Sleep(ctx, frameTime)
		m.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	r := &Recording{
		meeting: m, settings: settings, sink: sink, startedAt: time.Now(), main: newSound("", time.Time{}),
		voices: make(map[string]*voice), cameras: make(map[source]*camera), stop: make(chan struct{}), done: make(chan struct{}),
	}
	for _, p := range m.backlog {
		r.startedAt = job.Earliest(r.startedAt, m.localTime(p.timestamp))
	}
	for _, p := range m.backlog {
		r.add(p)
	}
	m.recording, m.backlog, m.settings.Backlog = r, nil, false
	m.running.Go(r.run)
	return r, nil
}

// position converts a time.
func (r *Recording) position(at time.Time) int {
	return int(math.Round(at.Sub(r.startedAt).Seconds() * rate))
}

// time converts a position.
func (r *Recording) time(position int) time.Time {
	return r.startedAt.Add(time.Duration(float64(position) / rate * float64(time.Second)))
}

// add adds a packet, unless it is of a pause or of another time.
func (r *Recording) add(p packet) {
	at := r.meeting.localTime(p.timestamp)
	position, who := r.position(at), r.meeting.people[userID(p.user)]
	if who == nil || position < 0 || position > r.position(time.Now())+maxDelay || r.paused {
		return
	}
	if p.kind != audio {
		if r.sink != nil && !r.settings.AudioOnly {
			r.addFrame(p, at)
		}
		return
	}
	if away := &r.meeting.away; !away.from.IsZero() { // the first one since the media were lost
		if at.Sub(away.from) > time.Second {
			r.addGap(away.from, job.Earliest(at, away.to), recording.GapNetworkLost)
		}
		away.from = time.Time{}
	}
	v := r.voices[p.user]
	if v == nil {
		v = &voice{}
		r.voices[p.user] = v
	}
	if difference := position - v.end; max(difference, -difference) < maxJitter {
		position = v.end
	}
	pcm := make([]int16, len(p.data)/2)
	_, _ = binary.Decode(p.data, binary.LittleEndian, pcm) // L16 with little-endian samples, all of which are there
	end := position + len(pcm)
	if position < r.mixed {
		if v.end <= position { // it was not received before, and is too late
			r.addGap(r.time(position), r.time(end), recording.GapMediaLost)
		}
		return
	}
	if level(pcm) >= loudness {
		who.loudAt = time.Now()
	}
	if missing := end - r.mixed - len(v.waiting); missing > 0 {
		v.waiting = append(v.waiting, make([]int16, missing)...)
	}
	copy(v.waiting[position-r.mixed:], pcm)
	v.end, r.newest = max(v.end, end), max(r.newest, position)
	r.hear(p.user, position, pcm)
	r.mix(r.newest - maxDisorder)
}

// hear passes sound of a participant, or the mixed sound, to the listeners.
func (r *Recording) hear(user string, position int, pcm []int16) {
	if r.settings.LiveSound == nil {
		return
	}
	if wanted, _ := r.settings.LiveSound.Wanted(); user == "" && !wanted.Mixed || user != "" && !wanted.Participants {
		return
	}
	for frame := range slices.Chunk(pcm, ingest.SoundFrameSamples) {
		heard := recorder.LiveSound{TrackID: user, At: r.time(position), PCM: make([]byte, ingest.SoundFrameBytes)}
		_, _ = binary.Encode(heard.PCM, binary.LittleEndian, frame) // it has room for a frame
		r.settings.LiveSound.Hear([]recorder.LiveSound{heard})
		position += len(frame)
	}
}

// mix mixes and encodes the sound up to a position, in whole blocks.
func (r *Recording) mix(limit int) {
	for ; r.mixed+block <= limit && !r.paused; r.mixed += block {
		mixed := make([]int16, block)
		for user, v := range r.voices {
			own := make([]int16, block)
			taken := copy(own, v.waiting)
			v.waiting = v.waiting[taken:]
			if r.sink != nil && r.settings.ParticipantAudio != nil && (taken > 0 || v.track != nil) {
				if v.track == nil {
					v.track = newSound(user, r.time(r.mixed))
				}
				v.track.add(own)
			}
			for i, sample := range own[:taken] {
				mixed[i] = int16(min(max(int(mixed[i])+int(sample), math.MinInt16), math.MaxInt16))
			}
		}
		if r.sink != nil {
			r.main.add(mixed)
		}
		r.hear("", r.mixed, mixed)
		loud := level(mixed) >= loudness
		if loud {
			r.stats.LastSoundAt = time.Now()
		}
		if loud != r.loud {
			change := recorder.SoundChange{At: r.time(r.mixed), Sound: loud}
			r.stats.SoundChanges = append(r.stats.SoundChanges[max(0, len(r.stats.SoundChanges)-maxEvents):], change)
		}
		r.loud = loud
		r.stats.Recorded += block * time.Second / rate
	}
}

// addGap adds a gap of the sound to the statistics.
func (r *Recording) addGap(from, to time.Time, reason string) {
	gap := recorder.SoundGap{From: from, To: to, Reason: reason}
	r.stats.SoundGaps = append(r.stats.SoundGaps[max(0, len(r.stats.SoundGaps)-maxEvents):], gap)
}

// endTracks ends the tracks of some participants. r may be nil.
func (r *Recording) endTracks(of func(source) bool) {
	if r == nil {
		return
	}
	for user, v := range r.voices {
		if v.track != nil && of(source{audio, user}) {
			r.parts, v.track = v.track.appendPart(r.parts, true), nil
		}
	}
	for key, c := range r.cameras {
		if of(key) {
			r.endCamera(c)
		}
	}
}

func all(source) bool { return true }

// run stores what is recorded until Stop.
func (r *Recording) run() {
	defer close(r.done)
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for stopped := false; !stopped && r.err == nil; {
		select {
		case <-ticker.C:
		case <-r.stop:
			stopped = true
		}
		chunk, parts := r.takeRecorded(time.Now(), stopped)
		if len(chunk.Data) > 0 {
			r.err = r.sink.Append(chunk)
		}
		if len(parts) > 0 {
			if err := r.settings.Tracks.AppendTracks(parts); err != nil {
				r.meeting.log.Warn("a part of the tracks of participants is lost", "error", err)
			}
		}
	}
	r.meeting.mu.Lock()
	defer r.meeting.mu.Unlock()
	r.meeting.recording = nil
}

// takeRecorded returns what was recorded since the last call.
func (r *Recording) takeRecorded(now time.Time, stopped bool) (recorder.Chunk, []recorder.ParticipantTrackPart) {
	m := r.meeting
	m.mu.Lock()
	defer m.mu.Unlock()
	switch away := m.away; {
	case stopped:
		if !away.from.IsZero() && m.over.Screen == "" { // nothing has arrived since
			now = away.from
		}
		end := r.position(now)
		for _, v := range r.voices {
			end = max(end, v.end) // Zoom's clock is compared by messages that took some time
		}
		r.mix(end + block)
		r.endTracks(all)
		r.stats.EndedAt = r.time(r.mixed)
	case !away.to.IsZero() && now.Sub(away.to) >= maxDelay*time.Second/rate: // what Zoom has kept has arrived
		r.mix(r.position(now) - maxDelay)
	}
	for _, v := range r.voices {
		if v.track != nil {
			r.parts = v.track.appendPart(r.parts, false)
		}
	}
	for _, c := range r.cameras {
		if c.piece != nil {
			r.parts = c.piece.AppendPart(r.parts, false)
		}
	}
	r.stats.LastReportAt = now
	chunk := recorder.Chunk{Sequence: r.stats.Chunks, Data: r.main.take(), Offset: r.stats.Recorded}
	if len(chunk.Data) > 0 {
		r.stats.Chunks++
	}
	parts := r.parts
	r.parts = nil
	return chunk, parts
}

// StartedAt implements recorder.Recording.
func (r *Recording) StartedAt() time.Time { return r.startedAt }

// Pause implements recorder.Recording. What has not arrived yet is not recorded.
func (r *Recording) Pause(context.Context) (time.Time, error) {
	r.meeting.mu.Lock()
	defer r.meeting.mu.Unlock()
	r.mix(r.position(time.Now()))
	r.endTracks(all)
	r.paused = true
	return r.time(r.mixed), nil
}

// Resume implements recorder.Recording.
func (r *Recording) Resume(context.Context) (time.Time, error) {
	r.meeting.mu.Lock()
	defer r.meeting.mu.Unlock()
	now := time.Now()
	r.paused, r.mixed = false, r.position(now)
	clear(r.voices)
	return now, nil
}

// Stats implements recorder.Recording.
func (r *Recording) Stats() recorder.Stats {
	r.meeting.mu.Lock()
	defer r.meeting.mu.Unlock()
	return r.stats
}

// Done implements recorder.Recording.
func (r *Recording) Done() <-chan struct{} { return r.done }

// Err implements recorder.Recording. It may be called when Done is closed.
func (r *Recording) Err() error { return r.err }

// Stop implements recorder.Recording: it stores what has arrived.
func (r *Recording) Stop(ctx context.Context) error {
	r.stopOnce.Do(func() { close(r.stop) })
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close implements recorder.Recording.
func (r *Recording) Close() { _ = r.Stop(context.Background()) }

// level returns the root mean square of samples, between 0 and 1.
func level(samples []int16) float64 {
	sum := 0.0
	for _, sample := range samples {
		sum += float64(sample) * float64(sample)
	}
	return math.Sqrt(sum/float64(max(len(samples), 1))) / -math.MinInt16
}
