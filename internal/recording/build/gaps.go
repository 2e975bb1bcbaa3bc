package build

import (
	"cmp"
	"slices"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// shortestGap is the shortest gap in a manifest. The start times that bots report
// are not much more accurate.
const shortestGap = 100 * time.Millisecond

// span is a period, relative to the start of the recording.
type span struct {
	from, to time.Duration
	reason   string
}

func (s span) overlap(other span) time.Duration {
	return min(s.to, other.to) - max(s.from, other.from)
}

// gaps lists the gaps of the recording: before, between and after the parts with media.
// Gaps after the last part come from the reports. Where a reported gap overlaps
// media, the media is authoritative.
func (b *builder) gaps() []recording.Gap {
	reported := b.reportedGaps()
	var holes []span
	end := time.Duration(0)
	add := func(to time.Duration, cause string) {
		if to-end >= shortestGap {
			holes = append(holes, span{from: end, to: to, reason: b.gapReason(span{from: end, to: to}, reported, cause)})
		}
		end = max(end, to)
	}
	for i, part := range b.mediaParts {
		add(part.from, b.gapCause(i))
		end = max(end, part.to)
	}
	add(b.lostMediaEnd(), recording.GapMediaLost)
	for _, gap := range reported {
		if b.openPartBefore(gap.from) {
			add(gap.from, recording.GapMediaLost)
		}
		if gap.to-max(gap.from, end) >= shortestGap {
			holes = append(holes, span{from: max(gap.from, end), to: gap.to, reason: gap.reason})
			end = gap.to
		}
	}
	gaps := make([]recording.Gap, 0, len(holes))
	for _, span := range holes {
		gaps = append(gaps, recording.Gap{StartMs: span.from.Milliseconds(), EndMs: span.to.Milliseconds(), Reason: span.reason})
	}
	return gaps
}

// reportedGaps returns the gaps in the bots' reports, relative to the start of
// the recording.
func (b *builder) reportedGaps() []span {
	if b.origin.IsZero() {
		return nil // the start of the recording is unknown
	}
	var reported []span
	for _, report := range b.reports {
		for _, gap := range report.Gaps {
			to := firstNonZero(gap.To, report.LeftAt) // an open gap lasts until the bot left
			if gap.From.IsZero() || !to.After(gap.From) {
				continue
			}
			reported = append(reported, span{from: b.offset(gap.From), to: b.offset(to), reason: cmp.Or(gap.Reason, recording.GapNotRecording)})
		}
	}
	slices.SortStableFunc(reported, func(a, c span) int { return cmp.Compare(a.from, c.from) })
	return reported
}

// mediaFaults returns the faults in the bots' reports.
func (b *builder) mediaFaults() []recording.MediaFault {
	faults := []recording.MediaFault{}
	if b.origin.IsZero() {
		return faults
	}
	for _, report := range b.reports {
		for _, fault := range report.MediaFaults {
			to := firstNonZero(fault.To, report.LeftAt) // an open fault lasts until the bot left
			if fault.Kind == "" || fault.From.IsZero() || !to.After(fault.From) || to.Before(b.origin) {
				continue
			}
			faults = append(faults, recording.MediaFault{
				Kind: fault.Kind, StartMs: max(0, b.offset(fault.From)).Milliseconds(), EndMs: b.offset(to).Milliseconds(),
			})
		}
	}
	slices.SortStableFunc(faults, func(a, c recording.MediaFault) int { return cmp.Compare(a.StartMs, c.StartMs) })
	return faults
}

// gapReason returns the reason of the reported gap that covers more than half of
// hole, or else cause.
func (b *builder) gapReason(hole span, reported []span, cause string) string {
	for _, gap := range reported {
		if hole.overlap(gap) > (hole.to-hole.from)/2 {
			return gap.reason
		}
	}
	return cause
}

// gapCause returns the reason of the gap before a part with media.
func (b *builder) gapCause(i int) string {
	if i == 0 {
		return recording.GapMediaLost
	}
	before := b.mediaParts[i-1]
	if before.Attempt != b.mediaParts[i].Attempt {
		return recording.GapBotLost
	}
	ended, known := b.reportedPart(before.Attempt, before.Number)
	adjacent := b.mediaParts[i].Number == before.Number+1
	if before.Loss != "" || !known || !ended.Complete || !adjacent {
		return recording.GapMediaLost
	}
	return cmp.Or(ended.EndedBy, recording.GapNotRecording)
}

// lostMediaEnd returns the reported end of the last incomplete part; 0 if the start of the
// recording is unknown.
func (b *builder) lostMediaEnd() time.Duration {
	until := time.Duration(0)
	if b.origin.IsZero() {
		return until
	}
	for _, report := range b.reports {
		for _, part := range report.Parts {
			if !part.EndedAt.IsZero() && !b.isComplete(report.Attempt, part) {
				until = max(until, b.offset(part.EndedAt))
			}
		}
	}
	return until
}

// openPartBefore reports whether a part that began after the last part with media and
// before a given time has no reported end: its media was lost.
func (b *builder) openPartBefore(before time.Duration) bool {
	since := time.Duration(0)
	if last := len(b.mediaParts) - 1; last >= 0 {
		since = b.mediaParts[last].from
	}
	for _, report := range b.reports {
		for _, part := range report.Parts {
			began := b.offset(part.StartedAt)
			if part.EndedAt.IsZero() && began >= since && began < before {
				return true
			}
		}
	}
	return false
}

// isComplete reports whether all media of a part is in a file.
func (b *builder) isComplete(attempt int, part ingest.RecordingPart) bool {
	if isEmpty(part) {
		return true
	}
	return part.Complete && slices.ContainsFunc(b.mediaParts, func(k mediaPart) bool {
		return k.Attempt == attempt && k.Number == part.Number && k.Loss == ""
	})
}

// partial reports whether any media of a started recording is missing.
func (b *builder) partial() bool {
	if b.attendance {
		return b.input.BotLost && !b.stoppedNormally()
	}
	if len(b.packed.Files) == 0 {
		return !b.origin.IsZero() || len(b.packed.Parts) > 0
	}
	for _, part := range b.packed.Parts {
		if reported, ok := b.reportedPart(part.Attempt, part.Number); !ok || !b.isComplete(part.Attempt, reported) {
			return true
		}
		if part.Attempt != b.packed.Parts[0].Attempt {
			return true // a second attempt means that a bot was lost
		}
	}
	for _, report := range b.reports {
		for _, part := range report.Parts {
			if !b.isComplete(report.Attempt, part) {
				return true
			}
		}
	}
	if b.tracksMissing() {
		return true
	}
	for _, gap := range b.reportedGaps() {
		if gap.reason != recording.GapPaused && gap.to > 0 {
			return true
		}
	}
	if slices.ContainsFunc(b.gaps(), func(gap recording.Gap) bool { return !gap.Requested() }) {
		return true
	}
	return b.input.BotLost && !b.stoppedNormally()
}

// tracksMissing reports whether any participant audio is missing.
func (b *builder) tracksMissing() bool {
	for _, report := range b.reports {
		for _, reported := range report.AudioTracks {
			complete := reported.Complete && slices.ContainsFunc(b.packed.Tracks, func(packed PackedTrack) bool {
				return packed.Attempt == report.Attempt && packed.Number == reported.Number && packed.File != "" && packed.Loss == ""
			})
			if reported.Segments > 0 && !complete {
				return true
			}
		}
	}
	return false
}

// stoppedNormally reports whether the recording ended before the bot was lost,
// so that no media is missing.
func (b *builder) stoppedNormally() bool {
	last := b.lastReport()
	if last.EndReason != ingest.EndStopped && (!last.LeftAt.IsZero() || last.EndReason != "") {
		return true
	}
	stopped := b.input.ObservedTimeline.RecordingStoppedAt
	return len(b.mediaParts) > 0 && stopped.After(b.mediaParts[len(b.mediaParts)-1].StartedAt)
}
