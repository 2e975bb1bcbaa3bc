package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testbrowser"
)

// timeFault is what happens to the processes of a bot that records.
type timeFault struct {
	name   string
	length time.Duration
	do     func(c *timeCase)
}

// timeFaults returns what TestTime does, one in each recording.
func timeFaults() (faults []timeFault) {
	add := func(name string, do func(*timeCase), lengths ...float64) {
		for _, seconds := range lengths {
			length := time.Duration(seconds * float64(time.Second))
			faults = append(faults, timeFault{fmt.Sprintf("%s for %v", name, length), length, do})
		}
	}
	stop := func(kind string, which int) func(*timeCase) { return func(c *timeCase) { c.stop(kind, which) } }
	add("browser stopped", stop("", 0), 0.3, 1, 3, 8, 15, 25)
	for which := range 3 {
		add(fmt.Sprintf("renderer %d stopped", which), stop("--type=renderer", which), 0.4, 0.7, 1.4, 2, 3.5, 5, 8, 12, 20, 30)
	}
	add("audio service stopped", stop("audio.mojom.AudioService", 0), 0.3, 1, 3, 5, 8, 20)
	add("everything stopped", stop("*", 0), 0.3, 1, 2, 4, 10, 16, 25)
	add("everything stopped and continued", (*timeCase).stutter, 6, 10, 15)
	add("busy machine", (*timeCase).load, 10, 20, 30)
	add("network cut", (*timeCase).cutNetwork, 3, 6, 8, 12)
	add("renderer killed", func(c *timeCase) { c.signal("--type=renderer", 0, syscall.SIGKILL) }, 0.5)
	add("nothing", func(*timeCase) {}, 10)
	return faults
}

// timeCase is a recording to which a fault happens.
type timeCase struct {
	visit
	fault timeFault
	ended time.Time // when the meeting ended
}

// processes returns the bot's browser processes of a kind: "" for the browser itself, "*" for all.
func (c *timeCase) processes(kind string) []int {
	bot := c.bot(c.id, 0)
	if kind == "" {
		return []int{c.browserOf(bot)}
	}
	found := processesOf(bot, func(command string) bool {
		return strings.Contains(command, "--type=") && (kind == "*" || strings.Contains(command, kind))
	})
	slices.Sort(found)
	if kind == "*" {
		found = append(found, c.browserOf(bot))
	}
	return found
}

// signal sends a signal to the processes of a kind, or to one of the renderers.
func (c *timeCase) signal(kind string, which int, signal syscall.Signal) {
	victims := c.processes(kind)
	if kind == "--type=renderer" {
		victims = victims[which%len(victims):][:1]
	}
	for _, pid := range victims {
		_ = syscall.Kill(pid, signal)
	}
}

func (c *timeCase) stop(kind string, which int) {
	c.signal(kind, which, syscall.SIGSTOP)
	<-time.After(c.fault.length) // of the fault
	c.signal(kind, which, syscall.SIGCONT)
}

// stutter lets the browser run for a third of the time.
func (c *timeCase) stutter() {
	for end := time.Now().Add(c.fault.length); time.Now().Before(end); <-time.After(60 * time.Millisecond) {
		c.signal("*", 0, syscall.SIGSTOP)
		<-time.After(120 * time.Millisecond) // of the fault
		c.signal("*", 0, syscall.SIGCONT)
	}
}

// load keeps the machine busy with eight processes.
func (c *timeCase) load() {
	for range 8 {
		busy := exec.CommandContext(c.Context(), "/bin/sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			c.Fatal(err)
		}
		defer func() { _ = busy.Process.Kill(); _ = busy.Wait() }()
	}
	<-time.After(c.fault.length) // of the fault
}

func (c *timeCase) cutNetwork() {
	c.replica.CutNetwork(true)
	<-time.After(c.fault.length) // of the fault
	c.replica.CutNetwork(false)
}

// timeResult counts the beeps of recordings by whether they are there, and whether a gap is listed.
type timeResult struct {
	mu                                                 sync.Mutex
	recordings, short, wrongPartial, late, beeps       int
	single                                             int // beeps between two others
	missing, missingListed, listedInside, listedAbsent int
	marks                                              []float64 // ms by which speech is marked late, after a fault
}

// phraseStarts are when the participants of the replica begin to speak in each loop of ten seconds, in ms.
var phraseStarts = map[string][]float64{"Ada Quill": {300, 2200}, "Ben Okafor": {3700, 5500}}

// marks returns by how many ms the starts of speech are marked after its sound, without those inside
// gaps. phase is when the recording has the first beep, at a full second of the meeting.
func (c *timeCase) marks(manifest recording.Manifest, phase float64) (late []float64) {
	began := time.Now().Add(-c.meeting.Position()) // of the meeting
	first := manifest.Timeline.RecordingStartedAt.Add(time.Duration(phase * float64(time.Millisecond))).Sub(began)
	began = began.Add(first - first.Round(time.Second)) // as the recording has it
	names := map[string]string{}
	for _, participant := range manifest.Participants {
		names[participant.ID] = participant.Name
	}
	for _, speech := range manifest.Speech {
		at := manifest.Timeline.RecordingStartedAt.Add(time.Duration(speech.StartMs) * time.Millisecond).Sub(began)
		near := slices.ContainsFunc(manifest.Gaps, func(g recording.Gap) bool {
			return speech.StartMs >= g.StartMs-gapBorder && speech.StartMs <= g.EndMs+gapBorder
		})
		best := math.Inf(1)
		for _, phrase := range phraseStarts[names[speech.ParticipantID]] {
			if off := math.Mod(float64(at.Milliseconds())-phrase+15_000, 10_000) - 5000; math.Abs(off) < math.Abs(best) {
				best = off
			}
		}
		if !near && math.Abs(best) < 1000 && speech.StartMs > filled {
			late = append(late, best)
		}
	}
	return late
}

// TestTime takes the machine away from recordings: of the browser, its page, its audio service or
// all of them, and the network. Each recording must be as long as the time it covers, each beep that
// is left at its time, and what is missing must be listed. Without
// STANDIN_TEST_TIME, which make time sets, only one fault is tried.
func TestTime(t *testing.T) {
	needTools(t)
	faults := timeFaults()
	if os.Getenv("STANDIN_TEST_TIME") == "" {
		if testing.Short() {
			t.Skip("long: make check-long")
		}
		faults = slices.DeleteFunc(faults, func(f timeFault) bool { return f.name != "renderer 1 stopped for 5s" })
	}
	testbrowser.Reserve(t)
	var result timeResult
	t.Cleanup(func() { result.log(t) })
	shared := openHarness(t, smallPicture)
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			h := shared
			if strings.HasPrefix(fault.name, "network") {
				h = openHarness(t, smallPicture)
			}
			c := &timeCase{visit: h.visit(t, replica.Settings{NoLobby: true}, map[string]any{"externalId": fault.name}), fault: fault}
			c.awaitJob(c.id, job.RecordingStarted)
			<-time.After(6 * time.Second) // of recording
			fault.do(c)
			<-time.After(10 * time.Second) // of recording
			c.awaitJob(c.id, job.RecordingStarted)
			c.ended = time.Now()
			c.meeting.End()
			c.awaitJob(c.id, job.Completed)
			c.check(&result)
		})
	}
}

const (
	maxLengthDifference = 500 * time.Millisecond
	maxBeepDifference   = 100 // ms
	gapBorder           = 500 // ms by which the border of a gap may be wrong
	// filled is when the page's jitter buffers are filled after it was admitted, in ms: the sound
	// before is early. After a gap of emptied they are filled anew.
	filled  = 2000
	emptied = 12_000
)

// check compares the beeps with the manifest.
func (c *timeCase) check(result *timeResult) {
	t, manifest := c.T, c.manifest(c.id)
	_, report := c.recording(manifest)
	covered := manifest.Timeline.RecordingStoppedAt.Sub(manifest.Timeline.RecordingStartedAt.Time)
	length := time.Duration(report.DurationMs * float64(time.Millisecond))
	result.mu.Lock()
	defer result.mu.Unlock()
	result.recordings++
	if (covered - length).Abs() > maxLengthDifference {
		result.short++
		t.Errorf("%v are %v long", covered, length)
	}
	if manifest.Partial != slices.ContainsFunc(manifest.Gaps, func(g recording.Gap) bool { return !g.Requested() }) {
		result.wrongPartial++
		t.Errorf("partial %v with the gaps %+v", manifest.Partial, manifest.Gaps)
	}
	phase := beepPhase(report)
	marks := c.marks(manifest, phase)
	result.marks = append(result.marks, marks...)
	found := map[int]bool{}
	filling := func(at float64) bool {
		return at < filled || slices.ContainsFunc(manifest.Gaps, func(g recording.Gap) bool {
			return (!g.WithinMedia() || g.EndMs-g.StartMs > emptied) && at >= float64(g.StartMs) && at < float64(g.EndMs+filled)
		})
	}
	for _, beep := range report.BeepsMs {
		second := math.Round((beep - phase) / 1000)
		found[int(second)] = true
		result.beeps++
		if off := beep - phase - 1000*second; math.Abs(off) > maxBeepDifference && !filling(beep) {
			result.late++
			t.Errorf("the beep at %.0f ms is %.0f ms late", beep, off)
		}
	}
	for _, media := range manifest.Media {
		if media.Kind != recording.ParticipantAudio {
			continue
		}
		own, err := mediacheck.Decode(t.Context(), c.fetch(media))
		if err != nil {
			t.Fatal(err)
		}
		for _, beep := range own.BeepsMs {
			result.beeps++
			off := math.Mod(beep+float64(media.StartOffsetMs)-phase+1500, 1000) - 500
			if math.Abs(off) > maxBeepDifference && !filling(beep+float64(media.StartOffsetMs)) {
				result.late++
				t.Errorf("the beep at %.0f ms of %s is %.0f ms late", beep, media.Name, off)
			}
		}
	}
	var wrong []string
	stutters := strings.Contains(c.fault.name, "continued") // a third of the sound is there
	last := float64(c.ended.Sub(manifest.Timeline.RecordingStartedAt.Time).Milliseconds()) - 200
	for second := filled / 1000; phase+1000*float64(second) < last; second++ {
		at := int64(phase) + 1000*int64(second)
		inside, near := false, false
		for _, gap := range manifest.Gaps {
			inside = inside || at >= gap.StartMs+gapBorder && at <= gap.EndMs-gapBorder && !stutters
			near = near || at >= gap.StartMs-gapBorder && at <= gap.EndMs+gapBorder
		}
		if inside {
			result.listedInside++
		}
		switch {
		case !found[second] && found[second-1] && found[second+1]:
			result.single++ // less than half a second may be missing
		case !found[second]:
			result.missing++
			if near {
				result.missingListed++
			} else {
				wrong = append(wrong, fmt.Sprintf("no beep at %d ms", at))
			}
			if inside {
				result.listedAbsent++
			}
		case inside:
			wrong = append(wrong, fmt.Sprintf("a beep at %d ms", at))
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%s; the gaps are %+v, the beeps at %.0f", strings.Join(wrong, ", "), manifest.Gaps, report.BeepsMs)
	}
	t.Logf("%v of %v, %d beeps, speech marked late by %.0f ms, gaps %+v", length, covered, len(report.BeepsMs), marks, manifest.Gaps)
}

// beepPhase returns when the first beep should be, by those of the first seconds.
func beepPhase(report mediacheck.Report) float64 {
	var phases []float64
	for _, beep := range report.BeepsMs {
		if beep > 1000 && beep < 6000 {
			phases = append(phases, math.Mod(beep, 1000))
		}
	}
	if len(phases) == 0 {
		return 0
	}
	slices.Sort(phases)
	if phases[len(phases)-1]-phases[0] > 500 { // around a full second
		for i := range phases {
			phases[i] = math.Mod(phases[i]+500, 1000) - 500
		}
		slices.Sort(phases)
	}
	return math.Mod(phases[len(phases)/2]+1000, 1000)
}

func (r *timeResult) log(t *testing.T) {
	share := func(part, whole int) float64 { return float64(part) / math.Max(1, float64(whole)) }
	t.Logf("%d recordings: %d too short, %d with a wrong partial; %d of %d beeps not at their time, %d single ones missing; %.3f of the missing beeps are in gaps, "+
		"and %.3f of the seconds in gaps have none", r.recordings, r.short, r.wrongPartial, r.late, r.beeps, r.single,
		share(r.missingListed, r.missing), share(r.listedAbsent, r.listedInside))
	if slices.Sort(r.marks); len(r.marks) > 0 {
		median := r.marks[len(r.marks)/2]
		near := len(slices.DeleteFunc(slices.Clone(r.marks), func(late float64) bool { return math.Abs(late-median) > maxBeepDifference }))
		t.Logf("%d starts of speech are marked, %.0f ms late by the median; %.3f are within 100 ms of it", len(r.marks), median, share(near, len(r.marks)))
	}
}
