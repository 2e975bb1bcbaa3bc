package service_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
	"standin/internal/recording/retention"
	"standin/internal/recording/storage/s3"
	"standin/internal/testing/await"
	"standin/internal/testing/s3test"
)

// TestRecordingsOnS3 stores a recording in an object store while every fourth request
// fails. It checks that the recording can be read from signed URLs, completely and by
// range, and that all of its objects are deleted after the retention. It sets
// environment variables, so it does not run in parallel.
func TestRecordingsOnS3(t *testing.T) {
	for name, value := range s3test.Environment() {
		t.Setenv(name, value)
	}
	proxy := s3test.Start(t)
	proxy.SetFaults(func(_ *http.Request, nth int64) s3test.Fault {
		switch nth % 8 {
		case 0:
			return s3test.Fault{Status: http.StatusServiceUnavailable}
		case 4:
			return s3test.Fault{Refuse: true}
		}
		return s3test.Fault{}
	})
	settings := contractSettings(t)
	settings.StorageURL, settings.OpenS3 = proxy.Address(), s3.Open
	h := openContractHarness(t, newContractCoverage(), settings)
	id := h.create(t, h.adasTest, contractJob(""))
	h.awaitStatus(t, h.adasTest, id, job.Completed)
	proxy.ClearFaults()
	objects := func() (count int) {
		_ = filepath.WalkDir(proxy.Folder(), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && strings.Contains(path, id) {
				count++
			}
			return nil
		})
		return count
	}
	if objects() == 0 {
		t.Error("nothing of the job is in the object store")
	}

	var manifest recording.Manifest
	if err := json.Unmarshal(h.call(t, 200, h.adasTest, "getManifest", "", id).body, &manifest); err != nil || len(manifest.Media) == 0 {
		t.Fatalf("the manifest has %d files, %v", len(manifest.Media), err)
	}
	for _, media := range manifest.Media {
		h.call(t, 200, h.adasTest, "headMedia", "", id, media.Name)
		location := h.call(t, 307, h.adasTest, "getMedia", "", id, media.Name).header.Get("Location")
		if !strings.Contains(location, "X-Amz-Signature=") || !strings.Contains(location, "X-Amz-Expires=900") {
			t.Errorf("%s is redirected to %s", media.Name, location)
		}
		read := func(span string, want int) []byte { // a signed URL needs no key
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, location, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Range", span)
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			content, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != want {
				t.Fatalf("%s: %s, %v, %.200s", location, answer.Status, err, content)
			}
			return content
		}
		whole := read("", http.StatusOK)
		if sum := sha256.Sum256(whole); hex.EncodeToString(sum[:]) != media.SHA256 || int64(len(whole)) != media.Bytes {
			t.Fatalf("%s: %d bytes with SHA-256 %x, want %d with %s", media.Name, len(whole), sum, media.Bytes, media.SHA256)
		}
		if part := read("bytes=100-299", http.StatusPartialContent); string(part) != string(whole[100:300]) {
			t.Errorf("%s: a range has %d bytes", media.Name, len(part))
		}
	}
	key := h.adasTest
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	settings.Retention.Retention = retention.Period(time.Millisecond)
	h = openContractHarness(t, newContractCoverage(), settings)
	await.Until(t, "the end of the retention", func() bool {
		return h.do(t, contractRequest{op: "getManifest", in: []string{id}, bearer: key}).status == http.StatusNotFound
	})
	await.Until(t, "the deletion of all objects", func() bool { return objects() == 0 })
}

// TestSignUploadOnS3 checks that a bot may send files to the object store itself until its job has ended, within its quota. It
// sets environment variables, so it does not run in parallel.
func TestSignUploadOnS3(t *testing.T) {
	for name, value := range s3test.Environment() {
		t.Setenv(name, value)
	}
	settings := contractSettings(t)
	settings.StorageURL, settings.OpenS3 = s3test.Start(t).Address(), s3.Open
	h := openContractHarness(t, newContractCoverage(), settings)
	id := h.create(t, h.ada, contractJob(`,"autoLeave":{"afterMaxSeconds":60}`))
	sign := func(status int, sequence, bytes int) string {
		t.Helper()
		reply := h.call(t, status, contractToken(id, 0), "signUpload", fmt.Sprintf(`{"jobId":%q,"attempt":0,"name":%q,"bytes":%d,"sha256":%q}`,
			id, ingest.SegmentName(0, sequence), bytes, strings.Repeat("0", 64)))
		return string(reply.body)
	}
	if reply := sign(200, 0, 1<<20); !strings.Contains(reply, id+"/uploads/0/recording-000-000000.mp4s?") {
		t.Errorf("the upload is not signed: %s", reply)
	}
	sign(200, 1, 1<<30)
	sign(429, 2, 4<<30) // what was signed counts
	h.sendEvent(t, id, "lifecycle.recording_started", "")
	h.sendEvent(t, id, "lifecycle.exited", `{"failureCode":"internal_error"}`)
	h.awaitStatus(t, h.ada, id, job.Failed)
	if reply := sign(200, 3, 1<<20); strings.TrimSpace(reply) != "{}" {
		t.Errorf("after the end of the job, an upload is signed: %s", reply)
	}
}

// TestUploadDuringDeletionOnS3 checks that an upload that was admitted before its recording was
// deleted leaves nothing in the object store. It sets environment variables, so it does not run in
// parallel.
func TestUploadDuringDeletionOnS3(t *testing.T) {
	for name, value := range s3test.Environment() {
		t.Setenv(name, value)
	}
	objects := s3test.Start(t)
	settings := contractSettings(t)
	settings.StorageURL, settings.OpenS3 = objects.Address(), s3.Open
	h := openContractHarness(t, newContractCoverage(), settings)
	id := h.create(t, h.ada, contractJob(""))
	h.sendEvent(t, id, "lifecycle.recording_started", "")
	h.sendEvent(t, id, "lifecycle.exited", `{"failureCode":"internal_error"}`)
	h.awaitStatus(t, h.ada, id, job.Failed)
	var once sync.Once
	objects.SetFaults(func(r *http.Request, _ int64) s3test.Fault {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, id) {
			once.Do(func() { h.call(t, 204, h.ada, "deleteRecording", "", id) })
		}
		return s3test.Fault{}
	})
	upload := contractRequest{
		op: "uploadMedia", in: []string{id, "0", "recording-000-000000.mp4s"}, bearer: contractToken(id, 0), header: contractSum("media"),
		body: "media",
	}
	h.expect(t, 409, upload)
	_ = filepath.WalkDir(objects.Folder(), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.Contains(path, id) {
			t.Errorf("%s is stored after the deletion", path)
		}
		return nil
	})
}
