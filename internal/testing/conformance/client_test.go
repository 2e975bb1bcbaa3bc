package conformance_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"standin/api"
	"standin/client"
)

// TestOperations checks that the client has a method for every operation that a
// consumer may call.
func TestOperations(t *testing.T) {
	t.Parallel()
	named := map[string]string{ // those whose names are not those of the operations
		"requestRecordingPermission": "SendCommand", "pauseRecording": "SendCommand", "resumeRecording": "SendCommand",
		"stopRecording": "SendCommand", "leaveCall": "SendCommand", "stopOutput": "SendCommand",
		"createCalendar": "ConnectCalendar", "deleteCalendar": "DisconnectCalendar", "patchCalendarEvent": "OverrideEvent",
		"liveJob": "Live", "getMedia": "Download", "headMedia": "Manifest", "initLogin": "StartLogin", "pollLogin": "AwaitLogin",
	}
	// People, bots, workers, operators, pages, payment providers and generators call these.
	others := strings.Fields(`listAuditLog ingestEvent ingestTexts heartbeat readOutput borrowAccount returnAccount signUpload ingestSound
		ingestScreenshot listenToJob intakeInvite hostMetrics completeLogin receivePayment receiveZoom reference describe
		describeYAML describeManifest securityText readiness`)
	description, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, operation := range description.Operations() {
		name := named[operation.ID]
		if name == "" {
			name = strings.TrimPrefix(strings.TrimPrefix(operation.ID, "list"), "get")
			name = strings.ToUpper(name[:1]) + name[1:]
		}
		if _, exists := reflect.TypeFor[*client.Client]().MethodByName(name); exists == slices.Contains(others, operation.ID) {
			t.Errorf("%s: the client has the method %s: %v", operation.ID, name, exists)
		}
	}
}

// TestInvalidClients checks what a client refuses before it sends a request.
func TestInvalidClients(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "localhost:8080", "ftp://example.com", "http://"} {
		if _, err := client.New(base, "key"); err == nil {
			t.Errorf("the base URL %q is accepted", base)
		}
	}
	if _, err := client.New("http://127.0.0.1:1", "key\r\nX: y"); err == nil {
		t.Error("a key with a line break is accepted")
	}
}
