package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"standin/client"
)

// line is a way to the service that breaks off answers, or changes them.
type line struct {
	url      string
	cutAfter atomic.Int64 // bytes of an answer with media that come through; 0 for all
	cuts     atomic.Int64 // how many answers are still to be cut
	spoil    atomic.Bool  // the first byte of an answer with media is another
	ranges   atomic.Int64 // requests for a part
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	l := new(line)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // it tells of every answer that is cut
	proxy.ModifyResponse = func(answer *http.Response) error {
		if !strings.Contains(answer.Request.URL.Path, "/media/") {
			return nil
		}
		if answer.Request.Header.Get("Range") != "" {
			l.ranges.Add(1)
		}
		if l.spoil.Load() {
			content, err := io.ReadAll(answer.Body)
			if err != nil {
				return err
			}
			content[0] ^= 1
			answer.Body = io.NopCloser(strings.NewReader(string(content)))
		}
		if l.cuts.Add(-1) >= 0 {
			answer.Body = &cutOff{ReadCloser: answer.Body, left: l.cutAfter.Load()}
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

// cutOff ends with an error after some bytes.
type cutOff struct {
	io.ReadCloser
	left int64
}

func (c *cutOff) Read(into []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(into[:min(int64(len(into)), c.left)])
	c.left -= int64(n)
	return n, err
}

// TestDownload fetches a recording over a line that breaks, goes on where it
// stopped, notices what was changed on the way, and fetches nothing twice.
func TestDownload(t *testing.T) {
	t.Parallel()
	d := newTestCLI(t)
	out, _ := d.run(t, 0, "jobs", "create", "https://meet.google.com/abc-defg-hij", "--metadata", `{"simulate":{"seconds":60,"speed":100}}`, "--json")
	var created client.Job
	if err := json.Unmarshal([]byte(out), &created); err != nil {
		t.Fatal(err)
	}
	d.run(t, 0, "jobs", "watch", created.ID)

	way := newLine(t, d.base)
	key := storedKey(t, d)
	far := testCLI{base: way.url, config: filepath.Join(t.TempDir(), "standin")}
	far.keep(t, key)
	dir := filepath.Join(t.TempDir(), "recording")
	fetch := func(wantCode int, more ...string) (downloads []downloaded, stderr string) {
		t.Helper()
		out, stderr := far.run(t, wantCode, append([]string{"recordings", "download", created.ID, "--dir", dir, "--json"}, more...)...)
		if wantCode == 0 {
			if err := json.Unmarshal([]byte(out), &downloads); err != nil || len(downloads) != 1 {
				t.Fatalf("%v: %s", err, out)
			}
		}
		return downloads, stderr
	}

	way.cutAfter.Store(50_000)
	way.cuts.Store(4) // as often as it is tried without a byte; but there are bytes each time
	got, _ := fetch(0)
	if got[0].Fetched != got[0].Bytes || way.ranges.Load() != 4 {
		t.Errorf("%d of %d bytes fetched, with %d requests for a part", got[0].Fetched, got[0].Bytes, way.ranges.Load())
	}
	if got, _ = fetch(0); got[0].Fetched != 0 {
		t.Errorf("%d bytes of what was there are fetched again", got[0].Fetched)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part")); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err != nil {
		t.Error(err)
	}

	if err := os.Remove(got[0].Path); err != nil {
		t.Fatal(err)
	}
	way.cutAfter.Store(0)
	way.cuts.Store(1000) // a client may try more often by itself than it is stderr to
	_, stderr := fetch(1)
	way.cuts.Store(0)
	if !strings.Contains(stderr, "run the same command again to resume") {
		t.Errorf("a line that stays broken: %s", stderr)
	}
	if err := os.WriteFile(got[0].Path+".part", make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr = fetch(1) // what an earlier run left is of something else
	if !strings.Contains(stderr, "SHA-256 is") {
		t.Errorf("a wrong beginning: %s", stderr)
	}
	way.spoil.Store(true)
	if _, stderr = fetch(1); !strings.Contains(stderr, "SHA-256 is") {
		t.Errorf("a file that was changed on the way: %s", stderr)
	}
	if _, err := os.Stat(got[0].Path); err == nil {
		t.Error("a file that was changed on the way has its name")
	}
	way.spoil.Store(false)
	fetch(0)

	out, _ = d.run(t, 0, "jobs", "create", "https://meet.google.com/abc-defg-hij", "--metadata", `{"simulate":"meeting_not_found"}`, "--json")
	if err := json.Unmarshal([]byte(out), &created); err != nil {
		t.Fatal(err)
	}
	d.run(t, exitJobFailed, "jobs", "watch", created.ID)
	if _, stderr = fetch(1); !strings.Contains(stderr, "has no recording; its status is failed") {
		t.Errorf("a job without a recording: %s", stderr)
	}
	created.ID = "01a1ff00-0000-7000-8000-000000000000"
	if _, stderr = fetch(exitNotFound); !strings.Contains(stderr, "standin jobs list") {
		t.Errorf("a job that there is not: %s", stderr)
	}
}
