package speech

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/recording/build"
)

// Image makes the picture of a team's image.
func (m *Maker) Image(ctx context.Context, team uuid.UUID, file File) ([]byte, error) {
	return m.decodePictures(ctx, team, file, build.Pictures{}, "an image in a format that can be decoded: PNG, JPEG, WebP, GIF or BMP")
}

// Video makes the pictures of a team's video, of at most ingest.MaxVideo.
func (m *Maker) Video(ctx context.Context, team uuid.UUID, file File) ([]byte, error) {
	form := build.Pictures{Rate: ingest.VideoRate, Length: ingest.MaxVideo + time.Second} // to see that it is too long
	return m.decodePictures(ctx, team, file, form, "a video in a format that can be decoded, such as MP4, WebM or GIF")
}

// decodePictures decodes an image or a video. Errors name the field of the request.
func (m *Maker) decodePictures(ctx context.Context, team uuid.UUID, file File, form build.Pictures, wanted string) ([]byte, error) {
	form.Width, form.Height, form.Bytes = ingest.PictureWidth, ingest.PictureHeight, ingest.MaxPictureBytes
	field := file.field()
	pictures, err := m.decode(ctx, team, func(to io.Writer) error { return m.fetch(ctx, file, to) },
		func(ctx context.Context, tools build.Tools, from, to string) error {
			return tools.DecodePictures(ctx, from, to, form)
		})
	switch {
	case build.RejectedInput(err), err == nil && len(pictures) == 0:
		return nil, invalid(field, "it is not "+wanted)
	case err != nil:
		return nil, err
	case int64(len(pictures)) > form.Bytes:
		return nil, invalid(field, fmt.Sprintf("its pictures have more than %d bytes", form.Bytes))
	case len(ingest.SplitPictures(pictures)) > int(ingest.MaxVideo.Seconds())*ingest.VideoRate:
		return nil, invalid(field, fmt.Sprintf("it is longer than %s", ingest.MaxVideo))
	}
	return pictures, nil
}
