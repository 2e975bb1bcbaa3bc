package webhook_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestSnippets runs the files that verify webhooks without a library on the signed requests that all
// clients verify. The snippets do not read the signature of the service's own form.
func TestSnippets(t *testing.T) {
	t.Parallel()
	examples, err := os.ReadFile("../../../clients/webhooks.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Cases []struct {
			Name  string
			Valid bool
		}
	}
	if err := json.Unmarshal(examples, &cases); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		file, interpreter, flag string
		harness                 string // reads examples from standard input, writes its verdicts
	}{
		{"verify_webhook.py", "python3", "-c", `
import json, sys
print(json.dumps([verify_webhook(c["secret"], {name.lower(): value for name, value in c["headers"]}, c["body"].encode(), c["now"])
	for c in json.load(sys.stdin)["cases"]]))
`},
		{"verify_webhook.js", "node", "-e", `
const { cases } = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
const lower = (headers) => Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
console.log(JSON.stringify(cases.map((c) => verifyWebhook(c.secret, lower(c.headers), Buffer.from(c.body), c.now))));
`},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			code, err := os.ReadFile("../../../clients/" + test.file)
			if err != nil {
				t.Fatal(err)
			}
			path, err := exec.LookPath(test.interpreter)
			if err != nil {
				t.Skipf("%s is not installed; its snippet is not run", test.interpreter)
			}
			command := exec.CommandContext(t.Context(), path, test.flag, string(code)+"\n"+test.harness)
			command.Stdin = bytes.NewReader(examples)
			var stderr bytes.Buffer
			command.Stderr = &stderr
			output, err := command.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, stderr.String())
			}
			var verdicts []bool
			if err := json.Unmarshal(output, &verdicts); err != nil || len(verdicts) != len(cases.Cases) {
				t.Fatalf("it wrote %s (%v)", output, err)
			}
			for i, e := range cases.Cases {
				if verdicts[i] != e.Valid && !strings.Contains(e.Name, "service signature") && !strings.HasPrefix(e.Name, "secret") {
					t.Errorf("%s: verified %v, want %v", e.Name, verdicts[i], e.Valid)
				}
			}
		})
	}
}
