package build

import (
	"math"
	"slices"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

const (
	mainHoldMs    = 1000 // how long the main participant may be silent while another speaks
	placeGap      = 4    // between places, in pixels
	maxGridPlaces = 49
	maxContents   = 2
)

// scene is a time of a composed picture in which everything stays at its place. Its times are milliseconds of the
// recording's clock.
type scene struct {
	fromMs, toMs int64
	places       []place
}

// place is where somebody, or what somebody shares, is in the picture.
type place struct {
	participant   string
	file          string // of the video; empty shows the name
	x, y          int
	width, height int
	whole         bool // the video is not cropped
}

// timeline tells when something is so, in milliseconds.
type timeline []recording.Gap

func (t timeline) at(ms int64) bool {
	return slices.ContainsFunc(t, func(one recording.Gap) bool { return one.StartMs <= ms && ms < one.EndMs })
}

// videoOf returns when a file has video.
func videoOf(m recording.Manifest, file recording.Media) (t timeline) {
	from := file.StartOffsetMs
	for _, gap := range m.VideoGaps {
		if gap.Name == file.Name {
			t, from = append(t, recording.Gap{StartMs: from, EndMs: gap.StartMs}), gap.EndMs
		}
	}
	return append(t, recording.Gap{StartMs: from, EndMs: file.StartOffsetMs + file.DurationMs})
}

// composer arranges who is in a meeting as bots arrange its page (arrange.js).
type composer struct {
	layout        job.Layout
	width, height int

	manifest recording.Manifest
	present  map[string]timeline // participants
	speech   map[string]timeline // of participants
	videos   map[string]timeline // of files

	main    string // the participant who is large
	spokeAt int64
}

// scenes returns what a composed picture shows from a time to another.
func scenes(m recording.Manifest, fromMs, toMs int64, layout job.Layout, width, height int) []scene {
	c := composer{
		layout: layout, width: width, height: height, manifest: m,
		present: map[string]timeline{}, speech: map[string]timeline{}, videos: map[string]timeline{},
	}
	origin, times := m.Timeline.Origin(), []int64{fromMs, toMs}
	add := func(to map[string]timeline, key string, spans ...recording.Gap) {
		to[key] = append(to[key], spans...)
		for _, span := range spans {
			times = append(times, span.StartMs, span.EndMs)
		}
	}
	for _, p := range m.Participants {
		left := toMs
		if !p.LeftAt.IsZero() {
			left = p.LeftAt.Sub(origin).Milliseconds()
		}
		add(c.present, p.ID, recording.Gap{StartMs: p.JoinedAt.Sub(origin).Milliseconds(), EndMs: left})
	}
	for _, s := range m.Speech {
		add(c.speech, s.ParticipantID, recording.Gap{StartMs: s.StartMs, EndMs: s.EndMs})
		times = append(times, s.EndMs+mainHoldMs)
	}
	for _, file := range m.Media {
		if file.Kind == recording.ParticipantVideo || file.Kind == recording.ScreenShare {
			add(c.videos, file.Name, videoOf(m, file)...)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	var all []scene
	for i, at := range times {
		if at < fromMs || at >= toMs {
			continue
		}
		until := times[i+1]
		places := c.arrange(at)
		if last := len(all) - 1; last >= 0 && slices.Equal(all[last].places, places) {
			all[last].toMs = until
		} else {
			all = append(all, scene{at, until, places})
		}
	}
	return all
}

// arrange returns the places from a time on, at which something changes.
func (c *composer) arrange(ms int64) []place {
	var content, people []place
	shows := func(file recording.Media, kind recording.MediaKind) bool {
		return file.Kind == kind && c.videos[file.Name].at(ms)
	}
	for _, p := range c.manifest.Participants {
		if c.present[p.ID].at(ms) && p.ID != ingest.OwnID {
			people = append(people, place{participant: p.ID})
		}
	}
	for _, file := range c.manifest.Media {
		if shows(file, recording.ScreenShare) {
			content = append(content, place{participant: file.ParticipantID, file: file.Name, whole: true})
		}
		if !shows(file, recording.ParticipantVideo) {
			continue
		}
		owner := slices.IndexFunc(people, func(p place) bool { return p.participant == file.ParticipantID && file.ParticipantID != "" })
		if owner < 0 {
			owner, people = len(people), append(people, place{participant: file.ParticipantID})
		}
		people[owner].file = file.Name
	}
	content = content[:min(len(content), maxContents)]
	main := c.chooseMain(people, ms)
	byMain := slices.Clone(people)
	if main > 0 {
		byMain = slices.Insert(slices.Delete(byMain, main, main+1), 0, people[main])
	}
	switch {
	case len(people)+len(content) == 0:
		return nil
	case c.layout == job.LayoutGallery:
		shown := append(content, people...)
		return grid(shown[:min(len(shown), maxGridPlaces)], c.width, c.height)
	case c.layout == job.LayoutContent && len(content) > 0:
		return c.stage(content, byMain[:min(len(byMain), 1)], 8)
	case len(content) > 0:
		return c.stage(content, byMain, 5)
	}
	return c.stage(byMain[:1], byMain[1:], 5)
}

// chooseMain returns who is large: the one who speaks, or spoke last; -1 if there is nobody.
func (c *composer) chooseMain(people []place, ms int64) int {
	index := func(is func(place) bool) int { return slices.IndexFunc(people, is) }
	speaks := func(p place) bool { return p.participant != "" && c.speech[p.participant].at(ms) }
	current := index(func(p place) bool { return p.participant == c.main && c.main != "" })
	if current >= 0 && c.speech[c.main].at(ms-1) {
		c.spokeAt = ms
	}
	speaking := index(speaks)
	if current >= 0 && (speaking < 0 || speaks(people[current]) || ms-c.spokeAt < mainHoldMs) {
		return current
	}
	next := speaking
	if next < 0 {
		next = max(index(func(p place) bool { return p.file != "" }), min(0, len(people)-1))
	}
	if next >= 0 {
		c.main, c.spokeAt = people[next].participant, ms
	}
	return next
}

// stage returns one large place, and a column of small ones beside it, which has a share of the width.
func (c *composer) stage(large, small []place, share int) []place {
	if len(small) == 0 {
		return grid(large, c.width, c.height)
	}
	side := (c.width + share/2) / share
	high := ((side-placeGap)*9 + 8) / 16
	small = small[:min(len(small), max(1, c.height/(high+placeGap)))]
	places := grid(large, c.width-side, c.height)
	top := float64(c.height-len(small)*(high+placeGap)+placeGap) / 2
	for i, p := range small {
		p.x, p.y, p.width, p.height = c.width-side+placeGap, int(math.Round(top))+i*(high+placeGap), side-placeGap, high
		places = append(places, p)
	}
	return places
}

// grid arranges equal places without holes but in the last row, which is centered.
func grid(places []place, width, height int) []place {
	w, h, n := float64(width), float64(height), len(places)
	columns, best := 1, 0.0
	for tried := 1; tried <= n; tried++ {
		rows := (n + tried - 1) / tried
		wide, high := w/float64(tried), h/float64(rows)
		whole := min(wide, high*16/9) // as much of a video as a place shows
		if score := whole * whole * min(1, (wide/high)/(4.0/3)); score > best {
			columns, best = tried, score
		}
	}
	rows := (n + columns - 1) / columns
	wide, high := w/float64(columns), h/float64(rows)
	var gapX, gapY float64
	if columns > 1 {
		gapX = placeGap
	}
	if rows > 1 {
		gapY = placeGap
	}
	for i := range places {
		row := i / columns
		inRow := min(columns, n-row*columns)
		left := (w-float64(inRow)*wide)/2 + float64(i-row*columns)*wide
		p := &places[i]
		p.x, p.y = int(math.Round(left+gapX/2)), int(math.Round(float64(row)*high+gapY/2))
		p.width, p.height = int(math.Round(wide-gapX)), int(math.Round(high-gapY))
	}
	return places
}
