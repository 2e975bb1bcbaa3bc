package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"standin/internal/testing/mediacheck"
)

// A recording of any duration decodes without errors, has its stated duration,
// and flashes and beeps once a second at the same time.
func TestRecordingsDecode(t *testing.T) {
	t.Parallel()
	if err := mediacheck.Available(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	clip, err := newClip()
	if err != nil {
		t.Fatal(err)
	}
	for length, flashes := range map[time.Duration]int{
		0:                        0, // one frame
		700 * time.Millisecond:   1,
		time.Second:              1,
		2 * time.Second:          2,
		12340 * time.Millisecond: 12,
		61900 * time.Millisecond: 62,
	} {
		t.Run(length.String(), func(t *testing.T) {
			t.Parallel()
			media, err := clip.record(length)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(media.open())
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(data); int64(len(data)) != media.Bytes || hex.EncodeToString(sum[:]) != media.SHA256 {
				t.Errorf("the file does not have its described size and sum")
			}
			want := max(length.Round(frameLength), frameLength)
			if media.DurationMs != want.Milliseconds() {
				t.Errorf("the duration is %d ms, want %s", media.DurationMs, want)
			}
			file := filepath.Join(t.TempDir(), media.Name)
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			decoded, err := mediacheck.Decode(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(decoded.DurationMs-float64(media.DurationMs)) > 1 || decoded.Width != media.Width || decoded.Height != media.Height ||
				decoded.VideoCodec != "h264" || decoded.AudioCodec != "opus" || decoded.Frames != int(want/frameLength) {
				t.Errorf("the file contains %+v", decoded)
			}
			if math.Abs(decoded.AudioEndMs-float64(media.DurationMs)) > 10 {
				t.Errorf("the audio ends at %.1f ms of %d", decoded.AudioEndMs, media.DurationMs)
			}
			pairs := decoded.Pairs()
			if len(pairs) != flashes {
				t.Errorf("%d flashes with their beeps, want %d: %v, %v", len(pairs), flashes, decoded.FlashesMs, decoded.BeepsMs)
			}
			for _, pair := range pairs {
				if math.Abs(pair.DifferenceMs()) > 15 {
					t.Errorf("a beep comes %.1f ms after its flash", pair.DifferenceMs())
				}
			}
		})
	}
}

func TestParseDamagedLoop(t *testing.T) {
	t.Parallel()
	for cut := 0; cut < len(soundMP4); cut += 7 {
		if _, err := parseLoop(soundMP4[:cut], packetsPerSecond); err == nil {
			t.Errorf("a file cut off at %d of %d bytes is taken", cut, len(soundMP4))
		}
	}
	if _, err := parseLoop(soundMP4, packetsPerSecond+10); err == nil {
		t.Error("there are more samples than the file holds")
	}
}
