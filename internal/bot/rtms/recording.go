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
	"standin/internal/recording"
)

// Positions and lengths of sound are numbers of samples.
const (
	rate  = ingest.SoundRate
	block = rate / 10 // that is mixed and encoded at a time
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
	pauses    []pause   // that were not reached yet
	loud      bool
	main      *track
	voices    map[string]*voice
	cameras   map[cameraKey]*camera
	parts     []recorder.ParticipantTrackPart // to be stored
	stats     recorder.Stats

	stopOnce   sync.Once
	stop, done chan struct{}
	err        error
}

// pause is a time that is not recorded. Until the recording is resumed, it has no end.
type pause struct{ from, to int }

const noEnd = math.MaxInt

// voice is the sound of a participant.
type voice struct {
	waiting []speech // in order
	end     int
	track   *track // nil while nothing is recorded
}

// speech is a packet of sound at a position.
type speech struct {
	at  int
	pcm []int16
}

// Record implements the way into a meeting: it starts to record, with what Zoom has kept if that belongs to it.
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
		voices: make(map[string]*voice), cameras: make(map[cameraKey]*camera), stop: make(chan struct{}), done: make(chan struct{}),
	}
	for _, p := range m.backlog {
		r.startedAt = earlier(r.startedAt, m.localTime(p.timestamp))
	}
	for _, p := range m.backlog {
		r.add(p)
	}
	m.recording, m.backlog, m.settings.Backlog = r, nil, false
	m.running.Go(r.run)
	return r, nil
}

// Monitor implements the way into a meeting: it follows the sound, and records nothing.
func (m *Meeting) Monitor(ctx context.Context, settings recorder.Settings) (recorder.Recording, error) {
	return m.Record(ctx, settings, nil)
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
	if who == nil || position < 0 || position > r.position(time.Now())+maxDelay || r.paused(position) {
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
			r.addGap(away.from, earlier(at, away.to), recording.GapNetworkLost)
		}
		away.from = time.Time{}
	}
	v := r.voices[p.user]
	if v == nil {
		v = &voice{}
		r.voices[p.user] = v
	}
	near := func(s speech, position int) int {
		if difference := s.at - position; max(difference, -difference) >= maxJitter {
			return difference
		}
		return 0
	}
	if near(speech{at: v.end}, position) == 0 {
		position = v.end
	}
	said := speech{position, samples(p.data)}
	end := position + len(said.pcm)
	i, again := slices.BinarySearchFunc(v.waiting, position, near)
	switch {
	case position < r.mixed && v.end <= position: // it is too late
		r.addGap(r.time(position), r.time(end), recording.GapMediaLost)
		return
	case again || position < r.mixed:
		return
	}
	v.waiting, v.end, r.newest = slices.Insert(v.waiting, i, said), max(v.end, end), max(r.newest, position)
	if level(said.pcm) >= loudness {
		who.loudAt = time.Now()
	}
	r.hear(p.user, position, said.pcm)
	r.mix(r.newest - maxDisorder)
}

// paused reports whether nothing is recorded at a position. r may be nil.
func (r *Recording) paused(position int) bool {
	return r != nil && slices.ContainsFunc(r.pauses, func(p pause) bool { return p.from <= position && position < p.to })
}

// pausedNow reports whether what arrives now is not recorded. r may be nil.
func (r *Recording) pausedNow() bool {
	return r != nil && len(r.pauses) > 0 && r.pauses[len(r.pauses)-1].to == noEnd
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
		for i, sample := range frame {
			binary.LittleEndian.PutUint16(heard.PCM[2*i:], uint16(sample))
		}
		r.settings.LiveSound.Hear([]recorder.LiveSound{heard})
		position += len(frame)
	}
}

// mix mixes and encodes the sound up to a position.
func (r *Recording) mix(limit int) {
	for {
		end := r.mixed + block
		switch {
		case len(r.pauses) > 0 && end > r.pauses[0].from && r.pauses[0].to != noEnd:
			r.endTracks(all)
			r.mixed, r.pauses = r.pauses[0].to, r.pauses[1:]
			continue
		case len(r.pauses) > 0 && end > r.pauses[0].from || end > limit:
			return
		}
		mixed := make([]int16, block)
		for user, v := range r.voices {
			own := v.take(r.mixed)
			if r.sink != nil && r.settings.ParticipantAudio != nil && (own != nil || v.track != nil) {
				if v.track == nil {
					v.track = newSound(user, r.time(r.mixed))
				}
				v.track.addSound(own)
			}
			for i, sample := range own {
				mixed[i] = int16(min(max(int(mixed[i])+int(sample), math.MinInt16), math.MaxInt16))
			}
		}
		if r.sink != nil {
			r.main.addSound(mixed)
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
		r.loud, r.mixed = loud, end
		r.stats.Recorded += block * time.Second / rate
	}
}

// take removes the sound of the block at a position; nil if there is none.
func (v *voice) take(position int) []int16 {
	var own []int16
	for len(v.waiting) > 0 && v.waiting[0].at < position+block {
		if own == nil {
			own = make([]int16, block)
		}
		said := v.waiting[0]
		copy(own[max(said.at-position, 0):], said.pcm[min(max(position-said.at, 0), len(said.pcm)):])
		if said.at+len(said.pcm) > position+block {
			break // the rest is of the next block
		}
		v.waiting = v.waiting[1:]
	}
	return own
}

// addGap adds a gap of the sound to the statistics.
func (r *Recording) addGap(from, to time.Time, reason string) {
	gap := recorder.SoundGap{From: from, To: to, Reason: reason}
	r.stats.SoundGaps = append(r.stats.SoundGaps[max(0, len(r.stats.SoundGaps)-maxEvents):], gap)
}

// endTracks takes what the tracks of participants have recorded, and ends those that are chosen. r may be nil.
func (r *Recording) endTracks(chosen func(*track) bool) {
	if r == nil {
		return
	}
	for _, v := range r.voices {
		if v.track == nil {
			continue
		}
		ended := chosen(v.track)
		r.parts = v.track.appendPart(r.parts, ended)
		if ended {
			v.track = nil
		}
	}
	for key, c := range r.cameras {
		ended := chosen(c.track)
		if ended {
			c.flush(c.frame.at.Add(frameTime))
			delete(r.cameras, key)
		}
		r.parts = c.track.appendPart(r.parts, ended)
	}
}

func all(*track) bool  { return true }
func none(*track) bool { return false }

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
		r.mix(r.position(now) + block)
		r.endTracks(all)
		r.stats.EndedAt = r.time(r.mixed)
	case !away.to.IsZero() && now.Sub(away.to) >= maxDelay*time.Second/rate: // what Zoom has kept has arrived
		r.mix(r.position(now) - maxDelay)
	}
	r.endTracks(none)
	r.stats.LastReportAt = now
	chunk := recorder.Chunk{Sequence: r.stats.Chunks, Data: r.main.flush(), Offset: r.stats.Recorded}
	if len(chunk.Data) > 0 {
		r.stats.Chunks++
	}
	parts := r.parts
	r.parts = nil
	return chunk, parts
}

// StartedAt implements recorder.Recording.
func (r *Recording) StartedAt() time.Time { return r.startedAt }

// Pause implements recorder.Recording. The block that has begun is recorded.
func (r *Recording) Pause(context.Context) (time.Time, error) {
	r.meeting.mu.Lock()
	defer r.meeting.mu.Unlock()
	from := r.position(time.Now())
	from += block - (from-r.mixed)%block
	r.pauses = append(r.pauses, pause{from, noEnd})
	return r.time(from), nil
}

// Resume implements recorder.Recording.
func (r *Recording) Resume(context.Context) (time.Time, error) {
	r.meeting.mu.Lock()
	defer r.meeting.mu.Unlock()
	last := &r.pauses[len(r.pauses)-1]
	last.to = max(last.from, r.position(time.Now()))
	return r.time(last.to), nil
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

// samples decodes L16, whose samples are little-endian.
func samples(data []byte) []int16 {
	decoded := make([]int16, len(data)/2)
	for i := range decoded {
		decoded[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return decoded
}

// level returns the root mean square of samples, between 0 and 1.
func level(samples []int16) float64 {
	sum := 0.0
	for _, sample := range samples {
		sum += float64(sample) * float64(sample)
	}
	return math.Sqrt(sum/float64(max(len(samples), 1))) / -math.MinInt16
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
