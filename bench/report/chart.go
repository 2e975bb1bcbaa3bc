package report

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
)

// Chart is a plot of values by a number, which has a logarithmic scale.
type Chart struct {
	Title, Unit string
	Series      []Series
}

// Series is a polyline of a chart. X is ascending and above 0.
type Series struct {
	Name string
	X, Y []float64
}

// Geometry of a chart in pixels.
const (
	chartWidth  = 640
	chartHeight = 320
	plotLeft    = 70
	plotRight   = 620
	plotTop     = 50
	plotBottom  = 280
)

// colors are the colors of the series, which readers with color blindness can
// tell apart.
var colors = []string{"#0072b2", "#d55e00", "#009e73"}

// SVG returns the chart as an SVG image.
func (c Chart) SVG() []byte {
	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", chartWidth,
		chartHeight)
	fmt.Fprintf(&svg, `<rect width="%d" height="%d" fill="white"/>`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&svg, `<text x="%d" y="20" font-size="14">%s (%s)</text>`+"\n", plotLeft, html.EscapeString(c.Title),
		html.EscapeString(c.Unit))
	scale := c.scale()
	for _, y := range []float64{0, 0.25, 0.5, 0.75, 1} {
		_, at := scale.point(scale.fromX, y*scale.toY)
		fmt.Fprintf(&svg, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			plotLeft, at, plotRight, plotLeft-6, at+4, format(y*scale.toY))
	}
	for _, x := range c.numbers() {
		at, _ := scale.point(x, 0)
		fmt.Fprintf(&svg, `<text x="%.1f" y="%d" text-anchor="middle">%.0f</text>`+"\n", at, plotBottom+18, x)
	}
	for i, s := range c.Series {
		color := colors[i%len(colors)]
		fmt.Fprintf(&svg, `<text x="%d" y="40" fill="%s">%s</text>`+"\n", plotLeft+110*i, color, html.EscapeString(s.Name))
		fmt.Fprintf(&svg, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, color)
		for n := range s.X {
			x, y := scale.point(s.X[n], s.Y[n])
			fmt.Fprintf(&svg, "%.1f,%.1f ", x, y)
		}
		svg.WriteString("\"/>\n")
		for n := range s.X {
			x, y := scale.point(s.X[n], s.Y[n])
			fmt.Fprintf(&svg, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x, y, color)
		}
	}
	svg.WriteString("</svg>\n")
	return svg.Bytes()
}

// numbers returns the values of the horizontal axis.
func (c Chart) numbers() (all []float64) {
	for _, s := range c.Series {
		all = append(all, s.X...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// chartScale maps values to pixels. The vertical axis starts at 0.
type chartScale struct{ fromX, toX, toY float64 }

func (c Chart) scale() chartScale {
	s := chartScale{fromX: math.Inf(1), toX: 0, toY: 0}
	for _, series := range c.Series {
		for i := range series.X {
			s.fromX, s.toX, s.toY = min(s.fromX, series.X[i]), max(s.toX, series.X[i]), max(s.toY, series.Y[i])
		}
	}
	if s.toY == 0 {
		s.toY = 1
	}
	return s
}

func (s chartScale) point(x, y float64) (px, py float64) {
	share := 0.5
	if s.toX > s.fromX {
		share = math.Log(x/s.fromX) / math.Log(s.toX/s.fromX)
	}
	return plotLeft + share*(plotRight-plotLeft), plotBottom - y/s.toY*(plotBottom-plotTop)
}
