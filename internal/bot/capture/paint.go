package capture

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
)

// maxPixels limits the size of a screenshot that is decoded.
const maxPixels = 16 << 20

// paintOver paints boxes of a page gray in its screenshot. width is the width of
// the page in the unit of the boxes. It returns nil for an image that it cannot paint.
func paintOver(screenshot []byte, width int, boxes [][4]int) []byte {
	size, err := png.DecodeConfig(bytes.NewReader(screenshot))
	if err != nil || size.Width*size.Height > maxPixels || width <= 0 {
		return nil
	}
	decoded, err := png.Decode(bytes.NewReader(screenshot))
	if err != nil {
		return nil
	}
	picture := image.NewRGBA(decoded.Bounds())
	draw.Draw(picture, picture.Bounds(), decoded, image.Point{}, draw.Src)
	scale := float64(size.Width) / float64(width)
	gray := image.NewUniform(color.Gray{Y: 0x80})
	for _, box := range boxes {
		left, top := float64(box[0])*scale, float64(box[1])*scale
		covered := image.Rect(int(left)-1, int(top)-1, int(left+float64(box[2])*scale)+2, int(top+float64(box[3])*scale)+2)
		draw.Draw(picture, covered.Intersect(picture.Bounds()), gray, image.Point{}, draw.Src)
	}
	var encoded bytes.Buffer
	if png.Encode(&encoded, picture) != nil {
		return nil
	}
	return encoded.Bytes()
}
