package mediacheck

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

const (
	sampleRate = 16000

	// windowSamples is 20 ms, a resolution of 50 Hz. hopSamples is 5 ms, the
	// resolution of an onset.
	windowSamples = sampleRate / 50
	hopSamples    = sampleRate / 200

	beepHz = 1000

	// minToneRatio is the minimum ratio between a beep and the mean of its neighbor
	// frequencies. The energy of speech is spread over the band.
	minToneRatio = 6

	// A beep starts above beepOn and ends below beepOff, relative to the amplitude of
	// the loudest beeps of the file.
	beepOn  = 0.4
	beepOff = 0.2

	// onsetInWindowMs is the mean time from the start of the first detected window to
	// the beep, measured with beeps at known times: a window is detected if 10 to
	// 15 ms of it are beep.
	onsetInWindowMs = 5

	// minAmplitude is the minimum amplitude of a beep; full scale is 1.
	minAmplitude = 0.005

	// The duration of a beep excludes overtones of speech, which are shorter, and
	// steady tones.
	minBeepMs = 40
	maxBeepMs = 400
)

// audioFilter resamples audio. Sample 0 is time 0 of the file, and gaps are filled with
// silence.
var audioFilter = fmt.Sprintf("aresample=%d:async=1:min_hard_comp=0.01:first_pts=0", sampleRate)

// parseAudio returns the samples of an output of ffmpeg in the format f32le.
func parseAudio(raw []byte) []float32 {
	samples := make([]float32, len(raw)/4)
	for index := range samples {
		samples[index] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*index:]))
	}
	return samples
}

// Tones returns the onsets of the beeps of each frequency in milliseconds. The
// frequencies must differ by at least 500 Hz.
func Tones(ctx context.Context, file string, hertz ...float64) ([][]float64, error) {
	decoded, err := decodeStreams(ctx, file, false, true)
	if err != nil {
		return nil, err
	}
	onsets := make([][]float64, len(hertz))
	for i, pitch := range hertz {
		onsets[i] = findTones(decoded.samples, pitch)
	}
	return onsets, nil
}

// findTones returns the onsets of the beeps of a frequency.
func findTones(samples []float32, hertz float64) []float64 {
	if len(samples) < windowSamples {
		return nil
	}
	hops := (len(samples)-windowSamples)/hopSamples + 1
	levels := make([]float64, hops)
	hann := hannWindow()
	for hop := range levels {
		var faded window
		for index, sample := range samples[hop*hopSamples:][:windowSamples] {
			faded[index] = float64(sample) * hann[index]
		}
		levels[hop] = faded.toneLevel(hertz)
	}
	loud := slices.Clone(levels)
	slices.Sort(loud)
	// Beeps take a tenth of the time, so the loudest 2% are inside beeps.
	loudest := loud[(len(loud)-1)*98/100]
	if loudest < minAmplitude {
		loudest = loud[len(loud)-1] // a long file with few beeps
	}
	if loudest < minAmplitude {
		return nil
	}
	const hopMs = hopSamples * 1000.0 / sampleRate
	var onsets []float64
	start := -1
	for hop, level := range append(levels, 0) {
		switch {
		case start < 0 && level > beepOn*loudest:
			start = hop
		case start >= 0 && level < beepOff*loudest:
			duration := float64(hop-start) * hopMs
			if duration >= minBeepMs && duration <= maxBeepMs {
				onsets = append(onsets, float64(start)*hopMs+onsetInWindowMs)
			}
			start = -1
		}
	}
	return onsets
}

// window is a window of samples to which the Hann function is applied.
type window [windowSamples]float64

// hannWindow returns the factors of the Hann function.
func hannWindow() (factors window) {
	for index := range factors {
		factors[index] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(index)/windowSamples)
	}
	return factors
}

// toneLevel returns the amplitude of a tone in a window, or 0 if the tone is too quiet
// to be a beep or to continue one, or if its neighbor frequencies are nearly as strong.
func (w *window) toneLevel(hertz float64) float64 {
	level := w.amplitude(hertz)
	if level < beepOff*minAmplitude {
		return 0
	}
	neighbors := 0.0
	offsets := []float64{-300, -200, -100, 100, 200, 300}
	for _, offset := range offsets {
		neighbors += w.amplitude(hertz + offset)
	}
	if level < minToneRatio*neighbors/float64(len(offsets)) {
		return 0
	}
	return level
}

// amplitude returns the amplitude of a frequency, using the Goertzel algorithm.
func (w *window) amplitude(frequency float64) float64 {
	next := 2 * math.Cos(2*math.Pi*frequency/sampleRate)
	var last, beforeLast float64
	for _, sample := range w {
		last, beforeLast = sample+next*last-beforeLast, last
	}
	power := last*last + beforeLast*beforeLast - next*last*beforeLast
	return 4 * math.Sqrt(max(power, 0)) / windowSamples
}
