// Package zoneinfo has the time zones of the IANA database: those that the binary
// contains, or those of the system if they are newer. Governments change clocks at short
// notice, and a machine's database may be years old.
package zoneinfo

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for the zone of TZ
)

// zones is written by scripts/vendor-tzdata.sh.
//
//go:embed zoneinfo.zip
var zones []byte

// Release is a release of the database.
type Release struct {
	Version  string    // such as 2026f; later ones are greater
	Released time.Time // after it, files may know more than the database
	System   bool      // the system's database
}

// database opens the newer database.
var database = sync.OnceValue(func() (found struct {
	Release
	files fs.FS
}) {
	archive, err := zip.NewReader(bytes.NewReader(zones), int64(len(zones)))
	if err != nil {
		panic("the embedded time zones are damaged: " + err.Error())
	}
	text, err := fs.ReadFile(archive, "RELEASE")
	version, day, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	released, dayErr := time.Parse(time.DateOnly, day)
	if err := errors.Join(err, dayErr); err != nil {
		panic("the embedded time zones are damaged: " + err.Error())
	}
	found.Release, found.files = Release{Version: version, Released: released}, archive
	if system := systemRelease(); system.Version > version {
		found.Release = system
	}
	return found
})

// systemRelease returns the release of the system's database; zero if it is unknown.
func systemRelease() Release {
	source, err := os.Open("/usr/share/zoneinfo/tzdata.zi")
	if err != nil {
		return Release{}
	}
	defer source.Close()
	var line [64]byte
	n, _ := source.Read(line[:])
	first, _, _ := strings.Cut(string(line[:n]), "\n")
	version, found := strings.CutPrefix(first, "# version ")
	info, err := source.Stat()
	if !found || err != nil {
		return Release{}
	}
	return Release{Version: strings.TrimSpace(version), Released: info.ModTime(), System: true}
}

// Current returns the release of the database that Load reads.
func Current() Release { return database().Release }

// Load returns the zone with an IANA name.
func Load(name string) (*time.Location, error) {
	db := database()
	if db.System || name == "UTC" {
		return time.LoadLocation(name)
	}
	data, err := fs.ReadFile(db.files, name)
	if err != nil {
		return nil, err
	}
	return time.LoadLocationFromTZData(name, data)
}
