package build

import (
	"cmp"
	"slices"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// The shortest gap in a manifest; and how far the borders of what the bots report may be from those of
// the media, where nothing was lost. Media ends with a whole picture.
const (
	shortestGap = 100 * time.Millisecond
	maxOffset   = 500 * time.Millisecond
)

// span is a period, relative to the start of the recording.
type span struct {
	from, to time.Duration
	reason   string
}

// gaps lists the gaps of the recording: before, between and after the parts with media, up to the
// last time of which the reports tell that it was to be recorded, and those within the media. Where
// another reported gap overlaps media, the media is authoritative.
func (b *builder) gaps() []recording.Gap {
	list := gapList{gaps: []recording.Gap{}, reported: b.reportedGaps()}
	for i, part := range b.mediaParts {
		list.lossy = i > 0 && b.mediaParts[i-1].Loss != ""
		list.fill(part.from, b.gapCause(i))
		list.end = max(list.end, part.to)
		lost := b.lostMediaEnd(part.Attempt, part.Number)
		if i+1 < len(b.mediaParts) {
			lost = min(lost, b.mediaParts[i+1].from)
		}
		list.fill(lost, recording.GapMediaLost)
	}
	list.fill(b.lostMediaEnd(anyPart, anyPart), recording.GapMediaLost)
	for _, gap := range list.reported {
		list.fill(gap.to, recording.GapNotRecording)
	}
	return b.withinMedia(list)
}

// withinMedia returns the gaps of a list and those within the media, in order: pauses, and times
// without sound.
func (b *builder) withinMedia(list gapList) []recording.Gap {
	all := list.gaps
	if len(b.mediaParts) == 0 {
		return all
	}
	last := b.mediaEnd().Milliseconds() // the bot leaves a little later
	add := func(gap recording.Gap) {
		if !gap.Requested() && !gap.WithinMedia() {
			return
		}
		gap.StartMs, gap.EndMs = max(gap.StartMs, 0), min(gap.EndMs, last)
		for _, other := range slices.Clone(all) { // what it overlaps is told
			if other.StartMs < gap.EndMs && other.EndMs > gap.StartMs {
				before := recording.Gap{StartMs: gap.StartMs, EndMs: other.StartMs, Reason: gap.Reason}
				if before.EndMs-before.StartMs >= shortestGap.Milliseconds() {
					all = append(all, before)
				}
				gap.StartMs = other.EndMs
			}
		}
		if gap.EndMs-gap.StartMs >= shortestGap.Milliseconds() {
			all = append(all, gap)
		}
		slices.SortFunc(all, func(a, c recording.Gap) int { return cmp.Compare(a.StartMs, c.StartMs) })
	}
	for _, gap := range list.reported {
		add(recording.Gap{StartMs: gap.from.Milliseconds(), EndMs: gap.to.Milliseconds(), Reason: gap.reason})
	}
	for _, fault := range b.mediaFaults() {
		add(recording.Gap{StartMs: fault.StartMs, EndMs: fault.EndMs, Reason: fault.Kind})
	}
	return all
}

// gapList is a list of gaps that grows.
type gapList struct {
	gaps     []recording.Gap
	end      time.Duration // up to which the recording is described
	reported []span        // sorted
	lossy    bool          // the media before has lost its end, so what follows it is not explained by a gap nearby
}

// fill adds the gaps until to. What no report explains has a cause.
func (l *gapList) fill(to time.Duration, cause string) {
	nearby := shortestGap
	if cause != recording.GapMediaLost && !l.lossy {
		nearby = maxOffset
	}
	explained := false
	for _, gap := range l.reported {
		from, until := max(gap.from, l.end), min(gap.to, to)
		if until-from < shortestGap {
			continue
		}
		if from-l.end >= nearby {
			l.add(from, cause)
		}
		if cause == recording.GapBotLost && gap.reason == recording.GapNotRecording && until == to {
			gap.reason = cause // the bot that replaced the lost one was not recording yet
		}
		l.add(until, gap.reason)
		explained = true
	}
	if explained && to-l.end < nearby {
		cause = l.gaps[len(l.gaps)-1].Reason
	}
	l.add(to, cause)
}

// add adds a gap from the end of the list, or extends the last one.
func (l *gapList) add(to time.Duration, reason string) {
	from, until, last := l.end.Milliseconds(), to.Milliseconds(), len(l.gaps)-1
	switch {
	case until <= from:
		return
	case last >= 0 && l.gaps[last].EndMs == from && l.gaps[last].Reason == reason:
		l.gaps[last].EndMs = until
	case to-l.end >= shortestGap:
		l.gaps = append(l.gaps, recording.Gap{StartMs: from, EndMs: until, Reason: reason})
	}
	l.end = to
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
			to := firstNonZero(gap.To, lastKnown(report))
			if gap.From.IsZero() || !to.After(gap.From) {
				continue
			}
			reported = append(reported, span{from: b.offset(gap.From), to: b.offset(to), reason: cmp.Or(gap.Reason, recording.GapNotRecording)})
		}
	}
	slices.SortStableFunc(reported, func(a, c span) int { return cmp.Compare(a.from, c.from) })
	return reported
}

// pauses returns the pauses in bots' reports, in order.
func pauses(reports []ingest.Report) []ingest.Gap {
	var all []ingest.Gap
	for _, report := range reports {
		for _, gap := range report.Gaps {
			if gap.To = firstNonZero(gap.To, lastKnown(report)); gap.Reason == recording.GapPaused && gap.To.After(gap.From) {
				all = append(all, gap)
			}
		}
	}
	slices.SortFunc(all, func(a, c ingest.Gap) int { return a.From.Compare(c.From) })
	return all
}

// recordedUntil returns when something ended that began at a time and was recorded without pauses.
func recordedUntil(from time.Time, length time.Duration, pauses []ingest.Gap) time.Time {
	end := from.Add(length)
	for _, pause := range pauses {
		if !pause.From.Before(from) && pause.From.Before(end) {
			end = end.Add(pause.To.Sub(pause.From))
		}
	}
	return end
}

// mediaFaults returns the faults in the bots' reports.
func (b *builder) mediaFaults() []recording.MediaFault {
	faults := []recording.MediaFault{}
	if b.origin.IsZero() {
		return faults
	}
	for _, report := range b.reports {
		for _, fault := range report.MediaFaults {
			to := firstNonZero(fault.To, lastKnown(report))
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

// gapCause returns the reason of the gap before a part with media.
func (b *builder) gapCause(i int) string {
	attempt := b.mediaParts[i].Attempt
	earlier := slices.ContainsFunc(b.reports, func(report ingest.Report) bool { return report.Attempt < attempt })
	switch {
	case i == 0 && earlier || i > 0 && b.mediaParts[i-1].Attempt != attempt:
		return recording.GapBotLost
	case i == 0:
		return recording.GapMediaLost
	}
	before := b.mediaParts[i-1]
	ended, known := b.reportedPart(before.Attempt, before.Number)
	adjacent := b.mediaParts[i].Number == before.Number+1
	if before.Loss != "" || !known || !ended.Complete || !adjacent {
		return recording.GapMediaLost
	}
	return cmp.Or(ended.EndedBy, recording.GapNotRecording)
}

const anyPart = -1

// lostMediaEnd returns the last known time of a part, or of any part, whose media is incomplete; 0 if
// there is none or the start of the recording is unknown.
func (b *builder) lostMediaEnd(attempt, number int) time.Duration {
	until := time.Duration(0)
	if b.origin.IsZero() {
		return until
	}
	for _, report := range b.reports {
		for _, part := range report.Parts {
			wanted := number == anyPart || report.Attempt == attempt && part.Number == number
			if wanted && !b.isComplete(report.Attempt, part) {
				until = max(until, b.offset(part.StartedAt), b.offset(firstNonZero(part.EndedAt, lastKnown(report))))
			}
		}
	}
	return until
}

// lastKnown returns until when something that has not ended in a report lasted: the bot left, or was
// lost some time after it saved the report.
func lastKnown(report ingest.Report) time.Time { return firstNonZero(report.LeftAt, report.SavedAt) }

// isComplete reports whether all media of a part is in a file.
func (b *builder) isComplete(attempt int, part ingest.RecordingPart) bool {
	if isEmpty(part) {
		return true
	}
	return part.Complete && slices.ContainsFunc(b.mediaParts, func(k mediaPart) bool {
		return k.Attempt == attempt && k.Number == part.Number && k.Loss == ""
	})
}

// partial reports whether any media of a started recording is missing: whether gaps other than pauses
// have a length. Three losses have no gap: nobody knows for how long the meeting of a lost bot went on,
// or one of which nothing was kept, and gaps are not those of a single participant's audio.
func (b *builder) partial(gaps []recording.Gap) bool {
	lost := slices.ContainsFunc(gaps, func(gap recording.Gap) bool { return !gap.Requested() })
	nothing := !b.attendance && len(b.packed.Files) == 0 && (!b.origin.IsZero() || len(b.packed.Parts) > 0)
	return lost || nothing || b.tracksMissing() || b.input.BotLost && !b.stoppedNormally()
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
