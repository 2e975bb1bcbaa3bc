package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"log/slog"
	"time"

	"standin/internal/ingest"
)

const (
	// screenshotInterval is the time between two pictures of a page that is watched.
	screenshotInterval = 3 * time.Second
	screenshotTimeout  = 5 * time.Second
	// maxScreenshotWidth is the width, in pixels, up to which a picture is not shrunk.
	maxScreenshotWidth = 960
)

// screenshots sends pictures of the page while somebody watches the job. It has a queue of its
// own, because the page's is busy while the bot joins.
type screenshots struct {
	log   *slog.Logger
	page  *meetingPage
	send  func(ctx context.Context, image []byte) error
	queue taskQueue

	takenAt time.Time
}

// take takes and sends a picture if it is time.
func (s *screenshots) take(ctx context.Context, now time.Time) {
	if s.page.tab == nil || !s.queue.idle() || now.Sub(s.takenAt) < screenshotInterval {
		return
	}
	s.takenAt = now
	s.queue.add(ctx, task{
		name: "send a picture of the page", timeout: screenshotTimeout,
		do: func(ctx context.Context) error {
			picture, err := s.page.tab.Picture(ctx, 80)
			if err != nil {
				return err
			}
			small, err := shrink(picture)
			if err != nil {
				return err
			}
			return s.send(ctx, small)
		},
		onDone: logFailure(s.log.Debug, "cannot send a picture of the page"),
	})
}

// shrink makes a JPEG small: at most maxScreenshotWidth wide and ingest.MaxScreenshot long.
func shrink(picture []byte) ([]byte, error) {
	decoded, err := jpeg.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, fmt.Errorf("read a picture: %w", err)
	}
	if full, ok := decoded.(*image.YCbCr); ok {
		decoded = shrinkBy(full, (full.Rect.Dx()+maxScreenshotWidth-1)/maxScreenshotWidth)
	}
	for _, quality := range []int{50, 25, 10} {
		var encoded bytes.Buffer
		if err := jpeg.Encode(&encoded, decoded, &jpeg.Options{Quality: quality}); err != nil {
			return nil, fmt.Errorf("write a picture: %w", err)
		}
		if encoded.Len() <= ingest.MaxScreenshot {
			return encoded.Bytes(), nil
		}
	}
	return nil, errors.New("the picture of the page is too large")
}

// shrinkBy divides the width and the height of a picture by an integer: each pixel is the mean
// of a square.
func shrinkBy(full *image.YCbCr, by int) image.Image {
	if by <= 1 {
		return full
	}
	small := image.NewYCbCr(image.Rect(0, 0, full.Rect.Dx()/by, full.Rect.Dy()/by), full.SubsampleRatio)
	shrinkPlane(small.Y, small.YStride, full.Y, full.YStride, by)
	shrinkPlane(small.Cb, small.CStride, full.Cb, full.CStride, by)
	shrinkPlane(small.Cr, small.CStride, full.Cr, full.CStride, by)
	return small
}

// shrinkPlane fills a plane with the means of squares of a larger one, as far as it has whole
// squares. The strides are the lengths of their rows.
func shrinkPlane(small []byte, smallStride int, full []byte, fullStride, by int) {
	for at := range small {
		left, top := at%smallStride*by, at/smallStride*by
		if left+by > fullStride || (top+by)*fullStride > len(full) {
			continue
		}
		sum := 0
		for y := top; y < top+by; y++ {
			for _, value := range full[y*fullStride+left : y*fullStride+left+by] {
				sum += int(value)
			}
		}
		small[at] = byte(sum / (by * by))
	}
}
