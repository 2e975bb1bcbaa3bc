package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/sfutest"
)

// sfuPerson is somebody in meetings on an SFU, with the hue of the video.
type sfuPerson struct {
	name string
	hue  int
}

// sfuPeople are the people whose pictures can be told apart. The first one beeps.
var sfuPeople = []sfuPerson{{"Dora Quill", 0}, {"Ben Ode", 120}, {"Cid Lark", 240}}

// startSFU starts an SFU, and a service whose bots may connect to it.
func startSFU(t *testing.T) (*harness, *sfutest.Server) {
	t.Helper()
	sfu := sfutest.Start(t)
	return newHarness(t, fullPicture, strings.TrimPrefix(sfu.Signal, "ws://")), sfu
}

// openSFU returns a harness for a meeting on an SFU in which people send video of a codec.
func (h *harness) openSFU(t *testing.T, sfu *sfutest.Server, codec string, people, slots int) *harness {
	t.Helper()
	copied, service := *h, *h.target
	service.T = t
	copied.target = &service
	settings := replica.Settings{NoLobby: true, SFU: sfu.SFU(slots)}
	for i := range people {
		person := sfuPerson{name: fmt.Sprintf("Guest %d", i)}
		if i < len(sfuPeople) {
			person = sfuPeople[i]
		}
		settings.Participants = append(settings.Participants, replica.Participant{Name: person.name, Beeps: i == 0})
	}
	var err error
	if copied.meeting, err = h.replica.Open(settings); err != nil {
		t.Fatal(err)
	}
	for i, one := range settings.Participants {
		sfu.Publish(t, copied.meeting, one.Name, codec, sfuPeople[i%len(sfuPeople)].hue)
	}
	t.Cleanup(copied.logFailure)
	return &copied
}

// TestSFU records meetings on a real SFU as streams and by the tab: video as Chromium encodes it, in layers that the SFU chooses by
// the size of tiles, which changes when somebody joins. Each person's files have that person's picture, in every second, and the
// sound has every beep.
func TestSFU(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	all, sfu := startSFU(t)
	for _, codec := range []string{"VP8", "VP9", "AV1", "H264"} {
		t.Run(codec, func(t *testing.T) {
			h := all.openSFU(t, sfu, codec, 2, 0)
			tab := visit{h, h.create(map[string]any{"externalId": "tab " + codec})}
			streams := visit{h, h.create(map[string]any{"externalId": "streams " + codec, "recording": map[string]any{"capture": "streams"}})}
			tab.awaitJob(tab.id, job.RecordingStarted)
			streams.awaitJob(streams.id, job.RecordingStarted)
			<-time.After(10 * time.Second) // of recording
			late := sfuPeople[2]
			if err := h.meeting.Join(replica.Participant{Name: late.name}); err != nil {
				t.Fatal(err)
			}
			sfu.Publish(t, h.meeting, late.name, codec, late.hue)
			joined := time.Now()
			<-time.After(15 * time.Second)
			ended := time.Now()
			h.meeting.End()
			tab.awaitJob(tab.id, job.Completed)
			tab.checkBeeps(t)
			streams.awaitJob(streams.id, job.Completed)
			streams.checkBeeps(t)
			streams.checkVideos(t, map[string]time.Time{late.name: joined}, ended, 3)
		})
	}
}

// TestSFUSlots records a meeting whose page receives two of three people at a time, those who spoke last, so that the SFU gives
// receivers from one to the other, while packets are lost, and one leaves and comes back. What is said to be somebody's is his.
func TestSFUSlots(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	all, sfu := startSFU(t)
	for _, codec := range []string{"VP8", "VP9"} {
		t.Run(codec, func(t *testing.T) {
			h := all.openSFU(t, sfu, codec, 3, 2)
			streams := visit{h, h.create(map[string]any{"externalId": "slots " + codec, "recording": map[string]any{"capture": "streams"}})}
			streams.awaitJob(streams.id, job.RecordingStarted)
			sfu.Lose(t, 3)
			<-time.After(15 * time.Second) // of recording
			ben := sfuPeople[1]
			sfu.Leave(t, h.meeting, ben.name)
			<-time.After(5 * time.Second)
			if err := h.meeting.Join(replica.Participant{Name: ben.name}); err != nil {
				t.Fatal(err)
			}
			sfu.Publish(t, h.meeting, ben.name, codec, ben.hue)
			<-time.After(20 * time.Second)
			ended := time.Now()
			h.meeting.End()
			streams.awaitJob(streams.id, job.Completed)
			streams.checkVideos(t, nil, ended, 0)
		})
	}
}

// checkVideos checks the pictures of people in a manifest, and that a number of them have some in every second, from when they joined
// until the meeting ended.
func (v visit) checkVideos(t *testing.T, joined map[string]time.Time, ended time.Time, people int) {
	t.Helper()
	manifest := v.manifest(v.id)
	names := map[string]string{}
	for _, one := range manifest.Participants {
		names[one.ID] = one.Name
	}
	began := manifest.Timeline.RecordingStartedAt.Time
	shown := map[string][]time.Time{} // the pictures by name
	right, wrong, unknown := 0, 0, 0
	for _, file := range manifest.Media {
		if file.Kind != recording.ParticipantVideo {
			continue
		}
		path := v.fetch(file)
		times, err := mediacheck.FrameTimes(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		colors, err := mediacheck.CenterColors(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		name, others := names[file.ParticipantID], 0
		for _, one := range colors {
			switch {
			case name == "":
				unknown++
			case nearestPerson(one) == name || !slices.ContainsFunc(sfuPeople, func(p sfuPerson) bool { return p.name == name }):
				right++
			default:
				wrong++
				others++
			}
		}
		for _, at := range times {
			at += float64(file.StartOffsetMs)
			shown[name] = append(shown[name], began.Add(time.Duration(at*float64(time.Millisecond))))
		}
		t.Logf("%s of %q, %s: %d pictures (%d of somebody else) from %d ms", file.Name, name, file.Codecs, len(colors), others,
			file.StartOffsetMs)
	}
	t.Logf("%d pictures are of their owners, %d are not, %d have no owner", right, wrong, unknown)
	if right < 100 || wrong*100 > right+wrong {
		t.Errorf("%d pictures are of their owners, %d are not", right, wrong)
	}
	complete := 0
	for name, times := range shown {
		const begins, ends = 4 * time.Second, 3 * time.Second
		slices.SortFunc(times, time.Time.Compare)
		from, longest := began, time.Duration(0)
		if late, ok := joined[name]; ok {
			from = late
		}
		for i := 1; i < len(times); i++ {
			longest = max(longest, times[i].Sub(times[i-1]))
		}
		t.Logf("%q is shown from %v after the beginning until %v before the end, without a picture for %v at most", name,
			times[0].Sub(from), ended.Sub(times[len(times)-1]), longest)
		if name != "" && times[0].Sub(from) < begins && ended.Sub(times[len(times)-1]) < ends && longest < time.Second {
			complete++
		}
	}
	if complete < people {
		t.Errorf("%d of %d people are shown all the time", complete, people)
	}
}

// checkBeeps checks that the sound of a recording has every beep.
func (v visit) checkBeeps(t *testing.T) {
	t.Helper()
	report, err := mediacheck.Decode(t.Context(), v.fetch(recordingFile(t, v.manifest(v.id))))
	if err != nil {
		t.Fatal(err)
	}
	if lost := unfollowed(report.BeepsMs); len(lost) > 0 || len(report.BeepsMs) < 10 || report.LongestFrameGapMs > 1000 {
		t.Errorf("%d beeps, none after %.0f ms; a frame of %.0f ms", len(report.BeepsMs), lost, report.LongestFrameGapMs)
	}
}

// nearestPerson returns whose picture has a color.
func nearestPerson(c color.RGBA) string {
	r, g, b := float64(c.R), float64(c.G), float64(c.B)
	hue := math.Mod(math.Atan2(math.Sqrt(3)*(g-b), 2*r-g-b)*180/math.Pi+360, 360)
	distance := func(p sfuPerson) float64 { return 180 - math.Abs(180-math.Abs(hue-float64(p.hue))) }
	return slices.MinFunc(sfuPeople, func(a, b sfuPerson) int { return int(distance(a) - distance(b)) }).name
}
