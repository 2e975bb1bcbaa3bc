package main

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
)

// TestComposedPicture compares the composed picture of a meeting with what another bot has recorded of the page: who is where, and
// when that changes.
func TestComposedPicture(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	needTools(t)
	h := newHarness(t, fullPicture)
	tab := h.visit(t, replica.Settings{AdmitAfter: 300 * time.Millisecond, Participants: []replica.Participant{
		{Name: "Ada Quill"}, {Name: "Ben Ode"}, {Name: "Cid Lark"},
	}}, map[string]any{"externalId": "tab"})
	tab.awaitJob(tab.id, job.RecordingStarted)
	streams := visit{tab.harness, tab.create(map[string]any{"externalId": "streams", "recording": map[string]any{"capture": "streams"}})}
	streams.awaitJob(streams.id, job.RecordingStarted)
	<-time.After(40 * time.Second) // of recording
	tab.meeting.End()
	const (
		perSecond, width, height = 15, 128, 72
		firstTurn                = 8 // seconds; before, the bots know different speakers
	)
	video := func(v visit) (start time.Time, pictures [][]byte) {
		t.Helper()
		v.awaitJob(v.id, job.Completed)
		var file recording.Media
		v.await("the picture", func() bool {
			manifest := v.manifest(v.id)
			at := slices.IndexFunc(manifest.Media, func(m recording.Media) bool { return m.Kind == recording.Video })
			if at >= 0 {
				file, start = manifest.Media[at], manifest.Timeline.RecordingStartedAt.Time
			}
			return at >= 0
		})
		path := v.fetch(file)
		checkFile(t, path, file, picture{width: 1280, height: 720})
		pictures, err := mediacheck.Pictures(t.Context(), path, perSecond, width, height)
		if err != nil {
			t.Fatal(err)
		}
		return start.Add(time.Duration(file.StartOffsetMs) * time.Millisecond), pictures
	}
	pageStart, page := video(tab)
	composedStart, composed := video(streams)
	// The other bot, which sends no video, is the last one in the column.
	regions := []struct {
		name       string
		x, y, w, h int
	}{{"large", 30, 20, 40, 40}, {"upper", 106, 17, 18, 9}, {"lower", 106, 32, 18, 9}}
	compared, right, wrong := 0, map[string]int{}, []string{}
	for i, one := range composed {
		at := composedStart.Add(time.Duration(i)*time.Second/perSecond).Sub(pageStart).Seconds() * perSecond
		from, to := int(at)-perSecond/2, int(math.Ceil(at))+perSecond/2
		if i < firstTurn*perSecond || from < 0 || to >= len(page) || i > len(composed)-2*perSecond {
			continue
		}
		compared++
		for _, r := range regions {
			difference := func(other []byte) float64 { // of the mean colors
				sum := 0.0
				for channel := range 3 {
					mean := 0.0
					for y := r.y; y < r.y+r.h; y++ {
						for x := r.x; x < r.x+r.w; x++ {
							pixel := 3*(y*width+x) + channel
							mean += float64(one[pixel]) - float64(other[pixel])
						}
					}
					sum += math.Abs(mean) / float64(r.w*r.h)
				}
				return sum
			}
			if slices.ContainsFunc(page[from:to+1], func(other []byte) bool { return difference(other) < 20 }) {
				right[r.name]++
			} else {
				wrong = append(wrong, fmt.Sprintf("%s at %.1f s", r.name, float64(i)/perSecond))
			}
		}
	}
	t.Logf("%d pictures compared, the same: %v; not %q", compared, right, wrong)
	for _, r := range regions {
		if compared < 100 || right[r.name]*100 < compared*98 {
			t.Errorf("%s: %d of %d pictures are those of the page", r.name, right[r.name], compared)
		}
	}
}
