package sound

import (
	"encoding/binary"
	"math"
)

// tapsPerStep is the length of the low-pass filter on each side, in samples of the lower
// rate.
const tapsPerStep = 8

// lowPass returns the filter between two rates whose ratio is factor: a windowed sinc
// (Blackman) that passes 85 % of the band of the lower rate.
func lowPass(factor int) []float32 {
	half := tapsPerStep * factor
	taps := make([]float32, 2*half+1)
	cutoff := 0.85 / float64(factor)
	var sum float64
	values := make([]float64, len(taps))
	for i := range values {
		x := float64(i - half)
		sinc := 1.0
		if x != 0 {
			sinc = math.Sin(math.Pi*cutoff*x) / (math.Pi * cutoff * x)
		}
		phase := 2 * math.Pi * float64(i) / float64(len(taps)-1)
		values[i] = sinc * (0.42 - 0.5*math.Cos(phase) + 0.08*math.Cos(2*phase))
		sum += values[i]
	}
	for i, value := range values {
		taps[i] = float32(value / sum)
	}
	return taps
}

// Resampler converts the pieces of one sound, one after the other.
type Resampler func(pcm []byte) []byte

// Resamplers are those of several sounds.
type Resamplers map[int]Resampler

// Get returns the resampler of a sound. For its first piece, create makes it.
func (r Resamplers) Get(sound int, create func(rate int) Resampler, rate int) Resampler {
	if r[sound] == nil {
		r[sound] = create(rate)
	}
	return r[sound]
}

// Downsampler returns a function that converts PCM of one source from Rate to a rate that
// divides it, or to 32 kHz, one piece after the other. The length of a piece must be a multiple of the
// factor between the rates. The end of each piece is kept for the next one, so that pieces
// join without clicks.
func Downsampler(rate int) Resampler {
	if rate == 32_000 { // two thirds
		double, third := Upsampler(Rate/2), Downsampler(Rate/3)
		return func(pcm []byte) []byte { return third(double(pcm)) }
	}
	factor := Rate / rate
	taps := lowPass(factor)
	window := make([]float32, len(taps)-1) // samples that are still needed
	return func(pcm []byte) []byte {
		if factor == 1 {
			return pcm
		}
		for i := 0; i+1 < len(pcm); i += 2 {
			window = append(window, sample(pcm[i:]))
		}
		out := make([]byte, 0, len(pcm)/factor)
		for len(window) >= len(taps)-1+factor {
			var sum float32
			for i, tap := range taps {
				sum += tap * window[i]
			}
			out = appendSample(out, sum)
			window = window[factor:]
		}
		return out
	}
}

// Upsampler returns the inverse of Downsampler: a function that converts the pieces of one
// sound from a rate to Rate.
func Upsampler(rate int) Resampler {
	if rate == 32_000 { // three halves
		triple, half := Upsampler(Rate/3), Downsampler(Rate/2)
		return func(pcm []byte) []byte { return half(triple(pcm)) }
	}
	factor := Rate / rate
	taps := lowPass(factor)
	window := make([]float32, 2*tapsPerStep+1) // the last samples, as many as reach into the next
	return func(pcm []byte) []byte {
		if factor == 1 {
			return pcm
		}
		out := make([]byte, 0, len(pcm)*factor)
		for i := 0; i+1 < len(pcm); i += 2 {
			copy(window, window[1:])
			window[len(window)-1] = sample(pcm[i:])
			for phase := range factor {
				var sum float32
				for j, tap := len(window)-1, phase; tap < len(taps) && j >= 0; j, tap = j-1, tap+factor {
					sum += taps[tap] * window[j]
				}
				out = appendSample(out, sum*float32(factor))
			}
		}
		return out
	}
}

func sample(pcm []byte) float32 {
	return float32(int16(binary.LittleEndian.Uint16(pcm))) //nolint:gosec // PCM is signed
}

func appendSample(pcm []byte, value float32) []byte {
	rounded := math.Round(float64(value))
	return binary.LittleEndian.AppendUint16(pcm, uint16(int16(max(math.MinInt16,
		min(math.MaxInt16, rounded))))) //nolint:gosec // PCM is signed
}
