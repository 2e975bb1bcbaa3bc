// Package wav makes WAV files.
package wav

import "encoding/binary"

// Encode returns a WAV file with 16-bit mono PCM at a rate in hertz.
func Encode(pcm []byte, rate uint32) []byte {
	const bytesPerSample, headerBytes = 2, 44
	size := uint32(len(pcm)) //nolint:gosec // less than 4 GiB
	file := make([]byte, 0, headerBytes+len(pcm))
	file = append(file, "RIFF"...)
	file = binary.LittleEndian.AppendUint32(file, headerBytes-8+size)
	file = append(file, "WAVEfmt "...)
	file = binary.LittleEndian.AppendUint32(file, 16) // bytes of the format
	file = binary.LittleEndian.AppendUint16(file, 1)  // PCM
	file = binary.LittleEndian.AppendUint16(file, 1)  // channel
	file = binary.LittleEndian.AppendUint32(file, rate)
	file = binary.LittleEndian.AppendUint32(file, rate*bytesPerSample)
	file = binary.LittleEndian.AppendUint16(file, bytesPerSample)
	file = binary.LittleEndian.AppendUint16(file, 8*bytesPerSample)
	file = append(file, "data"...)
	file = binary.LittleEndian.AppendUint32(file, size)
	return append(file, pcm...)
}
