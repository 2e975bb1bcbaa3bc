package replica

import (
	"encoding/binary"
	"math"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The beeping source has a beep and a flash at each full second, the others have none.
func TestBeepAndFlashMeetAtWholeSeconds(t *testing.T) {
	t.Parallel()
	_, folder := mediaForTest(t)
	for _, design := range designs() {
		t.Run(design.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(folder, mediaVersion, testQuality.String(), design.name)
			flashes := flashStarts(decodePictures(t, path+".ivf"))
			beeps := beepStarts(decodeSound(t, path+".ogg"))
			if !design.voice.beeps {
				if len(flashes) != 0 || len(beeps) != 0 {
					t.Fatalf("beeps at %v and flashes at %v where none should be", beeps, flashes)
				}
				return
			}
			if want := int(loopLength / time.Second); len(flashes) != want || len(beeps) != want {
				t.Fatalf("%d flashes at %v and %d beeps at %v where %d are meant", len(flashes), flashes, len(beeps), beeps, want)
			}
			for i := range beeps {
				whole := time.Duration(i) * time.Second
				if offset := (beeps[i] - whole).Abs(); offset > 5*time.Millisecond {
					t.Errorf("beep %d is %v from its second", i, offset)
				}
				if distance := (beeps[i] - flashes[i]).Abs(); distance > 10*time.Millisecond {
					t.Errorf("beep %d and its flash are %v apart", i, distance)
				}
			}
		})
	}
}

// The sources speak in turn, louder than silence and below the level of a beep.
func TestSpeechIsHeardInItsPhrases(t *testing.T) {
	t.Parallel()
	for _, design := range designs() {
		samples := design.voice.samples(loopLength)
		inPhrases, loudest := 0.0, 0.0
		spoken := 0
		for i, sample := range samples {
			at := time.Duration(i) * time.Second / sampleRate
			value := math.Abs(float64(sample)) / math.MaxInt16
			beeping := design.voice.beeps && nearWholeSecond(at)
			switch {
			case beeping:
			case spokenAt(design.voice.phrases, at):
				inPhrases += value * value
				loudest = max(loudest, value)
				spoken++
			case value != 0:
				t.Fatalf("%s: a sound at %v, between phrases", design.name, at)
			}
		}
		if level := math.Sqrt(inPhrases / float64(spoken)); level < 0.005 || loudest > speechLevel*1.01 {
			t.Errorf("%s: speech has level %.4f and peak %.3f", design.name, level, loudest)
		}
	}
}

func spokenAt(phrases []Span, at time.Duration) bool {
	for _, phrase := range phrases {
		if phrase.contains(at) {
			return true
		}
	}
	return false
}

// Loops contain a whole number of units.
func TestLoopIsWhole(t *testing.T) {
	t.Parallel()
	media, _ := mediaForTest(t)
	for i, source := range media.sources {
		for name, track := range map[string]loop{"picture": source.video, "sound": source.audio} {
			length := time.Duration(len(track.units)) * time.Duration(track.ticks) * time.Second / time.Duration(track.clockRate)
			if length != loopLength {
				t.Errorf("%s of source %d lasts %v, the loop %v", name, i, length, loopLength)
			}
		}
		bytes := 0
		for _, picture := range source.video.units {
			bytes += len(picture)
		}
		if rate := float64(bytes) * 8 / loopLength.Seconds() / float64(testQuality.bits); rate < 0.3 || rate > 1.4 {
			t.Errorf("picture of source %d has %.2f of the bit rate", i, rate)
		} else {
			t.Logf("picture of source %d has %.2f of the bit rate", i, rate)
		}
	}
}

// decodePictures returns the mean luma of every frame.
func decodePictures(t *testing.T, path string) []float64 {
	t.Helper()
	const wide, high = 64, 36
	raw := ffmpegOutput(t, "-i", path, "-vf", "scale=64:36", "-pix_fmt", "gray", "-f", "rawvideo", "-")
	var lumas []float64
	for at := 0; at+wide*high <= len(raw); at += wide * high {
		sum := 0
		for _, value := range raw[at : at+wide*high] {
			sum += int(value)
		}
		lumas = append(lumas, float64(sum)/(wide*high))
	}
	return lumas
}

func decodeSound(t *testing.T, path string) []float64 {
	t.Helper()
	raw := ffmpegOutput(t, "-i", path, "-ac", "1", "-ar", "48000", "-f", "s16le", "-")
	samples := make([]float64, len(raw)/2)
	for i := range samples {
		samples[i] = float64(int16(binary.LittleEndian.Uint16(raw[2*i:]))) / math.MaxInt16
	}
	return samples
}

func ffmpegOutput(t *testing.T, arguments ...string) []byte {
	t.Helper()
	raw, err := exec.CommandContext(t.Context(), "ffmpeg",
		append([]string{"-hide_banner", "-nostdin", "-loglevel", "error"}, arguments...)...).Output()
	if err != nil {
		t.Fatalf("decode with ffmpeg: %v", err)
	}
	return raw
}

// flashStarts returns the first white frame of each flash.
func flashStarts(lumas []float64) []time.Duration {
	const white = 210
	var starts []time.Duration
	for i, luma := range lumas {
		if luma > white && (i == 0 || lumas[i-1] <= white) {
			starts = append(starts, time.Duration(i)*time.Second/time.Duration(testQuality.rate))
		}
	}
	return starts
}

// beepStarts returns the times at which the level rises above that of speech, with a
// resolution of a millisecond.
func beepStarts(samples []float64) []time.Duration {
	const window = sampleRate / 1000
	var starts []time.Duration
	for at := 0; at+window <= len(samples); at += window {
		peak := 0.0
		for _, sample := range samples[at : at+window] {
			peak = max(peak, math.Abs(sample))
		}
		start := time.Duration(at) * time.Second / sampleRate
		if peak > 0.3 && (len(starts) == 0 || start-starts[len(starts)-1] > time.Second/2) {
			starts = append(starts, start)
		}
	}
	return starts
}
