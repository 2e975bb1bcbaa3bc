package replica

import (
	"math"
	"time"
)

// The size of a frame, in whose coordinates scenes are drawn.
const (
	pictureWidth  = 1280
	pictureHeight = 720
)

// paint is a color in the limited range of BT.601, which VP8 uses.
type paint struct{ luma, blue, red byte }

func paintOf(rgb uint32) paint {
	r, g, b := float64(rgb>>16&0xff)/255, float64(rgb>>8&0xff)/255, float64(rgb&0xff)/255
	luma := 0.299*r + 0.587*g + 0.114*b
	return paint{
		luma: byte(math.Round(16 + 219*luma)),
		blue: byte(math.Round(128 + 224*(b-luma)/1.772)),
		red:  byte(math.Round(128 + 224*(r-luma)/1.402)),
	}
}

func (p paint) toward(q paint, share float64) paint {
	mix := func(a, b byte) byte { return byte(math.Round(float64(a)*(1-share) + float64(b)*share)) }
	return paint{mix(p.luma, q.luma), mix(p.blue, q.blue), mix(p.red, q.red)}
}

// canvas is a frame in planar YUV 4:2:0.
type canvas struct {
	width, height int
	scale         float64 // pixels per unit of a scene
	planes        []byte
}

func newCanvas(width, height int) canvas {
	return canvas{width: width, height: height, scale: float64(width) / pictureWidth, planes: make([]byte, width*height*3/2)}
}

// row paints a horizontal line of pixels. Fractional ends are antialiased.
func (c canvas) row(y int, left, right float64, p paint) {
	left, right = max(left, 0), min(right, float64(c.width))
	if y < 0 || y >= c.height || right <= left {
		return
	}
	first, last := int(math.Ceil(left)), int(math.Floor(right))
	luma := c.planes[y*c.width : (y+1)*c.width]
	fill(luma, first, last, p.luma)
	soften := func(x int, share float64) {
		if x >= 0 && x < c.width {
			luma[x] = byte(float64(luma[x])*(1-share) + float64(p.luma)*share)
		}
	}
	soften(first-1, float64(first)-left)
	soften(last, right-float64(last))
	if y%2 != 0 {
		return
	}
	size, start := c.width*c.height, y/2*c.width/2
	fill(c.planes[size+start:], first/2, last/2, p.blue)
	fill(c.planes[size+size/4+start:], first/2, last/2, p.red)
}

// fill sets the bytes from first to before last. It copies them, which takes much less
// CPU time than a loop, above all with the race detector.
func fill(plane []byte, first, last int, value byte) {
	if first >= last {
		return
	}
	plane = plane[first:last]
	plane[0] = value
	for done := 1; done < len(plane); done *= 2 {
		copy(plane[done:], plane[:done])
	}
}

func (c canvas) rectangle(left, top, width, height float64, p paint) {
	for y := int(top * c.scale); y < int((top+height)*c.scale); y++ {
		c.row(y, left*c.scale, (left+width)*c.scale, p)
	}
}

func (c canvas) ellipse(centerX, centerY, radiusX, radiusY float64, p paint) {
	centerX, centerY, radiusX, radiusY = centerX*c.scale, centerY*c.scale, radiusX*c.scale, radiusY*c.scale
	for y := int(centerY - radiusY); y <= int(centerY+radiusY); y++ {
		offset := (float64(y) - centerY) / radiusY
		if half := radiusX * math.Sqrt(max(0, 1-offset*offset)); half > 0 {
			c.row(y, centerX-half, centerX+half, p)
		}
	}
}

// scene is the video of a source: a moving and speaking figure in front of a moving
// background, with the second of the loop.
type scene struct {
	top, bottom, drift, body, face uint32 // colors, 0xRRGGBB
	flashes                        bool
}

// draw draws the frame at a time of the loop. The period of every motion divides the
// loop, so that the loop is seamless.
func (s scene) draw(c canvas, at, loop time.Duration, loudness float64) {
	white := paintOf(0xffffff)
	if s.flashes && at%time.Second < flashLength {
		c.rectangle(0, 0, pictureWidth, pictureHeight, white)
		return
	}
	next := 2 * math.Pi * at.Seconds() / loop.Seconds()
	s.background(c, next)
	s.figure(c, next, loudness)
	s.meter(c, at, loudness)
	s.second(c, int(at/time.Second))
	c.rectangle(0, pictureHeight-8, pictureWidth*float64(at%time.Second)/float64(time.Second), 8, white)
}

func (s scene) background(c canvas, next float64) {
	top, bottom := paintOf(s.top), paintOf(s.bottom)
	for y := range c.height {
		c.row(y, 0, float64(c.width), top.toward(bottom, float64(y)/float64(c.height)))
	}
	for i := range 7 {
		position := float64(i)
		x := pictureWidth * (0.5 + 0.47*math.Sin(next+position*1.9))
		y := pictureHeight * (0.45 + 0.4*math.Cos(next*float64(1+i%2)+position*2.3))
		near := top.toward(bottom, min(1, max(0, y/pictureHeight)))
		radius := 60 + 18*position
		c.ellipse(x, y, radius, radius, near.toward(paintOf(s.drift), 0.25+0.05*position))
	}
}

func (s scene) figure(c canvas, next, loudness float64) {
	x := pictureWidth/2 + 34*math.Sin(2*next)
	y := 300 + 10*math.Sin(5*next) - 8*loudness
	body, face, dark := paintOf(s.body), paintOf(s.face), paintOf(s.bottom)
	c.ellipse(x-8*math.Sin(2*next), 760, 330, 270, body)
	c.rectangle(x-48, y+90, 96, 120, face.toward(dark, 0.2))
	c.ellipse(x, y, 128, 160, face)
	for _, side := range []float64{-1, 1} {
		c.ellipse(x+side*48, y-28, 13, 15, dark)
	}
	c.ellipse(x, y+72, 40, 5+24*loudness, dark)
}

// meter draws the loudness as bars.
func (s scene) meter(c canvas, at time.Duration, loudness float64) {
	bar := paintOf(0xffffff)
	for i := range 7 {
		wobble := 0.55 + 0.45*math.Sin(float64(i)*1.7+2*math.Pi*3*at.Seconds())
		height := math.Round(10 + 110*loudness*wobble)
		c.rectangle(float64(215+i*22), 590-height, 12, height, bar)
	}
}

// segments are the lit segments of a seven-segment display for each digit: top, upper
// left, upper right, middle, lower left, lower right, bottom.
var segments = [10][7]bool{
	{true, true, true, false, true, true, true},
	{false, false, true, false, false, true, false},
	{true, false, true, true, true, false, true},
	{true, false, true, true, false, true, true},
	{false, true, true, true, false, true, false},
	{true, true, false, true, false, true, true},
	{true, true, false, true, true, true, true},
	{true, false, true, false, false, true, false},
	{true, true, true, true, true, true, true},
	{true, true, true, true, false, true, true},
}

func (s scene) second(c canvas, second int) {
	// Far enough from the edges to be visible in a cropped tile.
	const left, top, wide, tall, thick = 990, 150, 70, 60, 14
	bars := [7][4]float64{
		{left, top, wide, thick},
		{left, top, thick, tall + thick}, {left + wide - thick, top, thick, tall + thick},
		{left, top + tall, wide, thick},
		{left, top + tall, thick, tall + thick}, {left + wide - thick, top + tall, thick, tall + thick},
		{left, top + 2*tall, wide, thick},
	}
	for i, lit := range segments[second%10] {
		if lit {
			c.rectangle(bars[i][0], bars[i][1], bars[i][2], bars[i][3], paintOf(0xffffff))
		}
	}
}
