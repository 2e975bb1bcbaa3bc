package rtms

import "time"

// The sound is stored without loss, as FLAC (RFC 9639) in MP4: speech takes about half of its samples, and silence
// almost nothing, for little work.

// newSound returns a track for sound.
func newSound(user string, startedAt time.Time) *track {
	// STREAMINFO: the size of blocks, 48 kHz, one channel, 16 bits.
	info := box("dfLa", words(0, 0x80000022, block<<16|block), make([]byte, 6), words(rate<<12|15<<4), make([]byte, 20))
	entry := box("fLaC", words(0, 1, 0, 0, 1<<16|16, 0, rate<<16), info)
	return newTrack(audio, user, startedAt, rate, entry)
}

// addSound adds a block of sound.
func (t *track) addSound(pcm []int16) {
	t.add(encodeFLAC(t.frames, pcm), block, keyFrame)
	t.frames++
}

// bitWriter writes bits, the first ones first.
type bitWriter struct {
	data    []byte
	pending uint64
	count   int
}

func (w *bitWriter) write(value uint64, bits int) {
	w.pending, w.count = w.pending<<bits|value&(1<<bits-1), w.count+bits
	for ; w.count >= 8; w.count -= 8 {
		w.data = append(w.data, byte(w.pending>>(w.count-8)))
	}
}

// partitions is into how many parts the residual of a block is divided.
const partitions = 16

// encodeFLAC returns the frame with a number: a constant, or the differences from a prediction by the two samples
// before, in Rice codes.
func encodeFLAC(number int, pcm []int16) []byte {
	w := &bitWriter{data: make([]byte, 0, 2*len(pcm))}
	w.write(0xFFF8, 16) // the number is that of the frame
	w.write(0x7A, 8)    // the size of the block follows; 48 kHz
	w.write(0x08, 8)    // one channel, 16 bits
	if number < 0x80 {
		w.write(uint64(number), 8)
	} else { // as UTF-8, with up to six bytes
		more := 1
		for number >= 1<<(5*more+6) {
			more++
		}
		w.write(0xFF<<(7-more)|uint64(number>>(6*more)), 8)
		for ; more > 0; more-- {
			w.write(0x80|uint64(number>>(6*(more-1)))&0x3F, 8)
		}
	}
	w.write(uint64(len(pcm)-1), 16)
	w.write(crc(w.data, crc8)>>8, 8)

	constant := true
	residual := make([]int, len(pcm)) // without a sign
	for i, sample := range pcm {
		constant = constant && sample == pcm[0]
		if i > 1 {
			difference := int(sample) - 2*int(pcm[i-1]) + int(pcm[i-2])
			residual[i] = difference<<1 ^ difference>>63
		}
	}
	if constant {
		w.write(0, 8)
		w.write(uint64(uint16(pcm[0])), 16)
	} else {
		w.write(10<<1, 8) // a fixed prediction of order 2
		w.write(uint64(uint16(pcm[0])), 16)
		w.write(uint64(uint16(pcm[1])), 16)
		w.write(4, 6) // 16 partitions
		for i := range partitions {
			part := residual[max(2, i*len(pcm)/partitions) : (i+1)*len(pcm)/partitions]
			sum, parameter := 0, 0
			for _, value := range part {
				sum += value
			}
			for ; parameter < 14 && len(part)<<(parameter+1) <= sum; parameter++ {
			}
			w.write(uint64(parameter), 4)
			for _, value := range part {
				quotient := value >> parameter
				for ; quotient >= 32; quotient -= 32 {
					w.write(0, 32)
				}
				w.write(1<<parameter|uint64(value)&(1<<parameter-1), quotient+1+parameter)
			}
		}
	}
	w.write(0, (8-w.count%8)%8)
	w.write(crc(w.data, crc16), 16)
	return w.data
}

// The tables of the cyclic redundancy checks of frames. That of 8 bits is in the upper ones.
var crc8, crc16 = crcTable(0x0700), crcTable(0x8005)

func crcTable(polynomial uint16) (table [256]uint16) {
	for i := range table {
		sum := uint16(i) << 8
		for range 8 {
			sum = sum<<1 ^ sum>>15*polynomial
		}
		table[i] = sum
	}
	return table
}

// crc returns the cyclic redundancy check of data.
func crc(data []byte, table [256]uint16) uint64 {
	sum := uint16(0)
	for _, b := range data {
		sum = sum<<8 ^ table[byte(sum>>8)^b]
	}
	return uint64(sum)
}
