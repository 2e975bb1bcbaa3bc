package replica

import (
	"encoding/binary"
	"testing"
)

// TestVoice checks that a voice is audible, and ends with a pause.
func TestVoice(t *testing.T) {
	t.Parallel()
	pcm, err := Voice(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	loudest := func(pcm []byte) (loudest int16) {
		for ; len(pcm) >= 2; pcm = pcm[2:] {
			loudest = max(loudest, int16(binary.LittleEndian.Uint16(pcm))) //nolint:gosec // two's complement
		}
		return loudest
	}
	const second = 2 * sampleRate
	if len(pcm) < 3*second || loudest(pcm[:len(pcm)-second]) < 3000 || loudest(pcm[len(pcm)-second:]) > 10 {
		t.Errorf("%d bytes, of which the loudest sample is %d, and %d in the last second", len(pcm), loudest(pcm), loudest(pcm[len(pcm)-second:]))
	}
}
