package simulator

import (
	"crypto/sha256"
	_ "embed" // the clip
	"encoding/hex"

	"standin/internal/recording"
)

// clipMP4 is the recording of every simulated meeting: twenty seconds of test bars,
// with a flash and a beep in each. ffmpeg 5.1 made it:
//
//	ffmpeg -f lavfi -i "smptebars=size=320x180:rate=10:duration=20,drawbox=color=white:t=fill:enable='between(mod(t,1),0.45,0.65)'" \
//	  -f lavfi -i "aevalsrc='0.4*sin(2*PI*1000*t)*between(mod(t,1),0.5,0.6)':s=48000:d=20" \
//
// -c:v libx264 -preset veryslow -tune stillimage -crf 30 -profile:v baseline -level 3.0 -pix_fmt yuv420p -g 10 -bsf:v
//
//	filter_units=remove_types=6 \
//		  -c:a aac -b:a 32k -bitexact -map_metadata -1 -movflags +faststart clip.mp4
//
//go:embed clip.mp4
var clipMP4 []byte

// clipFile describes the clip.
func clipFile() recording.File {
	sum := sha256.Sum256(clipMP4)
	return recording.File{
		Name: "recording.mp4", Kind: recording.Video, ContentType: "video/mp4", Codecs: "avc1.42C01E,mp4a.40.2",
		Bytes: int64(len(clipMP4)), SHA256: hex.EncodeToString(sum[:]), DurationMs: 20_000, Width: 320, Height: 180,
	}
}
