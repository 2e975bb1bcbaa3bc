package browser

import (
	"bytes"
	"encoding/binary"
)

const (
	silenceSampleRate     = 48000
	silenceSeconds        = 1
	silenceBytesPerSample = 2
	wavFormatPCM          = 1
)

// silentWAV returns one second of 16-bit mono silence as a WAV file. Chromium plays
// it in a loop as the microphone, which meeting pages require.
func silentWAV() []byte {
	const dataBytes = silenceSampleRate * silenceSeconds * silenceBytesPerSample
	header := struct {
		Riff          [4]byte
		RiffBytes     uint32
		Wave, Format  [4]byte
		FormatBytes   uint32
		Coding        uint16
		Channels      uint16
		SampleRate    uint32
		BytesPerSec   uint32
		BytesPerFrame uint16
		BitsPerSample uint16
		Data          [4]byte
		DataBytes     uint32
	}{
		Riff:          [4]byte{'R', 'I', 'F', 'F'},
		RiffBytes:     36 + dataBytes,
		Wave:          [4]byte{'W', 'A', 'V', 'E'},
		Format:        [4]byte{'f', 'm', 't', ' '},
		FormatBytes:   16,
		Coding:        wavFormatPCM,
		Channels:      1,
		SampleRate:    silenceSampleRate,
		BytesPerSec:   silenceSampleRate * silenceBytesPerSample,
		BytesPerFrame: silenceBytesPerSample,
		BitsPerSample: 8 * silenceBytesPerSample,
		Data:          [4]byte{'d', 'a', 't', 'a'},
		DataBytes:     dataBytes,
	}
	var file bytes.Buffer
	// Writing a fixed-size value to a bytes.Buffer cannot fail.
	_ = binary.Write(&file, binary.LittleEndian, header)
	file.Write(make([]byte, dataBytes))
	return file.Bytes()
}
