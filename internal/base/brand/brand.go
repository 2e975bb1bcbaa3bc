// Package brand holds what all pages have in common: the colors, the icon, and the choice
// between light and dark colors.
package brand

import _ "embed"

//go:embed colors.css
var colorsCSS []byte

//go:embed icon.svg
var iconSVG []byte

//go:embed theme.js
var themeJS []byte

// Files returns the files that pages load, by name.
func Files() map[string][]byte {
	return map[string][]byte{"colors.css": colorsCSS, "icon.svg": iconSVG, "theme.js": themeJS}
}
