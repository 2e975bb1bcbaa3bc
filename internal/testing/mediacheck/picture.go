package mediacheck

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// gridWidth and gridHeight are to what the picture is reduced: enough to
	// tell a flashing tile from its surroundings.
	gridWidth  = 32
	gridHeight = 18
	gridCells  = gridWidth * gridHeight

	// smallestContrast is by how many of the 256 grey levels a flash must
	// stand out from the usual picture.
	smallestContrast = 40

	// flashingShare says which cells belong to the flashing part: those with
	// at least this share of the greatest contrast.
	flashingShare = 0.7

	// A flash begins above onLevel and ends below offLevel, as shares of the
	// way from the usual to the brightest picture.
	onLevel  = 0.5
	offLevel = 0.3

	// blackLevel is below which a cell is black. Video black is 16 of 255.
	blackLevel = 20
)

// picture is the decoded picture: the time of each frame, and its grey cells,
// row by row.
type picture struct {
	timesMs []float64
	cells   []byte // gridCells for each frame
}

// decodePicture decodes every frame with the timestamp it really has.
func decodePicture(ctx context.Context, file string) (picture, error) {
	// One run for the times and one for the cells: the decoder's standard
	// error stays free for errors. -vsync 0 neither drops nor doubles frames,
	// and setpts puts them a second apart, as raw frames carry no times.
	times, err := run(ctx, "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "frame=best_effort_timestamp_time",
		"-of", "csv=print_section=0", "--", file)
	if err != nil {
		return picture{}, err
	}
	cells, err := run(ctx, "ffmpeg", "-v", "error", "-nostdin", "-i", file, "-map", "0:v:0", "-vsync", "0",
		"-vf", fmt.Sprintf("scale=%d:%d:flags=area,format=gray,setpts=N/TB", gridWidth, gridHeight), "-f", "rawvideo", "-")
	if err != nil {
		return picture{}, err
	}
	decoded := picture{cells: cells}
	for line := range strings.Lines(string(times)) {
		text := strings.Trim(line, ", \r\n")
		if text == "" {
			continue
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return picture{}, fmt.Errorf("reading a frame's time: %w", err)
		}
		decoded.timesMs = append(decoded.timesMs, seconds*1000)
	}
	if len(decoded.timesMs)*gridCells != len(cells) {
		return picture{}, fmt.Errorf("%d frames have times but %d were decoded", len(decoded.timesMs), len(cells)/gridCells)
	}
	return decoded, nil
}

// describe fills in what the picture shows.
func (p picture) describe(report *Report) {
	report.Frames = len(p.timesMs)
	if report.Frames == 0 {
		return
	}
	report.VideoStartMs, report.VideoEndMs = p.timesMs[0], p.timesMs[report.Frames-1]
	for frame := 1; frame < report.Frames; frame++ {
		if stood := p.timesMs[frame] - p.timesMs[frame-1]; stood > report.LongestFrameGapMs {
			report.LongestFrameGapMs, report.LongestFrameAtMs = stood, p.timesMs[frame-1]
		}
	}
	report.FlashesMs = p.flashes()
	report.BlackBorders = p.borders()
}

// cell returns one cell's grey level in every frame.
func (p picture) cell(cell int) []byte {
	levels := make([]byte, len(p.timesMs))
	for frame := range levels {
		levels[frame] = p.cells[frame*gridCells+cell]
	}
	return levels
}

// flashes returns the times of the first bright frame of each flash. The
// flashing part of the picture is found first, as the cells that stand out most
// from their own usual level, so that a tile of the page will do.
func (p picture) flashes() []float64 {
	contrast := make([]float64, gridCells)
	usual := make([]float64, gridCells)
	greatest := 0.0
	for cell := range gridCells {
		levels := p.cell(cell)
		slices.Sort(levels)
		usual[cell] = float64(levels[len(levels)/2])
		// The brightest hundredth is left out, as a single frame may be odd.
		contrast[cell] = float64(levels[(len(levels)-1)*99/100]) - usual[cell]
		greatest = max(greatest, contrast[cell])
	}
	if greatest < smallestContrast {
		return nil
	}
	var onsets []float64
	flashing := false
	for frame, time := range p.timesMs {
		level, cells := 0.0, 0
		for cell := range gridCells {
			if contrast[cell] >= flashingShare*greatest {
				level += (float64(p.cells[frame*gridCells+cell]) - usual[cell]) / contrast[cell]
				cells++
			}
		}
		level /= float64(cells)
		switch {
		case !flashing && level > onLevel:
			flashing = true
			onsets = append(onsets, time)
		case flashing && level < offLevel:
			flashing = false
		}
	}
	return onsets
}

// borders reports whether two opposite edges are black in every frame.
func (p picture) borders() bool {
	black := func(cell int) bool { return slices.Max(p.cell(cell)) < blackLevel }
	top, bottom, left, right := true, true, true, true
	for column := range gridWidth {
		top = top && black(column)
		bottom = bottom && black((gridHeight-1)*gridWidth+column)
	}
	for row := range gridHeight {
		left = left && black(row*gridWidth)
		right = right && black(row*gridWidth+gridWidth-1)
	}
	return (top && bottom) || (left && right)
}
