package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/recording/storage/s3"
	"standin/internal/retention"
	"standin/internal/testing/s3test"
	"standin/internal/testing/storetest"
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
	with := settings(storetest.FreshDataDir(t))
	with.StorageURL, with.OpenS3 = proxy.Address(), s3.Open
	s := start(t, with)
	_, secret, err := s.Keys.Issue(t.Context(), "ada", "", job.Test)
	if err != nil {
		t.Fatal(err)
	}
	var created struct{ ID string }
	body := `{"externalId":"1","meetingUrl":"https://meet.google.com/abc-defg-hij"}`
	if status := post(t, s.BaseURL()+"/api/v1/jobs", secret, body, &created); status != http.StatusCreated {
		t.Fatalf("create: %d", status)
	}
	waitLong(t, s, created.ID, "completed", func(r job.Record) bool { return r.Status == job.Completed })
	proxy.ClearFaults()

	var manifest recording.Manifest
	text, _ := fetch(t, s.BaseURL()+"/api/v1/jobs/"+created.ID+"/manifest", secret, "", http.StatusOK)
	if err := json.Unmarshal(text, &manifest); err != nil || len(manifest.Media) == 0 {
		t.Fatalf("the manifest has %d files, %v", len(manifest.Media), err)
	}
	for _, media := range manifest.Media {
		_, location := fetch(t, media.URI, secret, "", http.StatusTemporaryRedirect)
		if !strings.Contains(location, "X-Amz-Signature=") || !strings.Contains(location, "X-Amz-Expires=900") {
			t.Errorf("%s is redirected to %s", media.Name, location)
		}
		whole, _ := fetch(t, location, "", "", http.StatusOK) // a signed URL needs no key
		if sum := sha256.Sum256(whole); hex.EncodeToString(sum[:]) != media.SHA256 || int64(len(whole)) != media.Bytes {
			t.Fatalf("%s: %d bytes with SHA-256 %x, want %d with %s", media.Name, len(whole), sum, media.Bytes, media.SHA256)
		}
		part, _ := fetch(t, location, "", "bytes=100-299", http.StatusPartialContent)
		if string(part) != string(whole[100:300]) {
			t.Errorf("%s: a range has %d bytes", media.Name, len(part))
		}
	}
	closeService(t, s)

	with.Retention.Retention = retention.Period(time.Millisecond)
	s = start(t, with)
	defer closeService(t, s)
	waitLong(t, s, created.ID, "erased", func(r job.Record) bool { return !r.RecordingErasedAt.IsZero() })
	fetch(t, s.BaseURL()+"/api/v1/jobs/"+created.ID+"/manifest", secret, "", http.StatusNotFound)
	if kept, err := s.storage.JobUsage(t.Context(), parse(t, created.ID)); err != nil || kept.Objects > 0 {
		t.Errorf("after the retention: %+v, %v", kept, err)
	}
}

// waitLong is waitFor with a timeout for a simulated meeting on a busy machine.
func waitLong(t *testing.T, s *Service, id, what string, wanted func(job.Record) bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		r, err := s.Store().Job(t.Context(), parse(t, id))
		if err != nil {
			t.Fatal(err)
		}
		if wanted(r) {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			t.Fatalf("timeout waiting for the job to be %s: %s %s", what, r.Status, r.FailureDetail)
		}
	}
}

// fetch requests a URL without following redirects.
func fetch(t *testing.T, address, bearer, span string, want int) (body []byte, location string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	if span != "" {
		request.Header.Set("Range", span)
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != want {
		t.Fatalf("%s: %s, %v, %.200s", address, answer.Status, err, body)
	}
	return body, answer.Header.Get("Location")
}
