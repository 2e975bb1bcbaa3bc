package rtmsdouble

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
)

// MakeVideo returns two seconds of H.264 in access units, 25 per second, with a key frame each second. It needs ffmpeg.
func MakeVideo(width, height int) ([][]byte, error) {
	return convertVideo(nil, "-f", "lavfi", "-i", fmt.Sprintf("testsrc2=size=%dx%d:rate=25:duration=2", width, height))
}

// convertVideo returns the access units of a video that ffmpeg reads.
func convertVideo(content []byte, input ...string) ([][]byte, error) {
	stream, err := convert(content, append(input, "-r", "25", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency",
		"-b:v", "1200k", "-g", "25", "-bf", "0", "-threads", "1", "-x264-params", "aud=1:sliced-threads=0",
		"-bsf:v", "h264_mp4toannexb", "-f", "h264")...)
	delimiter := []byte{0, 0, 0, 1, 9}
	var units [][]byte
	for _, unit := range bytes.Split(stream, delimiter) {
		if len(unit) > 0 {
			units = append(units, append(bytes.Clone(delimiter), unit...))
		}
	}
	return units, err
}

// convert returns what ffmpeg makes of a file.
func convert(content []byte, arguments ...string) ([]byte, error) {
	var stdout bytes.Buffer
	command := exec.CommandContext(context.Background(), "ffmpeg", append(append([]string{"-nostdin", "-v", "error"}, arguments...), "-")...)
	command.Stdin, command.Stdout = bytes.NewReader(content), &stdout
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("make sound or video: %w", err)
	}
	return stdout.Bytes(), nil
}
