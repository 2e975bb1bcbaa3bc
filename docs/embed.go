// Package docs embeds the documentation, which internal/server/guide renders.
package docs

import "embed"

// Files holds the pages and their drawings. Screenshots are left out, because they
// would make the binary larger.
//
//go:embed *.md pictures reference tutorials
var Files embed.FS
