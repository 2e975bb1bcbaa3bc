package rtms

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
	"standin/internal/bot/recorder"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

const (
	rate         = ingest.SoundRate
	blockSamples = rate / 10 // of sound that is mixed and encoded at a time
	block        = time.Second / 10
	// maxDisorder is by how much a packet of sound may be later than a newer one. When none arrives for maxDelay,
	// nobody speaks.
	maxDisorder = 200 * time.Millisecond
	maxDelay    = 5 * time.Second
	// maxJitter is by how much the time of a packet may differ from the end of the one before it.
	maxJitter = 15 * time.Millisecond
	// flushInterval is how often what is recorded is stored.
	flushInterval = time.Second
	// loudness is the level from which sound counts as speech: root mean square of samples between -1 and 1.
	loudness  = 0.003
	maxEvents = 100 // of sound in the statistics
	frameTime = 40 * time.Millisecond
)

// packet is a packet of sound or video.
type packet struct {
	kind      int
	user      string
	timestamp int64 // of Zoom
	at        time.Time
	data      []byte
}

// Recording writes what arrives: the mixed sound as segments, and the sound, the video and the shared screen of each
// participant as tracks. It implements recorder.Recording. Its fields are guarded by the mutex of its Meeting.
type Recording struct {
	meeting  *Meeting
	settings recorder.Settings
	sink     recorder.Sink // nil if the sound is only followed

	startedAt time.Time
	until     time.Time // end of the sound that was mixed
	newest    time.Time // of the packets of sound
	pauses    []span    // that were not reached yet; the last may have no end
	main      *track
	voices    map[string]*voice
	cameras   map[cameraKey]*camera
	parts     []recorder.ParticipantTrackPart // to be stored
	stats     recorder.Stats

	stop, done chan struct{}
	stopping   bool
	err        error
}

// voice is the sound of a participant.
type voice struct {
	waiting []packet // ordered by time
	end     time.Time
	track   *track // nil while nothing is recorded
}

// Record implements the way into a meeting: it starts to record, with what Zoom has kept if that belongs to it.
func (m *Meeting) Record(ctx context.Context, settings recorder.Settings, sink recorder.Sink) (recorder.Recording, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.settings.Backlog && (len(m.backlog) == 0 || m.epoch.IsZero()) && (m.away.to.IsZero() || time.Since(m.away.to) < time.Second) {
		m.mu.Unlock()
		err := retry.Sleep(ctx, maxDisorder/10)
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
	r.until = r.startedAt
	m.recording = r
	for _, p := range m.backlog {
		r.add(p)
	}
	m.backlog, m.settings.Backlog = nil, false
	m.running.Go(r.run)
	return r, nil
}

// Monitor implements the way into a meeting: it follows the sound, and records nothing.
func (m *Meeting) Monitor(ctx context.Context, settings recorder.Settings) (recorder.Recording, error) {
	return m.Record(ctx, settings, nil)
}

// add adds a packet.
func (r *Recording) add(p packet) {
	p.at = r.meeting.localTime(p.timestamp)
	if r.paused(p.at) || p.at.Before(r.startedAt) {
		return
	}
	if away := &r.meeting.away; p.kind == audio && !away.from.IsZero() { // the first one since the media were lost
		if p.at.Sub(away.from) > time.Second {
			r.addGap(away.from, earlier(p.at, away.to), recording.GapNetworkLost)
		}
		away.from = time.Time{}
	}
	if p.kind != audio {
		if r.sink != nil && !r.settings.AudioOnly {
			r.addFrame(p)
		}
		return
	}
	v := r.voices[p.user]
	if v == nil {
		v = &voice{}
		r.voices[p.user] = v
	}
	length := time.Duration(len(p.data)/2) * time.Second / rate
	if (p.at.Sub(v.end)).Abs() < maxJitter {
		p.at = v.end
	}
	if p.at.Before(r.until) && !v.end.After(p.at) {
		r.addGap(p.at, p.at.Add(length), recording.GapMediaLost) // it is too late for the mixed sound
	}
	i, again := slices.BinarySearchFunc(v.waiting, p.at, func(q packet, at time.Time) int {
		if q.at.Sub(at).Abs() < maxJitter {
			return 0
		}
		return q.at.Compare(at)
	})
	if again || p.at.Before(r.until) {
		return
	}
	v.waiting = slices.Insert(v.waiting, i, p)
	if end := p.at.Add(length); end.After(v.end) {
		v.end = end
	}
	if p.at.After(r.newest) {
		r.newest = p.at
	}
	if who := r.meeting.people[userID(p.user)]; who != nil && level(samples(p.data)) >= loudness {
		who.loudAt = time.Now()
	}
	r.hear(p.user, p.at, p.data)
	r.mix(r.newest.Add(-maxDisorder))
}

// paused reports whether nothing of a time is recorded, because of a pause. r may be nil.
func (r *Recording) paused(at time.Time) bool {
	return r != nil && slices.ContainsFunc(r.pauses, func(p span) bool { return !at.Before(p.from) && (p.to.IsZero() || at.Before(p.to)) })
}

// hear passes sound to the listeners.
func (r *Recording) hear(user string, at time.Time, pcm []byte) {
	if r.settings.LiveSound == nil {
		return
	}
	if wanted, _ := r.settings.LiveSound.Wanted(); user == "" && !wanted.Mixed || user != "" && !wanted.Participants {
		return
	}
	var heard []recorder.LiveSound
	for frame := range slices.Chunk(pcm, ingest.SoundFrameBytes) {
		if len(frame) == ingest.SoundFrameBytes {
			heard = append(heard, recorder.LiveSound{TrackID: user, At: at, PCM: frame})
		}
		at = at.Add(ingest.SoundFrameDuration)
	}
	r.settings.LiveSound.Hear(heard)
}

// mix mixes and encodes the sound up to a time.
func (r *Recording) mix(limit time.Time) {
	for {
		end := r.until.Add(block)
		if len(r.pauses) > 0 && end.After(r.pauses[0].from) {
			if r.pauses[0].to.IsZero() {
				return
			}
			r.endTracks(func(*track) bool { return true })
			r.until, r.pauses = r.pauses[0].to, r.pauses[1:]
			continue
		}
		if end.After(limit) {
			return
		}
		mixed := make([]int16, blockSamples)
		for user, v := range r.voices {
			own := v.take(r.until)
			if own == nil && v.track == nil {
				continue
			}
			if r.sink != nil && r.settings.ParticipantAudio != nil {
				if v.track == nil {
					v.track = newSound(user, r.until)
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
		r.measure(mixed, end)
		r.hear("", r.until, pcm(mixed))
		r.until = end
		r.stats.Recorded += block
	}
}

// take removes the sound of the block that begins at a time; nil if there is none.
func (v *voice) take(from time.Time) []int16 {
	var own []int16
	for len(v.waiting) > 0 {
		p := v.waiting[0]
		at := int(math.Round(p.at.Sub(from).Seconds() * rate))
		if at >= blockSamples {
			break
		}
		if own == nil {
			own = make([]int16, blockSamples)
		}
		sound := samples(p.data)
		copy(own[max(at, 0):], sound[min(max(-at, 0), len(sound)):])
		if at+len(sound) > blockSamples {
			break // the rest is of the next block
		}
		v.waiting = v.waiting[1:]
	}
	return own
}

// measure updates the statistics from mixed sound that ends at a time.
func (r *Recording) measure(mixed []int16, end time.Time) {
	found := level(mixed)
	if found > 0 {
		r.stats.LastSignalAt = time.Now()
	}
	if found >= loudness {
		r.stats.LastSoundAt = time.Now()
	}
	changes := r.stats.SoundChanges
	if was := len(changes) > 0 && changes[len(changes)-1].Sound; was != (found >= loudness) {
		at := end
		if !was {
			at = end.Add(-block)
		}
		changes = append(slices.Clone(changes), recorder.SoundChange{At: at, Sound: !was}) // a reader may have the old slice
		r.stats.SoundChanges = changes[max(0, len(changes)-maxEvents):]
	}
}

// addGap adds a gap of the sound to the statistics.
func (r *Recording) addGap(from, to time.Time, reason string) {
	if from.Before(r.startedAt) {
		from = r.startedAt
	}
	gaps := append(slices.Clone(r.stats.SoundGaps), recorder.SoundGap{From: from, To: to, Reason: reason})
	r.stats.SoundGaps = gaps[max(0, len(gaps)-maxEvents):]
}

// endTracks ends the tracks of participants that are chosen. r may be nil.
func (r *Recording) endTracks(chosen func(*track) bool) {
	if r == nil {
		return
	}
	for _, v := range r.voices {
		if v.track != nil && chosen(v.track) {
			r.parts = v.track.appendPart(r.parts, true)
			v.track = nil
		}
	}
	for key, c := range r.cameras {
		if chosen(c.track) {
			c.flush(c.frame.at.Add(frameTime))
			r.parts = c.track.appendPart(r.parts, true)
			delete(r.cameras, key)
		}
	}
}

// run stores what is recorded until Stop.
func (r *Recording) run() {
	defer close(r.done)
	ticker := time.NewTicker(flushInterval)
	defer ticker.Stop()
	for stopped := false; !stopped; {
		select {
		case <-ticker.C:
		case <-r.stop:
			stopped = true
		}
		chunk, parts := r.takeRecorded(time.Now(), stopped)
		if len(chunk.Data) > 0 {
			if r.err = r.sink.Append(chunk); r.err != nil {
				r.detach()
				return
			}
		}
		if len(parts) > 0 {
			if err := r.settings.Tracks.AppendTracks(parts); err != nil {
				r.meeting.log.Warn("a part of the tracks of participants is lost", "error", err)
			}
		}
	}
	r.detach()
}

// takeRecorded returns what was recorded since the last call.
func (r *Recording) takeRecorded(now time.Time, stopped bool) (recorder.Chunk, []recorder.ParticipantTrackPart) {
	m := r.meeting
	m.mu.Lock()
	defer m.mu.Unlock()
	switch away := m.away; {
	case stopped:
		if !away.from.IsZero() && m.over.Screen == "" { // nothing has arrived since
			r.addGap(away.from, earlier(now, cmp.Or(away.to, now)), recording.GapNetworkLost)
		}
		r.mix(now)
		r.endTracks(func(*track) bool { return true })
		r.stats.EndedAt = r.until
	case !away.to.IsZero() && now.Sub(away.to) >= maxDelay: // what Zoom has kept has arrived
		r.mix(now.Add(-maxDelay))
	}
	r.flushTracks()
	r.stats.LastReportAt = now
	chunk := recorder.Chunk{Sequence: r.stats.Chunks, Data: r.main.flush(), Offset: r.stats.Recorded}
	if len(chunk.Data) > 0 {
		r.stats.Chunks++
	}
	parts := r.parts
	r.parts = nil
	return chunk, parts
}

// detach ends what arrives.
func (r *Recording) detach() {
	r.meeting.mu.Lock()
	defer r.meeting.mu.Unlock()
	r.meeting.recording = nil
}

// flushTracks takes what the tracks have recorded.
func (r *Recording) flushTracks() {
	for _, v := range r.voices {
		if v.track != nil {
			r.parts = v.track.appendPart(r.parts, false)
		}
	}
	for _, c := range r.cameras {
		r.parts = c.track.appendPart(r.parts, false)
	}
}

// StartedAt implements recorder.Recording.
func (r *Recording) StartedAt() time.Time { return r.startedAt }

// Pause implements recorder.Recording. What is mixed at a time is recorded.
func (r *Recording) Pause(context.Context) (time.Time, error) {
	r.meeting.mu.Lock()
	defer r.meeting.mu.Unlock()
	at := time.Now()
	at = at.Add(block - at.Sub(r.until)%block)
	r.pauses = append(r.pauses, span{from: at})
	return at, nil
}

// Resume implements recorder.Recording.
func (r *Recording) Resume(context.Context) (time.Time, error) {
	r.meeting.mu.Lock()
	defer r.meeting.mu.Unlock()
	last := len(r.pauses) - 1
	at := job.Latest(time.Now(), r.pauses[last].from)
	r.pauses[last].to = at
	return at, nil
}

// Stats implements recorder.Recording.
func (r *Recording) Stats() recorder.Stats {
	r.meeting.mu.Lock()
	defer r.meeting.mu.Unlock()
	return r.stats
}

// Done implements recorder.Recording.
func (r *Recording) Done() <-chan struct{} { return r.done }

// Err implements recorder.Recording.
func (r *Recording) Err() error {
	select {
	case <-r.done:
		return r.err
	default:
		return nil
	}
}

// Stop implements recorder.Recording: it stores what has arrived.
func (r *Recording) Stop(ctx context.Context) error {
	r.meeting.mu.Lock()
	if !r.stopping {
		r.stopping = true
		close(r.stop)
	}
	r.meeting.mu.Unlock()
	select {
	case <-r.done:
		return r.Err()
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

func pcm(samples []int16) []byte {
	data := make([]byte, 0, 2*len(samples))
	for _, sample := range samples {
		data = binary.LittleEndian.AppendUint16(data, uint16(sample))
	}
	return data
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
