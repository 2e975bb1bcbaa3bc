package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.yaml.in/yaml/v3"

	"standin/internal/jobs/webhook"
	"standin/internal/testing/await"
)

// tutorials is the folder of the tutorials.
const tutorials = "docs/tutorials/"

// savedFile is a file that the reader of a tutorial saves.
var savedFile = regexp.MustCompile("(?ms)Save (?:this|it) as `([a-z.]+)`[^\n]*\n\n```[a-z]+\n(.*?)^```$")

// TestTutorials runs each tutorial word by word: it saves the files, runs the commands in their
// order against a service with test keys, and checks what the reader has at the end. Packages come
// from the registries of Python and Node.
func TestTutorials(t *testing.T) {
	t.Parallel()
	needTools(t)
	results := map[string]func(*documentRun){
		"first-recording.md":     func(r *documentRun) { r.await("python3 record.py", "recording.mp4") },
		"receive-webhooks.md":    checkReceivers,
		"transcript-to-slack.md": func(r *documentRun) { r.slack.await(r.T, "Ada Quill") },
		"voice-agent.md":         checkAgent,
		"record-calendar.md":     func(r *documentRun) { r.await("standin jobs list --status scheduled", "scheduled") },
		"from-recall.md":         func(r *documentRun) { r.await("python3 bot.py", "done") },
		"from-attendee.md":       func(r *documentRun) { r.await("standin jobs list", "monday") },
		"agent-mcp.md":           func(r *documentRun) { r.await("curl", "send_bot") },
	}
	for _, document := range documents(t) {
		name, isTutorial := strings.CutPrefix(document, tutorials)
		check := results[name]
		if !isTutorial || check == nil {
			continue
		}
		delete(results, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newDocumentRun(t)
			content := r.save(document)
			if !strings.Contains(content, "standin serve\n") {
				r.startService()
			}
			r.live = name == "record-calendar.md" // calendars need a live key; their meetings are tomorrow
			for _, command := range commandsOf(t, document) {
				r.run(command)
			}
			check(r)
		})
	}
	for name := range results {
		t.Errorf("there is no tutorial %s", name)
	}
}

// save writes the files of a document, and returns its text.
func (r *documentRun) save(document string) string {
	r.Helper()
	content, err := os.ReadFile(root + document)
	if err != nil {
		r.Fatal(err)
	}
	for _, match := range savedFile.FindAllStringSubmatch(string(content), -1) {
		r.write(match[1], []byte(r.ports.Replace(match[2])))
	}
	return string(content)
}

// checkReceivers checks that both receivers have printed the end of a job.
func checkReceivers(r *documentRun) {
	r.await("env/bin/uvicorn", "job.finalized completed")
	r.await("node receiver.mjs", "job.finalized completed")
}

// await waits until the output of a command contains a text.
func (r *documentRun) await(command, text string) {
	r.Helper()
	r.Cleanup(func() {
		for _, o := range r.outputs {
			if r.Failed() {
				r.Logf("%s\n%s", o.command, o.output.String())
			}
		}
	})
	await.Until(r.T, command+" to print "+text, func() bool {
		return slices.ContainsFunc(r.outputs, func(o commandOutput) bool {
			return strings.HasPrefix(o.command, command) && strings.Contains(o.output.String(), text)
		})
	})
}

// checkAgent sends the agent a second of sound and then silence, as Standin does, and expects the
// sound back. It also checks that the agent refuses a connection without a signature.
func checkAgent(r *documentRun) {
	const rate, loud, frame = 16000, 8000, 320 // 20 ms
	address := r.ports.Replace("ws://127.0.0.1:9002")
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	secret := strings.TrimSpace(r.output("standin teams show acme --secret | grep -o 'whsec_[^ ]*'"))
	header := make(http.Header)
	if err := webhook.Sign(header, []webhook.Secret{{Value: secret}}, "job", time.Now(), nil); err != nil {
		r.Fatal(err)
	}
	if _, response, err := websocket.Dial(ctx, address, nil); err == nil || response == nil || response.StatusCode < http.StatusBadRequest {
		r.Errorf("the agent accepts a connection without a signature: %v", err)
	}
	socket, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		r.Fatal(err)
	}
	defer socket.CloseNow()
	if err := socket.Write(ctx, websocket.MessageText, []byte(`{"type":"start","version":1}`)); err != nil {
		r.Fatal(err)
	}
	for i := range 2 * rate / frame { // the second half is silence
		message := binary.LittleEndian.AppendUint32(nil, 0)
		message = binary.LittleEndian.AppendUint32(message, uint32(i*20)) // #nosec G115 -- two seconds
		for range frame {
			sample := uint16(0)
			if i < rate/frame {
				sample = loud
			}
			message = binary.LittleEndian.AppendUint16(message, sample)
		}
		if err := socket.Write(ctx, websocket.MessageBinary, message); err != nil {
			r.Fatal(err)
		}
	}
	for heard := 0; heard < 2*rate; {
		kind, message, err := socket.Read(ctx)
		if err != nil {
			r.Fatalf("after %d bytes: %v", heard, err)
		}
		if kind == websocket.MessageBinary {
			heard += len(message)
		}
	}
}

// doubles replaces the addresses of other services and the fixed ports of tutorials.
func (r *documentRun) doubles() {
	r.Helper()
	slack := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(&r.slack, io.LimitReader(request.Body, 1<<20)) // the test reads what arrived
	}))
	r.Cleanup(slack.Close)
	calendar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		start := time.Now().UTC().AddDate(0, 0, 1).Format("20060102T150405Z")
		fmt.Fprintf(w,
			"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\nBEGIN:VEVENT\r\nUID:1@example.com\r\nDTSTAMP:20261101T000000Z\r\nDTSTART:%s\r\n"+
				"DURATION:PT1H\r\nSUMMARY:Review\r\nORGANIZER:mailto:ada@example.com\r\nATTENDEE:mailto:bob@example.org\r\n"+
				"LOCATION:https://meet.google.com/abc-defg-hij\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n", start)
	}))
	r.Cleanup(calendar.Close)
	var pairs []string
	for _, port := range []string{"9000", "9001", "9002"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
		if err != nil {
			r.Fatal(err)
		}
		_, free, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			r.Fatal(err)
		}
		_ = listener.Close() // only its number was needed
		pairs = append(pairs, port, free)
	}
	pairs = append(pairs, "https://hooks.slack.com/services/…", slack.URL,
		"https://calendar.google.com/calendar/ical/ada%40example.com/private-5f2c/basic.ics", calendar.URL)
	r.ports = strings.NewReplacer(pairs...)
}

// TestTutorialValues checks that the values of the tutorial for Kubernetes are values of the chart.
func TestTutorialValues(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(root + tutorials + "kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	match := savedFile.FindStringSubmatch(string(content))
	if match == nil || match[1] != "values.yaml" {
		t.Fatal("the tutorial has no values.yaml")
	}
	var written map[string]any
	if err := yaml.Unmarshal([]byte(match[2]), &written); err != nil {
		t.Fatal(err)
	}
	checkValues(t, "kubernetes.md", written, chartValues(t))
}
