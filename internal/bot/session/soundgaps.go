package session

import (
	"cmp"
	"time"

	"standin/internal/bot/recorder"
	"standin/internal/jobs/job"
	"standin/internal/operation/host"
	"standin/internal/recording"
)

const (
	// minUnplayed is how much sound the page must have failed to play for blank sound to be a gap.
	minUnplayed = 250 * time.Millisecond
	// minNetworkGap is how long nothing may arrive at all, not even a check of the connection,
	// although minPacketRate packets per second came before.
	minNetworkGap = 2 * time.Second
	minPacketRate = 10
	// maxPageSilence is how long a page that runs may take to be measured.
	maxPageSilence = 5 * time.Second
	// maxReportAge is how long ago a capture that runs has reported, at most.
	maxReportAge = 3 * time.Second
	// maxSoundEvidence limits the gaps and times that are kept to be compared.
	maxSoundEvidence = 20
)

// soundGaps tells the report where the recording has no sound although it runs: the machine
// did not let the capture or the page run, or the network was lost.
type soundGaps struct {
	told       [2]time.Time // end of the last gap of the capture that was told, and of the last blank one
	blank      []soundGap   // gaps of the capture that may be silence
	unplayed   []soundGap   // times in which the page could not play
	measuredAt time.Time
	rates      [2]packetRates // that were measured last
	cutAt      time.Time      // since when nothing arrives; zero while something does
}

// packetRates are packets per second, and those of audio.
type packetRates struct{ all, sound float64 }

// gapReport is where gaps are told: a report.Report.
type gapReport interface {
	AddGap(from, to time.Time, reason string)
}

// maxToldGaps is how many gaps of sound are put on the timeline in an hour.
const maxToldGaps = 20

// gapData is the data of the event media_fault for a gap of sound.
type gapData struct {
	Fault      string  `json:"fault"`
	State      string  `json:"state"`
	LengthMs   int64   `json:"lengthMs"`
	CPUWaiting float64 `json:"cpuWaiting"` // the share of the last minute in which something waited for a processor
}

// AddGap implements gapReport. The gap is told on the timeline, too, while the meeting runs.
func (r *recordingSession) AddGap(from, to time.Time, reason string) {
	r.report.AddGap(from, to, reason)
	r.toldGaps.max, r.toldGaps.window = maxToldGaps, time.Hour
	if _, ok := r.toldGaps.allow(time.Now()); ok {
		_ = r.events.Emit(job.BotMediaFault, gapData{reason, "ended", to.Sub(from).Milliseconds(), host.Waiting()})
	}
}

type soundGap struct {
	from, to time.Time
	lost     time.Duration // of this time
}

// update tells the gaps of the capture that have ended since the last call.
func (g *soundGaps) update(report gapReport, stats recorder.Stats) {
	for _, gap := range stats.SoundGaps {
		told := &g.told[0]
		if gap.Blank {
			told = &g.told[1]
		}
		if !gap.To.After(*told) {
			continue
		}
		*told = gap.To
		if !gap.Blank {
			report.AddGap(gap.From, gap.To, cmp.Or(gap.Reason, recording.GapStalled))
			continue
		}
		blank := soundGap{from: gap.From, to: gap.To}
		for _, unplayed := range g.unplayed {
			compare(report, blank, unplayed)
		}
		g.blank = append(g.blank[max(0, len(g.blank)+1-maxSoundEvidence):], blank)
	}
}

// tellLastGap tells the gap of a capture that did not report its end, and with it its last gaps. One that
// only could not send its reports for a while has sent them all.
func tellLastGap(report gapReport, stats recorder.Stats, ended time.Time) {
	last := stats.LastReportAt
	if stats.EndedAt.IsZero() && !last.IsZero() && ended.Sub(last) > maxReportAge {
		report.AddGap(last, ended, recording.GapStalled)
	}
}

// end uses that the page did not answer at the end of a part.
func (g *soundGaps) end(at time.Time) {
	if silent := at.Sub(g.measuredAt); !g.measuredAt.IsZero() && silent > maxPageSilence {
		g.unplayed = append(g.unplayed, soundGap{from: g.measuredAt.Add(-time.Second), to: at, lost: silent})
	}
}

// handleMeasured uses what the page has received, and has not played, since the last time.
func (g *soundGaps) handleMeasured(report gapReport, at time.Time, inbound recorder.Inbound) {
	before := g.measuredAt
	g.measuredAt = at
	if before.IsZero() {
		return
	}
	if lost := time.Duration(inbound.UnplayedMs * float64(time.Millisecond)); lost >= minUnplayed {
		unplayed := soundGap{from: before.Add(-time.Second), to: at, lost: lost} // what is captured was played a little earlier
		for _, blank := range g.blank {
			compare(report, blank, unplayed)
		}
		g.unplayed = append(g.unplayed[max(0, len(g.unplayed)+1-maxSoundEvidence):], unplayed)
	}
	// A network that is lost within a second leaves a few packets of it.
	rate := packetRates{max(g.rates[0].all, g.rates[1].all), max(g.rates[0].sound, g.rates[1].sound)}
	received := float64(inbound.Received)
	switch {
	case received == 0 && g.cutAt.IsZero() && rate.all >= minPacketRate && inbound.ReceivedAgoMs >= 0:
		g.cutAt = at.Add(-time.Duration(inbound.ReceivedAgoMs * float64(time.Millisecond)))
	case received > 0 && !g.cutAt.IsZero():
		seconds := max(received/rate.all, float64(inbound.Packets)/max(rate.sound, 1)) // video may need longer to go on
		resumed := at.Add(-time.Duration(seconds * float64(time.Second)))
		if resumed.Sub(g.cutAt) >= minNetworkGap {
			report.AddGap(g.cutAt.Add(recorder.PlayDelay), resumed.Add(recorder.PlayDelay), recording.GapNetworkLost)
		}
		g.cutAt = time.Time{}
	case received > 0:
		seconds := at.Sub(before).Seconds()
		g.rates = [2]packetRates{g.rates[1], {received / seconds, float64(inbound.Packets) / seconds}}
	}
}

// compare tells a gap if the page could not play while the capture was blank.
func compare(report gapReport, blank, unplayed soundGap) {
	from, to := job.Latest(blank.from, unplayed.from), blank.to
	if to.After(unplayed.to) {
		to = unplayed.to
	}
	if extra := to.Sub(from) - unplayed.lost; extra > minUnplayed {
		from = from.Add(extra) // it was silent before
	}
	if to.Sub(from) >= minUnplayed {
		report.AddGap(from, to, recording.GapStalled)
	}
}
