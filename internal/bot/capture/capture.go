// Package capture keeps what a meeting page showed, so that a changed page can be
// understood, and its profile repaired, without a meeting.
//
// A capture is one ZIP file:
//
//	capture.json       what happened: the reason, the snapshots and decisions
//	page.xhtml         the page's document: its elements, their positions and visibility
//	accessibility.txt  the page's accessibility tree
//	screenshot.png     the page, with the parts painted over that show people
//	profile.yaml       the profile that the page was read with
//
// Names, messages, captions, pictures of people, e-mail addresses and the values
// of fields are removed before the capture is written (see sanitize.go). A capture
// may also be a folder with these files; only capture.json is required.
package capture

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
)

// Schema is the version of the format.
const Schema = 1

// The files in a capture.
const (
	infoFile          = "capture.json"
	pageFile          = "page.xhtml"
	accessibilityFile = "accessibility.txt"
	screenshotFile    = "screenshot.png"
	profileFile       = "profile.yaml"
)

// Limits of the size of a capture and of each file in it, in bytes.
const maxArchive, maxFile = 64 << 20, 16 << 20

// Capture is what a page showed at one moment and before.
type Capture struct {
	Info
	Page          []byte // XHTML; empty when the page could not be read
	Accessibility []byte
	Screenshot    []byte // PNG
	Profile       []byte // YAML; empty for a platform without profiles
}

// Info is the content of capture.json.
type Info struct {
	Schema   int          `json:"schema"`
	Version  string       `json:"version"` // version of the program
	TakenAt  time.Time    `json:"takenAt"`
	Reason   string       `json:"reason"` // why the capture was kept
	Platform job.Platform `json:"platform"`

	Address   string  `json:"address"` // address without query, fragment and identifiers
	Title     string  `json:"title"`
	Width     float64 `json:"width"` // size of the page, in pixels
	Height    float64 `json:"height"`
	Problem   string  `json:"problem,omitempty"`   // why there is no document
	Truncated bool    `json:"truncated,omitempty"` // the document was too large, and its end is missing

	// Decisions are what the bot concluded from the snapshots.
	Decisions []meeting.Decision         `json:"decisions"`
	Snapshots []meeting.CapturedSnapshot `json:"snapshots"` // oldest first
}

// Empty reports whether nothing is known of the page.
func (c *Capture) Empty() bool { return len(c.Page) == 0 && len(c.Snapshots) == 0 }

// Encode returns the capture as a ZIP file.
func (c *Capture) Encode() ([]byte, error) {
	info, err := json.MarshalIndent(c.Info, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the capture: %w", err)
	}
	var encoded bytes.Buffer
	archive := zip.NewWriter(&encoded)
	for _, file := range c.files(&info) {
		if len(*file.data) == 0 || len(*file.data) > maxFile {
			continue
		}
		to, err := archive.CreateHeader(&zip.FileHeader{Name: file.name, Method: zip.Deflate, Modified: c.TakenAt})
		if err == nil {
			_, err = to.Write(*file.data)
		}
		if err != nil {
			return nil, fmt.Errorf("encode the capture: %w", err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("encode the capture: %w", err)
	}
	return encoded.Bytes(), nil
}

// file is a file in a capture.
type file struct {
	name string
	data *[]byte
}

// files returns the files in the capture, with the info as JSON.
func (c *Capture) files(info *[]byte) []file {
	return []file{
		{infoFile, info}, {pageFile, &c.Page}, {accessibilityFile, &c.Accessibility}, {screenshotFile, &c.Screenshot}, {profileFile, &c.Profile},
	}
}

// Open reads a capture: a ZIP file, or a folder with the same files.
func Open(path string) (*Capture, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the capture %s: %w", path, errors.Unwrap(err))
	}
	if info.IsDir() {
		return read(os.DirFS(path))
	}
	if info.Size() > maxArchive {
		return nil, fmt.Errorf("open the capture: %s is larger than %d bytes", path, maxArchive)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Decode(data)
}

// Decode reads a capture from the content of its ZIP file.
func Decode(data []byte) (*Capture, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("open the capture: %w", err)
	}
	return read(archive)
}

// read reads the files of a capture.
func read(files fs.FS) (*Capture, error) {
	var c Capture
	var info []byte
	for _, file := range c.files(&info) {
		var err error
		*file.data, err = readFile(files, file.name)
		if err != nil && (file.name == infoFile || !errors.Is(err, fs.ErrNotExist)) {
			return nil, fmt.Errorf("read the capture: %w", err)
		}
	}
	if err := json.Unmarshal(info, &c.Info); err != nil {
		return nil, fmt.Errorf("read %s of the capture: %w", infoFile, err)
	}
	if c.Schema != Schema {
		return nil, fmt.Errorf("the capture has schema %d; this version of Standin reads schema %d", c.Schema, Schema)
	}
	return &c, nil
}

// readFile reads a file of a capture, up to the size limit.
func readFile(files fs.FS, name string) (_ []byte, err error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return data, err
}
