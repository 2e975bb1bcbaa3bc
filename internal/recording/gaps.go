package recording

import (
	"cmp"
	"slices"
	"time"

	"standin/internal/ingest"
)

// Reasons of gaps that are not the bot's own.
const (
	GapBotLost      = "bot_lost"      // one attempt's bot was lost, the next had not begun to record
	GapMediaLost    = "media_lost"    // recorded, or begun to be, and not kept
	GapNotRecording = "not_recording" // a part had ended in order, the next had not begun
)

// GapDiskFull is the reason that bots report when their spool was full.
const GapDiskFull = "no_room"

// GapPaused is the reason that bots give for a pause.
const GapPaused = "paused"

// requested reports whether a gap was requested, so that nothing is missing.
func (g Gap) requested() bool { return g.Reason == GapPaused || g.Reason == GapNotRecording }

// shortestGap is the shortest gap that is told: bots do not know when a part
// begins much better than this.
const shortestGap = 100 * time.Millisecond

// span is a time on the recording's clock.
type span struct {
	from, to time.Duration
	reason   string
}

func (s span) overlap(other span) time.Duration {
	return min(s.to, other.to) - max(s.from, other.from)
}

// gaps lists the gaps of the recording: between the kept parts, before the first, and
// after the last as the bots reported. Media takes precedence over a reported gap.
func (b *builder) gaps() []Gap {
	reported := b.reportedGaps()
	var holes []span
	end := time.Duration(0)
	add := func(to time.Duration, cause string) {
		if to-end >= shortestGap {
			holes = append(holes, span{from: end, to: to, reason: b.gapReason(span{from: end, to: to}, reported, cause)})
		}
		end = max(end, to)
	}
	for i, part := range b.keptParts {
		add(part.from, b.gapCause(i))
		end = max(end, part.to)
	}
	add(b.lostMediaEnd(), GapMediaLost)
	for _, gap := range reported {
		if b.openPartBefore(gap.from) {
			add(gap.from, GapMediaLost)
		}
		if gap.to-max(gap.from, end) >= shortestGap {
			holes = append(holes, span{from: max(gap.from, end), to: gap.to, reason: gap.reason})
			end = gap.to
		}
	}
	return asGaps(holes)
}

// reportedGaps returns the gaps in the bots' reports, on the recording's
// clock.
func (b *builder) reportedGaps() []span {
	if b.origin.IsZero() {
		return nil // there is no clock to put them on
	}
	var reported []span
	for _, report := range b.reports {
		for _, gap := range report.Gaps {
			to := firstNonZero(gap.To, report.LeftAt) // not ended: until the bot left
			if gap.From.IsZero() || !to.After(gap.From) {
				continue
			}
			reported = append(reported, span{from: b.offset(gap.From), to: b.offset(to), reason: cmp.Or(gap.Reason, GapNotRecording)})
		}
	}
	slices.SortStableFunc(reported, func(a, c span) int { return cmp.Compare(a.from, c.from) })
	return reported
}

// gapReason returns the reported reason of most of a gap, or else its cause.
func (b *builder) gapReason(hole span, reported []span, cause string) string {
	for _, gap := range reported {
		if hole.overlap(gap) > (hole.to-hole.from)/2 {
			return gap.reason
		}
	}
	return cause
}

// gapCause returns why there is a gap before a kept part.
func (b *builder) gapCause(i int) string {
	if i == 0 {
		return GapMediaLost
	}
	before := b.keptParts[i-1]
	if before.Attempt != b.keptParts[i].Attempt {
		return GapBotLost
	}
	ended, known := b.reportedPart(before.Attempt, before.Number)
	neighbours := b.keptParts[i].Number == before.Number+1
	if before.Loss != "" || !known || !ended.Complete || !neighbours {
		return GapMediaLost
	}
	return cmp.Or(ended.EndedBy, GapNotRecording)
}

// lostMediaEnd returns the reported end of the last part that is not complete.
func (b *builder) lostMediaEnd() time.Duration {
	until := time.Duration(0)
	for _, report := range b.reports {
		for _, part := range report.Parts {
			if !part.EndedAt.IsZero() && !b.isComplete(report.Attempt, part) {
				until = max(until, b.offset(part.EndedAt))
			}
		}
	}
	return until
}

// openPartBefore reports whether a part after the last kept moment began
// before moment and has no reported end: it continued and was lost.
func (b *builder) openPartBefore(moment time.Duration) bool {
	since := time.Duration(0)
	if last := len(b.keptParts) - 1; last >= 0 {
		since = b.keptParts[last].from
	}
	for _, report := range b.reports {
		for _, part := range report.Parts {
			began := b.offset(part.StartedAt)
			if part.EndedAt.IsZero() && began >= since && began < moment {
				return true
			}
		}
	}
	return false
}

// isComplete reports whether a whole part is in a file.
func (b *builder) isComplete(attempt int, part ingest.RecordingPart) bool {
	if isEmpty(part) {
		return true
	}
	return part.Complete && slices.ContainsFunc(b.keptParts, func(k keptPart) bool {
		return k.Attempt == attempt && k.Number == part.Number && k.Loss == ""
	})
}

// partial reports whether anything of a started recording is missing.
func (b *builder) partial() bool {
	if len(b.packed.Files) == 0 {
		return !b.origin.IsZero() || len(b.packed.Parts) > 0
	}
	for _, part := range b.packed.Parts {
		if reported, ok := b.reportedPart(part.Attempt, part.Number); !ok || !b.isComplete(part.Attempt, reported) {
			return true
		}
		if part.Attempt != b.packed.Parts[0].Attempt {
			return true // a bot was lost, or there would be no second
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
		if gap.reason != GapPaused && gap.to > 0 {
			return true
		}
	}
	if slices.ContainsFunc(b.gaps(), func(gap Gap) bool { return !gap.requested() }) {
		return true
	}
	return b.facts.BotLost && !b.stoppedNormally()
}

// tracksMissing reports whether any participant audio is missing.
func (b *builder) tracksMissing() bool {
	for _, report := range b.reports {
		for _, reported := range report.AudioTracks {
			whole := reported.Complete && slices.ContainsFunc(b.packed.Tracks, func(packed PackedTrack) bool {
				return packed.Attempt == report.Attempt && packed.Number == reported.Number && packed.File != "" && packed.Loss == ""
			})
			if reported.Segments > 0 && !whole {
				return true
			}
		}
	}
	return false
}

// stoppedNormally reports whether the last recording ended as intended, so
// that a bot lost later lost no media.
func (b *builder) stoppedNormally() bool {
	last := b.lastReport()
	if !last.LeftAt.IsZero() || last.EndReason != "" {
		return true
	}
	stopped := b.facts.ObservedTimeline.RecordingStoppedAt
	return len(b.keptParts) > 0 && stopped.After(b.keptParts[len(b.keptParts)-1].StartedAt)
}

func asGaps(spans []span) []Gap {
	gaps := make([]Gap, 0, len(spans))
	for _, span := range spans {
		gaps = append(gaps, Gap{StartMs: span.from.Milliseconds(), EndMs: span.to.Milliseconds(), Reason: span.reason})
	}
	return gaps
}
