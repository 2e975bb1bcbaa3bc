package recording

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"standin/internal/ingest"
)

// recordingScript is a generated meeting. Times are relative to the start of the first
// part.
type recordingScript struct {
	reports  []ingest.Report
	packed   Packed
	botLost  bool
	kept     []span        // that is in a file
	known    time.Duration // up to when anybody knows that there was something to record
	lost     bool          // something of a started recording is missing
	paused   []span        // told
	starts   map[string]time.Duration
	position time.Duration
}

// drawRecording makes up a meeting: attempts, of which all but the last are lost,
// each with parts that end in order or not, with pauses and other gaps
// between, and of which all is kept, or their beginning, or nothing.
func drawRecording(t *rapid.T) *recordingScript {
	c := &recordingScript{starts: map[string]time.Duration{}}
	attempts := rapid.IntRange(1, 3).Draw(t, "attempts")
	for attempt := range attempts {
		if attempt > 0 {
			c.position += c.draw(t, "until the next bot records", 1000, 60_000)
		}
		c.attempt(t, attempt, attempt == attempts-1)
	}
	return c
}

func (c *recordingScript) draw(t *rapid.T, what string, least, most int) time.Duration {
	return time.Duration(rapid.IntRange(least, most).Draw(t, what)) * time.Millisecond
}

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
		c.lost = true // nobody recorded until the next bot did
	case rapid.Bool().Draw(t, "the last bot is lost"):
		c.botLost, c.lost = true, true
	default:
		if rapid.Bool().Draw(t, "paused until it left") {
			from := c.position
			c.position += c.draw(t, "length of the last pause", 1000, 20_000)
			report.Gaps = append(report.Gaps, ingest.Gap{From: c.at(from), To: c.at(c.position), Reason: GapPaused})
			c.paused = append(c.paused, span{from: from, to: c.position})
			c.known = c.position
		}
		report.LeftAt, report.EndReason = c.at(c.position), "alone"
	}
	c.reports = append(c.reports, report)
}

func (c *recordingScript) at(position time.Duration) time.Time { return recordingStart.Add(position) }

// between leaves a gap between two parts, reported or not.
func (c *recordingScript) between(t *rapid.T, report *ingest.Report) {
	from := c.position
	c.position += c.draw(t, "hole", 200, 20_000)
	reason := rapid.SampledFrom([]string{"", GapPaused, "capture_lost"}).Draw(t, "reason of the hole")
	if reason == "" {
		return
	}
	report.Gaps = append(report.Gaps, ingest.Gap{From: c.at(from), To: c.at(c.position), Reason: reason})
	c.known = c.position
	if reason == GapPaused {
		c.paused = append(c.paused, span{from: from, to: c.position})
	} else {
		c.lost = true
	}
}

// part records, and says what of it is kept.
func (c *recordingScript) part(t *rapid.T, report *ingest.Report, number int) {
	from := c.position
	length := c.draw(t, "length", 1000, 30_000)
	c.position += length
	reported := ingest.RecordingPart{Number: number, StartedAt: c.at(from), Segments: 3, Complete: rapid.Bool().Draw(t, "ended in order")}
	if reported.Complete {
		reported.EndedAt = c.at(c.position)
		c.known = max(c.known, c.position)
	}
	report.Parts = append(report.Parts, reported)
	slot := PackedPart{Attempt: report.Attempt, Number: number, StartedAt: reported.StartedAt}
	switch rapid.SampledFrom([]string{"all", "all", "beginning", "nothing"}).Draw(t, "kept") {
	case "all":
		slot.Length = length
	case "beginning":
		slot.Length, slot.Loss = c.draw(t, "kept length", 200, int(length.Milliseconds())-200), LossSegments
	case "nothing":
		slot.Loss = LossBeginning
	}
	c.lost = c.lost || !reported.Complete || slot.Loss != ""
	if slot.Length > 0 {
		c.keep(t, &slot, from)
	}
	c.packed.Parts = append(c.packed.Parts, slot)
}

// keep puts a part into the last file, or into a new one.
func (c *recordingScript) keep(t *rapid.T, position *PackedPart, from time.Duration) {
	files := len(c.packed.Files)
	if files == 0 || rapid.IntRange(0, 3).Draw(t, "other settings") == 0 {
		file := testFile()
		file.Name, file.DurationMs = fileName(files, probeResult{Streams: []probeStream{{Type: "video"}}}), 0
		c.packed.Files = append(c.packed.Files, file)
		c.starts[file.Name] = from
		files++
	}
	file := &c.packed.Files[files-1]
	position.File, position.Offset = file.Name, time.Duration(file.DurationMs)*time.Millisecond
	file.DurationMs += position.Length.Milliseconds()
	c.kept = append(c.kept, span{from: from, to: from + position.Length})
	c.known = max(c.known, from+position.Length)
}

// TestManifestMatchesRecording holds, for any recordingScript of a meeting, that what was
// kept and the gaps together are the whole of it, once; that nothing missing is
// called whole, nor the reverse; and that each file exists where it belongs.
func TestManifestMatchesRecording(t *testing.T) {
	t.Parallel()
	schema := manifestSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		c := drawRecording(t)
		facts := testInput()
		facts.BotLost = c.botLost
		reports := rapid.Permutation(c.reports).Draw(t, "reports")
		manifest := Build(facts, reports, c.packed, testBase)
		if err := validateSchema(schema, manifest); err != nil {
			t.Errorf("the manifest breaks its schema: %v", err)
		}
		if manifest.Partial != c.lost {
			t.Errorf("partial is %v, and something is missing: %v", manifest.Partial, c.lost)
		}
		if err := c.checkGaps(manifest.Gaps); err != nil {
			t.Error(err)
		}
		for _, media := range manifest.Media {
			if want := c.starts[media.Name].Milliseconds(); media.StartOffsetMs != want {
				t.Errorf("%s begins at %d ms, want %d", media.Name, media.StartOffsetMs, want)
			}
		}
		if again := Build(facts, c.reports, c.packed, testBase); marshal(again) != marshal(manifest) {
			t.Errorf("built again of the same: %s, not %s", marshal(again), marshal(manifest))
		}
	})
}

func validateSchema(schema *jsonschema.Schema, manifest Manifest) error {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(marshal(manifest)))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// marshal is a manifest as it is stored.
func marshal(manifest Manifest) string {
	text, err := json.Marshal(manifest)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// checkGaps holds that gaps and what was kept make up the recording.
func (c *recordingScript) checkGaps(gaps []Gap) error {
	pieces := slices.Clone(c.kept)
	for _, gap := range gaps {
		one := span{from: time.Duration(gap.StartMs) * time.Millisecond, to: time.Duration(gap.EndMs) * time.Millisecond, reason: gap.Reason}
		if one.to-one.from < shortestGap {
			return fmt.Errorf("the gap %+v is too short to tell", gap)
		}
		if gap.Reason == GapPaused && !slices.ContainsFunc(c.paused, func(p span) bool { return one.overlap(p) > (one.to-one.from)/2 }) {
			return fmt.Errorf("the gap %+v is called a pause, and was none", gap)
		}
		pieces = append(pieces, one)
	}
	slices.SortFunc(pieces, func(a, b span) int { return int(a.from - b.from) })
	end := time.Duration(0)
	for _, piece := range pieces {
		if piece.from < end {
			return fmt.Errorf("%+v is reported of twice: until %v something else is", piece, end)
		}
		if piece.from-end >= shortestGap {
			return fmt.Errorf("from %v to %v there is neither media nor a gap", end, piece.from)
		}
		end = piece.to
	}
	if c.known-end >= shortestGap || end-c.known >= shortestGap {
		return fmt.Errorf("media and gaps end at %v, the recording at %v", end, c.known)
	}
	return nil
}
