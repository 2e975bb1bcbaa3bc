// Package sfutest runs the program sfu for tests: a real meeting server, and people whose video was encoded by Chromium.
package sfutest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"standin/internal/replica"
)

// Server is a running server of rooms.
type Server struct {
	Control, Signal string // addresses
	Media           int    // the UDP port of all media
}

// built is the program, which all tests of a process share. It is built once per machine, in minutes.
var built = sync.OnceValues(func() (program string, err error) {
	folder, err := os.MkdirTemp("", "standin-sfu-")
	if err != nil {
		return "", err
	}
	program = filepath.Join(folder, "sfu")
	for _, command := range [][]string{{"go", "build", "-o", program, "."}, {"npm", "ci", "--silent", "--no-audit", "--no-fund"}} {
		build := exec.Command(command[0], command[1:]...)
		build.Dir = module()
		if output, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", command, err, output)
		}
	}
	return program, nil
})

// module returns the folder of the program's module.
func module() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "sfu")
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	program, err := built()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(context.WithoutCancel(t.Context()), program) // it ends when its input does
	var log bytes.Buffer
	process.Stderr = &log
	input, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = process.Wait()
		if t.Failed() {
			t.Logf("the SFU: %s", log.Bytes())
		}
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	var s Server
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err != nil {
		t.Fatalf("start the SFU: %v\n%s", err, log.Bytes())
	}
	return &s
}

// SFU returns the settings of a meeting whose media the server carries.
func (s *Server) SFU(slots int) *replica.SFU {
	return &replica.SFU{
		URL: s.Signal, Client: filepath.Join(module(), "node_modules", "livekit-client", "dist", "livekit-client.esm.mjs"), Slots: slots,
		Token: func(room, guest string) (string, error) {
			return s.call(http.MethodGet, "/token?"+url.Values{"room": {room}, "id": {guest}}.Encode(), nil)
		},
	}
}

// Publish lets a participant of a meeting send sound, and video of a codec and hue; without a codec only sound.
func (s *Server) Publish(t testing.TB, meeting *replica.Meeting, name, codec string, hue int) {
	t.Helper()
	sends, err := meeting.Publication(name)
	if err == nil {
		_, err = s.call(http.MethodPost, "/people", map[string]any{
			"Room": meeting.Code(), "ID": sends.ID, "Codec": codec, "Hue": hue, "Sound": sends.Sound, "Since": sends.Since,
		})
	}
	if err != nil {
		t.Fatalf("%s joins the SFU: %v", name, err)
	}
}

// Leave lets a participant leave the room of a meeting, and then the meeting.
func (s *Server) Leave(t testing.TB, meeting *replica.Meeting, name string) {
	t.Helper()
	sends, err := meeting.Publication(name)
	if err == nil {
		_, err = s.call(http.MethodDelete, "/people?"+url.Values{"room": {meeting.Code()}, "id": {sends.ID}}.Encode(), nil)
	}
	if err == nil {
		err = meeting.Leave(name)
	}
	if err != nil {
		t.Fatalf("%s leaves: %v", name, err)
	}
}

// Lose drops a share of the packets of all media, in percent, until the end of the test.
func (s *Server) Lose(t testing.TB, percent int) {
	t.Helper()
	table := fmt.Sprintf("sfu%d", s.Media)
	rules := fmt.Sprintf(`table inet %s {
		chain lose {
			type filter hook input priority 0;
			udp sport %d numgen random mod 100 < %d drop
			udp dport %d numgen random mod 100 < %d drop
		}
	}`, table, s.Media, percent, s.Media, percent)
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() { _ = exec.CommandContext(ctx, "nft", "delete", "table", "inet", table).Run() })
	command := exec.CommandContext(ctx, "nft", "-f", "-")
	command.Stdin = strings.NewReader(rules)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("lose packets (as root, with nft): %v\n%s", err, output)
	}
}

func (s *Server) call(method, path string, body any) (string, error) {
	var encoded bytes.Buffer
	if err := json.NewEncoder(&encoded).Encode(body); err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(context.Background(), method, s.Control+path, &encoded)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return string(answer), err
}
