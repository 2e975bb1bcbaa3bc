package streaming

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// tone returns a tone of a length, a multiple of 2 ms, and a level from 0 to 1.
func tone(ms int, level float64) []byte {
	const period = 32 // samples, at 500 Hz
	var pcm []byte
	for i := range period {
		pcm = binary.LittleEndian.AppendUint16(pcm, uint16(int16(level*32767*math.Sin(float64(i)*2*math.Pi/period))))
	}
	return bytes.Repeat(pcm, ms/2)
}

// utterance is an utterance as its pieces have it.
type utterance struct {
	startMs, endMs int64
	bytes          int
	ended          bool
}

func collect(to map[int]*utterance, pieces []Audio) {
	for _, p := range pieces {
		u := to[p.Utterance]
		if u == nil {
			u = &utterance{startMs: p.StartMs}
			to[p.Utterance] = u
		}
		u.bytes += len(p.PCM)
		u.endMs = u.startMs + int64(u.bytes)/bytesPerMs
		u.ended = p.End
	}
}

func TestUtterances(t *testing.T) {
	t.Parallel()
	type part struct {
		ms    int
		level float64
	}
	for name, test := range map[string]struct {
		parts []part
		want  [][2]int64 // start and end in ms, up to 20 ms of a frame
	}{
		"silence":           {[]part{{5000, 0}}, nil},
		"near silence":      {[]part{{5000, 0.003}}, nil}, // its RMS is 0.0021
		"a click":           {[]part{{1000, 0}, {40, 0.5}, {1000, 0}}, nil},
		"one utterance":     {[]part{{1000, 0}, {1000, 0.3}, {2000, 0}}, [][2]int64{{700, 2700}}},
		"two utterances":    {[]part{{1000, 0.3}, {1000, 0}, {1000, 0.3}, {1000, 0}}, [][2]int64{{0, 1700}, {1700, 3700}}},
		"a short pause":     {[]part{{1000, 0.3}, {500, 0}, {1000, 0.3}, {1000, 0}}, [][2]int64{{0, 3200}}},
		"background noise":  {[]part{{1000, 0.3}, {1000, 0.015}, {1000, 0.3}, {1000, 0}}, [][2]int64{{0, 1700}, {1700, 3700}}},
		"a long sentence":   {[]part{{16000, 0.3}, {300, 0}, {1000, 0.3}, {1000, 0}}, [][2]int64{{0, 16200}, {16200, 18000}}},
		"without any pause": {[]part{{40000, 0.3}, {1000, 0}}, [][2]int64{{0, 30000}, {30000, 40700}}},
		"still speaking":    {[]part{{1000, 0.3}}, [][2]int64{{0, 1000}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var u Utterances
			got, at := map[int]*utterance{}, int64(0)
			for _, p := range test.parts {
				pcm := tone(p.ms, p.level)
				for len(pcm) > 0 {
					n := min(20*bytesPerMs, len(pcm))
					collect(got, u.Add(at, pcm[:n:n]))
					pcm, at = pcm[n:], at+20
				}
			}
			collect(got, u.End())
			if len(got) != len(test.want) {
				t.Fatalf("%d utterances, want %d", len(got), len(test.want))
			}
			for i, want := range test.want {
				u := got[i+1]
				if !u.ended || abs(u.startMs-want[0]) > 100 || abs(u.endMs-want[1]) > 100 {
					t.Errorf("utterance %d is %+v, want %v", i+1, *u, want)
				}
			}
		})
	}
}

func abs(n int64) int64 { return max(n, -n) }

// TestUtterancesProperties checks that all loud sound is in exactly one utterance at its
// time, however it is cut and whatever is missing, and that no utterance is too long.
func TestUtterancesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var u Utterances
		got, loud, at := map[int]*utterance{}, [][2]int64{}, int64(0)
		for range rapid.IntRange(1, 8).Draw(t, "parts") {
			ms := rapid.IntRange(15, 60).Draw(t, "ms") * 20
			level := rapid.SampledFrom([]float64{0, 0.001, 0.3}).Draw(t, "level")
			if rapid.IntRange(0, 5).Draw(t, "missing") == 0 {
				at += 5000
			}
			if level == 0.3 {
				loud = append(loud, [2]int64{at, at + int64(ms)})
			}
			pcm := tone(ms, level)
			for len(pcm) > 0 {
				n := min(rapid.IntRange(5, 120).Draw(t, "cut")*bytesPerMs, len(pcm))
				collect(got, u.Add(at, pcm[:n:n]))
				pcm, at = pcm[n:], at+int64(n)/bytesPerMs
			}
		}
		collect(got, u.End())
		end := int64(math.MinInt64)
		for i := 1; i <= len(got); i++ {
			if got[i].startMs < end || !got[i].ended || got[i].endMs-got[i].startMs > maxMs {
				t.Fatalf("utterance %d is %+v after one that ends at %d", i, *got[i], end)
			}
			end = got[i].endMs
		}
		for _, l := range loud {
			covered := int64(0)
			for _, one := range got {
				covered += max(0, min(l[1], one.endMs)-max(l[0], one.startMs))
			}
			if covered < l[1]-l[0]-100 {
				t.Fatalf("%d ms of the sound %v are in utterances", covered, l)
			}
		}
	})
}
