package recorder_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/recorder"
	"standin/internal/testing/mediacheck"
)

// participantsPath is the path of participantsPage.
const participantsPath = "/participants"

// participantsPage has two participants with one connection each, who beep at 1000 and
// 1700 Hz at each full second, and plays both. With ?framed the second one is in a
// frame.
const participantsPage = `<!doctype html><meta charset=utf-8><title>Participants</title>
<style>@keyframes move { to { margin-left: 200px } } div { width: 90px; height: 90px; background: #48c; animation: move 1s infinite alternate steps(10) }</style>
<div></div><script>
{
	if (location.search === "?framed") document.write('<iframe src="/participants?second" allow="autoplay"></iframe>');
	const sound = new AudioContext();
	window.people = {};
	window.join = async (name, hertz) => {
		const gain = new GainNode(sound, {gain: 0}), target = sound.createMediaStreamDestination();
		const tone = new OscillatorNode(sound, {frequency: hertz});
		tone.connect(gain).connect(target);
		tone.start();
		let next = Math.ceil(sound.currentTime);
		const schedule = () => {
			for (; next < sound.currentTime + 2; next++) {
				gain.gain.setValueAtTime(0.4, next);
				gain.gain.setValueAtTime(0, next + 0.1);
			}
		};
		setInterval(schedule, 250);
		schedule();
		const caller = new RTCPeerConnection(), called = new RTCPeerConnection();
		caller.onicecandidate = e => called.addIceCandidate(e.candidate);
		called.onicecandidate = e => caller.addIceCandidate(e.candidate);
		const player = new Audio();
		called.ontrack = ({track}) => {
			player.srcObject = new MediaStream([track]);
			player.play();
			window.people[name].track = track.id;
		};
		window.people[name] = {leave: () => { caller.close(); called.close(); player.remove(); }, sender: caller.addTrack(target.stream.getAudioTracks()[0])};
		await caller.setLocalDescription();
		await called.setRemoteDescription(caller.localDescription);
		await called.setLocalDescription();
		await caller.setRemoteDescription(called.localDescription);
	};
	if (location.search !== "?second") join("ada", 1000);
	if (location.search !== "?framed") join("ben", 1700);
}
</script>`

// trackSink stores tracks. It fails while failing is set.
type trackSink struct {
	mutex    sync.Mutex
	tracks   map[string]*storedTrack
	sequence []string
	failing  error
	changed  chan struct{}
}

// storedTrack is a track in a trackSink.
type storedTrack struct {
	recorder.ParticipantTrack
	content []byte
	chunks  int
	ended   bool
	cause   string
}

func newTrackSink() *trackSink {
	return &trackSink{tracks: make(map[string]*storedTrack), changed: make(chan struct{}, 1)}
}

// AppendTracks implements recorder.ParticipantTrackSink.
func (s *trackSink) AppendTracks(parts []recorder.ParticipantTrackPart) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	if s.failing != nil {
		return s.failing
	}
	for _, part := range parts {
		known := s.tracks[part.ID]
		if known == nil {
			known = &storedTrack{ParticipantTrack: part.ParticipantTrack}
			s.tracks[part.ID] = known
			s.sequence = append(s.sequence, part.ID)
		}
		if part.First != known.chunks || known.ended {
			return errors.New("a chunk is out of sequence")
		}
		known.PersonID, known.OwnedUntil = part.PersonID, part.OwnedUntil
		known.chunks += len(part.Chunks)
		known.content = append(known.content, bytes.Join(part.Chunks, nil)...)
		known.ended, known.cause = part.Ended, part.Cause
	}
	return nil
}

// taken returns the tracks in the sequence of their start.
func (s *trackSink) taken() []storedTrack {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []storedTrack
	for _, id := range s.sequence {
		all = append(all, *s.tracks[id])
	}
	return all
}

// await waits until the condition is true for the tracks.
func (s *trackSink) await(t *testing.T, ctx context.Context, what string, holds func([]storedTrack) bool) []storedTrack {
	t.Helper()
	for {
		tracks := s.taken()
		if holds(tracks) {
			return tracks
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			t.Fatalf("timeout: %s", what)
		}
	}
}

// tones decodes a track and returns the start times of the beeps of each pitch.
func tones(t *testing.T, ctx context.Context, content []byte) (ada, ben []float64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "track.mp4")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	onsets, err := mediacheck.Tones(ctx, path, 1000, 1700)
	if err != nil {
		t.Fatal(err)
	}
	return onsets[0], onsets[1]
}

// Each participant is recorded individually, in the page and in a frame. TestParticipantAudio of
// package session checks that tracks are synchronized with the main recording.
func TestParticipantAudio(t *testing.T) {
	t.Parallel()
	ctx, s := prepare(t, "participants?framed")
	tracks := newTrackSink()
	r, sink := s.record(t, ctx, recorder.Settings{FramesPerSecond: 5, ParticipantAudio: tracks})
	sink.await(t, ctx, r, 6*time.Second)
	if err := r.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	all := tracks.taken()
	if len(all) != 2 {
		t.Fatalf("%d tracks", len(all))
	}
	pitches := 0
	for _, track := range all {
		if !track.ended || track.cause != "" {
			t.Errorf("track %s ended %v, because %q", track.ID, track.ended, track.cause)
		}
		ada, ben := tones(t, ctx, track.content)
		if (len(ada) > 0) == (len(ben) > 0) || len(ada)+len(ben) < 2 {
			t.Errorf("beeps of Ada at %.0f and of Ben at %.0f in one track", ada, ben)
		}
		if len(ada) > 0 {
			pitches++
		}
	}
	if pitches != 1 {
		t.Errorf("%d tracks are Ada's", pitches)
	}
}
