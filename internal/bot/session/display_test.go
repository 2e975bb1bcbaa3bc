package session

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media/ivfwriter"

	"standin/internal/bot/ingest"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
	"standin/internal/replica"
	"standin/internal/testing/mediacheck"
)

// The colors that the bot shows.
var (
	shownRed    = color.RGBA{R: 200, A: 255}
	shownGreen  = color.RGBA{G: 160, A: 255}
	shownBlue   = color.RGBA{B: 200, A: 255}
	shownYellow = color.RGBA{R: 200, G: 200, A: 255}
)

// picture returns a JPEG image of a color.
func picture(shown color.Color) []byte {
	canvas := image.NewRGBA(image.Rect(0, 0, 320, 180))
	draw.Draw(canvas, canvas.Bounds(), image.NewUniform(shown), image.Point{}, draw.Src)
	var file bytes.Buffer
	if err := jpeg.Encode(&file, canvas, nil); err != nil {
		panic(err) // a buffer takes everything
	}
	return file.Bytes()
}

// show sends the bot a command with pictures and returns its ID.
func (h *harness) show(kind ingest.CommandKind, args ingest.PictureArgs, pictures ...[]byte) string {
	h.Helper()
	h.commands++
	id := fmt.Sprintf("picture-%d", h.commands)
	h.service.Set(func() { h.service.Sounds[id] = slices.Concat(pictures...) })
	h.service.QueueCommand(id, kind, args)
	return id
}

// awaitColor waits until the others see a color in the center of a guest's picture.
func (h *harness) awaitColor(what string, packets func(guest string) []replica.Packet, guest string, want color.RGBA) {
	h.Helper()
	ticker := time.NewTicker(500 * time.Millisecond) // decoding costs CPU time
	defer ticker.Stop()
	var got color.RGBA
	for {
		select {
		case <-ticker.C:
		case <-h.running.Done():
			h.Fatalf("%s: the last picture has the color %v, want %v", what, got, want)
		}
		if got = h.lastColor(packets(guest)); isNear(got, want) {
			return
		}
	}
}

// isNear reports whether two colors look alike.
func isNear(a, b color.RGBA) bool {
	const most = 40
	for _, difference := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
		if max(difference, -difference) > most {
			return false
		}
	}
	return true
}

// lastColor returns the color in the center of the last picture, or the zero color.
func (h *harness) lastColor(packets []replica.Packet) color.RGBA {
	h.Helper()
	if len(packets) == 0 {
		return color.RGBA{}
	}
	path := filepath.Join(h.TempDir(), "received.ivf")
	writer, err := ivfwriter.New(path, ivfwriter.WithCodec(webrtc.MimeTypeVP8))
	for i := 0; err == nil && i < len(packets); i++ {
		err = writer.WriteRTP(packets[i].Packet)
	}
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		h.Fatal(err)
	}
	colors, err := mediacheck.CenterColors(h.Context(), path)
	if err != nil || len(colors) == 0 {
		h.Logf("%d packets are %d pictures: %v", len(packets), len(colors), err) // the first may be incomplete
		return color.RGBA{}
	}
	return colors[len(colors)-1]
}

// TestPictures shows pictures in a meeting, as the camera and as the shared screen. They
// arrive at the others, and the devices are on only for them.
func TestPictures(t *testing.T) {
	t.Parallel()
	for _, platform := range platforms() {
		t.Run(string(platform), func(t *testing.T) {
			visit(t, platform, scenario{
				reason: report.ReasonHostEnded, configure: speaking,
				during: func(h *harness) {
					h.admitAndRecord(1)
					h.awaitGuest(1, replica.EventMediaConnected)
					image := ingest.PictureArgs{Show: ingest.ShowImage}
					first := h.show(ingest.SetCamera, image, picture(shownRed))
					h.awaitOutput(job.BotOutputStarted, first)
					h.awaitColor("the camera", h.meeting.Seen, "g1", shownRed)
					second := h.show(ingest.SetCamera, image, picture(shownYellow))
					h.awaitOutput(job.BotOutputFinished, first)
					h.awaitColor("the camera", h.meeting.Seen, "g1", shownYellow)

					shared := h.show(ingest.ShareScreen, image, picture(shownBlue))
					h.awaitOutput(job.BotOutputStarted, shared)
					h.awaitColor("the shared screen", h.meeting.Shared, "g1", shownBlue)
					h.show(ingest.ShareScreen, ingest.PictureArgs{Show: ingest.ShowNone})
					h.awaitOutput(job.BotOutputFinished, shared)
					h.awaitDevice(replica.EventSharing, "off", 1)
					h.show(ingest.SetCamera, ingest.PictureArgs{Show: ingest.ShowNone})
					h.awaitOutput(job.BotOutputFinished, second)
					h.awaitDevice(replica.EventCamera, "off", 2) // before the bot joined, and now
					h.meeting.End()
				},
			})
		})
	}
}

// awaitDevice waits until a device of the first guest was turned on or off that many times.
func (h *harness) awaitDevice(kind replica.EventKind, state string, times int) {
	h.Helper()
	h.awaitMeeting(fmt.Sprintf("%s %s", kind, state), func(e replica.Event) bool {
		if e.Kind == kind && e.Text == state {
			times--
		}
		return times == 0
	})
}

// TestMorePictures shows a web page and a video. A host that turns the camera off ends what
// it shows, and the bot does not turn it on again.
func TestMorePictures(t *testing.T) {
	cookies := make(chan string, 100) // of the visits
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			cookies <- r.Header.Get("Cookie")
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><body style="background: rgb(0, 160, 0)"><script>document.cookie = "own=1"</script>`)
		}
	}))
	t.Cleanup(page.Close)
	visit(t, job.Meet, scenario{
		reason: report.ReasonHostEnded,
		configure: func(s *Settings) {
			speaking(s)
			s.AllowedHosts = append(s.AllowedHosts, strings.TrimPrefix(page.URL, "http://"))
		},
		during: func(h *harness) {
			h.admitAndRecord(1)
			h.awaitGuest(1, replica.EventMediaConnected)
			shown := h.show(ingest.SetCamera, ingest.PictureArgs{Show: ingest.ShowPage, URI: page.URL})
			h.awaitOutput(job.BotOutputStarted, shown)
			h.awaitColor("a page", h.meeting.Seen, "g1", shownGreen)
			// not allowed
			h.awaitEnd(h.show(ingest.ShareScreen, ingest.PictureArgs{Show: ingest.ShowPage, URI: "http://127.0.0.1:9/"}), ingest.OutputUnavailable)
			video := h.show(ingest.SetCamera, ingest.PictureArgs{Show: ingest.ShowVideo}, slices.Repeat([][]byte{
				picture(shownRed), picture(shownBlue),
			}, 5)...)
			h.awaitOutput(job.BotOutputFinished, shown)
			h.awaitOutput(job.BotOutputFinished, video)
			h.awaitColor("the last picture of a video", h.meeting.Seen, "g1", shownBlue)
			last := h.show(ingest.SetCamera, ingest.PictureArgs{Show: ingest.ShowImage}, picture(shownRed))
			h.awaitOutput(job.BotOutputStarted, last)
			h.awaitColor("an image", h.meeting.Seen, "g1", shownRed)
			h.meeting.HideGuests()
			h.awaitEnd(last, ingest.StoppedByHost)
			h.meeting.End()
		},
		check: func(h *harness) {
			if h.meeting.Guests()[0].Camera {
				h.Error("the camera was turned on against the host")
			}
			if cookie := <-cookies; cookie != "" {
				h.Errorf("the page got the cookie %q", cookie)
			}
		},
	})
}

// TestOwnOutput plays and shows what the job's options say, from the start and after the
// bot was out of the meeting.
func TestOwnOutput(t *testing.T) {
	visit(t, job.Meet, scenario{
		reason: report.ReasonHostEnded,
		configure: func(s *Settings) {
			speaking(s)
			s.Recording.OutputOptions = &job.OutputOptions{
				OnJoin: &job.OutputOnJoin{Text: "Hello"}, ReplayOnJoin: true, Camera: &job.CameraOptions{
					Image: &job.OutputURI{URI: "https://example.com/"},
				},
			}
		},
		during: func(h *harness) {
			h.service.Set(func() {
				h.service.Sounds[ingest.OnJoinOutput], h.service.Sounds[ingest.CameraOutput] = beeping(2), picture(shownGreen)
			})
			h.admitAndRecord(1)
			h.awaitOwn(job.BotOutputStarted, ingest.OutputCamera, 1)
			h.awaitOwn(job.BotOutputFinished, ingest.OutputOnJoin, 1)
			h.awaitColor("the camera", h.meeting.Seen, "g1", shownGreen)
			if h.meeting.Reload() != 1 {
				h.Error("the page was not reloaded")
			}
			h.awaitLobby(2)
			h.meeting.Admit()
			h.awaitOwn(job.BotOutputStarted, ingest.OutputCamera, 2)
			h.awaitOwn(job.BotOutputFinished, ingest.OutputOnJoin, 2)
			h.meeting.End()
		},
	})
}

// awaitOwn waits for an event of the bot's own output, for the n-th time.
func (h *harness) awaitOwn(kind job.Trigger, command string, n int) {
	h.Helper()
	h.matchingEvent(kind, n, func(e ingest.Event) bool { return ingest.ParseEventData(e.Data).Command == command })
}
