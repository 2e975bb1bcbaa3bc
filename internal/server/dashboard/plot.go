package dashboard

import (
	"fmt"
	"slices"
	"time"

	"standin/internal/jobs/job"
)

// failurePlot is a bar chart of failures per day, which the page draws in SVG. A
// table has the same numbers, for screen readers.
type failurePlot struct {
	Days  []plotDay
	Codes []plotCode // that occur, in the order of api/openapi.yaml
	Most  int        // jobs of the highest bar; 0 when nothing failed
	Lines []plotLine // of the scale
	Width int
}

type plotDay struct {
	Name  string
	X     int
	Jobs  int
	Bars  []plotBar
	Cells []int // jobs of each code of the plot
}

type plotBar struct {
	X, Y, Width, Height float64
	Tone                int // index of the color
	Text                string
}

type plotCode struct {
	Code job.FailureCode
	Tone int
	Jobs int
}

type plotLine struct {
	Y    float64
	Jobs int
}

// Sizes in the units of the drawing.
const (
	plotHeight = 160
	plotStep   = 44
	plotBarW   = 30
	plotLeft   = 34
)

// plotFailures returns the chart of the last days.
func plotFailures(counts []job.FailureCount, now time.Time) failurePlot {
	plot := failurePlot{Width: plotLeft + job.OverviewDays*plotStep}
	total := make(map[job.FailureCode]int)
	byDay := make(map[string]map[job.FailureCode]int)
	for _, c := range counts {
		day := c.Day.Format(time.DateOnly)
		if byDay[day] == nil {
			byDay[day] = make(map[job.FailureCode]int)
		}
		byDay[day][c.Code] += c.Jobs
		total[c.Code] += c.Jobs
	}
	for i, code := range job.FailureCodes() {
		if total[code] > 0 {
			plot.Codes = append(plot.Codes, plotCode{Code: code, Tone: i, Jobs: total[code]})
		}
	}
	today := now.UTC().Truncate(24 * time.Hour)
	for back := range job.OverviewDays {
		at := today.AddDate(0, 0, back+1-job.OverviewDays)
		day := plotDay{Name: at.Format("2 Jan"), X: plotLeft + back*plotStep}
		for _, code := range plot.Codes {
			jobs := byDay[at.Format(time.DateOnly)][code.Code]
			day.Cells = append(day.Cells, jobs)
			day.Jobs += jobs
		}
		plot.Most = max(plot.Most, day.Jobs)
		plot.Days = append(plot.Days, day)
	}
	plot.draw()
	return plot
}

// draw computes the positions of the bars and the scale.
func (p *failurePlot) draw() {
	if p.Most == 0 {
		return
	}
	unit := float64(plotHeight) / float64(p.Most)
	for i := range p.Days {
		day := &p.Days[i]
		top := float64(plotHeight)
		for j, jobs := range day.Cells {
			if jobs == 0 {
				continue
			}
			height := float64(jobs) * unit
			top -= height
			day.Bars = append(day.Bars, plotBar{
				X: float64(day.X) + (plotStep-plotBarW)/2, Y: top, Width: plotBarW, Height: height, Tone: p.Codes[j].Tone,
				Text: fmt.Sprintf("%s: %d × %s", day.Name, jobs, p.Codes[j].Code),
			})
		}
	}
	marks := []int{p.Most}
	if half := p.Most / 2; half > 0 {
		marks = append(marks, half)
	}
	slices.Sort(marks)
	for _, jobs := range marks {
		p.Lines = append(p.Lines, plotLine{Y: plotHeight - float64(jobs)*unit, Jobs: jobs})
	}
}
