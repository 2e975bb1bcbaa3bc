// Command generate makes the voices and videos of the people of a conversation again, with
// flite, ffmpeg and Chromium. It runs in the folder people.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chromedp/chromedp"

	"standin/internal/replica"
)

const (
	rate = 15 // frames per second
	loop = 6  // seconds
)

// voices are flite's, made at Carnegie Mellon University.
var voices = map[string]string{replica.Ada: "slt", replica.Ben: "rms", replica.Callum: "awb"}

func main() {
	if err := generate(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func generate(ctx context.Context) error {
	whole := len(os.Args) == 1 // and not only the meeting of test keys
	for _, line := range replica.Conversation() {
		if !whole {
			break
		}
		if err := speak(ctx, line); err != nil {
			return fmt.Errorf("%s: %w", line.Name, err)
		}
	}
	page, err := filepath.Abs("faces.html")
	if err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.Flag("no-sandbox", os.Geteuid() == 0),
		chromedp.Flag("disable-background-networking", true))
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	defer stop()
	ctx, stop = chromedp.NewContext(ctx)
	defer stop()
	if _, err := chromedp.Run(ctx, chromedp.Navigate("file://"+page)); err != nil {
		return err
	}
	for _, person := range []string{"ada", "ben", "callum"} {
		for _, does := range []string{"talks", "listens"} {
			if !whole {
				continue
			}
			if err := film(ctx, person, does); err != nil {
				return fmt.Errorf("%s %s: %w", person, does, err)
			}
		}
	}
	return filmMeeting(ctx)
}

// speak synthesizes a line.
func speak(ctx context.Context, line replica.Line) error {
	text := strings.ReplaceAll(line.Text, "'", "’")
	shell := fmt.Sprintf("flite -voice %s --setf duration_stretch=1.06 -t '%s' -o line.wav && "+
		"ffmpeg -hide_banner -loglevel error -y -i line.wav -af highpass=f=70,speechnorm=e=4:r=0.0005,loudnorm=I=-20:TP=-3 "+
		"-ar 48000 -ac 1 -c:a libopus -b:a 24k -application voip -frame_duration 20 -page_duration 20000 %s.ogg; "+
		"status=$?; rm -f line.wav; exit $status",
		voices[line.From], text, line.Name)
	command := exec.CommandContext(ctx, "sh", "-c", shell)
	command.Stderr = os.Stderr
	return command.Run()
}

// film draws and encodes a loop of a person.
func film(ctx context.Context, person, does string) error {
	return encode(ctx, rate, rate*loop, func(i int) string {
		return fmt.Sprintf("frame(%q, %f, %t)", person, float64(i)/rate, does == "talks")
	}, "-i", "pipe:0", "-pix_fmt", "yuv420p", "-c:v", "libvpx", "-deadline", "best", "-b:v", "320k", "-crf", "18",
		"-qmax", "44", "-g", fmt.Sprint(rate), "-keyint_min", fmt.Sprint(rate), "-auto-alt-ref", "0", "-lag-in-frames", "0",
		"-error-resilient", "1",
		"-f", "ivf", person+"-"+does+".ivf")
}

// encode encodes pictures that expressions draw.
func encode(ctx context.Context, rate, count int, draw func(i int) string, arguments ...string) error {
	encode := exec.CommandContext(ctx, "ffmpeg", append([]string{
		"-hide_banner", "-loglevel", "error", "-y", "-f", "mjpeg", "-framerate", fmt.Sprint(rate),
	}, arguments...)...)
	encode.Stderr = os.Stderr
	pipe, err := encode.StdinPipe()
	if err != nil {
		return err
	}
	if err := encode.Start(); err != nil {
		return err
	}
	for i := range count {
		picture, err := chromedp.Run(ctx, chromedp.Evaluate[string](draw(i)))
		if err != nil {
			return err
		}
		if _, err := io.Copy(pipe, base64.NewDecoder(base64.StdEncoding, strings.NewReader(picture))); err != nil {
			return err
		}
	}
	if err := pipe.Close(); err != nil {
		return err
	}
	return encode.Wait()
}

// The meeting that test keys show repeats after a whole number of pictures and of AAC's frames.
const (
	meetingSeconds = 57.6
	meetingRate    = 10
	meetingGap     = 0.6 // seconds between two lines
	meetingFolder  = "../../launch/simulator/"
)

// turn is a line with its times.
type turn struct {
	Person  string `json:"person"`
	Name    string `json:"name"`
	StartMS int    `json:"startMs"`
	EndMS   int    `json:"endMs"`
	Text    string `json:"text"`
	Chat    string `json:"chat,omitempty"`

	slide int
	voice string // file
}

// filmMeeting makes the recording and the texts of the meeting that test keys show.
func filmMeeting(ctx context.Context) error {
	people := map[string]string{}
	for _, person := range replica.People() {
		people[person.Film] = person.Name
	}
	var turns []turn
	at, slide := 0.6, 0
	for _, line := range replica.Conversation() {
		seconds, err := exec.CommandContext(ctx, "ffprobe", "-v", "error",
			"-show_entries", "format=duration", "-of", "csv=p=0", line.Name+".ogg").Output()
		if err != nil {
			return err
		}
		length, err := strconv.ParseFloat(strings.TrimSpace(string(seconds)), 64)
		if err != nil {
			return err
		}
		if line.Slide != 0 {
			slide = line.Slide
		}
		person := strings.ToLower(strings.Fields(line.From)[0])
		turns = append(turns, turn{person, line.From, int(1000 * at), int(1000 * (at + length)), line.Text, line.Chat, slide, line.Name + ".ogg"})
		at += length + meetingGap
	}
	if at > meetingSeconds {
		return fmt.Errorf("the conversation takes %.1f s", at)
	}
	encoded, err := json.MarshalIndent(turns, "", "\t")
	if err == nil {
		err = os.WriteFile(meetingFolder+"meeting.json", append(encoded, '\n'), 0o600)
	}
	if err != nil {
		return err
	}
	slides, err := os.ReadFile("../pages/slides.js")
	if err != nil {
		return err
	}
	script := strings.NewReplacer("export ", "", "function people(", "function people2(", ": people)", ": people2)",
		"const width", "var width").Replace(string(slides))
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](script)); err != nil {
		return err
	}
	names, err := json.Marshal(people)
	if err != nil {
		return err
	}
	arguments, filter := []string{"-i", "pipe:0"}, ""
	for i, one := range turns {
		arguments = append(arguments, "-i", one.voice)
		filter += fmt.Sprintf("[%d:a]adelay=%d:all=1[v%d];", i+1, one.StartMS, i)
	}
	for i := range turns {
		filter += fmt.Sprintf("[v%d]", i)
	}
	filter += fmt.Sprintf("amix=inputs=%d:normalize=0,apad=whole_dur=%f,atrim=0:%f[sound]", len(turns), meetingSeconds, meetingSeconds)
	arguments = append(arguments, "-filter_complex", filter, "-map", "0:v", "-map", "[sound]",
		"-c:v", "libx264", "-preset", "veryslow", "-crf", "29", "-profile:v", "baseline", "-level", "3.0", "-pix_fmt", "yuv420p",
		"-g", fmt.Sprint(meetingRate*2), "-bsf:v", "filter_units=remove_types=6", "-c:a", "aac", "-b:a", "40k", "-ac", "1", "-ar", "48000",
		"-frames:a", fmt.Sprint(meetingSeconds*48000/1024), "-video_track_timescale", "48000", "-bitexact",
		"-map_metadata", "-1", "-movflags", "+empty_moov+default_base_moof", "-frag_duration", "400000", meetingFolder+"meeting.mp4")
	for i, one := range turns {
		still := fmt.Sprintf("meeting(%s, %f, %q, %q, %d)", names, float64(one.StartMS+one.EndMS)/2000, one.Person, one.Person, one.slide)
		encoded, err := chromedp.Run(ctx, chromedp.Evaluate[string](still))
		if err != nil {
			return err
		}
		picture, err := base64.StdEncoding.DecodeString(encoded)
		if err == nil {
			err = os.WriteFile(fmt.Sprintf("%spictures/%02d.jpg", meetingFolder, i+1), picture, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return encode(ctx, meetingRate, int(meetingSeconds*meetingRate), func(i int) string {
		now, large, speaker, slide := 1000*i/meetingRate, "ada", "", 0
		for _, one := range turns {
			if now >= one.StartMS {
				large, slide, speaker = one.Person, one.slide, ""
			}
			if now >= one.StartMS && now < one.EndMS {
				speaker = one.Person
			}
		}
		return fmt.Sprintf("meeting(%s, %f, %q, %q, %d)", names, float64(now)/1000, large, speaker, slide)
	}, arguments...)
}
