package recording

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// minCue is the shortest time that a cue is shown.
const minCue = 500 * time.Millisecond

// Cue is what is said in a part of the recording.
type Cue struct {
	StartMs, EndMs int64
	Speaker        string // empty if unknown
	Text           string
}

// WebVTT returns cues as WebVTT (https://www.w3.org/TR/webvtt1/). Its times are positions
// in the recorded video, which has no gaps.
func WebVTT(cues []Cue, gaps []Gap) []byte {
	var vtt bytes.Buffer
	vtt.WriteString("WEBVTT\n")
	for _, cue := range cues {
		from := MediaPosition(cue.StartMs, gaps)
		to := max(MediaPosition(cue.EndMs, gaps), from+minCue)
		fmt.Fprintf(&vtt, "\n%s --> %s\n", vttTime(from), vttTime(to))
		if speaker := escapeVTT(cue.Speaker); speaker != "" {
			if strings.HasSuffix(speaker, "--") {
				speaker += " " // players remove the space; "-->" is reserved for times
			}
			fmt.Fprintf(&vtt, "<v %s>", speaker)
		}
		vtt.WriteString(escapeVTT(cue.Text) + "\n")
	}
	return vtt.Bytes()
}

func vttTime(at time.Duration) string {
	return fmt.Sprintf("%02d:%02d:%02d.%03d", int(at.Hours()), int(at.Minutes())%60, int(at.Seconds())%60, at.Milliseconds()%1000)
}

var vttEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escapeVTT returns a text for one line of a cue. Control characters are spaces.
func escapeVTT(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	return vttEscapes.Replace(strings.Join(strings.Fields(text), " "))
}
