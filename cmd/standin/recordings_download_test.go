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

// faultyProxy is a reverse proxy that truncates or corrupts media responses.
type faultyProxy struct {
	url      string
	cutAfter atomic.Int64 // length of a truncated response in bytes
	cuts     atomic.Int64 // number of responses that are still to be truncated
	corrupt  atomic.Bool  // change the first byte of media responses
	ranges   atomic.Int64 // number of range requests
}

func newFaultyProxy(t *testing.T, to string) *faultyProxy {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := new(faultyProxy)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1                    // a truncated response has its first bytes
	proxy.ErrorLog = log.New(io.Discard, "", 0) // it logs every truncated response
	proxy.ModifyResponse = func(answer *http.Response) error {
		if !strings.Contains(answer.Request.URL.Path, "/media/") {
			return nil
		}
		if answer.Request.Header.Get("Range") != "" {
			p.ranges.Add(1)
		}
		if p.corrupt.Load() {
			content, err := io.ReadAll(answer.Body)
			if err != nil {
				return err
			}
			content[0] ^= 1
			answer.Body = io.NopCloser(strings.NewReader(string(content)))
		}
		if p.cuts.Add(-1) >= 0 {
			answer.Body = &truncatedBody{ReadCloser: answer.Body, left: p.cutAfter.Load()}
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// truncatedBody returns an error after some bytes.
type truncatedBody struct {
	io.ReadCloser
	left int64
}

func (c *truncatedBody) Read(into []byte) (int, error) {
	if c.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadCloser.Read(into[:min(int64(len(into)), c.left)])
	c.left -= int64(n)
	return n, err
}

// TestDownload downloads a recording through a proxy that breaks connections. The
// download resumes, detects corrupt data, and transfers nothing twice.
func TestDownload(t *testing.T) {
	t.Parallel()
	d := newTestCLI(t)
	out, _ := d.run(t, 0, "jobs", "create", "https://meet.google.com/abc-defg-hij", "--metadata", `{"simulate":{"seconds":60,"speed":100}}`, "--json")
	var created client.Job
	if err := json.Unmarshal([]byte(out), &created); err != nil {
		t.Fatal(err)
	}
	d.run(t, 0, "jobs", "watch", created.ID)

	proxy := newFaultyProxy(t, d.base)
	key := storedKey(t, d)
	remote := testCLI{base: proxy.url, config: filepath.Join(t.TempDir(), "standin")}
	remote.keep(t, key)
	dir := filepath.Join(t.TempDir(), "recording")
	fetch := func(wantCode int, more ...string) (downloads []downloaded, stderr string) {
		t.Helper()
		out, stderr := remote.run(t, wantCode, append([]string{"recordings", "download", created.ID, "--dir", dir, "--json"}, more...)...)
		if wantCode == 0 {
			if err := json.Unmarshal([]byte(out), &downloads); err != nil || len(downloads) != 1 {
				t.Fatalf("%v: %s", err, out)
			}
		}
		return downloads, stderr
	}

	proxy.cutAfter.Store(1000)
	proxy.cuts.Store(4) // the limit for attempts without data, but each attempt transfers some
	got, _ := fetch(0)
	if got[0].Fetched != got[0].Bytes || proxy.ranges.Load() != 4 {
		t.Errorf("%d of %d bytes fetched, with %d requests for a part", got[0].Fetched, got[0].Bytes, proxy.ranges.Load())
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
	proxy.cutAfter.Store(0)
	proxy.cuts.Store(1000) // more than the client retries
	_, stderr := fetch(1)
	proxy.cuts.Store(0)
	if !strings.Contains(stderr, "run the same command again to resume") {
		t.Errorf("a line that stays broken: %s", stderr)
	}
	if err := os.WriteFile(got[0].Path+".part", make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr = fetch(1) // what an earlier run left is of something else
	if !strings.Contains(stderr, "SHA-256 of the manifest") {
		t.Errorf("a wrong beginning: %s", stderr)
	}
	proxy.corrupt.Store(true)
	if _, stderr = fetch(1); !strings.Contains(stderr, "SHA-256 of the manifest") {
		t.Errorf("a file that was changed on the proxy: %s", stderr)
	}
	if _, err := os.Stat(got[0].Path); err == nil {
		t.Error("a file that was changed on the proxy has its name")
	}
	proxy.corrupt.Store(false)
	fetch(0)

	out, _ = d.run(t, 0, "jobs", "create", "https://meet.google.com/abc-defg-hij", "--metadata", `{"simulate":"meeting_not_found"}`, "--json")
	if err := json.Unmarshal([]byte(out), &created); err != nil {
		t.Fatal(err)
	}
	d.run(t, exitJobFailed, "jobs", "watch", created.ID)
	if _, stderr = fetch(exitNotFound); !strings.Contains(stderr, "has no recording; its status is failed") {
		t.Errorf("a job without a recording: %s", stderr)
	}
	created.ID = "01a1ff00-0000-7000-8000-000000000000"
	if _, stderr = fetch(exitNotFound); !strings.Contains(stderr, "standin jobs list") {
		t.Errorf("a job that there is not: %s", stderr)
	}
}
