package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pion/webrtc/v4/pkg/media/ivfreader"
	"github.com/pion/webrtc/v4/pkg/media/oggreader"
)

// Media is the encoded audio and video of participants. Nothing is encoded while a
// meeting runs.
type Media struct {
	sources []source
	small   bool
}

// quality is the quality of encoded video.
type quality struct {
	width, height int
	rate          int // frames per second
	bits          int // per second
}

var (
	full  = quality{width: pictureWidth, height: pictureHeight, rate: 25, bits: 1_000_000}
	small = quality{width: 320, height: 180, rate: 10, bits: 80_000}
)

// String returns the name of the folder for the quality.
func (q quality) String() string { return fmt.Sprintf("%dx%d-%d", q.width, q.height, q.rate) }

// source is one loop of encoded audio and video.
type source struct {
	video   loop
	talks   loop // the video while the participant speaks; without units it is the same
	audio   loop
	phrases []Span
}

// MediaFolder returns the default folder for prepared media, in the user's cache
// directory or, if there is none, in the temporary directory.
func MediaFolder() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		folder = os.TempDir()
	}
	return filepath.Join(folder, "standin", "replica")
}

// PrepareMedia encodes the media of participants with ffmpeg, 720p at 25 frames per
// second, or loads it from the folder if it exists there. Several processes may
// prepare the same folder concurrently.
func PrepareMedia(ctx context.Context, folder string) (*Media, error) {
	return prepare(ctx, folder, full)
}

// PrepareSmallMedia is like PrepareMedia with 180p at 10 frames per second, which
// costs the receiver little, for tests that do not check the video. For the same reason,
// the pages of such meetings stop a microphone that is turned off. Others keep it, muted.
func PrepareSmallMedia(ctx context.Context, folder string) (*Media, error) {
	return prepare(ctx, folder, small)
}

func prepare(ctx context.Context, folder string, q quality) (*Media, error) {
	dir := filepath.Join(folder, mediaVersion, q.String())
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := createMedia(ctx, q, dir); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, fmt.Errorf("find prepared media: %w", err)
	}
	prepared := &Media{small: q == small}
	for _, design := range designs() {
		one, err := loadSource(dir, design, q)
		if err != nil {
			return nil, fmt.Errorf("load media of the %s participant from %s: %w", design.name, dir, err)
		}
		prepared.sources = append(prepared.sources, one)
	}
	return prepared, nil
}

// createMedia encodes all sources in a temporary folder and renames it, so that an
// incomplete folder is never used.
func createMedia(ctx context.Context, q quality, dir string) error {
	folder := filepath.Dir(dir)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of prepared media: %w", err)
	}
	working, err := os.MkdirTemp(folder, "preparing-")
	if err != nil {
		return fmt.Errorf("make a working folder for media: %w", err)
	}
	defer os.RemoveAll(working)
	for _, design := range designs() {
		if err := encodeVideo(ctx, design, q, filepath.Join(working, design.name+".ivf")); err != nil {
			return fmt.Errorf("encode the picture of the %s participant: %w", design.name, err)
		}
		if err := encodeSamples(ctx, design.voice.samples(loopLength), filepath.Join(working, design.name+".ogg")); err != nil {
			return fmt.Errorf("encode the sound of the %s participant: %w", design.name, err)
		}
	}
	if err := os.Rename(working, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr == nil {
			return nil // another process was quicker, and its files are the same
		}
		return fmt.Errorf("keep the prepared media: %w", err)
	}
	return nil
}

func loadSource(folder string, design sourceDesign, q quality) (source, error) {
	pictures, err := readVideo(filepath.Join(folder, design.name+".ivf"), q)
	if err != nil {
		return source{}, fmt.Errorf("read pictures: %w", err)
	}
	packets, preSkip, err := readAudio(filepath.Join(folder, design.name+".ogg"))
	if err != nil {
		return source{}, fmt.Errorf("read sound: %w", err)
	}
	return source{
		video: loop{clockRate: 90000, ticks: 90000 / int64(q.rate), units: pictures},
		// The decoder's first samples are the encoder's look-ahead, which comes
		// before the sound proper (RFC 7845, section 4.2): the first packet
		// belongs that much before the start of the loop.
		audio:   loop{clockRate: sampleRate, ticks: packetSamples, advance: int64(preSkip), units: packets},
		phrases: design.voice.phrases,
	}, nil
}

func readVideo(path string, q quality) ([][]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return readPictures(bytes.NewReader(content), q, loopLength)
}

// readPictures returns the pictures of a loop.
func readPictures(content io.Reader, q quality, length time.Duration) ([][]byte, error) {
	reader, header, err := ivfreader.NewWith(content)
	if err != nil {
		return nil, err
	}
	if header.FourCC != "VP80" || int(header.Width) != q.width || int(header.Height) != q.height {
		return nil, fmt.Errorf("unexpected stream %s %dx%d", header.FourCC, header.Width, header.Height)
	}
	var pictures [][]byte
	for {
		picture, _, err := reader.ParseNextFrame()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		pictures = append(pictures, picture)
	}
	if want := int(length.Seconds()) * q.rate; len(pictures) != want {
		return nil, fmt.Errorf("%d pictures where %d make a loop", len(pictures), want)
	}
	// A page that connects, and a decoder that lost its reference, can begin at
	// every whole second; the pacer counts on it.
	for second := 0; second < len(pictures); second += q.rate {
		if !isKeyFrame(pictures[second]) {
			return nil, fmt.Errorf("picture %d is no key picture", second)
		}
	}
	return pictures, nil
}

// isKeyFrame reads the frame type of a VP8 picture: the first bit of its
// first byte is 0 in a key picture (RFC 6386, section 9.1).
func isKeyFrame(picture []byte) bool { return len(picture) > 0 && picture[0]&1 == 0 }

// readAudio returns the packets of one loop and the samples by which the
// decoder runs behind them.
func readAudio(path string) (packets [][]byte, preSkip uint16, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	if packets, preSkip, err = readPackets(bytes.NewReader(content)); err != nil {
		return nil, 0, err
	}
	// The encoder adds a packet to flush its look-ahead; the loop has no use for
	// it, since its own beginning follows.
	want := int(loopLength / packetLength)
	if len(packets) < want || len(packets) > want+1 {
		return nil, 0, fmt.Errorf("%d sound packets where %d make a loop", len(packets), want)
	}
	return packets[:want], preSkip, nil
}

// readPackets returns the packets of a file and the samples by which the decoder runs
// behind them.
func readPackets(content io.Reader) (packets [][]byte, preSkip uint16, err error) {
	reader, header, err := oggreader.NewWith(content)
	if err != nil {
		return nil, 0, err
	}
	for {
		packet, _, err := reader.ParseNextPage()
		if errors.Is(err, io.EOF) {
			return packets, header.PreSkip, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if !bytes.HasPrefix(packet, []byte("OpusTags")) {
			packets = append(packets, packet)
		}
	}
}

// sourceFor gives the n-th participant of a meeting something to send: the
// beeping source to those who beep, the others in turn to the rest.
func (m *Media) sourceFor(beeps bool, n int) *source {
	if beeps {
		return &m.sources[0]
	}
	return &m.sources[1+n%(len(m.sources)-1)]
}
