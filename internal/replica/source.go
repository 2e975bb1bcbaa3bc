package replica

import "time"

// loopLength is a multiple of a second, a frame and an audio packet, so that the loop
// is seamless and beeps are at full seconds.
const loopLength = 10 * time.Second

// mediaVersion is part of the folder name of prepared media. Change it when the
// content of a source changes.
const mediaVersion = "replica-3"

// sourceDesign describes the audio and video of a source.
type sourceDesign struct {
	name  string
	scene scene
	voice voice
}

func seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }

// designs returns the three sources, which speak in turn. The first one beeps and
// flashes. The last 0.2 seconds of the loop are silent.
func designs() []sourceDesign {
	return []sourceDesign{
		{
			name:  "beeping",
			scene: scene{top: 0x16324f, bottom: 0x0b1a2b, drift: 0x2f6690, body: 0x3d7ea6, face: 0xd9a679, flashes: true},
			voice: voice{seed: 1, pitch: 118, beeps: true, phrases: []Span{
				{seconds(0.3), seconds(1.9)}, {seconds(2.2), seconds(3.4)},
			}},
		},
		{
			name:  "second",
			scene: scene{top: 0x3f2a56, bottom: 0x1d1330, drift: 0x7d53a8, body: 0x8e6bbf, face: 0xe8bd98},
			voice: voice{seed: 2, pitch: 204, phrases: []Span{
				{seconds(3.7), seconds(5.1)}, {seconds(5.5), seconds(6.6)},
			}},
		},
		{
			name:  "third",
			scene: scene{top: 0x1f4a3d, bottom: 0x0d231d, drift: 0x3c8a6e, body: 0x4f9d80, face: 0x9c6b4a},
			voice: voice{seed: 3, pitch: 147, phrases: []Span{
				{seconds(6.9), seconds(8.3)}, {seconds(8.6), seconds(9.7)},
			}},
		},
	}
}
