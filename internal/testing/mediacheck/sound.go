package mediacheck

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
)

const (
	sampleRate = 16000

	// windowSamples is 20 ms: it tells tones apart that lie 50 Hz or more from
	// each other. hopSamples is 5 ms, the exactness of an onset.
	windowSamples = sampleRate / 50
	hopSamples    = sampleRate / 200

	beepHz = 1000

	// tonePurity is how many times stronger the beep must be than the mean of
	// its neighbourhood. Speech has its energy spread over the band.
	tonePurity = 6

	// A beep begins above beepOn and ends below beepOff, as shares of the
	// amplitude of the file's loud beeps.
	beepOn  = 0.4
	beepOff = 0.2

	// onsetInWindowMs is how long after the start of the first window that
	// passes its beep begins, on the average: a window passes when between 10
	// and 15 ms of it are beep, which was found with beeps of known place.
	onsetInWindowMs = 5

	// faintestBeep is the amplitude, full scale being 1, below which nothing
	// counts as a beep.
	faintestBeep = 0.005

	// A beep lasts between shortestBeepMs and longestBeepMs: an overtone of
	// speech crosses 1 kHz faster, and a steady tone is no beep.
	shortestBeepMs = 40
	longestBeepMs  = 400
)

// decodeSound decodes the sound to mono. Sample 0 is time 0 of the file, and
// gaps are filled with silence, so that a sample's place is its time.
func decodeSound(ctx context.Context, file string) ([]float32, error) {
	raw, err := run(ctx, "ffmpeg", "-v", "error", "-nostdin", "-copyts", "-i", file, "-map", "0:a:0",
		"-af", "aresample=16000:async=1:min_hard_comp=0.01:first_pts=0", "-ac", "1", "-f", "f32le", "-")
	if err != nil {
		return nil, err
	}
	samples := make([]float32, len(raw)/4)
	for index := range samples {
		samples[index] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*index:]))
	}
	return samples, nil
}

// Tones returns, for each frequency, the onsets in the file's sound of beeps of
// that pitch, in milliseconds. Pitches must lie 500 Hz or more apart.
func Tones(ctx context.Context, file string, hertz ...float64) ([][]float64, error) {
	samples, err := decodeSound(ctx, file)
	if err != nil {
		return nil, err
	}
	onsets := make([][]float64, len(hertz))
	for i, pitch := range hertz {
		onsets[i] = findTones(samples, pitch)
	}
	return onsets, nil
}

// findBeeps returns the onsets of the beeps.
func findBeeps(samples []float32) []float64 { return findTones(samples, beepHz) }

// findTones returns the onsets of the beeps of a pitch.
func findTones(samples []float32, hertz float64) []float64 {
	if len(samples) < windowSamples {
		return nil
	}
	hops := (len(samples)-windowSamples)/hopSamples + 1
	levels := make([]float64, hops)
	for hop := range levels {
		levels[hop] = toneLevel(samples[hop*hopSamples:][:windowSamples], hertz)
	}
	loud := slices.Clone(levels)
	slices.Sort(loud)
	// Beeps fill a tenth of the time, so the top fiftieth is inside of beeps.
	loudest := loud[(len(loud)-1)*98/100]
	if loudest < faintestBeep {
		loudest = loud[len(loud)-1] // a long file with few beeps
	}
	if loudest < faintestBeep {
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
			lasted := float64(hop-start) * hopMs
			if lasted >= shortestBeepMs && lasted <= longestBeepMs {
				onsets = append(onsets, float64(start)*hopMs+onsetInWindowMs)
			}
			start = -1
		}
	}
	return onsets
}

// toneLevel returns the amplitude of a tone in one window, and 0 when its
// neighbourhood is nearly as strong.
func toneLevel(window []float32, hertz float64) float64 {
	neighbours := 0.0
	offsets := []float64{-300, -200, -100, 100, 200, 300}
	for _, offset := range offsets {
		neighbours += amplitude(window, hertz+offset)
	}
	level := amplitude(window, hertz)
	if level < tonePurity*neighbours/float64(len(offsets)) {
		return 0
	}
	return level
}

// amplitude returns the strength of one frequency by Goertzel's algorithm, on a
// window that is faded in and out (Hann) so that neighbours do not leak in.
func amplitude(window []float32, frequency float64) float64 {
	turn := 2 * math.Cos(2*math.Pi*frequency/sampleRate)
	var last, beforeLast float64
	for index, sample := range window {
		fade := 0.5 - 0.5*math.Cos(2*math.Pi*float64(index)/float64(len(window)))
		last, beforeLast = float64(sample)*fade+turn*last-beforeLast, last
	}
	power := last*last + beforeLast*beforeLast - turn*last*beforeLast
	return 4 * math.Sqrt(max(power, 0)) / float64(len(window))
}
