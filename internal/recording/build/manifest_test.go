package build

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/bot/ingest"
	"standin/internal/recording"
)

// recordingScript is a generated meeting. Times are relative to the start of the
// first part.
type recordingScript struct {
	reports  []ingest.Report
	packed   Packed
	botLost  bool
	inFiles  []span        // media in a file
	known    time.Duration // end of the recording, according to media and reports
	lost     bool          // media of a started recording is missing
	paused   []span        // reported pauses
	starts   map[string]time.Duration
	position time.Duration
}

// drawRecording generates a meeting: attempts, all but the last of which are lost,
// with parts that end normally or not, and pauses and other gaps between them.
// Of each part, all media, its beginning or nothing is kept.
func drawRecording(t *rapid.T) *recordingScript {
	c := &recordingScript{starts: map[string]time.Duration{}}
	attempts := rapid.IntRange(1, 3).Draw(t, "attempts")
	for attempt := range attempts {
		if attempt > 0 {
			c.position += c.draw(t, "delay of the next attempt", 1000, 60_000)
		}
		c.attempt(t, attempt, attempt == attempts-1)
	}
	return c
}

// draw returns a duration in a range of milliseconds.
func (c *recordingScript) draw(t *rapid.T, label string, minimum, maximum int) time.Duration {
	return time.Duration(rapid.IntRange(minimum, maximum).Draw(t, label)) * time.Millisecond
}

// attempt adds an attempt.
func (c *recordingScript) attempt(t *rapid.T, attempt int, last bool) {
	report := ingest.Report{Attempt: attempt}
	parts := rapid.IntRange(1, 4).Draw(t, "parts")
	for number := range parts {
		if number > 0 {
			c.between(t, &report)
		}
		c.part(t, &report, number)
	}
	switch {
	case !last:
		c.lost = true // nothing was recorded until the next attempt
	case rapid.Bool().Draw(t, "last bot lost"):
		c.botLost, c.lost = true, true
	default:
		if rapid.Bool().Draw(t, "paused until the end") {
			from := c.position
			c.position += c.draw(t, "length of the last pause", 1000, 20_000)
			report.Gaps = append(report.Gaps, ingest.Gap{From: c.at(from), To: c.at(c.position), Reason: recording.GapPaused})
			c.paused = append(c.paused, span{from: from, to: c.position})
		}
		c.known = c.position
		report.LeftAt, report.EndReason = c.at(c.position), "alone"
	}
	c.reports = append(c.reports, report)
}

func (c *recordingScript) at(position time.Duration) time.Time { return recordingStart.Add(position) }

// between adds a gap between two parts, reported or not.
func (c *recordingScript) between(t *rapid.T, report *ingest.Report) {
	from := c.position
	c.position += c.draw(t, "gap", 200, 20_000)
	reason := rapid.SampledFrom([]string{"", recording.GapPaused, "capture_lost"}).Draw(t, "reason of the gap")
	c.lost = c.lost || reason != recording.GapPaused
	if reason == "" {
		return
	}
	report.Gaps = append(report.Gaps, ingest.Gap{From: c.at(from), To: c.at(c.position), Reason: reason})
	c.known = c.position
	if reason == recording.GapPaused {
		c.paused = append(c.paused, span{from: from, to: c.position})
	}
}

// part adds a part and its kept media.
func (c *recordingScript) part(t *rapid.T, report *ingest.Report, number int) {
	from := c.position
	length := c.draw(t, "length", 1000, 30_000)
	c.position += length
	reported := ingest.RecordingPart{Number: number, StartedAt: c.at(from), Segments: 3, Complete: rapid.Bool().Draw(t, "complete")}
	if reported.Complete {
		reported.EndedAt = c.at(c.position)
		c.known = max(c.known, c.position)
	}
	report.Parts = append(report.Parts, reported)
	c.known = max(c.known, from)
	packed := PackedPart{Attempt: report.Attempt, Number: number, StartedAt: reported.StartedAt}
	switch rapid.SampledFrom([]string{"all", "all", "beginning", "nothing"}).Draw(t, "kept") {
	case "all":
		packed.Length = length
	case "beginning":
		packed.Length, packed.Loss = c.draw(t, "kept length", 200, int(length.Milliseconds())-200), LossSegments
	case "nothing":
		packed.Loss = LossBeginning
	}
	c.lost = c.lost || packed.Loss != ""
	if packed.Length > 0 {
		c.keep(t, &packed, from)
	}
	c.packed.Parts = append(c.packed.Parts, packed)
}

// keep adds a part to the last file or to a new one.
func (c *recordingScript) keep(t *rapid.T, part *PackedPart, from time.Duration) {
	files := len(c.packed.Files)
	if files == 0 || rapid.IntRange(0, 3).Draw(t, "other settings") == 0 {
		file := testFile()
		file.Name, file.DurationMs = fileName(files, probeResult{Streams: []probeStream{{Type: "video"}}}), 0
		c.packed.Files = append(c.packed.Files, file)
		c.starts[file.Name] = from
		files++
	}
	file := &c.packed.Files[files-1]
	part.File, part.Offset = file.Name, time.Duration(file.DurationMs)*time.Millisecond
	file.DurationMs += part.Length.Milliseconds()
	c.inFiles = append(c.inFiles, span{from: from, to: from + part.Length})
	c.known = max(c.known, from+part.Length)
}

// TestManifestMatchesRecording checks for generated meetings that kept media and
// gaps cover the recording without overlap, that partial is true exactly when
// media is missing, and that the start offsets of files are correct.
func TestManifestMatchesRecording(t *testing.T) {
	t.Parallel()
	schema := publishedSchema(t, "manifest")
	rapid.Check(t, func(t *rapid.T) {
		c := drawRecording(t)
		input := testInput()
		input.BotLost = c.botLost
		reports := rapid.Permutation(c.reports).Draw(t, "reports")
		manifest := newManifest(input, reports, c.packed, testBase)
		if err := validate(schema, marshal(manifest)); err != nil {
			t.Errorf("manifest does not match its schema: %v", err)
		}
		if manifest.Partial != c.lost {
			t.Errorf("partial = %v, want %v", manifest.Partial, c.lost)
		}
		if err := c.checkGaps(manifest.Gaps); err != nil {
			t.Error(err)
		}
		for _, media := range manifest.Media {
			if want := c.starts[media.Name].Milliseconds(); media.StartOffsetMs != want {
				t.Errorf("%s starts at %d ms, want %d", media.Name, media.StartOffsetMs, want)
			}
		}
		if again := newManifest(input, c.reports, c.packed, testBase); marshal(again) != marshal(manifest) {
			t.Errorf("second build is %s, not %s", marshal(again), marshal(manifest))
		}
	})
}

// checkGaps checks that gaps and kept media cover the recording without overlap.
func (c *recordingScript) checkGaps(gaps []recording.Gap) error {
	spans := slices.Clone(c.inFiles)
	for _, gap := range gaps {
		current := span{from: time.Duration(gap.StartMs) * time.Millisecond, to: time.Duration(gap.EndMs) * time.Millisecond, reason: gap.Reason}
		if current.to-current.from < shortestGap {
			return fmt.Errorf("gap %+v is too short", gap)
		}
		if gap.Reason == recording.GapPaused && !slices.ContainsFunc(c.paused, func(p span) bool {
			return min(current.to, p.to)-max(current.from, p.from) > (current.to-current.from)/2
		}) {
			return fmt.Errorf("gap %+v was not a pause", gap)
		}
		spans = append(spans, current)
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
	end := time.Duration(0)
	for _, current := range spans {
		if current.from < end {
			return fmt.Errorf("%+v overlaps the previous span, which ends at %v", current, end)
		}
		if current.from-end >= shortestGap {
			return fmt.Errorf("from %v to %v there is neither media nor a gap", end, current.from)
		}
		end = current.to
	}
	if c.known-end >= shortestGap || end-c.known >= shortestGap {
		return fmt.Errorf("media and gaps end at %v, the recording at %v", end, c.known)
	}
	return nil
}
