// Package wav makes WAV files.
package wav

import "encoding/binary"

// Encode returns a WAV file with 16-bit mono PCM at a rate in hertz.
func Encode(pcm []byte, rate uint32) []byte {
	const bytesPerSample, headerBytes = 2, 44
	size := uint32(len(pcm)) //nolint:gosec // less than 4 GiB
	file := make([]byte, 0, headerBytes+len(pcm))
	for _, field := range []any{
		[]byte("RIFF"), headerBytes - 8 + size,
		[]byte("WAVEfmt "), uint32(16), // bytes of the format
		uint16(1), uint16(1), // PCM, in one channel
		rate, rate * bytesPerSample, uint16(bytesPerSample), uint16(8 * bytesPerSample),
		[]byte("data"), size, pcm,
	} {
		file, _ = binary.Append(file, binary.LittleEndian, field) // these types have an encoding
	}
	return file
}
