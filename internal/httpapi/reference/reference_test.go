package reference_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"standin/api"
	"standin/internal/httpapi/reference"
)

// page loads the description and renders its page.
func page(t *testing.T) (*api.Description, *reference.Page) {
	t.Helper()
	description, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	p, err := reference.New(description)
	if err != nil {
		t.Fatal(err)
	}
	return description, p
}

// article returns the article of the page with the ID.
func article(t *testing.T, p *reference.Page, id string) string {
	t.Helper()
	_, rest, found := strings.Cut(string(p.HTML), `<article id="`+id+`"`)
	text, _, closed := strings.Cut(rest, "</article>")
	if !found || !closed {
		t.Fatalf("the page has no article %s", id)
	}
	return text
}

// TestPageHasEveryOperation checks that each operation has its path, its statuses and
// a curl command.
func TestPageHasEveryOperation(t *testing.T) {
	t.Parallel()
	description, p := page(t)
	for _, operation := range description.Operations() {
		text := article(t, p, operation.ID)
		wanted := []string{">" + operation.Method + "</span>", "<code>" + operation.Path + "</code>", "curl "}
		for _, status := range operation.Statuses {
			wanted = append(wanted, ">"+status+"</span>")
		}
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %s", operation.ID, want)
			}
		}
	}
}

// TestPageHasEveryField checks that the page has every property of every schema and
// every webhook.
func TestPageHasEveryField(t *testing.T) {
	t.Parallel()
	description, p := page(t)
	var document struct {
		Webhooks   map[string]any `json:"webhooks"`
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(description.JSON(), &document); err != nil {
		t.Fatal(err)
	}
	fields := 0
	for name, schema := range document.Components.Schemas {
		text := article(t, p, "schema-"+name)
		for field := range schema.Properties {
			fields++
			if !strings.Contains(text, "<code>"+field+"</code>") {
				t.Errorf("%s lacks %s", name, field)
			}
		}
	}
	if fields < 140 {
		t.Errorf("only %d fields were checked", fields)
	}
	for event := range document.Webhooks {
		if !strings.Contains(string(p.HTML), "<code>"+event+"</code>") {
			t.Errorf("the page lacks the webhook %s", event)
		}
	}
	failed := article(t, p, "schema-JobFailed")
	for _, inherited := range []string{"deliveryId", "attempt", "data", "jobId", "job", "failure_code"} {
		if n := strings.Count(failed, "<code>"+inherited+"</code>"); n != 1 {
			t.Errorf("JobFailed has %s %d times, want once", inherited, n)
		}
	}
	manifest := article(t, p, "schema-RecordingManifest")
	for _, deep := range []string{"recordingStartedAt", "sha256", "participantId", "respondedAt"} {
		if !strings.Contains(manifest, "<code>"+deep+"</code>") {
			t.Errorf("the manifest lacks %s", deep)
		}
	}
}

// TestRequiredFieldsAreMarked checks the request body of one operation.
func TestRequiredFieldsAreMarked(t *testing.T) {
	t.Parallel()
	_, p := page(t)
	text := article(t, p, "createJob")
	for field, required := range map[string]bool{"externalId": true, "meetingUrl": true, "joinAt": false, "afterSoloSeconds": false} {
		if got := strings.Contains(text, "<code>"+field+`</code><span class="required">`); got != required {
			t.Errorf("%s is marked %v, want %v", field, got, required)
		}
	}
	for _, want := range []string{"1 to 86400", "default 60<", "or in the past"} {
		if !strings.Contains(text, want) {
			t.Errorf("createJob lacks %q", want)
		}
	}
}

// TestPageIsSelfContained checks that the page loads nothing, runs no scripts, matches
// its policy, and has no broken links.
func TestPageIsSelfContained(t *testing.T) {
	t.Parallel()
	_, p := page(t)
	text := string(p.HTML)
	for _, never := range []string{"<script", "<img", "<link", "<iframe", "<form", " style=", " onclick=", "@import", "url(", "ZgotmplZ"} {
		if strings.Contains(text, never) {
			t.Errorf("the page contains %s", never)
		}
	}
	_, rest, _ := strings.Cut(text, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(p.Policy, want) {
		t.Errorf("the policy %s lacks %s", p.Policy, want)
	}
	if !strings.HasPrefix(p.Policy, "default-src 'none'; ") || strings.Contains(p.Policy, "unsafe") {
		t.Errorf("the policy is %s", p.Policy)
	}
	known := map[string]bool{"/openapi.json": true, "/manifest.schema.json": true}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		if known["#"+id[1]] {
			t.Errorf("the id %s is used twice", id[1])
		}
		known["#"+id[1]] = true
	}
	for _, link := range regexp.MustCompile(` href="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		if !known[link[1]] {
			t.Errorf("the link %s is broken", link[1])
		}
	}
}

// TestCurlCommands checks the curl commands of two operations.
func TestCurlCommands(t *testing.T) {
	t.Parallel()
	_, p := page(t)
	for id, want := range map[string]string{
		"getJob": `curl "$STANDIN_URL/api/v1/jobs/0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80" \` + "\n" +
			`  -H "Authorization: Bearer $STANDIN_KEY"`,
		"sendChatMessage": `curl -X POST "$STANDIN_URL/api/v1/jobs/0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80/send-chat-message" \` + "\n" +
			`  -H "Authorization: Bearer $STANDIN_KEY" \` + "\n" +
			"  -d '{\n  \"text\": \"Ada cannot come today. I take notes for her.\"\n}'",
	} {
		if text := html.UnescapeString(article(t, p, id)); !strings.Contains(text, want) {
			t.Errorf("%s lacks\n%s", id, want)
		}
	}
}

// TestTextIsEscaped checks that markup in the description is escaped.
func TestTextIsEscaped(t *testing.T) {
	t.Parallel()
	_, p := page(t)
	text := article(t, p, "ingestEvent") + fmt.Sprint(article(t, p, "receivePayment"))
	if !strings.Contains(text, "t=&lt;seconds&gt;") || strings.Contains(text, "<seconds>") {
		t.Error("markup of the description is not escaped")
	}
}
