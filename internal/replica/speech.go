package replica

import (
	"math"
	"math/rand/v2"
	"time"
)

// Properties of the beep and flash at each full second.
const (
	beepFrequency = 1000.0 // Hz
	beepLength    = 100 * time.Millisecond
	flashLength   = 120 * time.Millisecond // three frames at 25 per second
)

const (
	sampleRate = 48000
	// A beep is 14 dB louder than speech, so that a threshold at beepFrequency
	// detects it.
	beepLevel   = 0.5
	speechLevel = 0.1
)

// Span is a part of the loop.
type Span struct {
	Start, End time.Duration
}

func (s Span) contains(at time.Duration) bool { return at >= s.Start && at < s.End }

// voice describes the speech of a source.
type voice struct {
	seed    uint64
	pitch   float64 // Hz, of the glottal pulse
	phrases []Span  // the voice is silent between them
	beeps   bool
}

// syllable is one vowel between two short closures.
type syllable struct {
	span  Span
	vowel [3]float64 // formant frequencies in Hz
	pitch float64
}

// vowels are the first three formants of a, e, i, o, u and schwa, rounded averages of
// adult speakers.
var vowels = [...][3]float64{
	{730, 1090, 2440}, {530, 1840, 2480}, {270, 2290, 3010},
	{570, 840, 2410}, {300, 870, 2240}, {500, 1500, 2500},
}

// syllables returns the syllables of all phrases. It is deterministic.
func (v voice) syllables() []syllable {
	random := rand.New(rand.NewPCG(v.seed, v.seed))
	var all []syllable
	for _, phrase := range v.phrases {
		left := 2 + random.IntN(3) // syllables until the next word
		for at := phrase.Start; ; {
			length := time.Duration(150+random.IntN(90)) * time.Millisecond
			if at+length > phrase.End {
				break
			}
			all = append(all, syllable{
				span:  Span{at, at + length},
				vowel: vowels[random.IntN(len(vowels))],
				// The pitch falls over a phrase, as in a plain statement.
				pitch: v.pitch * (1.12 - 0.24*float64(at-phrase.Start)/float64(phrase.End-phrase.Start)),
			})
			at += length + 15*time.Millisecond
			if left--; left == 0 {
				left = 2 + random.IntN(3)
				at += time.Duration(60+random.IntN(80)) * time.Millisecond
			}
		}
	}
	return all
}

// loudness returns the level of the voice at a time of the loop, from 0 to 1. The
// video depends on it.
func (v voice) loudness(syllables []syllable, at time.Duration) float64 {
	if v.beeps && nearWholeSecond(at) {
		return 0
	}
	for _, s := range syllables {
		if s.span.contains(at) {
			along := float64(at-s.span.Start) / float64(s.span.End-s.span.Start)
			return math.Pow(math.Sin(math.Pi*along), 0.6)
		}
	}
	return 0
}

// nearWholeSecond reports whether a time is close to a beep. A beeping voice is
// silent then.
func nearWholeSecond(at time.Duration) bool {
	within := at % time.Second
	return within < beepLength+60*time.Millisecond || within > time.Second-60*time.Millisecond
}

// samples renders one loop as 16-bit mono at 48 kHz.
func (v voice) samples(loop time.Duration) []int16 {
	speech := v.speech(loop)
	loudest := 0.0
	for _, value := range speech {
		loudest = max(loudest, math.Abs(value))
	}
	rendered := make([]int16, len(speech))
	for i, value := range speech {
		if loudest > 0 {
			value *= speechLevel / loudest
		}
		if v.beeps {
			value += beep(i)
		}
		rendered[i] = int16(math.Round(value * math.MaxInt16))
	}
	return rendered
}

// speech passes glottal pulses through three resonators, one for each formant.
func (v voice) speech(loop time.Duration) []float64 {
	rendered := make([]float64, int(loop.Seconds()*sampleRate))
	syllables := v.syllables()
	for _, s := range syllables {
		resonators := [3]resonator{
			newResonator(s.vowel[0], 80), newResonator(s.vowel[1], 100), newResonator(s.vowel[2], 140),
		}
		gains := [3]float64{1, 0.5, 0.25}
		phase := 0.0
		for i := sampleAt(s.span.Start); i < sampleAt(s.span.End) && i < len(rendered); i++ {
			phase += s.pitch / sampleRate
			pulse := 0.0
			if phase >= 1 {
				phase--
				pulse = 1
			}
			value := 0.0
			for r := range resonators {
				value += gains[r] * resonators[r].next(pulse)
			}
			at := time.Duration(i) * time.Second / sampleRate
			rendered[i] = value * v.loudness(syllables, at)
		}
	}
	return rendered
}

// beep returns the tone at a sample of the loop, with edges of a millisecond to avoid
// clicks.
func beep(sample int) float64 {
	const length, edge = int(beepLength * sampleRate / time.Second), sampleRate / 1000
	within := sample % sampleRate
	if within >= length {
		return 0
	}
	gain := min(1, float64(within)/float64(edge), float64(length-within)/float64(edge))
	return beepLevel * gain * math.Sin(2*math.Pi*beepFrequency*float64(within)/sampleRate)
}

func sampleAt(at time.Duration) int { return int(at * sampleRate / time.Second) }

// resonator is a two-pole band-pass filter: one formant of the vocal tract.
type resonator struct {
	gain, first, second float64
	last, before        float64
}

func newResonator(frequency, bandwidth float64) resonator {
	radius := math.Exp(-math.Pi * bandwidth / sampleRate)
	return resonator{
		gain:   1 - radius,
		first:  2 * radius * math.Cos(2*math.Pi*frequency/sampleRate),
		second: -radius * radius,
	}
}

func (r *resonator) next(input float64) float64 {
	output := r.gain*input + r.first*r.last + r.second*r.before
	r.last, r.before = output, r.last
	return output
}
