package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/testing/await"
	"standin/internal/testing/logtail"
	"standin/internal/testing/storetest"
	"standin/internal/testing/testprocess"
)

// The tests whose names start with TestAttack attack a running service over HTTP
// and the command line, as consumers, bots and users do. With STANDIN_TEST_BINARY
// they attack another build of standin; see docs/internals/security.md.

// testedBinary returns the path of the attacked binary: this test binary, which acts
// as standin when it is run with a command, or STANDIN_TEST_BINARY.
func testedBinary() string {
	if path := os.Getenv("STANDIN_TEST_BINARY"); path != "" {
		return path
	}
	return os.Args[0]
}

// newDataDir returns a data directory with a new, migrated database. Another build
// migrates its own.
func newDataDir(t *testing.T) string {
	t.Helper()
	if testedBinary() != os.Args[0] {
		return t.TempDir()
	}
	return storetest.FreshDataDir(t)
}

// signingKey signs the tokens of bots.
const signingKey = "the signing key of the attacked service"

// target is a running service. Bots are run by the test, unless the environment sets
// a launcher.
type target struct {
	*testing.T
	dir, log     string
	listen, base string // the address, also after a restart
	process      *exec.Cmd
	env          []string
}

// startTarget starts a service with its data in dir and settings as environment
// variables. It skips the test with -short.
func startTarget(t *testing.T, dir string, settings ...string) *target {
	t.Helper()
	long(t)
	s := &target{T: t, dir: dir, log: filepath.Join(t.TempDir(), "log"), listen: "127.0.0.1:0", env: settings}
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.stop(syscall.SIGKILL)
		if text, err := os.ReadFile(s.log); t.Failed() && err == nil {
			t.Logf("log of the service:\n%s", logtail.Last(string(text)))
		}
	})
	return s
}

// start starts the process and waits until it listens. It returns an error when the
// service does not start.
func (s *target) start() error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	s.process = exec.Command(testedBinary(), "serve", "--listen", s.listen, "--data-dir", s.dir)
	s.process.Env = append(os.Environ(), append([]string{"STANDIN_LAUNCHER=manual", "STANDIN_INGEST_SIGNING_KEY=" + signingKey}, s.env...)...)
	s.process.Stdout, s.process.Stderr = log, log
	s.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // see processesOf
	exited, err := testprocess.Start(s.process, syscall.SIGKILL)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		text, err := os.ReadFile(s.log)
		if err != nil {
			return err
		}
		if found := regexp.MustCompile(`(?:listening|serves) on (http://\S+)`).FindSubmatch(text[before:]); found != nil {
			s.base = string(found[1])
			s.listen = strings.TrimPrefix(s.base, "http://")
			return nil
		}
		select {
		case <-exited:
			text, _ := os.ReadFile(s.log)
			return fmt.Errorf("the service does not start: %s", text[before:])
		case <-time.After(20 * time.Millisecond):
		}
	}
	return errors.New("the service does not listen within two minutes")
}

// stop signals the process and waits until it has ended.
func (s *target) stop(signal os.Signal) {
	if s.process.Process.Signal(signal) != nil {
		return // it has ended
	}
	s.await("the service to end", func() bool { return s.process.Process.Signal(syscall.Signal(0)) != nil })
}

// await waits until a condition is true.
func (s *target) await(what string, condition func() bool) {
	s.Helper()
	await.Until(s.T, what, condition)
}

// standin runs a command on the data of the service, with its settings.
func (s *target) standin(args ...string) (out string, err error) {
	s.Helper()
	command := exec.CommandContext(s.Context(), testedBinary(), append(args, "--data-dir", s.dir)...)
	command.Env = append(os.Environ(), s.env...)
	text, err := command.Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("standin %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	return string(text), err
}

// key returns a new key of a consumer.
func (s *target) key(consumer string, flags ...string) string {
	s.Helper()
	out, err := s.standin(append([]string{"keys", "create", "--consumer", consumer}, flags...)...)
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// response is a response of the service.
type response struct {
	status int
	header http.Header
	body   string
}

// field returns a field of a JSON object.
func (r response) field(name string) any {
	var fields map[string]any
	_ = json.Unmarshal([]byte(r.body), &fields) // nil when it is no object
	return fields[name]
}

// send sends a request.
func (s *target) send(method, path string, header http.Header, body io.Reader) response {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), method, s.base+path, body)
	if err != nil {
		s.Fatal(err)
	}
	request.Header = header
	client := &http.Client{Timeout: 4 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	answer, err := client.Do(request)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	return response{answer.StatusCode, answer.Header, string(text)}
}

// call sends a request of the API with a JSON body.
func (s *target) call(method, path, bearer string, body any) response {
	s.Helper()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			s.Fatal(err)
		}
		content = bytes.NewReader(text)
	}
	return s.send(method, path, http.Header{"Authorization": {"Bearer " + bearer}, "Content-Type": {"application/json"}}, content)
}

// create creates a job and returns its ID.
func (s *target) create(key string, fields map[string]any) string {
	s.Helper()
	request := map[string]any{"externalId": "attack", "meetingUrl": "https://meet.google.com/abc-defg-hij"}
	maps.Copy(request, fields)
	created := s.call(http.MethodPost, "/api/v1/jobs", key, request)
	id, ok := created.field("id").(string)
	if !ok {
		s.Fatalf("create a job: %d: %s", created.status, created.body)
	}
	return id
}

// awaitStatus waits until a job has a status.
func (s *target) awaitStatus(key, id, want string) {
	s.Helper()
	s.await("job "+id+" to be "+want, func() bool {
		return s.call(http.MethodGet, "/api/v1/jobs/"+id, key, nil).field("status") == want
	})
}

// upload uploads a file as the job's bot.
func (s *target) upload(id string, attempt int, name string, content []byte) response {
	s.Helper()
	return s.send(http.MethodPut, fmt.Sprintf("/api/v1/ingest/media/%s/%d/%s", id, attempt, name), http.Header{
		"Authorization": {"Bearer " + ingest.Token([]byte(signingKey), id, attempt)}, ingest.ChecksumHeader: {sumOf(content)},
	}, bytes.NewReader(content))
}

// visitor is a browser without scripts.
type visitor struct {
	*target
	cookie string
}

// operator creates the first user, an operator.
func (s *target) operator() *visitor {
	s.Helper()
	var found [][]byte
	s.await("the link for the first user", func() bool {
		text, err := os.ReadFile(s.log)
		found = regexp.MustCompile(`/welcome\?token=(\S+)\n`).FindSubmatch(text)
		return err == nil && found != nil
	})
	v := &visitor{target: s}
	v.accept(string(found[1]), "ada@example.test")
	return v
}

// accept creates a user by an invitation and signs in.
func (v *visitor) accept(token, email string) {
	v.Helper()
	got := v.post("/welcome", url.Values{
		"invitation": {token}, "name": {"User"}, "email": {email}, "consumer": {"crew"}, "password": {testPassword},
	})
	if got.status != http.StatusSeeOther || v.cookie == "" {
		v.Fatalf("create user %s: %d: %s", email, got.status, got.body)
	}
}

func (v *visitor) get(path string) response {
	v.Helper()
	return v.request(http.MethodGet, path, nil)
}

func (v *visitor) post(path string, form url.Values) response {
	v.Helper()
	return v.request(http.MethodPost, path, form)
}

// submit posts a form with the form token of a page.
func (v *visitor) submit(page, path string, form url.Values) response {
	v.Helper()
	found := regexp.MustCompile(`name="token" value="([0-9a-f]{64})"`).FindStringSubmatch(v.get(page).body)
	if found == nil {
		v.Fatalf("%s has no form token", page)
	}
	form.Set("token", found[1])
	return v.post(path, form)
}

func (v *visitor) request(method, path string, form url.Values) response {
	v.Helper()
	header := http.Header{"Cookie": {v.cookie}}
	if form != nil {
		header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	got := v.send(method, path, header, strings.NewReader(form.Encode()))
	for _, cookie := range got.header["Set-Cookie"] {
		if strings.Contains(cookie, "standin_session=") {
			v.cookie, _, _ = strings.Cut(cookie, ";")
		}
	}
	return got
}
