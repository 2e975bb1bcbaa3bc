package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"standin/internal/jobs/webhook"
)

// commandsNotRun lists, by document, the start of each command that
// TestDocumentedCommands does not run, with the reason. TestDocumentedNames parses
// them. All other commands run.
var commandsNotRun = map[string]map[string]string{
	"README.md":          {"make build": "bin/standin is the binary of this test"},
	"docs/quickstart.md": {"make build": "bin/standin is the binary of this test"},
	"docs/commands.md":   {"standin login --url": "waits for a person; TestLogin authorizes it"},
	"docs/calendars.md":  {"standin calendars connect": "needs a calendar; TestTutorials connects one"},
	"docs/mail.md": {
		"curl smtp:":          "has no job as its response; TestServe sends a message",
		"standin mail login":  "needs an account of a provider; TestOAuth signs in",
		"standin mail --smtp": "the worker of serve uses the directory; TestServe runs the worker",
	},
	"docs/diagnose.md": {"STANDIN_CANARY_MEETING": "visits a meeting of a live platform"},
	"docs/transcripts.md": {
		"standin recordings transcribe": "needs a transcriber; TestTranscribeAgain has one",
		"docker":                        "needs a container engine",
	},
	"docs/upgrade.md": {
		"sudo":      "needs the installed package; TestDebianPackage upgrades it",
		"systemctl": "needs the installed package",
	},
	"docs/install.md": {
		"make deb":     "TestDebianPackage builds the package",
		"sudo apt-get": "changes the machine; TestDebianPackage installs the package into another system",
		"sudo standin": "needs the installed package; TestDebianPackage runs it",
		"docker":       "needs a container engine",
		"deploy/compo": "writes into the repository; TestComposeCluster runs it",
	},
	tutorials + "one-server.md": {
		"sudo":                "changes the machine; TestDebianPackage installs the package into another system",
		"curl":                "needs the domain",
		"standin login --url": "waits for a person; TestLogin authorizes it",
		"standin jobs create": "needs the domain; the quick start runs it",
	},
	tutorials + "kubernetes.md": {
		"docker":  "needs a container engine",
		"kubectl": "needs a cluster",
		"helm":    "needs a cluster; TestTutorialValues checks the values",
	},
	"deploy/README.md": {
		"deploy/compose-secrets.sh": "TestComposeCluster runs it",
		"docker":                    "needs a container engine",
		"kubectl":                   "needs a cluster",
	},
}

// isRun reports whether TestDocumentedCommands runs a command of a document.
func isRun(document, command string) bool {
	for start := range commandsNotRun[document] {
		if strings.HasPrefix(command, start) {
			return false
		}
	}
	return !testing.Short()
}

// withService are the documents whose commands need a service with a job.
var withService = []string{
	"docs/api.md", "docs/backup.md", "docs/captions.md", "docs/commands.md", "docs/jobs.md", "docs/recordings.md", "docs/test-mode.md",
	"docs/transcripts.md", "docs/webhooks.md",
}

// TestDocumentedCommands runs the commands of each document in their order, in a new
// folder, with a service whose keys are test keys.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	needTools(t)
	for _, document := range documents(t) {
		if strings.HasPrefix(document, tutorials) {
			continue // TestTutorials runs them
		}
		var commands []documentedCommand
		for _, command := range commandsOf(t, document) {
			if isRun(document, command.text) {
				commands = append(commands, command)
			}
		}
		if len(commands) == 0 {
			continue
		}
		t.Run(document, func(t *testing.T) {
			t.Parallel()
			r := newDocumentRun(t)
			if slices.Contains(withService, document) {
				r.startService()
			}
			for _, command := range commands {
				r.run(command)
			}
		})
	}
}

// documentRun runs the commands of one document.
type documentRun struct {
	*testing.T
	dir     string
	hooks   *httptest.Server
	exports string // the export commands so far
	base    string // of the service, if it runs
	job     string // ID of the first job
	secret  string // of webhooks
	live    bool   // keys are live
	ports   *strings.Replacer
	slack   lockedBuffer // what the double of Slack has received
	outputs []commandOutput
}

// commandOutput is what a command has printed.
type commandOutput struct {
	command string
	output  *lockedBuffer
}

// newDocumentRun creates a folder in which standin and bin/standin are this binary, and
// internal is the folder of the repository.
func newDocumentRun(t *testing.T) *documentRun {
	t.Helper()
	r := &documentRun{T: t, dir: t.TempDir(), secret: webhook.NewSecret()}
	r.hooks = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(r.hooks.Close)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin", "backups", "var/lib/standin"} {
		if err := os.MkdirAll(filepath.Join(r.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"bin/standin": self, "internal": absolute(t, root+"internal")} {
		if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.doubles()
	return r
}

// startService starts a service with a job of a test key that has ended, signs in, and
// writes a signed webhook to body.json and headers.txt.
func (r *documentRun) startService() {
	r.Helper()
	for _, command := range []string{
		"standin keys create --team acme > key",
		"standin serve",
		"standin login --with-key --url http://127.0.0.1:8080 < key",
		"standin jobs create https://meet.google.com/abc-defg-hij --external-id 1 --captions --watch",
	} {
		r.run(documentedCommand{shell: "bash", text: command})
	}
	r.write("body.json", []byte(webhookBody))
	r.write("headers.txt", []byte(headerLines(r.T, signedHeader(r.T, r.secret, time.Now()))))
}

// output runs a command and returns what it prints.
func (r *documentRun) output(text string) string {
	r.Helper()
	output, err := r.process(r.Context(), "bash", r.fill(text)).Output()
	if err != nil {
		r.Fatalf("%s: %v", text, err)
	}
	return string(output)
}

func (r *documentRun) write(name string, content []byte) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), content, 0o600); err != nil {
		r.Fatal(err)
	}
}

// longRunning matches commands that run until they are interrupted.
var longRunning = regexp.MustCompile(`^(?:(?:bin/)?standin (?:serve|mail --smtp-listen|webhooks listen)|env/bin/(?:uvicorn|python)|node )\b`)

// jobID matches the ID of a job in an output.
var jobID = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// run runs a command and checks its exit code and the output that the document shows. A
// command that shows an error fails.
func (r *documentRun) run(command documentedCommand) {
	r.Helper()
	text := r.fill(command.text)
	if longRunning.MatchString(text) {
		r.start(text)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 4*time.Minute)
	defer cancel()
	process := r.process(ctx, command.shell, text)
	output, err := process.CombinedOutput()
	r.outputs = append(r.outputs, commandOutput{text, new(lockedBuffer)})
	_, _ = r.outputs[len(r.outputs)-1].output.Write(output) // cannot fail
	wantError := strings.Contains("\n"+command.output, "\nstandin: ")
	if isDoctor := strings.HasSuffix(strings.TrimSpace(text), "standin doctor"); isDoctor {
		r.checkDoctor(string(output), command.output)
	} else if (err != nil) != wantError {
		r.Errorf("%s: %v\n%s", text, err, output)
	} else if command.output != "" {
		r.compareOutput(text, string(output), command.output)
	}
	if strings.HasPrefix(text, "export ") {
		r.exports += text + "\n"
	}
	if r.job == "" && strings.Contains(text, "jobs") {
		r.job = jobID.FindString(string(output))
	}
	if strings.HasPrefix(text, "curl ") && (len(output) == 0 || strings.HasPrefix(string(output), `{"error"`)) {
		r.Errorf("%s: the response is an error: %s", text, output)
	}
}

// fill replaces what a reader has to replace, and what only exists on another machine.
func (r *documentRun) fill(text string) string {
	text = r.ports.Replace(text)
	if !r.live {
		text = strings.ReplaceAll(text, "keys create --team", "keys create --test --team") // jobs run in the simulator
	}
	return strings.TrimSpace(strings.NewReplacer(
		"login --with-key <", "login --with-key --url "+r.base+" <", // the default is the port of the documents
		"http://127.0.0.1:8080", r.base,
		"https://example.com/hooks", r.hooks.URL,
		"whsec_…", r.secret,
		"127.0.0.1:2525", "127.0.0.1:0",
		"webhooks listen", "webhooks listen --listen 127.0.0.1:0",
		"/var/lib/standin", filepath.Join(r.dir, "var/lib/standin"),
		"/backups/", filepath.Join(r.dir, "backups")+"/",
		"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80", r.job,
		"JOB", r.job,
		"…", "value",
	).Replace(text))
}

// process returns the process of a command, with the settings of the machine's
// environment that are not Standin's.
func (r *documentRun) process(ctx context.Context, shell, text string) *exec.Cmd {
	arguments := map[string][]string{
		"bash": {"-e", "-o", "pipefail", "-c", r.exports + text},
		"zsh":  {"-f", "-e", "-c", "autoload -U compinit; compinit -D -u\n" + text},
		"fish": {"--no-config", "-c", text},
	}
	process := exec.CommandContext(ctx, shell, arguments[shell]...)
	process.Dir = r.dir
	process.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "STANDIN_") || strings.HasPrefix(variable, "XDG_")
	}), "PATH="+filepath.Join(r.dir, "bin")+":"+os.Getenv("PATH"), "HOME="+r.dir,
		"STANDIN_LISTEN=127.0.0.1:0", "STANDIN_NO_SANDBOX=true", // for tests as root
		modeVariable+"=headless")
	return process
}

// start starts a command that runs until the end of the test, waits until it listens,
// and sends it a webhook if it receives webhooks.
func (r *documentRun) start(text string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 4*time.Minute)
	defer cancel()
	// exec, so that the signal reaches the command.
	process := r.process(context.WithoutCancel(ctx), "bash", "exec "+text)
	output := new(lockedBuffer)
	process.Stdout, process.Stderr = output, output
	r.outputs = append(r.outputs, commandOutput{text, output})
	if err := process.Start(); err != nil {
		r.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = process.Wait(); close(ended) }()
	r.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(2 * time.Minute):
			r.Errorf("%s does not end: %s", text, output.String())
			_ = process.Process.Kill()
			<-ended
		}
	})
	listening := regexp.MustCompile(`(?:(?:listening|running) on ((?:http|ws)://[0-9.:]+)|receiving on)`)
	for ticker := time.NewTicker(10 * time.Millisecond); !listening.MatchString(output.String()); {
		select {
		case <-ticker.C:
		case <-ended:
			r.Fatalf("%s ended: %s", text, output.String())
		case <-ctx.Done():
			r.Fatalf("%s does not listen: %s", text, output.String())
		}
	}
	address := listening.FindStringSubmatch(output.String())[1]
	if strings.Contains(text, "standin serve") {
		r.base = address
	}
	if !strings.Contains(text, "webhooks listen") {
		return
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(webhookBody))
	if err != nil {
		r.Fatal(err)
	}
	request.Header = signedHeader(r.T, r.secret, time.Now())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.Fatal(err)
	}
	defer response.Body.Close()
	if want := strings.Contains(text, "--status 500"); (response.StatusCode == http.StatusInternalServerError) != want {
		r.Errorf("%s: it responded with %s", text, response.Status)
	}
	if strings.Contains(text, "--count 1") {
		<-ended
	}
}

// checkDoctor checks that standin doctor makes the checks that the document shows. Their
// results depend on the machine.
func (r *documentRun) checkDoctor(output, want string) {
	r.Helper()
	checks := regexp.MustCompile(`(?m)^(?:ok|warn|fail) +(\S+(?: \S+)*)  `)
	for _, match := range checks.FindAllStringSubmatch(want, -1) {
		if !regexp.MustCompile(`(?m)^(?:ok|warn|fail) +` + regexp.QuoteMeta(match[1]) + `  `).MatchString(output) {
			r.Errorf("standin doctor does not check %s:\n%s", match[1], output)
		}
	}
}

// compareOutput compares an output with what the document shows, where … stands for
// any rows.
func (r *documentRun) compareOutput(command, got, want string) {
	r.Helper()
	rest := got
	for i, part := range strings.Split(strings.TrimRight(want, "\n")+"\n", "…\n") {
		at := strings.Index(rest, part)
		if at < 0 || i == 0 && at > 0 {
			r.Errorf("%s: the output lacks\n%s\nin\n%s", command, part, got)
			return
		}
		rest = rest[at+len(part):]
	}
	if !strings.HasSuffix(strings.TrimSpace(want), "…") && rest != "" {
		r.Errorf("%s: the document lacks\n%s", command, rest)
	}
}
