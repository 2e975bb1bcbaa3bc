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
	GapNotRecording = "not_recording" // a stretch had ended in order, the next had not begun
)

// GapNoRoom is the reason that bots give where their disk had no room for more.
const GapDiskFull = "no_room"

// GapPaused is the reason that bots give for a pause.
const GapPaused = "paused"

// ordered reports whether a gap is as it was asked for, so that nothing is
// missing.
func (g Gap) ordered() bool { return g.Reason == GapPaused || g.Reason == GapNotRecording }

// shortestGap is the shortest gap that is told: bots do not know when a stretch
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

// gaps lists when nothing was kept, from the recording's start on: what lies
// between the kept stretches and before the first, and, after the last, what
// the bots tell. Where a bot told of a gap but media was kept, the media is
// right.
func (b *builder) gaps() []Gap {
	told := b.toldGaps()
	var holes []span
	end := time.Duration(0)
	add := func(to time.Duration, cause string) {
		if to-end >= shortestGap {
			holes = append(holes, span{from: end, to: to, reason: b.reason(span{from: end, to: to}, told, cause)})
		}
		end = max(end, to)
	}
	for i, stretch := range b.kept {
		add(stretch.from, b.causeBefore(i))
		end = max(end, stretch.to)
	}
	add(b.lostUntil(), GapMediaLost)
	for _, gap := range told {
		if b.openBefore(gap.from) {
			add(gap.from, GapMediaLost)
		}
		if gap.to-max(gap.from, end) >= shortestGap {
			holes = append(holes, span{from: max(gap.from, end), to: gap.to, reason: gap.reason})
			end = gap.to
		}
	}
	return asGaps(holes)
}

// toldGaps are the bots' own gaps, on the recording's clock.
func (b *builder) toldGaps() []span {
	if b.origin.IsZero() {
		return nil // there is no clock to put them on
	}
	var told []span
	for _, report := range b.reports {
		for _, gap := range report.Gaps {
			to := firstKnown(gap.To, report.LeftAt) // not ended: until the bot left
			if gap.From.IsZero() || !to.After(gap.From) {
				continue
			}
			told = append(told, span{from: b.offset(gap.From), to: b.offset(to), reason: cmp.Or(gap.Reason, GapNotRecording)})
		}
	}
	slices.SortStableFunc(told, func(a, c span) int { return cmp.Compare(a.from, c.from) })
	return told
}

// reason is what the bot told of most of a hole, or else its cause.
func (b *builder) reason(hole span, told []span, cause string) string {
	for _, gap := range told {
		if hole.overlap(gap) > (hole.to-hole.from)/2 {
			return gap.reason
		}
	}
	return cause
}

// causeBefore says why there is a hole before a kept stretch.
func (b *builder) causeBefore(i int) string {
	if i == 0 {
		return GapMediaLost
	}
	before := b.kept[i-1]
	if before.Attempt != b.kept[i].Attempt {
		return GapBotLost
	}
	ended, known := b.told(before.Attempt, before.Number)
	neighbours := b.kept[i].Number == before.Number+1
	if before.Loss != "" || !known || !ended.Complete || !neighbours {
		return GapMediaLost
	}
	return cmp.Or(ended.EndedBy, GapNotRecording)
}

// lostUntil is when the last stretch ended of which not all was kept, as far
// as a report tells.
func (b *builder) lostUntil() time.Duration {
	until := time.Duration(0)
	for _, report := range b.reports {
		for _, stretch := range report.Parts {
			if !stretch.EndedAt.IsZero() && !b.whole(report.Attempt, stretch) {
				until = max(until, b.offset(stretch.EndedAt))
			}
		}
	}
	return until
}

// openBefore reports whether a stretch behind the last kept moment had begun by
// then, of which nobody tells how it ended: it went on until then, and was lost.
func (b *builder) openBefore(moment time.Duration) bool {
	since := time.Duration(0)
	if last := len(b.kept) - 1; last >= 0 {
		since = b.kept[last].from
	}
	for _, report := range b.reports {
		for _, stretch := range report.Parts {
			began := b.offset(stretch.StartedAt)
			if stretch.EndedAt.IsZero() && began >= since && began < moment {
				return true
			}
		}
	}
	return false
}

// whole reports whether all of a stretch is in a file.
func (b *builder) whole(attempt int, stretch ingest.RecordingPart) bool {
	if empty(stretch) {
		return true
	}
	return stretch.Complete && slices.ContainsFunc(b.kept, func(k kept) bool {
		return k.Attempt == attempt && k.Number == stretch.Number && k.Loss == ""
	})
}

// partial reports whether anything of a started recording is missing.
func (b *builder) partial() bool {
	if len(b.packed.Files) == 0 {
		return !b.origin.IsZero() || len(b.packed.Parts) > 0
	}
	for _, stretch := range b.packed.Parts {
		if told, ok := b.told(stretch.Attempt, stretch.Number); !ok || !b.whole(stretch.Attempt, told) {
			return true
		}
		if stretch.Attempt != b.packed.Parts[0].Attempt {
			return true // a bot was lost, or there would be no second
		}
	}
	for _, report := range b.reports {
		for _, stretch := range report.Parts {
			if !b.whole(report.Attempt, stretch) {
				return true
			}
		}
	}
	if b.voicesMissing() {
		return true
	}
	for _, gap := range b.toldGaps() {
		if gap.reason != GapPaused && gap.to > 0 {
			return true
		}
	}
	if slices.ContainsFunc(b.gaps(), func(gap Gap) bool { return !gap.ordered() }) {
		return true
	}
	return b.facts.BotLost && !b.stoppedInOrder()
}

// voicesMissing reports whether anything is missing of what participants were
// recorded saying by themselves.
func (b *builder) voicesMissing() bool {
	for _, report := range b.reports {
		for _, told := range report.AudioTracks {
			whole := told.Complete && slices.ContainsFunc(b.packed.Tracks, func(packed PackedTrack) bool {
				return packed.Attempt == report.Attempt && packed.Number == told.Number && packed.File != "" && packed.Loss == ""
			})
			if told.Segments > 0 && !whole {
				return true
			}
		}
	}
	return false
}

// stoppedInOrder reports whether the last recording ended because it was to
// end, so that a bot lost later took nothing with it.
func (b *builder) stoppedInOrder() bool {
	last := b.last()
	if !last.LeftAt.IsZero() || last.EndReason != "" {
		return true
	}
	stopped := b.facts.ObservedTimeline.RecordingStoppedAt
	return len(b.kept) > 0 && stopped.After(b.kept[len(b.kept)-1].StartedAt)
}

func asGaps(spans []span) []Gap {
	gaps := make([]Gap, 0, len(spans))
	for _, span := range spans {
		gaps = append(gaps, Gap{StartMs: span.from.Milliseconds(), EndMs: span.to.Milliseconds(), Reason: span.reason})
	}
	return gaps
}
