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
			made, err := clip.record(length)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(made.open())
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(data); int64(len(data)) != made.Bytes || hex.EncodeToString(sum[:]) != made.SHA256 {
				t.Errorf("the file does not have the length and sum it is said to have")
			}
			want := max(length.Round(frameLength), frameLength)
			if made.DurationMs != want.Milliseconds() {
				t.Errorf("said to last %d ms, want %s", made.DurationMs, want)
			}
			file := filepath.Join(t.TempDir(), made.Name)
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			seen, err := mediacheck.Decode(t.Context(), file)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(seen.DurationMs-float64(made.DurationMs)) > 1 || seen.Width != made.Width || seen.Height != made.Height ||
				seen.VideoCodec != "h264" || seen.AudioCodec != "opus" || seen.Frames != int(want/frameLength) {
				t.Errorf("the file holds %+v", seen)
			}
			if math.Abs(seen.AudioEndMs-float64(made.DurationMs)) > 10 {
				t.Errorf("the sound ends at %.1f ms of %d", seen.AudioEndMs, made.DurationMs)
			}
			pairs := seen.Pairs()
			if len(pairs) != flashes {
				t.Errorf("%d flashes with their beeps, want %d: %v, %v", len(pairs), flashes, seen.FlashesMs, seen.BeepsMs)
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
