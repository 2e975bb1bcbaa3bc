package rtmsdouble_test

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"standin/internal/replica/rtmsdouble"
	"standin/internal/testing/launchtest"
)

// TestZoomSample: Zoom's sample client in Go (zoom/rtms-samples, boilerplate/working_go), whose program
// STANDIN_TEST_RTMS_SAMPLE names, follows a signed webhook into a meeting of the double, with one connection for all media or
// with one for each, and receives what it knows.
func TestZoomSample(t *testing.T) {
	t.Parallel()
	sample := os.Getenv("STANDIN_TEST_RTMS_SAMPLE")
	if sample == "" {
		t.Skip("STANDIN_TEST_RTMS_SAMPLE is not set")
	}
	server, frames, certificate := startForPrograms(t)
	for mode, flags := range map[string]string{"unified": "32", "split": "31"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			m := server.Open(rtmsdouble.Settings{})
			m.Join(rtmsdouble.Person{ID: 16778240, Name: "Ada", Tone: 440}, rtmsdouble.Person{ID: 33556610, Name: "Ben", Tone: 660})
			address := launchtest.FreeAddress(t)
			_, port, _ := strings.Cut(address, ":")
			command := exec.CommandContext(t.Context(), sample)
			command.Dir = t.TempDir()
			command.Env = []string{
				"PORT=" + port, "SSL_CERT_FILE=" + certificate, "ZOOM_SECRET_TOKEN=a token", "MEDIA_SOCKET_CONNECTION_MODE=" + mode,
				"MEDIA_TYPES_FLAG=" + flags, "ZM_CLIENT_ID=" + rtmsdouble.ClientID, "ZM_CLIENT_SECRET=" + rtmsdouble.Secret,
				"ZOOM_CLIENT_ID=" + rtmsdouble.ClientID, "ZOOM_CLIENT_SECRET=" + rtmsdouble.Secret,
			}
			output, err := command.StderrPipe()
			if err == nil {
				err = command.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			lines := make(chan string)
			go func() {
				defer close(lines)
				for scanner := bufio.NewScanner(output); scanner.Scan(); {
					lines <- scanner.Text()
				}
			}()
			stream := m.Stream()
			body, err := json.Marshal(map[string]any{"event": "meeting.rtms_started", "payload": map[string]string{
				"meeting_uuid": stream.MeetingUUID, "rtms_stream_id": stream.StreamID, "server_urls": stream.ServerURLs,
			}})
			if err != nil {
				t.Fatal(err)
			}
			missing := map[string]bool{"AUDIO": true, "VIDEO": true, "SCREEN SHARE": true, "TRANSCRIPT": true, "CHAT": true}
			deadline, again, told := time.After(30*time.Second), time.NewTicker(500*time.Millisecond), false
			defer again.Stop()
			for len(missing) > 0 {
				select {
				case line, ok := <-lines:
					if !ok {
						t.Fatalf("the sample ended without %v", missing)
					}
					_, kind, _ := strings.Cut(line, "Received ")
					kind, data := strings.CutSuffix(kind, " data:")
					if data {
						delete(missing, kind)
					} else {
						t.Log(line)
					}
				case <-again.C:
					if !told {
						told = announce(t, "http://"+address, body)
						m.Talk(16778240, 33556610)
						m.Camera(16778240, frames)
						m.Share(33556610, frames)
					}
					m.Say(16778240, "Hello from Ada", time.Now().Add(-time.Second), time.Now())
					m.Write(33556610, "Hello from Ben")
				case <-deadline:
					t.Errorf("the sample received no %v", missing)
					clear(missing)
				}
			}
			_ = command.Process.Kill()
			for range lines {
			}
			_ = command.Wait()
		})
	}
}

// announce sends a webhook as Zoom signs it, and reports whether it was received.
func announce(t *testing.T, url string, body []byte) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte("a token"))
	mac.Write([]byte("v0:" + at + ":" + string(body)))
	request.Header.Set("x-zm-request-timestamp", at)
	request.Header.Set("x-zm-signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the webhook was answered with %s", response.Status)
	}
	return true
}
