package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"standin/client"
	"standin/internal/base/fsutil"
)

type recordingsDownloadCommand struct {
	jobFlags
	Dir string `placeholder:"DIR" help:"Directory to write to, created if missing. Default: the job ID in the current directory."`
}

// downloaded describes one downloaded file.
type downloaded struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Fetched int64  `json:"fetchedBytes"` // transferred by this run
}

// Run downloads the recording.
func (c *recordingsDownloadCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	manifest, err := api.Manifest(ctx, c.ID)
	if client.Is(err, "not_found") {
		return explainMissing(ctx, api, c.ID, "recording")
	}
	if err != nil {
		return err
	}
	dir := cmp.Or(c.Dir, manifest.JobID)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("create the directory: %w", err)
	}
	fetched := []downloaded{}
	for _, file := range manifest.Media {
		copied, err := download(ctx, to, api, manifest.JobID, file, dir)
		if err != nil {
			return err
		}
		if c.isTable() {
			fmt.Fprintf(to.Out, "%s  %s, SHA-256 matches\n", oneLine(copied.Path), humanize.Bytes(uint64(copied.Bytes)))
		}
		fetched = append(fetched, copied)
	}
	var text bytes.Buffer
	if err := printJSON(&text, manifest); err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	path := filepath.Join(dir, "manifest.json")
	if err := os.WriteFile(path+".part", text.Bytes(), 0o640); err != nil { //nolint:gosec // same mode as the recording
		return fmt.Errorf("write the manifest: %w", err)
	}
	err = os.Rename(path+".part", path)
	return c.print(to, fetched, err, func() error { return nil })
}

// explainMissing returns an error that says why a job has no recording or no transcript.
func explainMissing(ctx context.Context, api *client.Client, id, what string) error {
	found, jobErr := api.Job(ctx, id)
	if jobErr != nil {
		return jobErr
	}
	advice := "Run standin jobs events " + found.ID + " to see what happened."
	if !found.Ended() {
		what, advice = what+" yet", "Run standin jobs watch "+found.ID+" to follow it."
	}
	return &hint{fmt.Errorf("job %s has no %s; its status is %s", found.ID, what, found.Status), exitNotFound, advice}
}

// download fetches one file unless a complete copy exists.
func download(ctx context.Context, to terminal, api *client.Client, id string, file client.Media, dir string) (downloaded, error) {
	if file.Name != filepath.Base(file.Name) || strings.HasPrefix(file.Name, ".") || strings.ContainsAny(file.Name, "/\\\x00") {
		return downloaded{}, fmt.Errorf("the manifest contains the invalid file name %q", file.Name)
	}
	copied := downloaded{Name: file.Name, Path: filepath.Join(dir, file.Name), Bytes: file.Bytes, SHA256: file.SHA256}
	if _, sum, err := fsutil.HashFile(copied.Path); err == nil && sum == file.SHA256 {
		return copied, nil
	}
	partial := copied.Path + ".part"
	part, err := os.OpenFile(partial, os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return copied, err
	}
	defer part.Close()
	info, err := part.Stat()
	if err != nil {
		return copied, err
	}
	from := info.Size()    // from an earlier run
	if from > file.Bytes { // not a prefix of this file
		if from, err = 0, part.Truncate(0); err != nil {
			return copied, err
		}
	}
	bar := &progress{name: oneLine(file.Name), total: max(file.Bytes, 1), done: from}
	if isTerminal(to.Err) {
		bar.out = unescaped(to.Err)
		bar.show()
		defer fmt.Fprintln(bar.out) // moves to the next line
	}
	err = api.ResumeFile(ctx, id, file, struct {
		io.Reader
		io.Writer
	}{part, io.MultiWriter(part, bar)})
	if errors.Is(err, client.ErrChecksum) {
		os.Remove(partial)
		return copied, fmt.Errorf("%w; run the same command again and contact the operator of the service if the error repeats", err)
	}
	if err != nil {
		return copied, fmt.Errorf("%w; run the same command again to resume", err)
	}
	copied.Fetched = file.Bytes - from
	if err := errors.Join(part.Sync(), part.Close(), os.Rename(partial, copied.Path)); err != nil {
		return copied, err
	}
	return copied, nil
}

// progress draws a progress bar if the output is a terminal.
type progress struct {
	out         io.Writer // nil if the output is not a terminal
	name        string
	done, total int64
	shown       time.Time
}

// Write counts the bytes of p and redraws the bar.
func (p *progress) Write(data []byte) (int, error) {
	const interval = 100 * time.Millisecond
	p.done += int64(len(data))
	if p.out != nil && (time.Since(p.shown) > interval || p.done >= p.total) {
		p.show()
	}
	return len(data), nil
}

func (p *progress) show() {
	const width = 30
	p.shown = time.Now()
	full := int(min(p.done*width/p.total, width))
	fmt.Fprintf(p.out, "\r%s [%s%s] %3d %%  %s of %s ", p.name, strings.Repeat("#", full), strings.Repeat(".", width-full),
		min(p.done*100/p.total, 100), humanize.Bytes(uint64(p.done)), humanize.Bytes(uint64(p.total)))
}
