package dashboard

import (
	"fmt"
	"slices"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

// plot is a chart of columns, which a page draws in SVG. The titles of its parts have the numbers.
type plot struct {
	Name    string
	Columns []plotColumn
	Lines   []plotLine // of the scale; none if there is nothing to show
	Limit   []plotLine // at most one
}

type plotColumn struct {
	Name  string // below it; empty for most if there are many
	X     float64
	Parts []plotPart // from the bottom
}

type plotPart struct {
	Value               float64
	Tone                int // index of the color
	Text                string
	X, Y, Width, Height float64
}

type plotLine struct {
	Y    float64
	Text string
}

// Sizes in the units of the drawing.
const (
	plotHeight = 160
	plotWidth  = 650 // as in the templates
	plotLeft   = 40
)

// badTone is the color of what failed.
const badTone = 5

// newPlot returns a chart of columns, at most 14 of which it names. A limit of 0 is none.
func newPlot(name string, columns []plotColumn, limit float64) plot {
	p := plot{Name: name, Columns: columns}
	most := 0.0
	for _, column := range columns {
		sum := 0.0
		for _, part := range column.Parts {
			sum += part.Value
		}
		most = max(most, sum)
	}
	if most == 0 {
		return p
	}
	unit := plotHeight / max(most, limit)
	line := func(value float64) plotLine { return plotLine{plotHeight - value*unit, fmt.Sprintf("%.3g", value)} }
	p.Lines = []plotLine{line(most / 2), line(most)}
	if limit > 0 {
		p.Limit = []plotLine{line(limit)}
	}
	step := float64(plotWidth-plotLeft) / float64(len(columns))
	for i := range columns {
		column := &columns[i]
		column.X = plotLeft + step*(float64(i)+.5)
		if i%((len(columns)+13)/14) > 0 {
			column.Name = ""
		}
		top := float64(plotHeight)
		for j := range column.Parts {
			part := &column.Parts[j]
			part.Width, part.Height = step*.7, part.Value*unit
			top -= part.Height
			part.X, part.Y = column.X-part.Width/2, top
		}
	}
	return p
}

// lastHours returns a column for each of the last 24 hours.
func lastHours(now time.Time, parts func(hour time.Time) []plotPart) []plotColumn {
	columns := make([]plotColumn, 24)
	for i := range columns {
		hour := now.UTC().Truncate(time.Hour).Add(time.Duration(i-len(columns)+1) * time.Hour)
		columns[i] = plotColumn{Name: hour.Format("15:04"), Parts: parts(hour)}
	}
	return columns
}

// failurePlot is a chart of failures per day, with a table of the same numbers.
type failurePlot struct {
	plot
	Codes []plotCode // that occur, in the order of api/openapi.yaml
}

type plotCode struct {
	Code job.FailureCode
	Tone int
	Jobs int
}

// plotFailures returns the chart of the last days.
func plotFailures(counts []job.FailureCount, now time.Time) (shown failurePlot) {
	total := make(map[job.FailureCode]int)
	for _, c := range counts {
		total[c.Code] += c.Jobs
	}
	for i, code := range job.FailureCodes() {
		if total[code] > 0 {
			shown.Codes = append(shown.Codes, plotCode{Code: code, Tone: i, Jobs: total[code]})
		}
	}
	var columns []plotColumn
	for back := range job.OverviewDays {
		at := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, back+1-job.OverviewDays)
		column := plotColumn{Name: at.Format("2 Jan")}
		for _, code := range shown.Codes {
			jobs := find(counts, func(c job.FailureCount) bool { return c.Code == code.Code && c.Day.Equal(at) }).Jobs
			column.Parts = append(column.Parts, plotPart{
				Value: float64(jobs), Tone: code.Tone, Text: fmt.Sprintf("%s: %d × %s", column.Name, jobs, inWords(code.Code)),
			})
		}
		columns = append(columns, column)
	}
	shown.plot = newPlot("Failures", columns, 0)
	return shown
}

// plotJobs returns the chart of the jobs of the last 24 hours.
func plotJobs(counts []job.HourCount, now time.Time) plot {
	return newPlot("Jobs of the last 24 hours", lastHours(now, func(hour time.Time) []plotPart {
		c := find(counts, func(c job.HourCount) bool { return c.Hour.Equal(hour) })
		text := fmt.Sprintf("%s UTC: %d jobs, %d failed", hour.Format("15:04"), c.Jobs, c.Failed)
		return []plotPart{
			{Value: float64(c.Jobs - c.Failed), Text: text}, {Value: float64(c.Failed), Tone: badTone, Text: text},
		}
	}), 0)
}

// plotTries returns the charts of the results and of the latency of the tries of the last 24 hours: of those to an
// endpoint, or of all with an empty key.
func (d *Dashboard) plotTries(req *pageRequest, as account.Caller, key string) ([]plot, error) {
	now := d.Now()
	counts, err := d.Jobs.Store.TryHours(req.Context(), as, key, now.Add(-24*time.Hour))
	var latency []plotColumn
	results := lastHours(now, func(hour time.Time) []plotPart {
		c := find(counts, func(c webhook.HourTries) bool { return c.Hour.Equal(hour) })
		name := hour.Format("15:04")
		text := fmt.Sprintf("%s UTC: %d delivered, %d failed, %d ms", name, c.Delivered, c.Failed, c.Latency.Milliseconds())
		latency = append(latency, plotColumn{Name: name, Parts: []plotPart{{Value: float64(c.Latency.Milliseconds()), Text: text}}})
		return []plotPart{{Value: float64(c.Delivered), Tone: 9, Text: text}, {Value: float64(c.Failed), Tone: badTone, Text: text}}
	})
	return []plot{
		newPlot("Attempts of the last 24 hours (UTC)", results, 0), newPlot("Average response in milliseconds (UTC)", latency, 0),
	}, err
}

// plotForecast returns the chart of the most bots that will run at once, for some intervals of a length from now on.
func plotForecast(name, format string, c CapacityView, counts []job.UpcomingCount, now time.Time, length time.Duration, number int) plot {
	limit := float64(c.Capacity)
	if c.Capacity >= unlimited {
		limit = 0
	}
	columns := make([]plotColumn, number)
	for i := range columns {
		at := now.UTC().Truncate(length).Add(time.Duration(i) * length)
		most := job.UpcomingCount{From: at}
		for _, one := range counts {
			if one.From.Truncate(length).Equal(at) && one.Bots > most.Bots {
				most = one
			}
		}
		text := fmt.Sprintf("%s UTC: %d bots", most.From.UTC().Format("2 Jan 15:04"), most.Bots)
		columns[i] = plotColumn{Name: at.Format(format), Parts: []plotPart{{Value: float64(most.Bots), Text: text}}}
	}
	return newPlot(name, columns, limit)
}

// plotUsage returns the chart of the recorded hours of each day.
func plotUsage(report job.UsageReport) plot {
	var columns []plotColumn
	for day := report.From; !day.After(report.To); day = day.AddDate(0, 0, 1) {
		used := find(report.Days, func(d job.UsageDay) bool { return d.Day.Equal(day) })
		name := day.Format("2 Jan")
		columns = append(columns, plotColumn{Name: name, Parts: []plotPart{{
			Value: used.Recorded.Hours(), Text: fmt.Sprintf("%s: %s recorded, %d jobs", name, hoursText(used.Recorded), used.Jobs()),
		}}})
	}
	return newPlot("Recorded hours by day (UTC)", columns, 0)
}

// find returns the first value that passes, or else a zero one.
func find[T any](all []T, passes func(T) bool) (found T) {
	if at := slices.IndexFunc(all, passes); at >= 0 {
		found = all[at]
	}
	return found
}
