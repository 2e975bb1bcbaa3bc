package recorder_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/recorder"
	"standin/internal/testing/mediacheck"
)

// choirPath is where the server of prepare has choirPage.
const choirPath = "/choir"

// choirPage has two participants, one connection each, whose beeps of 1000 and
// 1700 Hz begin together at each full second, and plays both. With ?framed it
// does so in a frame.
const choirPage = `<!doctype html><meta charset=utf-8><title>Choir</title>
<style>@keyframes move { to { margin-left: 200px } } div { width: 90px; height: 90px; background: #48c; animation: move 1s infinite alternate }</style>
<div></div><script>
if (location.search === "?framed") document.write('<iframe src="/choir" allow="autoplay"></iframe>');
else {
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
	join("ada", 1000);
	join("ben", 1700);
}
</script>`

// voiceSink keeps what voices say, and fails when it is told to.
type voiceSink struct {
	mutex   sync.Mutex
	voices  map[string]*heard
	order   []string
	failing error
	changed chan struct{}
}

// heard is a voice as the sink knows it.
type heard struct {
	recorder.ParticipantTrack
	content []byte
	chunks  int
	ended   bool
	cause   string
}

func newVoiceSink() *voiceSink {
	return &voiceSink{voices: make(map[string]*heard), changed: make(chan struct{}, 1)}
}

// AppendTracks implements recorder.ParticipantTrackSink.
func (s *voiceSink) AppendTracks(parts []recorder.ParticipantTrackPart) error {
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
		known := s.voices[part.ID]
		if known == nil {
			known = &heard{ParticipantTrack: part.ParticipantTrack}
			s.voices[part.ID] = known
			s.order = append(s.order, part.ID)
		}
		if part.First != known.chunks || known.ended {
			return errors.New("a chunk came out of its turn")
		}
		known.chunks += len(part.Chunks)
		known.content = append(known.content, bytes.Join(part.Chunks, nil)...)
		known.ended, known.cause = part.Ended, part.Cause
	}
	return nil
}

// taken returns the voices so far, in the order of their beginning.
func (s *voiceSink) taken() []heard {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var all []heard
	for _, id := range s.order {
		all = append(all, *s.voices[id])
	}
	return all
}

// await waits until something holds of the voices.
func (s *voiceSink) await(t *testing.T, ctx context.Context, what string, holds func([]heard) bool) []heard {
	t.Helper()
	for {
		voices := s.taken()
		if holds(voices) {
			return voices
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// tones decodes a voice, and tells when its beeps of either pitch begin.
func tones(t *testing.T, ctx context.Context, content []byte) (ada, ben []float64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "voice.mp4")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	onsets, err := mediacheck.Tones(ctx, path, 1000, 1700)
	if err != nil {
		t.Fatal(err)
	}
	return onsets[0], onsets[1]
}

// TestVoices records each participant alone, on the clock of the main recording.
func TestVoices(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{"in the page": "", "in a frame": "?framed"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := prepare(t, "choir"+query)
			voices := newVoiceSink()
			r, sink := s.record(t, ctx, recorder.Settings{FramesPerSecond: 5, ParticipantAudio: voices})
			sink.await(t, ctx, r, 7*time.Second)
			if err := r.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			all := voices.taken()
			if len(all) != 2 {
				t.Fatalf("%d voices", len(all))
			}
			mixed, _ := tones(t, ctx, bytes.Join(chunks(sink), nil))
			pitches := 0
			for _, voice := range all {
				if !voice.ended || voice.cause != "" {
					t.Errorf("voice %s ended %v, because %q", voice.ID, voice.ended, voice.cause)
				}
				ada, ben := tones(t, ctx, voice.content)
				t.Logf("voice of %d bytes in %d chunks: ada %.0f, ben %.0f; mixed %.0f; starts %v after", len(voice.content), voice.chunks, ada, ben, mixed, voice.StartedAt.Sub(r.StartedAt()))
				if (len(ada) > 0) == (len(ben) > 0) || len(ada)+len(ben) < 4 {
					t.Errorf("beeps of Ada at %.0f and of Ben at %.0f in one voice", ada, ben)
				}
				if len(ada) > 0 {
					pitches++
				}
				checkOffsets(t, append(ada, ben...), mixed, voice.StartedAt.Sub(r.StartedAt()))
			}
			if pitches != 1 {
				t.Errorf("%d voices are Ada's", pitches)
			}
		})
	}
}

// chunks are what a sink took, for a file.
func chunks(sink *memorySink) [][]byte {
	var all [][]byte
	for _, chunk := range sink.taken() {
		all = append(all, chunk.Data)
	}
	return all
}

// checkOffsets expects the beeps of a voice within 80 ms of those in the main
// recording (issue): the median, because a busy machine delays one or the other.
func checkOffsets(t *testing.T, voice, mixed []float64, start time.Duration) {
	t.Helper()
	var distances []float64
	for _, beep := range voice {
		nearest := math.Inf(1)
		for _, other := range mixed {
			if off := beep + start.Seconds()*1000 - other; math.Abs(off) < math.Abs(nearest) {
				nearest = off
			}
		}
		distances = append(distances, nearest)
	}
	slices.Sort(distances)
	t.Logf("the voice's beeps are from the main recording's: %.0f", distances)
	if len(distances) > 0 && math.Abs(distances[len(distances)/2]) > 80 {
		t.Errorf("a voice is %.0f ms from the main recording", distances[len(distances)/2])
	}
}
