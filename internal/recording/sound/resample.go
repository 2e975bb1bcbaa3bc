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

// downsampler converts PCM to a rate that divides its own. It keeps the end of each piece
// for the next one, so that pieces join without clicks.
type downsampler struct {
	factor int
	taps   []float32
	window []float32 // samples that are still needed
}

// Downsampler returns a function that converts PCM of one source from Rate to a rate that
// divides it, one piece after the other.
func Downsampler(rate int) func(pcm []byte) []byte {
	factor := Rate / rate
	taps := lowPass(factor)
	return (&downsampler{factor: factor, taps: taps, window: make([]float32, len(taps)-1)}).convert
}

// convert converts the next piece. Its length must be a multiple of the factor.
func (d *downsampler) convert(pcm []byte) []byte {
	if d.factor == 1 {
		return pcm
	}
	for i := 0; i+1 < len(pcm); i += 2 {
		d.window = append(d.window, sample(pcm[i:]))
	}
	out := make([]byte, 0, len(pcm)/d.factor)
	for len(d.window) >= len(d.taps)-1+d.factor {
		var sum float32
		for i, tap := range d.taps {
			sum += tap * d.window[i]
		}
		out = appendSample(out, sum)
		d.window = d.window[d.factor:]
	}
	return out
}

// upsampler is the inverse of downsampler.
type upsampler struct {
	factor int
	taps   []float32
	window []float32 // the last samples, as many as reach into the next
}

// Upsampler returns a function that converts the pieces of one sound from a rate to Rate.
func Upsampler(rate int) func(pcm []byte) []byte {
	factor := Rate / rate
	return (&upsampler{factor: factor, taps: lowPass(factor), window: make([]float32, 2*tapsPerStep+1)}).convert
}

// convert converts the next piece.
func (u *upsampler) convert(pcm []byte) []byte {
	if u.factor == 1 {
		return pcm
	}
	out := make([]byte, 0, len(pcm)*u.factor)
	for i := 0; i+1 < len(pcm); i += 2 {
		copy(u.window, u.window[1:])
		u.window[len(u.window)-1] = sample(pcm[i:])
		for phase := range u.factor {
			var sum float32
			for j, tap := len(u.window)-1, phase; tap < len(u.taps) && j >= 0; j, tap = j-1, tap+u.factor {
				sum += u.taps[tap] * u.window[j]
			}
			out = appendSample(out, sum*float32(u.factor))
		}
	}
	return out
}

func sample(pcm []byte) float32 {
	return float32(int16(binary.LittleEndian.Uint16(pcm))) //nolint:gosec // PCM is signed
}

func appendSample(pcm []byte, value float32) []byte {
	rounded := math.Round(float64(value))
	return binary.LittleEndian.AppendUint16(pcm, uint16(int16(max(math.MinInt16,
		min(math.MaxInt16, rounded))))) //nolint:gosec // PCM is signed
}
