package recording

import (
	"cmp"
	"slices"
	"time"

	"standin/internal/ingest"
)

// builder holds the data that a manifest is built from.
type builder struct {
	input     ManifestInput
	reports   []ingest.Report // by attempt
	packed    Packed
	origin    time.Time // when the recording started; zero if unknown
	keptParts []keptPart
}

// keptPart is a part with media in a file, with its span on the recording's
// clock.
type keptPart struct {
	PackedPart
	from, to time.Duration
}

func newBuilder(input ManifestInput, reports []ingest.Report, packed Packed) *builder {
	b := &builder{input: input, reports: slices.Clone(reports), packed: packed}
	slices.SortStableFunc(b.reports, func(a, c ingest.Report) int { return cmp.Compare(a.Attempt, c.Attempt) })
	b.origin = b.startedAt()
	for _, part := range packed.Parts {
		if part.File == "" {
			continue
		}
		from := b.offset(part.StartedAt)
		if part.StartedAt.IsZero() { // unknown: assume that it follows the previous part
			from = b.keptEnd()
		}
		b.keptParts = append(b.keptParts, keptPart{PackedPart: part, from: from, to: from + part.Length})
	}
	return b
}

// startedAt returns the start of the earliest part, or else the start that the
// service observed.
func (b *builder) startedAt() time.Time {
	var first time.Time
	consider := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, part := range b.packed.Parts {
		consider(part.StartedAt)
	}
	for _, report := range b.reports {
		for _, part := range report.Parts {
			consider(part.StartedAt)
		}
	}
	if first.IsZero() {
		return b.input.ObservedTimeline.RecordingStartedAt.Time
	}
	return first
}

// offset returns the time since the start of the recording.
func (b *builder) offset(at time.Time) time.Duration {
	return at.Sub(b.origin).Round(time.Millisecond)
}

// keptEnd returns the end of the kept parts so far.
func (b *builder) keptEnd() time.Duration {
	end := time.Duration(0)
	for _, part := range b.keptParts {
		end = max(end, part.to)
	}
	return end
}

// reportedPart returns a part as the reports describe it.
func (b *builder) reportedPart(attempt, number int) (ingest.RecordingPart, bool) {
	for _, report := range b.reports {
		for _, part := range report.Parts {
			if report.Attempt == attempt && part.Number == number {
				return part, true
			}
		}
	}
	return ingest.RecordingPart{}, false
}

// lastReport returns the report of the last attempt that has one.
func (b *builder) lastReport() ingest.Report {
	if len(b.reports) == 0 {
		return ingest.Report{}
	}
	return b.reports[len(b.reports)-1]
}

func firstNonZero(at, otherwise time.Time) time.Time {
	if at.IsZero() {
		return otherwise
	}
	return at
}
