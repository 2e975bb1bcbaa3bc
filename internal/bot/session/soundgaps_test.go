package session

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"standin/internal/bot/recorder"
)

// toldGaps are the gaps that soundGaps tells, in seconds.
type toldGaps []string

func (t *toldGaps) AddGap(from, to time.Time, reason string) {
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	*t = append(*t, fmt.Sprintf("%.1f-%.1f %s", from.Sub(start).Seconds(), to.Sub(start).Seconds(), reason))
}

// TestSoundGaps: blank sound is a gap where the page could not play, and a connection over which
// nothing arrives is lost, but not one over which little did before.
func TestSoundGaps(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	second := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	lost := recorder.SoundGap{From: second(9.5), To: second(12.4)}
	blank := recorder.SoundGap{From: second(8.4), To: second(9.5), Blank: true}
	silent := recorder.SoundGap{From: second(2), To: second(20), Blank: true}
	for name, test := range map[string]struct {
		gaps   []recorder.SoundGap
		late   bool                     // the gaps are told at the end
		inside map[int]recorder.Inbound // what is measured in a second, other than 50 packets
		length int
		want   []string
	}{
		"everybody is silent":          {gaps: []recorder.SoundGap{silent}, length: 22},
		"lost buffers, told again":     {gaps: []recorder.SoundGap{lost, lost}, length: 14, want: []string{"9.5-12.4 stalled"}},
		"blank, and the page is alive": {gaps: []recorder.SoundGap{blank}, length: 14},
		"blank, and then the page tells": {
			gaps: []recorder.SoundGap{blank, lost}, length: 14, want: []string{"9.5-12.4 stalled", "8.4-9.5 stalled"},
			inside: map[int]recorder.Inbound{10: {Received: 40, UnplayedMs: 1100}},
		},
		"a stall in silence": {
			gaps: []recorder.SoundGap{silent}, late: true, length: 22, want: []string{"8.0-12.0 stalled"},
			inside: map[int]recorder.Inbound{9: {}, 10: {}, 11: {}, 12: {Received: 90, UnplayedMs: 4000}},
		},
		"the network is lost": {
			length: 14, want: []string{"5.1-8.7 network_lost"},
			inside: map[int]recorder.Inbound{
				5: {Received: 4}, 6: {ReceivedAgoMs: 1100}, 7: {ReceivedAgoMs: 2100}, 8: {ReceivedAgoMs: 3100}, 9: {Received: 25},
			},
		},
		"the network is lost for a second": {
			length: 14, inside: map[int]recorder.Inbound{6: {ReceivedAgoMs: 1100}, 7: {Received: 48}},
		},
		"little arrives": {
			length: 8,
			inside: map[int]recorder.Inbound{1: {Received: 3}, 2: {Received: 3}, 3: {ReceivedAgoMs: 900}, 4: {}, 5: {}, 6: {Received: 3}, 7: {Received: 3}},
		},
	} {
		var told toldGaps
		gaps := soundGaps{}
		for at := range test.length {
			measured, other := test.inside[at]
			if !other {
				measured.Received = 50
			}
			skipped := test.late && measured.Received == 0 // a page that does not run measures nothing
			if !skipped {
				gaps.handleMeasured(&told, second(float64(at)), measured)
			}
			stats := recorder.Stats{}
			for _, gap := range test.gaps {
				if !gap.To.After(second(float64(at))) {
					stats.SoundGaps = append(stats.SoundGaps, gap)
				}
			}
			gaps.update(&told, stats)
		}
		if slices.Sort(told); !slices.Equal(told, slices.Sorted(slices.Values(test.want))) {
			t.Errorf("%s: told %q, want %q", name, told, test.want)
		}
	}
}

// TestTellLastGap: a capture that ended without a report has a gap since its last one; one that
// reported its end has told its gaps, even if its reports arrived late.
func TestTellLastGap(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	second := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	for name, test := range map[string]struct {
		stats recorder.Stats
		ended float64
		want  []string
	}{
		"it never reported":     {recorder.Stats{}, 30, nil},
		"it reported just now":  {recorder.Stats{LastReportAt: second(28)}, 30, nil},
		"it was killed":         {recorder.Stats{LastReportAt: second(6)}, 22, []string{"6.0-22.0 stalled"}},
		"it reported its end":   {recorder.Stats{LastReportAt: second(6), EndedAt: second(22)}, 22, nil},
		"its reports were late": {recorder.Stats{LastReportAt: second(22)}, 22.5, nil},
	} {
		var told toldGaps
		tellLastGap(&told, test.stats, second(test.ended))
		if !slices.Equal(told, test.want) {
			t.Errorf("%s: told %q, want %q", name, told, test.want)
		}
	}
}
