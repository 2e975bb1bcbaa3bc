package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"standin/client"
)

type recordingsDownloadCommand struct {
	apiFlags
	Job string `arg:"" help:"The job's id."`
	Dir string `placeholder:"DIR" help:"Folder to write to; made when missing. Default: one named after the job, here."`
}

// Help tells what is written.
func (recordingsDownloadCommand) Help() string {
	return "Fetches every file of a recording, and its manifest. Each file is written beside its place, held against the " +
		"manifest's size and SHA-256, and only then moved to its place: what has its name is whole. Interrupted, it goes on where " +
		"it stopped when it is run again; files that are there and right are not fetched again."
}

// downloaded is what became of a file.
type downloaded struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Fetched int64  `json:"fetchedBytes"` // of them by this run
}

// Run fetches.
func (c *recordingsDownloadCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	manifest, err := api.Manifest(ctx, c.Job)
	if err != nil {
		return whyNoRecording(ctx, api, c.Job, err)
	}
	dir := c.Dir
	if dir == "" {
		dir = manifest.JobID
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	fetched := []downloaded{}
	for _, file := range manifest.Media {
		one, err := download(ctx, to, api, manifest.JobID, file, dir)
		if err != nil {
			return fmt.Errorf("fetch %s: %w", oneLine(file.Name), err)
		}
		if !c.JSON {
			fmt.Fprintf(to.out, "%s  %d bytes, SHA-256 as the manifest says\n", one.Path, one.Bytes)
		}
		fetched = append(fetched, one)
	}
	if err := writeManifest(filepath.Join(dir, "manifest.json"), manifest); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(to.out, fetched)
	}
	return nil
}

// whyNoRecording says why a job has no manifest.
func whyNoRecording(ctx context.Context, api *client.Client, id string, err error) error {
	if !client.Is(err, "not_found") {
		return err
	}
	found, jobErr := api.Job(ctx, id)
	if jobErr != nil {
		return jobErr
	}
	if !found.Ended() {
		return fmt.Errorf("job %s has no recording yet: it is %s; standin jobs watch %s follows it to its end", found.ID, found.Status, found.ID)
	}
	return fmt.Errorf("job %s has no recording: it is %s, and nothing was recorded or it was deleted", found.ID, found.Status)
}

// download fetches one file, unless it is there.
func download(ctx context.Context, to terminal, api *client.Client, id string, file client.Media, dir string) (downloaded, error) {
	if file.Name != filepath.Base(file.Name) || strings.HasPrefix(file.Name, ".") || strings.ContainsAny(file.Name, "/\\\x00") {
		return downloaded{}, errors.New("the manifest names a file that is none")
	}
	one := downloaded{Name: file.Name, Path: filepath.Join(dir, file.Name), Bytes: file.Bytes, SHA256: file.SHA256}
	if there, err := sumOfFile(one.Path); err == nil && there == file.SHA256 {
		return one, nil
	}
	partial := one.Path + ".part"
	part, err := os.OpenFile(partial, os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return one, err
	}
	defer part.Close()
	sum := sha256.New()
	from, err := io.Copy(sum, part) // what an earlier run has fetched
	if err != nil {
		return one, err
	}
	if from > file.Bytes { // it is of something else
		if from, err = 0, errors.Join(part.Truncate(0), rewind(part)); err != nil {
			return one, err
		}
		sum.Reset()
	}
	bar := newProgress(to.err, file.Name, file.Bytes, from)
	defer bar.end()
	if err := fetchRest(ctx, api, id, file, part, sum, from, bar); err != nil {
		return one, fmt.Errorf("%w; run the same command again: it goes on from here", err)
	}
	one.Fetched = file.Bytes - from
	if got := hex.EncodeToString(sum.Sum(nil)); got != file.SHA256 {
		os.Remove(partial)
		return one, fmt.Errorf("its SHA-256 is %s and the manifest says %s; run the same command again, and tell whoever runs the service if it says so again", got, file.SHA256)
	}
	if err := errors.Join(part.Sync(), part.Close(), os.Rename(partial, one.Path)); err != nil {
		return one, err
	}
	return one, nil
}

// How often a broken connection is taken up again without a single byte in
// between, and how long it is waited before.
const (
	downloadTries = 4
	downloadPause = 250 * time.Millisecond
)

// fetchRest appends what is missing, taking up broken connections where they
// broke.
func fetchRest(ctx context.Context, api *client.Client, id string, file client.Media, part io.Writer, sum hash.Hash, at int64, bar *progress) error {
	into := io.MultiWriter(part, sum, bar)
	for tries := 0; at < file.Bytes; {
		content, err := api.Download(ctx, id, file.Name, at)
		if refused := (*client.Error)(nil); errors.As(err, &refused) {
			return err // asking again would change nothing
		}
		var n int64
		if err == nil {
			n, err = io.Copy(into, io.LimitReader(content, file.Bytes-at))
			content.Close()
		}
		if at += n; n > 0 {
			tries = 0
		}
		if at >= file.Bytes {
			return nil
		}
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		if tries++; tries == downloadTries || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(downloadPause << tries):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func rewind(file *os.File) error {
	_, err := file.Seek(0, io.SeekStart)
	return err
}

func sumOfFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close() // read only
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// writeManifest writes the manifest beside its files.
func writeManifest(path string, manifest client.Manifest) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(manifest); err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	if err := os.WriteFile(path+".part", text.Bytes(), 0o640); err != nil { //nolint:gosec // as the recording itself
		return fmt.Errorf("write the manifest: %w", err)
	}
	return os.Rename(path+".part", path)
}

// progress shows on a terminal how far a file is; elsewhere it shows nothing.
type progress struct {
	out         io.Writer // nil when nobody looks
	name        string
	done, total int64
	shown       time.Time
}

func newProgress(out io.Writer, name string, total, done int64) *progress {
	bar := &progress{name: oneLine(name), total: max(total, 1), done: done}
	if file, ok := out.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&fs.ModeCharDevice != 0 {
			bar.out = out
			bar.show()
		}
	}
	return bar
}

// Write counts what was fetched.
func (p *progress) Write(data []byte) (int, error) {
	const between = 100 * time.Millisecond
	p.done += int64(len(data))
	if p.out != nil && (time.Since(p.shown) > between || p.done >= p.total) {
		p.show()
	}
	return len(data), nil
}

func (p *progress) show() {
	const width = 30
	p.shown = time.Now()
	full := int(min(p.done*width/p.total, width))
	fmt.Fprintf(p.out, "\r%s [%s%s] %3d %%  %.1f of %.1f MB ", p.name, strings.Repeat("#", full), strings.Repeat(".", width-full),
		min(p.done*100/p.total, 100), float64(p.done)/1e6, float64(p.total)/1e6)
}

// end leaves the line of the bar.
func (p *progress) end() {
	if p.out != nil {
		fmt.Fprintln(p.out)
	}
}
