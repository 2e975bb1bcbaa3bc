package tracing

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Sampler decides which traces are recorded. The decision depends only on the
// trace's ID and on the caller's decision, so all nodes agree.
type Sampler struct {
	Ratio       float64 // of the traces that begin here, from 0 to 1
	ParentBased bool    // traces that a caller has begun are recorded when the caller records them
}

// Samplers returns the names that ParseSampler accepts, those of
// OTEL_TRACES_SAMPLER.
func Samplers() []string {
	return []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}
}

// ParseSampler returns the sampler with a name of Samplers. argument is the ratio
// of those that end in traceidratio; empty is 1.
func ParseSampler(name, argument string) (Sampler, error) {
	base, parentBased := strings.CutPrefix(name, "parentbased_")
	sampler := Sampler{ParentBased: parentBased}
	switch base {
	case "always_on":
		sampler.Ratio = 1
	case "always_off":
	case "traceidratio":
		sampler.Ratio = 1
		if argument == "" {
			break
		}
		ratio, err := strconv.ParseFloat(argument, 64)
		if err != nil || math.IsNaN(ratio) || ratio < 0 || ratio > 1 {
			return Sampler{}, fmt.Errorf("the ratio of the trace sampler is %q; it must be a number from 0 to 1", argument)
		}
		sampler.Ratio = ratio
	default:
		return Sampler{}, fmt.Errorf("the trace sampler %q is not one of %s", name, strings.Join(Samplers(), ", "))
	}
	return sampler, nil
}

// samples reports whether a trace that begins here is recorded.
func (s Sampler) samples(id traceID) bool {
	return float64(id.randomness()) < s.Ratio*(1<<56)
}

// samplesRequest reports whether a request with a trace of its caller is
// recorded.
func (s Sampler) samplesRequest(parent spanContext) bool {
	if s.ParentBased {
		return parent.sampled
	}
	return s.samples(parent.trace)
}
