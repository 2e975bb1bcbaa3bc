package rtmsdouble_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"standin/internal/replica/rtmsdouble"
)

// startForPrograms starts a double for other programs, with the video of a camera and a file of the certificate.
func startForPrograms(t *testing.T) (server *rtmsdouble.Server, camera [][]byte, certificate string) {
	t.Helper()
	server, err := rtmsdouble.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	camera, err = rtmsdouble.MakeVideo(320, 180)
	certificate = filepath.Join(t.TempDir(), "ca.pem")
	if err == nil {
		err = os.WriteFile(certificate, server.Certificate(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return server, camera, certificate
}

// TestZoomLibrary: Zoom's own client library joins the double, and receives everything that it can hand on: it has no
// function for chat. make rtms-library installs it.
func TestZoomLibrary(t *testing.T) {
	t.Parallel()
	python := os.Getenv("STANDIN_TEST_RTMS_PYTHON")
	if python == "" {
		t.Skip("STANDIN_TEST_RTMS_PYTHON is not set; run make rtms-library")
	}
	server, frames, certificate := startForPrograms(t)
	m := server.Open(rtmsdouble.Settings{})
	m.Join(rtmsdouble.Person{ID: 16778240, Name: "Ada", Tone: 440}, rtmsdouble.Person{ID: 33556610, Name: "Ben", Tone: 660})
	stream := m.Stream()
	arguments := map[string]string{
		"meetingUuid": stream.MeetingUUID, "streamId": stream.StreamID, "serverUrls": stream.ServerURLs, "caFile": certificate,
		"clientId": rtmsdouble.ClientID, "secret": rtmsdouble.Secret,
	}
	encoded, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("testdata/library.py")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), python, script, string(encoded))
	command.Dir = t.TempDir()
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{
		`joined`: true, `audio Ada`: true, `audio Ben`: true, `video Ada`: true, `share Ben`: true, `transcript Ada: Hello from Ada`: true, `left`: true,
	}
	m.Talk(16778240, 33556610)
	m.Camera(16778240, frames)
	m.Share(33556610, frames)
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	deadline, again := time.After(50*time.Second), time.NewTicker(500*time.Millisecond)
	defer again.Stop()
	for stopped := false; ; {
		select {
		case line, ok := <-lines:
			if !ok {
				if err := command.Wait(); err != nil || len(missing) > 0 {
					t.Errorf("the library received no %v (%v)", missing, err)
				}
				return
			}
			t.Log(line)
			var got struct{ Kind, Name, Text string }
			if json.Unmarshal([]byte(line), &got) != nil {
				continue
			}
			key := got.Kind
			if got.Name != "" {
				key += " " + got.Name
			}
			if got.Text != "" {
				key += ": " + got.Text
			}
			delete(missing, key)
		case <-again.C:
			m.Say(16778240, "Hello from Ada", time.Now().Add(-time.Second), time.Now())
			if len(missing) == 1 && !stopped { // only that it has left
				stopped = true
				m.Stop(6)
			}
		case <-deadline:
			t.Errorf("the library received no %v", missing)
			_ = command.Process.Kill()
			deadline = nil
		}
	}
}
