package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/testing/await"
	"standin/internal/testing/mailhost"
	"standin/internal/testing/s3test"
	"standin/internal/testing/storetest"
	"standin/internal/testing/testbrowser"
)

// secretSettings are the settings of serve that are secrets, by the end of their
// names. TestSecretsStayPrivate gives each of them a value.
var secretSettings = regexp.MustCompile(`_(SECRET|PASSWORD|TOKEN|KEY)$`)

// notSecret are settings whose names end like those of secrets.
var notSecret = []string{
	"STANDIN_MAIL_TLS_KEY",           // the path of a file
	"STANDIN_KUBERNETES_POD_SECRET",  // the name of an object
	"STANDIN_DOCKER_TLS_KEY",         // the path of a file
	"STANDIN_KUBERNETES_PULL_SECRET", // the name of an object
}

// TestSecretsStayPrivate runs a service on PostgreSQL with mail, single sign-on, S3,
// webhooks, jobs of the simulator and a real bot, and uses every secret. Logs,
// arguments and environments of processes, and metrics must not contain any of them.
func TestSecretsStayPrivate(t *testing.T) {
	t.Parallel()
	needTools(t)
	testbrowser.Reserve(t)
	secrets := newSecrets(t)
	outside := newOutside(t, secrets)
	meetings, meeting := openMeeting(t, smallPicture)
	dir := newDataDir(t)
	env := append(secrets.environment(), outside.environment(t)...)
	env = append(env, "STANDIN_LAUNCHER=process", "STANDIN_NO_SANDBOX=true", "STANDIN_BROWSER_MODE=headless", "STANDIN_LOG_LEVEL=debug",
		"STANDIN_PICTURE_SIZE=640x360", "STANDIN_FRAME_RATE=8",
		"STANDIN_LOOPBACK_MEETINGS=true", "STANDIN_ALLOWED_MEETING_HOSTS="+
			strings.TrimPrefix(meetings.URL(), "http://"), "STANDIN_MAIL=true",
		// no collector, so that errors are logged
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS=api-key="+secrets.of("OTLP header"))
	t.Cleanup(func() { stopBots(t, dir) }) // after the service, which would replace them
	s := startTarget(t, dir, env...)
	live, simulated := s.key("ada"), s.key("ada", "--test")
	secrets.add("API key", live)
	secrets.add("test API key", simulated)
	operator := s.operator()
	secrets.add("password", testPassword)
	_, session, _ := strings.Cut(operator.cookie, "=")
	secrets.add("session cookie", session)
	s.signInElsewhere()

	hook := s.hook()
	hooks := map[string]any{"webhooks": map[string]string{"onStatusChange": hook.URL + "/", "onFinalize": hook.URL + "/"}}
	done := s.create(simulated, map[string]any{
		"externalId": "simulated", "metadata": map[string]any{"simulate": map[string]any{"outcome": "success", "speed": 100}},
		"webhooks": hooks["webhooks"],
	})
	id := s.create(live, map[string]any{"externalId": "real", "meetingUrl": meeting.URL(), "webhooks": hooks["webhooks"]})
	secrets.add("bot token", ingest.Token([]byte(secrets.of("STANDIN_INGEST_SIGNING_KEY")), id, 0))
	s.awaitStatus(simulated, done, "completed")
	s.awaitStatus(live, id, "recording_started")
	outside.awaitReply(t)
	secrets.checkProcesses(t, s.process.Process.Pid, s.bot(id, 0))
	for _, header := range []http.Header{
		{"Authorization": {"Bearer " + secrets.of("STANDIN_METRICS_SECRET")}},
		{"Authorization": {"Bearer " + secrets.of("STANDIN_ADMIN_SECRET")}},
	} {
		metrics := s.send(http.MethodGet, "/metrics", header, http.NoBody)
		if metrics.status != http.StatusOK || !strings.Contains(metrics.body, "standin_jobs") {
			t.Errorf("metrics: %d: %s", metrics.status, metrics.body)
		}
		secrets.check(t, "/metrics", []byte(metrics.body))
	}
	meeting.End()
	s.awaitStatus(live, id, "completed")
	checkLogs(t, secrets, s.log, dir)
}

// checkLogs checks the log of the service and the logs in its data directory.
func checkLogs(t *testing.T, secrets *secretValues, serviceLog, dir string) {
	t.Helper()
	text, err := os.ReadFile(serviceLog)
	if err != nil || !strings.Contains(string(text), "level=") {
		t.Errorf("log of the service: %v", err)
	}
	secrets.check(t, "the log of the service", text)
	logs := 0
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".log" {
			return err
		}
		text, err := os.ReadFile(path)
		logs++
		secrets.check(t, path, text)
		return err
	})
	if err != nil || logs == 0 {
		t.Errorf("%d logs of bots (%v)", logs, err)
	}
}

// secretValues are the secrets that the test uses, by their names.
type secretValues struct {
	values map[string]string
}

// newSecrets returns a random value for each secret setting of serve.
func newSecrets(t *testing.T) *secretValues {
	t.Helper()
	s := &secretValues{values: map[string]string{
		"database password": rand.Text(), "OTLP header": rand.Text(), envIMAPPassword: rand.Text(), envReplyPassword: rand.Text(),
	}}
	for _, flag := range parserOf(t, new(serveCommand)).Model.Flags {
		for _, env := range flag.Envs {
			if secretSettings.MatchString(env) && !slices.Contains(notSecret, env) {
				s.values[env] = rand.Text()
			}
		}
	}
	s.values["STANDIN_WEBHOOK_SECRET"] = "whsec_" + base64.StdEncoding.EncodeToString([]byte(rand.Text()))
	for _, name := range []string{
		"STANDIN_INGEST_SIGNING_KEY", "STANDIN_ADMIN_SECRET", "STANDIN_OIDC_CLIENT_SECRET",
	} {
		if s.values[name] == "" {
			t.Fatalf("serve has no setting %s: %v", name, s.values)
		}
	}
	s.values["AWS_SECRET_ACCESS_KEY"] = s3test.Environment()["AWS_SECRET_ACCESS_KEY"]
	return s
}

func (s *secretValues) add(name, value string) { s.values[name] = value }

func (s *secretValues) of(name string) string { return s.values[name] }

// environment returns the settings that are secrets.
func (s *secretValues) environment() []string {
	var env []string
	for name, value := range s.values {
		if strings.HasPrefix(name, "STANDIN_") {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// find returns the names of the secrets in a text.
func (s *secretValues) find(text []byte) (names []string) {
	for name, value := range s.values {
		for _, form := range []string{value, url.QueryEscape(value), base64.StdEncoding.EncodeToString([]byte(value))} {
			if bytes.Contains(text, []byte(form)) {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// check fails the test for each secret in a text.
func (s *secretValues) check(t *testing.T, where string, text []byte) {
	t.Helper()
	if len(s.find([]byte("x"+s.values["API key"]))) != 1 {
		t.Fatal("the search for secrets does not work")
	}
	for _, name := range s.find(text) {
		t.Errorf("%s contains a secret: %s", where, name)
	}
}

// checkProcesses checks the arguments of the service and of a bot's processes, and the
// environments of those.
func (s *secretValues) checkProcesses(t *testing.T, service, bot int) {
	t.Helper()
	processes := processesOf(bot, nil)
	if len(processes) < 3 {
		t.Errorf("only %d processes of the bot were found", len(processes))
	}
	for _, pid := range append(processes, service) {
		arguments, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		s.check(t, "the arguments of a process", arguments)
		if pid != service { // its settings are in its environment
			environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			s.check(t, "the environment of "+string(arguments), environment)
		}
	}
}

// hook starts a webhook receiver that refuses the first request, so that a failure is
// logged.
func (s *target) hook() *httptest.Server {
	failed := make(chan struct{}, 1)
	failed <- struct{}{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-failed:
			w.WriteHeader(http.StatusInternalServerError)
		default:
		}
	}))
	s.Cleanup(server.Close)
	return server
}

// signInElsewhere starts a sign-in at the provider, whose token endpoint refuses the
// client secret.
func (s *target) signInElsewhere() {
	s.Helper()
	start := s.send(http.MethodGet, "/signin/oidc", http.Header{}, http.NoBody)
	to, err := url.Parse(start.header.Get("Location"))
	if err != nil || to.Query().Get("state") == "" {
		s.Fatalf("start at the provider: %d, %s, %v", start.status, start.body, err)
	}
	cookie, _, _ := strings.Cut(start.header.Get("Set-Cookie"), ";")
	back := s.send(http.MethodGet, "/signin/oidc/callback?code=code&state="+url.QueryEscape(to.Query().Get("state")),
		http.Header{"Cookie": {cookie}}, http.NoBody)
	if back.status < 400 {
		s.Errorf("the provider refuses the secret, and the sign-in answers %d", back.status)
	}
}

// outside is what the service connects to: PostgreSQL, S3, a mailbox, an outgoing
// mail host and a sign-in provider.
type outside struct {
	address  string // of the database
	storage  string
	provider string
	mailbox  *mailhost.IMAP
	replies  *mailhost.SMTP
}

func newOutside(t *testing.T, secrets *secretValues) *outside {
	t.Helper()
	cluster, err := storetest.Start(t.Context())
	if errors.Is(err, storetest.ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	address, err := cluster.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &outside{
		address + "&password=" + secrets.of("database password"), s3test.Start(t).Address(), startProvider(t),
		mailhost.NewIMAP(t, secrets.of(envIMAPPassword)), mailhost.NewSMTP(t, secrets.of(envReplyPassword)),
	}
}

// environment returns the settings of the service.
func (o *outside) environment(t *testing.T) []string {
	t.Helper()
	roots, _ := mailhost.CertificateFiles(t)
	env := []string{
		"STANDIN_DATABASE_URL=" + o.address, "STANDIN_STORAGE_URL=" + o.storage, "SSL_CERT_FILE=" + roots,
		"STANDIN_OIDC_ISSUER=" + o.provider, "STANDIN_OIDC_CLIENT_ID=standin", "STANDIN_GOOGLE_CLIENT_ID=standin",
		"STANDIN_MICROSOFT_CLIENT_ID=standin",
		"STANDIN_MAIL_IMAP_URL=imaps://notes@" + o.mailbox.Address, "STANDIN_MAIL_AUTHSERV_IDS=mx.example.test",
		"STANDIN_MAIL_SENDERS=*", "STANDIN_MAIL_RECIPIENTS=notes@bots.example.test",
		"STANDIN_MAIL_REPLY_URL=smtp://notes@" + o.replies.Address, "STANDIN_MAIL_REPLY_FROM=notes@bots.example.test",
	}
	for name, value := range s3test.Environment() {
		env = append(env, name+"="+value)
	}
	return env
}

// awaitReply delivers invitations until the worker replies to one. It skips those that
// arrived before it first saw the mailbox.
func (o *outside) awaitReply(t *testing.T) {
	t.Helper()
	const header = "Authentication-Results: mx.example.test; dmarc=pass header.from=example.test\r\nTo: notes@bots.example.test\r\nMessage-ID: <1@example.test>\r\n"
	var delivered time.Time
	await.Until(t, "a reply of the mail worker", func() bool {
		if time.Since(delivered) > 2*time.Second {
			delivered = time.Now()
			o.mailbox.Deliver(t, []byte(header+invitation("meet.google.com")), delivered)
		}
		return len(o.replies.Messages()) > 0
	})
}

// startProvider starts a sign-in provider that refuses the client secret.
func startProvider(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL +
				"/token", "jwks_uri": server.URL + "/keys",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"id_token_signing_alg_values_supported": []string{"RS256"},
		})
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client","error_description":"unknown client"}`)
	})
	return server.URL
}
