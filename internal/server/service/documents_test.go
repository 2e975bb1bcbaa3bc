package service_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	documentedBody    = regexp.MustCompile("(?ms)^ *```json\n(.*?)^ *```$")
	documentedCommand = regexp.MustCompile("`(?:POST|PUT) …/([a-z-]+)`[^|]*\\|.*`({.*})`")
)

// sendDocumented sends the requests of the documents about streams and output, which create
// jobs and make bots play and show files of a server. The service knows all their fields.
func (h *contractHarness) sendDocumented(t *testing.T, server string) {
	t.Helper()
	operations := map[string]string{"play-audio": "playAudio", "speak": "speak", "camera": "setCamera"}
	bodies, commands := 0, 0
	for _, name := range []string{"real-time", "speak"} {
		content, err := os.ReadFile("../../../docs/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(content), "https://example.com", server)
		id := ""
		for _, block := range documentedBody.FindAllStringSubmatch(text, -1) {
			body := map[string]any{"externalId": "documented", "meetingUrl": "https://meet.google.com/abc-defg-hij"}
			if err := json.Unmarshal([]byte(block[1]), &body); err != nil {
				t.Fatalf("%s: %v in %s", name, err, block[1])
			}
			bodies++
			body["joinAt"], body["externalId"] = "2999-01-01T00:00:00Z", body["externalId"].(string)+strconv.Itoa(bodies)
			encoded, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			created := h.call(t, 201, h.ada, "createJob", string(encoded))
			if ignored := created.header.Get("X-Ignored-Fields"); ignored != "" {
				t.Errorf("%s: the service ignores %s of %s", name, ignored, block[1])
			}
			id = created.text(t, "id")
		}
		h.sendEvent(t, id, "lifecycle.in_meeting", "")
		for _, row := range documentedCommand.FindAllStringSubmatch(text, -1) {
			commands++
			h.call(t, 202, h.ada, operations[row[1]], row[2], id)
		}
	}
	if bodies != 3 || commands != len(operations) {
		t.Errorf("the documents have %d jobs and %d commands", bodies, commands)
	}
}
