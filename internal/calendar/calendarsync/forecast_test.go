package calendarsync_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"standin/internal/jobs/job"
)

// TestForecast compares the forecast of a day with what then happens: 400 meetings, most of which begin at the full or half hour
// and a tenth of which move or are cancelled, end up to five minutes early and ten minutes late. The peak is within a tenth.
func TestForecast(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, h *harness) { forecastDay(t, h, 0) })
	for seed := range uint64(4) {
		forecastDay(t, newSQLiteHarness(t), seed+1)
	}
}

func forecastDay(t *testing.T, h *harness, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	type meeting struct{ start, end time.Time }
	meetings := make([]meeting, 400)
	for i := range meetings {
		quarter := []int{0, 0, 0, 0, 2, 2, 1, 3}[random.IntN(8)]
		start := november.Add(time.Duration(1+random.IntN(9))*time.Hour + time.Duration(quarter)*15*time.Minute)
		meetings[i] = meeting{start, start.Add([]time.Duration{15, 30, 30, 30, 45, 60, 60, 90}[random.IntN(8)] * time.Minute)}
	}
	path := fmt.Sprintf("/day-%d.ics", seed)
	publish := func() {
		var events []string
		for i, m := range meetings {
			if m.start.IsZero() {
				continue
			}
			events = append(events, fmt.Sprintf("UID:%d-%d|DTSTART:%s|DTEND:%s|SUMMARY:Planning|LOCATION:https://meet.google.com/abc-%s-%s",
				seed, i, m.start.Format("20060102T150405Z"), m.end.Format("20060102T150405Z"), letters(i, 4), letters(int(seed), 3)))
		}
		h.set(path, events...)
	}
	publish()
	id := h.connect(t, path, nil)
	h.sync(t, id)
	for i := range meetings {
		switch random.IntN(20) {
		case 0:
			meetings[i].start, meetings[i].end = meetings[i].start.Add(time.Hour), meetings[i].end.Add(time.Hour)
		case 1:
			meetings[i] = meeting{}
		}
	}
	publish()
	h.sync(t, id)

	changes := map[time.Time]int{}
	for _, m := range meetings {
		if !m.start.IsZero() {
			changes[m.start]++
			changes[m.end.Add(time.Duration(random.IntN(15)-5)*time.Minute)]--
		}
	}
	running, peak := 0, 0
	for at := november; at.Before(november.Add(24 * time.Hour)); at = at.Add(time.Minute) {
		running += changes[at]
		peak = max(peak, running)
	}
	forecast, err := h.store.Upcoming(t.Context(), november, november.Add(24*time.Hour), 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	most := slices.MaxFunc(forecast, func(a, b job.UpcomingCount) int { return a.Bots - b.Bots })
	t.Logf("seed %d: forecast %d bots at %s, then %d at once", seed, most.Bots, most.From.Format("15:04"), peak)
	if off := most.Bots - peak; 10*max(off, -off) > peak {
		t.Errorf("the forecast of the peak is %d, but %d bots ran at once", most.Bots, peak)
	}
}

// letters returns a number in lowercase letters.
func letters(n, length int) string {
	text := make([]byte, length)
	for i := range text {
		text[i] = byte('a' + n%26)
		n /= 26
	}
	return string(text)
}
