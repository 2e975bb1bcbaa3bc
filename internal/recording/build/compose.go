package build

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// maxSources limits the videos and names in a composed picture, which are all decoded at a time.
const maxSources = 100

// Composition is how the picture of a recording is composed of the videos of its participants.
type Composition struct {
	Layout          job.Layout // job.LayoutPage, which only the page has, is job.LayoutSpeaker
	Width, Height   int
	FramesPerSecond int
	BitRate         int // bits per second of the video
}

// Composable returns the mixed sound of a recording to which a picture can be composed, and the name of the result; false if
// there is none.
func Composable(m recording.Manifest) (sound recording.Media, name string, ok bool) {
	index := func(kinds ...recording.MediaKind) int {
		return slices.IndexFunc(m.Media, func(file recording.Media) bool { return slices.Contains(kinds, file.Kind) })
	}
	at := index(recording.Audio)
	if at < 0 || index(recording.ParticipantVideo, recording.ScreenShare) < 0 {
		return sound, "", false
	}
	sound = m.Media[at]
	return sound, strings.TrimSuffix(sound.Name, ".m4a") + ".mp4", true
}

// composedInput is what a composed picture shows of a participant: a video, or his name.
type composedInput struct {
	participant, file string
	branches          []*branch
}

// branch is an input in one size.
type branch struct {
	place
	shown []*place // by scene; nil where it is not shown
}

// expression returns a function of the time t: the value of each scene, or the one before if it has none.
func (b *branch) expression(all []scene, fromMs int64, value func(*place) (int, bool)) string {
	var until []int64
	var values []int
	for i, p := range b.shown {
		v, ok := value(p)
		if last := len(values) - 1; last >= 0 && (!ok || values[last] == v) {
			until[last] = all[i].toMs
		} else {
			until, values = append(until, all[i].toMs), append(values, v)
		}
	}
	var between func(first, last int) string // by bisection, because meetings may have thousands of scenes
	between = func(first, last int) string {
		if first == last {
			return strconv.Itoa(values[first])
		}
		middle := (first + last) / 2
		return fmt.Sprintf("if(lt(t,%s),%s,%s)", milliseconds(until[middle]-fromMs), between(first, middle), between(middle+1, last))
	}
	return between(0, len(values)-1)
}

// Compose writes the picture of a recording with its mixed sound, as name into folder, which has the sound and the videos
// of participants. One pass of ffmpeg decodes each video once, because key frames are rare in them.
func (t Tools) Compose(ctx context.Context, m recording.Manifest, sound recording.Media, c Composition, folder, name string) (
	file recording.File, err error,
) {
	from := sound.StartOffsetMs
	to, pauses := from+sound.DurationMs, []recording.Gap{}
	for _, gap := range m.Gaps {
		if gap.Requested() && gap.StartMs >= from && gap.StartMs < to {
			pauses, to = append(pauses, gap), to+gap.EndMs-gap.StartMs
		}
	}
	var sources []*composedInput
	all := scenes(m, from, to, c.Layout, c.Width, c.Height)
	for i, s := range all {
		for _, p := range s.places {
			at := slices.IndexFunc(sources, func(o *composedInput) bool {
				return o.file == p.file && (p.file != "" || o.participant == p.participant)
			})
			if at < 0 && len(sources) < maxSources {
				at, sources = len(sources), append(sources, &composedInput{participant: p.participant, file: p.file})
			}
			if at < 0 {
				continue
			}
			shown := sources[at]
			size := slices.IndexFunc(shown.branches, func(b *branch) bool {
				return b.width == p.width && b.height == p.height && b.whole == p.whole
			})
			if size < 0 {
				size, shown.branches = len(shown.branches), append(shown.branches, &branch{p, make([]*place, len(all))})
			}
			shown.branches[size].shown[i] = &p
		}
	}
	length := time.Duration(to-from) * time.Millisecond
	arguments := []string{
		"-nostdin", "-v", "error", "-y", "-filter_complex_threads", "1", "-f", "lavfi",
		"-i", fmt.Sprintf("color=black:s=%dx%d:r=%d:d=%s", c.Width, c.Height, c.FramesPerSecond, seconds(length)),
		"-format_whitelist", allowedFormats, "-i", filepath.Join(folder, sound.Name),
	}
	var graph strings.Builder
	last := "0:v"
	for i, shown := range sources {
		offset := int64(0)
		if shown.file == "" {
			path := filepath.Join(folder, fmt.Sprintf("name-%03d.png", i))
			if err := drawName(path, participantName(m, shown.participant)); err != nil {
				return file, err
			}
			arguments = append(arguments, "-f", "image2", "-loop", "1", "-framerate", "1", "-t", seconds(length), "-i", path)
		} else {
			at := slices.IndexFunc(m.Media, func(file recording.Media) bool { return file.Name == shown.file })
			offset = m.Media[at].StartOffsetMs - from
			// A video may change its size; the filters scale each picture.
			arguments = append(arguments, "-reinit_filter", "0", "-threads", "1", "-format_whitelist", allowedFormats,
				"-i", filepath.Join(folder, shown.file))
		}
		fmt.Fprintf(&graph, "[%d:v:0]setpts=PTS+%s/TB,split=%d", i+2, milliseconds(offset), len(shown.branches))
		for j := range shown.branches {
			fmt.Fprintf(&graph, "[s%d.%d]", i, j)
		}
		graph.WriteString(";\n")
		for j, b := range shown.branches {
			fit, crop := "increase", fmt.Sprintf(",crop=%d:%d", b.width, b.height)
			if b.whole {
				fit, crop = "decrease", ""
			}
			fmt.Fprintf(&graph, "[s%d.%d]scale=%d:%d:force_original_aspect_ratio=%s:flags=fast_bilinear%s,format=yuv420p[b%d.%d];\n",
				i, j, b.width, b.height, fit, crop, i, j)
			on := b.expression(all, from, func(p *place) (int, bool) {
				if p == nil {
					return 0, true
				}
				return 1, true
			})
			x := b.expression(all, from, func(p *place) (int, bool) { return cmp.Or(p, &place{}).x, p != nil })
			y := b.expression(all, from, func(p *place) (int, bool) { return cmp.Or(p, &place{}).y, p != nil })
			fmt.Fprintf(&graph, "[%s][b%d.%d]overlay=x='%s+(%d-overlay_w)/2':y='%s+(%d-overlay_h)/2':enable='%s'[o%d.%d];\n",
				last, i, j, x, b.width, y, b.height, on, i, j)
			last = fmt.Sprintf("o%d.%d", i, j)
		}
	}
	fmt.Fprintf(&graph, "[%s]", last)
	if len(pauses) > 0 {
		var during, before []string
		for _, p := range pauses {
			start, end := milliseconds(p.StartMs-from), milliseconds(p.EndMs-from)
			during = append(during, fmt.Sprintf("gte(t,%s)*lt(t,%s)", start, end))
			before = append(before, fmt.Sprintf("gte(T,%s)*%s", end, milliseconds(p.EndMs-p.StartMs)))
		}
		fmt.Fprintf(&graph, "select='not(%s)',setpts='PTS-(%s)/TB',", strings.Join(during, "+"), strings.Join(before, "+"))
	}
	fmt.Fprintf(&graph, "fps=%d,format=yuv420p[picture]", c.FramesPerSecond)
	script, path := filepath.Join(folder, "picture.txt"), filepath.Join(folder, name)
	if err := os.WriteFile(script, []byte(graph.String()), 0o600); err != nil {
		return file, err
	}
	arguments = append(arguments, "-filter_complex_script", script, "-map", "[picture]", "-map", "1:a:0", "-map_metadata", "-1",
		"-c:a", "copy", "-c:v", "libx264", "-preset", "superfast", "-crf", "26", "-maxrate", strconv.Itoa(2*c.BitRate), "-bufsize",
		strconv.Itoa(4*c.BitRate), "-g", strconv.Itoa(4*c.FramesPerSecond), "-threads", "1", "-movflags", "+faststart", "-f", "mp4", path)
	limits := toolLimits{
		Time: 5*time.Minute + 2*length, Memory: 4 << 30, Nice: true,
		FileSize: 64<<20 + sound.Bytes + int64(length/time.Second)*int64(c.BitRate)/2,
	}
	if _, err := runTool(ctx, limits, t.FFmpeg, arguments...); err != nil {
		return file, err
	}
	media, err := t.probeFile(ctx, path)
	if err != nil {
		return file, err
	}
	file, err = describe(path, name, media)
	file.StartOffsetMs = sound.StartOffsetMs
	return file, err
}

func participantName(m recording.Manifest, id string) string {
	for _, p := range m.Participants {
		if p.ID == id {
			return p.Name
		}
	}
	return ""
}

// milliseconds returns a number of milliseconds in seconds.
func milliseconds(ms int64) string { return seconds(time.Duration(ms) * time.Millisecond) }
