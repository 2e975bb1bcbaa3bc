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

	"github.com/pion/webrtc/v4/pkg/media/ivfreader"
	"github.com/pion/webrtc/v4/pkg/media/oggreader"
)

// Media is what participants publish: encoded once, sent as it is. Nothing is
// encoded while a meeting runs.
type Media struct {
	sources []source
}

// quality is how a picture is encoded.
type quality struct {
	width, height int
	rate          int // pictures a second
	bits          int // a second
}

var (
	full  = quality{width: pictureWidth, height: pictureHeight, rate: 25, bits: 1_000_000}
	small = quality{width: 320, height: 180, rate: 10, bits: 80_000}
)

// String is how the folder of such pictures is named.
func (q quality) String() string { return fmt.Sprintf("%dx%d-%d", q.width, q.height, q.rate) }

// source is one loop of sound and picture, ready to be sent.
type source struct {
	picture loop
	sound   loop
	phrases []Span
}

// MediaFolder is where prepared media are kept between runs when the caller has
// no better place: the user's cache folder, or the system's temporary one when
// the user has none.
func MediaFolder() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		folder = os.TempDir()
	}
	return filepath.Join(folder, "standin", "replica")
}

// PrepareMedia makes the participants' sound and picture, 720p at 25 pictures a
// second, with ffmpeg, or takes them from folder if they were made there before.
// Several processes may prepare the same folder at once.
func PrepareMedia(ctx context.Context, folder string) (*Media, error) {
	return prepare(ctx, folder, full)
}

// PrepareSmallMedia prepares media of 180p at 10 pictures a second, which cost
// the receiver little: for those who look at what a page does, not at the
// picture. See PrepareMedia.
func PrepareSmallMedia(ctx context.Context, folder string) (*Media, error) {
	return prepare(ctx, folder, small)
}

func prepare(ctx context.Context, folder string, q quality) (*Media, error) {
	kept := filepath.Join(folder, recipe, q.String())
	if _, err := os.Stat(kept); errors.Is(err, fs.ErrNotExist) {
		if err := makeMedia(ctx, q, kept); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, fmt.Errorf("look for prepared media: %w", err)
	}
	prepared := &Media{}
	for _, design := range designs() {
		one, err := loadSource(kept, design, q)
		if err != nil {
			return nil, fmt.Errorf("load media of the %s participant from %s: %w", design.name, kept, err)
		}
		prepared.sources = append(prepared.sources, one)
	}
	return prepared, nil
}

// makeMedia encodes every source beside the final folder and moves them there
// in one step, so that a half-made folder is never taken for a whole one.
func makeMedia(ctx context.Context, q quality, kept string) error {
	folder := filepath.Dir(kept)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of prepared media: %w", err)
	}
	working, err := os.MkdirTemp(folder, "preparing-")
	if err != nil {
		return fmt.Errorf("make a working folder for media: %w", err)
	}
	defer os.RemoveAll(working)
	for _, design := range designs() {
		if err := encodePicture(ctx, design, q, filepath.Join(working, design.name+".ivf")); err != nil {
			return fmt.Errorf("encode the picture of the %s participant: %w", design.name, err)
		}
		if err := encodeSound(ctx, design, filepath.Join(working, design.name+".ogg")); err != nil {
			return fmt.Errorf("encode the sound of the %s participant: %w", design.name, err)
		}
	}
	if err := os.Rename(working, kept); err != nil {
		if _, statErr := os.Stat(kept); statErr == nil {
			return nil // another process was quicker, and its files are the same
		}
		return fmt.Errorf("keep the prepared media: %w", err)
	}
	return nil
}

func loadSource(folder string, design sourceDesign, q quality) (source, error) {
	pictures, err := readPictures(filepath.Join(folder, design.name+".ivf"), q)
	if err != nil {
		return source{}, fmt.Errorf("read pictures: %w", err)
	}
	packets, preSkip, err := readSound(filepath.Join(folder, design.name+".ogg"))
	if err != nil {
		return source{}, fmt.Errorf("read sound: %w", err)
	}
	return source{
		picture: loop{clockRate: 90000, ticks: 90000 / int64(q.rate), units: pictures},
		// The decoder's first samples are the encoder's look-ahead, which comes
		// before the sound proper (RFC 7845, section 4.2): the first packet
		// belongs that much before the start of the loop.
		sound:   loop{clockRate: sampleRate, ticks: packetSamples, lead: int64(preSkip), units: packets},
		phrases: design.voice.phrases,
	}, nil
}

func readPictures(path string, q quality) ([][]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	reader, header, err := ivfreader.NewWith(bytes.NewReader(content))
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
	if want := int(loopLength.Seconds()) * q.rate; len(pictures) != want {
		return nil, fmt.Errorf("%d pictures where %d make a loop", len(pictures), want)
	}
	// A page that connects, and a decoder that lost its reference, can begin at
	// every whole second; the pacer counts on it.
	for second := 0; second < len(pictures); second += q.rate {
		if !isKeyPicture(pictures[second]) {
			return nil, fmt.Errorf("picture %d is no key picture", second)
		}
	}
	return pictures, nil
}

// isKeyPicture reads the frame type of a VP8 picture: the first bit of its
// first byte is 0 in a key picture (RFC 6386, section 9.1).
func isKeyPicture(picture []byte) bool { return len(picture) > 0 && picture[0]&1 == 0 }

// readSound returns the packets of one loop and the samples by which the
// decoder runs behind them.
func readSound(path string) (packets [][]byte, preSkip uint16, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, err
	}
	reader, header, err := oggreader.NewWith(bytes.NewReader(content))
	if err != nil {
		return nil, 0, err
	}
	for {
		packet, _, err := reader.ParseNextPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		if !bytes.HasPrefix(packet, []byte("OpusTags")) {
			packets = append(packets, packet)
		}
	}
	// The encoder adds a packet to flush its look-ahead; the loop has no use for
	// it, since its own beginning follows.
	want := int(loopLength / packetLength)
	if len(packets) < want || len(packets) > want+1 {
		return nil, 0, fmt.Errorf("%d sound packets where %d make a loop", len(packets), want)
	}
	return packets[:want], header.PreSkip, nil
}

// sourceFor gives the n-th participant of a meeting something to send: the
// beeping source to those who beep, the others in turn to the rest.
func (m *Media) sourceFor(beeps bool, n int) *source {
	if beeps {
		return &m.sources[0]
	}
	return &m.sources[1+n%(len(m.sources)-1)]
}
