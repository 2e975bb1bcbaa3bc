package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"standin/client"
	"standin/internal/recording"
)

// author says and writes the texts of these tests.
const author = "Ada Quill"

// speak says a text and writes it to the chat. It waits until the live stream of the
// job has both, and the participants.
func (h *harness) speak(id, text string) {
	h.Helper()
	if _, err := h.meeting.AddCaption(author, text); err != nil {
		h.Fatal(err)
	}
	if err := h.meeting.Say(author, text); err != nil {
		h.Fatal(err)
	}
	service, err := client.New(h.base, h.key)
	if err != nil {
		h.Fatal(err)
	}
	missing := []string{"caption", "chat", "participants"}
	ctx, cancel := context.WithTimeout(h.Context(), awaitTimeout)
	defer cancel()
	for event, err := range service.Live(ctx, id, "") {
		if err != nil {
			h.Fatalf("without %v: %v", missing, err)
		}
		wanted := text
		if event.Name == "participants" {
			wanted = author
		}
		if strings.Contains(string(event.Data), wanted) {
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == event.Name })
		}
		if len(missing) == 0 {
			return
		}
	}
	h.Fatalf("the job ended without %v", missing)
}

// checkTexts checks that the manifest has each text once, as a caption and as a
// message, and that the captions are not in the picture.
func (h *harness) checkTexts(id string, want ...string) {
	h.Helper()
	manifest := h.manifest(id)
	for _, media := range manifest.Media {
		if media.Name != "chat.json" && media.Name != "captions.json" && media.Name != "captions.vtt" {
			continue
		}
		content, err := os.ReadFile(h.fetch(media))
		if err != nil {
			h.Fatal(err)
		}
		for _, text := range want {
			if count := strings.Count(string(content), text); count != 1 {
				h.Errorf("%s has %q %d times, want once: %s", media.Name, text, count, content)
			}
		}
		var texts recording.Texts
		if media.ContentType == "application/json" && (json.Unmarshal(content, &texts) != nil || len(texts.Texts) != len(want) ||
			slices.ContainsFunc(texts.Texts, func(t recording.Text) bool { return t.Author == nil || *t.Author != author || t.ParticipantID == nil })) {
			h.Errorf("%s: %s; want %q by %s", media.Name, content, want, author)
		}
	}
	for _, name := range []string{"chat.json", "captions.json", "captions.vtt"} {
		if !slices.ContainsFunc(manifest.Media, func(m recording.Media) bool { return m.Name == name }) {
			h.Errorf("the manifest has no %s", name)
		}
	}
	path := h.fetch(recordingFile(h.T, manifest))
	if white := leastWhite(h.T, path, h.picture, captionArea(h.picture)); white > 0.2 {
		h.Errorf("the area of the captions, whose background is white, is at least %.0f%% white in each frame", 100*white)
	}
}

// captionArea returns ffmpeg's crop of a part of the background of Meet's captions:
// they are 88 pixels above the bottom, and 120 pixels from both sides.
func captionArea(size picture) string {
	return fmt.Sprintf("crop=%d:20:130:%d", size.width-260, size.height-88-28)
}

// leastWhite returns the smallest share of white pixels in a part of the frames of
// the last five seconds. The meeting's video is white once a second.
func leastWhite(t *testing.T, path string, size picture, crop string) float64 {
	t.Helper()
	frames, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-sseof", "-5", "-i", path,
		"-map", "0:v:0", "-vf", crop+",format=gray", "-f", "rawvideo", "-").Output()
	if err != nil {
		t.Fatalf("decode %s: %v", path, err)
	}
	least := 1.0
	pixels := (size.width - 260) * 20
	if len(frames) < 10*pixels {
		t.Fatalf("%s has %d bytes of frames of %d bytes", path, len(frames), pixels)
	}
	for frame := range slices.Chunk(frames, pixels) {
		white := 0
		for _, pixel := range frame {
			if pixel >= 225 {
				white++
			}
		}
		least = min(least, float64(white)/float64(pixels))
	}
	return least
}
