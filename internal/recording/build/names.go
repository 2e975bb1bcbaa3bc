package build

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// drawName draws what a composed picture shows of a participant without video.
func drawName(path, name string) error {
	const width, height, size, margin = 640, 360, 48, 40
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return err
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		return err
	}
	known := strings.Map(func(r rune) rune { // the font has Latin, Greek and Cyrillic letters
		if _, ok := face.GlyphAdvance(r); !ok {
			return -1
		}
		return r
	}, name)
	letters := []rune(known)
	for len(letters) > 0 && font.MeasureString(face, string(letters)).Ceil() > width-2*margin {
		letters = letters[:len(letters)-1]
	}
	card := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(card, card.Bounds(), image.NewUniform(color.Gray{Y: 0x3c}), image.Point{}, draw.Src)
	drawer := font.Drawer{Dst: card, Src: image.White, Face: face}
	drawer.Dot = fixed.P((width-drawer.MeasureString(string(letters)).Ceil())/2, (height+size*2/3)/2)
	drawer.DrawString(string(letters))
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := png.Encode(file, card); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
