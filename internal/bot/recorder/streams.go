package recorder

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed" // for the scripts
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	streamsInterval = time.Second
	// streamsTimeout limits one fetch of frames.
	streamsTimeout = 3 * time.Second
	// missingAfter is how long the packets of a track may arrive without its frames.
	missingAfter = 4 * time.Second
	// confirmedAfter is for how long frames of all tracks must have come before the browser decodes them no more.
	confirmedAfter = 2 * time.Second
	maxViews       = 16
	maxVideoTracks = 256
	maxDelay       = 10_000 // ms until the page plays what has arrived
	outputDelay    = 55     // ms until the sound that belongs to a picture is captured; see remoteaudio.js
)

//go:embed streams.js
var streamsBody string

//go:embed streamsworker.js
var streamsWorker string

// streamsScript takes the encoded video that the meeting page receives.
var streamsScript = inScope("const workerScript = "+encoded(streamsWorker)+";\n", streamsBody)

// pullStreamsScript sends a request to the page and its same-origin frames.
const pullStreamsScript = `async (views, request) => {
	const reports = [];
	for (const view of views()) {
		try {
			const report = await view[Symbol.for("standin.streams")]?.pull(request);
			if (report) reports.push(report);
		} catch (error) {
			if (view === window) throw error; // otherwise a frame that was removed
		}
	}
	return reports;
}`

// storedBatches is what is stored of a view, for the page.
type storedBatches struct {
	Batches int   `json:"batches"`
	Keys    []int `json:"keys"` // the tracks for which a key frame is needed
}

// streamsReport is what a view answers.
type streamsReport struct {
	View      string
	First     int      // index of the first batch
	Batches   [][]byte // of frames
	More      bool
	Connected bool // a connection of the page
	Tracks    []struct {
		Number  int // -1: the page's own code takes its frames
		Track   string
		Bytes   int64 // received
		DelayMs float64
	}
	NowMs float64
}

// StreamsState is whether the streams of participants are recorded instead of the page's picture.
type StreamsState int

// The states.
const (
	StreamsOff       StreamsState = iota // or not known yet: the picture is recorded
	StreamsConfirmed                     // what the page receives is recorded; the picture is not
	StreamsMissing                       // they do not come as the page receives them
)

// ErrStreamsMissing means that the streams of participants do not come any more; see Stats.StreamsProblem.
var ErrStreamsMissing = errors.New("the video of participants does not come any more")

// streams records the encoded video of participants.
type streams struct {
	recorder *Recorder
	id       string
	done     chan struct{}
	running  sync.WaitGroup
	missing  chan struct{} // closed when streams that were confirmed are missing

	mu     sync.Mutex
	state  StreamsState
	reason string
	owners map[string]string // track -> participant

	polling sync.Mutex // guards the following fields
	enabled bool
	stored  map[string]*storedBatches // by view
	tracks  map[string]*videoTrack    // by view and number
	parts   []ParticipantTrackPart    // not stored yet
	// connectedAt is when a connection of the page was last seen, and goodAt since when all tracks come.
	connectedAt, goodAt time.Time
	failing             bool
}

// startStreams starts to record the video of participants. It returns nil unless the settings ask for it.
func startStreams(ctx context.Context, r *Recorder) *streams {
	if !r.settings.Streams || r.settings.Tracks == nil {
		return nil
	}
	s := &streams{
		recorder: r, id: rand.Text(), done: make(chan struct{}), missing: make(chan struct{}),
		stored: make(map[string]*storedBatches), connectedAt: time.Now(),
	}
	s.running.Go(func() {
		ticker := time.NewTicker(streamsInterval)
		defer ticker.Stop()
		s.setEnabled(ctx, true)
		for {
			select {
			case <-ticker.C:
				s.polling.Lock()
				s.poll(ctx)
				s.polling.Unlock()
			case <-s.done:
				return
			}
		}
	})
	return s
}

// setEnabled turns the recording on or off. It returns when the frames until then are stored or cannot be fetched.
func (s *streams) setEnabled(ctx context.Context, enabled bool) {
	if s == nil {
		return
	}
	s.polling.Lock()
	defer s.polling.Unlock()
	s.enabled = enabled
	s.poll(ctx)
}

// close ends the recording, and gives the page its video back.
func (s *streams) close(ctx context.Context) {
	if s == nil {
		return
	}
	close(s.done)
	s.running.Wait()
	s.setState(StreamsOff, "")
	s.setEnabled(ctx, false)
}

// current returns the state, and why streams are missing.
func (s *streams) current() (StreamsState, string) {
	if s == nil {
		return StreamsOff, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.reason
}

// poll fetches frames from the page and stores them.
func (s *streams) poll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, streamsTimeout)
	defer cancel()
	more, err := true, error(nil)
	for more && err == nil {
		more, err = s.pull(ctx)
	}
	if !s.enabled { // also if the page does not answer
		for _, t := range s.tracks {
			t.flush(0)
			t.endPiece()
		}
		err = errors.Join(err, s.store())
	}
	if err != nil && !s.failing {
		s.recorder.settings.Log.Warn("cannot record the video of participants", "error", err)
	}
	s.failing = err != nil
}

// pull fetches what the page has, unless something of the last time is not stored yet. more is set if the page has more.
func (s *streams) pull(ctx context.Context) (more bool, err error) {
	if err := s.store(); err != nil {
		return false, err
	}
	state, _ := s.current()
	var reports []streamsReport
	request := map[string]any{ // with decode, the page gets the video itself
		"recording": s.id, "capture": s.enabled && state != StreamsMissing, "decode": state != StreamsConfirmed, "stored": s.stored,
	}
	if err := s.recorder.meeting.EvalInPage(ctx, withViews(pullStreamsScript, request), &reports); err != nil {
		return false, err
	}
	now := time.Now()
	if len(reports) > maxViews {
		return false, fmt.Errorf("the page reports frames of %d documents", len(reports))
	}
	known, before := s.tracks, s.stored
	s.tracks, s.stored = make(map[string]*videoTrack), make(map[string]*storedBatches)
	for _, report := range reports {
		stored := cmp.Or(before[report.View], &storedBatches{})
		s.stored[report.View], stored.Keys = stored, nil
		if report.Connected {
			s.connectedAt = now
		}
		numbered := make(map[int]*videoTrack)
		for _, one := range report.Tracks[:min(len(report.Tracks), maxVideoTracks)] {
			if len(one.Track) > maxTrackIDLen {
				continue
			}
			key := fmt.Sprintf("%s/%d/%s", report.View, one.Number, one.Track)
			t := cmp.Or(known[key], &videoTrack{cameAt: now})
			delete(known, key)
			s.tracks[key], numbered[one.Number] = t, t
			t.id, t.hooked = one.Track, one.Number >= 0
			t.clock = func(ms float64) time.Time { return localTime(ms, report.NowMs-ms, now) }
			if one.DelayMs >= 0 && one.DelayMs < maxDelay {
				t.delay = one.DelayMs + outputDelay
			}
			if t.receives = one.Bytes > t.bytes; !t.receives {
				t.cameAt = now
			}
			t.bytes = one.Bytes
		}
		for i, batch := range report.Batches {
			if report.First+i < stored.Batches {
				continue
			}
			frames, damage := decodeBatch(batch)
			err = errors.Join(err, damage)
			for _, f := range frames {
				if t := numbered[f.track]; t != nil {
					t.cameAt = now
					t.add(f)
				}
			}
			stored.Batches = report.First + i + 1
		}
		for number, t := range numbered {
			if t.needKey && t.receives && s.enabled {
				stored.Keys = append(stored.Keys, number)
			}
		}
		more = more || report.More
	}
	for _, t := range known { // the page has them no more
		t.flush(0)
		t.endPiece()
		s.parts = append(s.parts, t.parts...)
	}
	s.follow(now)
	return more, errors.Join(err, s.store())
}

// follow updates what is known of the tracks, and whether all that arrives is recorded.
func (s *streams) follow(now time.Time) {
	s.mu.Lock()
	state, owners := s.state, s.owners
	s.mu.Unlock()
	problem, came, all := "", false, true
	if now.Sub(s.connectedAt) >= missingAfter {
		problem = "the page has no connection that carries video"
	}
	for _, t := range s.tracks {
		t.flush(maxDisorder)
		if owner := owners[t.id]; owner != "" {
			t.setOwner(owner, now)
		}
		t.store(false)
		if !s.enabled {
			t.cameAt = now
		}
		switch missing := now.Sub(t.cameAt) >= missingAfter; {
		case t.fault != nil:
			problem = "the video of a participant cannot be read: " + t.fault.Error()
		case missing && !t.hooked:
			problem = "the page takes the video of a participant itself"
		case missing:
			problem = "the video of a participant does not come, although it arrives"
		}
		came, all = came || t.piece != nil, all && (t.piece != nil || !t.receives)
	}
	if !came || !all || state != StreamsOff {
		s.goodAt = now
	}
	switch {
	case state == StreamsMissing || !s.enabled:
	case problem != "":
		s.setState(StreamsMissing, problem)
		if state == StreamsConfirmed {
			close(s.missing)
		}
	case state == StreamsOff && now.Sub(s.goodAt) >= confirmedAfter:
		// In its minimized window the page is rendered no more when its picture is not captured.
		ctx, cancel := context.WithTimeout(context.Background(), captureTimeout)
		defer cancel()
		if err := s.recorder.tab.EvalInPage(ctx, "standin.dropPicture()", nil); err != nil {
			s.setState(StreamsMissing, "end the capture of the picture: "+err.Error())
			return
		}
		s.setState(StreamsConfirmed, "")
	}
}

func (s *streams) setState(state StreamsState, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.reason = state, reason
}

// store passes what was recorded to the sink.
func (s *streams) store() error {
	for _, t := range s.tracks {
		s.parts, t.parts = append(s.parts, t.parts...), nil
	}
	if len(s.parts) == 0 {
		return nil
	}
	if err := s.recorder.settings.Tracks.AppendTracks(s.parts); err != nil {
		return fmt.Errorf("store the video of participants: %w", err)
	}
	s.parts = nil
	return nil
}
