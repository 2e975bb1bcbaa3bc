package mediacheck

import (
	"context"
	"fmt"
	"image/color"
	"slices"
	"strings"
)

const (
	// Frames are scaled to this grid, which is enough to detect a flashing tile.
	gridWidth  = 32
	gridHeight = 18
	gridCells  = gridWidth * gridHeight

	// minContrast is the minimum difference, of 256 gray levels, between a flash and
	// the median of a cell.
	minContrast = 40

	// Cells with at least this share of the maximum contrast are part of the flashing
	// area.
	flashingShare = 0.7

	// A flash starts above onLevel and ends below offLevel, where 0 is the median and
	// 1 the maximum.
	onLevel  = 0.5
	offLevel = 0.3

	// A cell below blackLevel is black. Video black is 16 of 255.
	blackLevel = 20
)

// video is a decoded video: the time of each frame and its gray cells, row by row.
type video struct {
	timesMs []float64
	cells   []byte // gridCells for each frame
}

// cellsFilter scales frames to the grid.
var cellsFilter = fmt.Sprintf("[0:v:0]scale=%d:%d:flags=area,format=gray,split[timed][frames];[frames]setpts=N/TB[cells]", gridWidth,
	gridHeight)

// parseVideo returns the frames of an output of ffmpeg: their timestamps in the format
// framecrc, and their cells.
func parseVideo(times string, cells []byte) (video, error) {
	decoded := video{cells: cells}
	unit := 0.0 // milliseconds
	for row := range strings.Lines(times) {
		var numerator, denominator float64
		if _, err := fmt.Sscanf(row, "#tb 0: %g/%g", &numerator, &denominator); err == nil {
			unit = 1000 * numerator / denominator
		}
		if strings.HasPrefix(row, "#") {
			continue
		}
		var stream int
		var decodeTime, time float64
		if _, err := fmt.Sscanf(row, "%d, %g, %g,", &stream, &decodeTime, &time); err != nil {
			return video{}, fmt.Errorf("parse the time of a frame: %w", err)
		}
		decoded.timesMs = append(decoded.timesMs, time*unit)
	}
	if len(decoded.timesMs)*gridCells != len(cells) {
		return video{}, fmt.Errorf("%d frames have times but %d were decoded", len(decoded.timesMs), len(cells)/gridCells)
	}
	return decoded, nil
}

// describe sets the video fields of the report.
func (v video) describe(report *Report) {
	report.Frames = len(v.timesMs)
	if report.Frames == 0 {
		return
	}
	report.VideoStartMs, report.VideoEndMs = v.timesMs[0], v.timesMs[report.Frames-1]
	for frame := 1; frame < report.Frames; frame++ {
		if gap := v.timesMs[frame] - v.timesMs[frame-1]; gap > report.LongestFrameGapMs {
			report.LongestFrameGapMs, report.LongestFrameAtMs = gap, v.timesMs[frame-1]
		}
	}
	report.FlashesMs = v.flashes(0, gridWidth)
	report.BlackBorders = v.borders()
}

// cell returns the gray level of a cell in all frames.
func (v video) cell(cell int) []byte {
	levels := make([]byte, len(v.timesMs))
	for frame := range levels {
		levels[frame] = v.cells[frame*gridCells+cell]
	}
	return levels
}

// FlashesByColumn divides the video into columns of equal width and returns the
// onsets of the flashes in each.
func FlashesByColumn(ctx context.Context, file string, columns int) ([][]float64, error) {
	decoded, err := decodeStreams(ctx, file, true, false)
	if err != nil {
		return nil, err
	}
	flashes := make([][]float64, columns)
	for i := range columns {
		flashes[i] = decoded.video.flashes(i*gridWidth/columns, (i+1)*gridWidth/columns)
	}
	return flashes, nil
}

// FrameTimes returns the times of all frames of a video in milliseconds.
func FrameTimes(ctx context.Context, file string) ([]float64, error) {
	decoded, err := decodeStreams(ctx, file, true, false)
	return decoded.video.timesMs, err
}

// flashes returns the time of the first bright frame of each flash between two
// columns of cells. The flashing area, which may be one tile of the page, consists
// of the cells that differ most from their median.
func (v video) flashes(from, to int) []float64 {
	contrast := make([]float64, gridCells)
	median := make([]float64, gridCells)
	maxContrast := 0.0
	for cell := range gridCells {
		if column := cell % gridWidth; column < from || column >= to {
			continue
		}
		levels := v.cell(cell)
		slices.Sort(levels)
		median[cell] = float64(levels[len(levels)/2])
		// The brightest percent is ignored.
		contrast[cell] = float64(levels[(len(levels)-1)*99/100]) - median[cell]
		maxContrast = max(maxContrast, contrast[cell])
	}
	if maxContrast < minContrast {
		return nil
	}
	var onsets []float64
	flashing := false
	for frame, time := range v.timesMs {
		level, cells := 0.0, 0
		for cell := range gridCells {
			if contrast[cell] >= flashingShare*maxContrast {
				level += (float64(v.cells[frame*gridCells+cell]) - median[cell]) / contrast[cell]
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
func (v video) borders() bool {
	black := func(cell int) bool { return slices.Max(v.cell(cell)) < blackLevel }
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

// CenterColors returns the color in the center of each frame of a video, which may have been
// received incompletely.
func CenterColors(ctx context.Context, file string) ([]color.RGBA, error) {
	const filter = "scale=64:36:flags=area,crop=8:4,scale=1:1:flags=area,format=rgb24"
	pixels, err := run(ctx, "ffmpeg", "-v", "fatal", "-nostdin", "-threads", "1", "-reinit_filter", "0", "-i", file,
		"-map", "0:v:0", "-vf", filter, "-vsync", "0", "-f", "rawvideo", "-")
	if err != nil {
		return nil, err
	}
	var colors []color.RGBA
	for pixel := range slices.Chunk(pixels, 3) {
		colors = append(colors, color.RGBA{R: pixel[0], G: pixel[1], B: pixel[2], A: 255})
	}
	return colors, nil
}

// Pictures returns pictures of a video, as many per second, in a small size: the red, green and blue of each pixel.
func Pictures(ctx context.Context, file string, perSecond, width, height int) ([][]byte, error) {
	filter := fmt.Sprintf("fps=%d,scale=%d:%d:flags=area,format=rgb24", perSecond, width, height)
	pixels, err := run(ctx, "ffmpeg", "-v", "fatal", "-nostdin", "-threads", "1", "-i", file, "-map", "0:v:0", "-vf", filter,
		"-f", "rawvideo", "-")
	return slices.Collect(slices.Chunk(pixels, 3*width*height)), err
}
