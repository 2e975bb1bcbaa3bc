package kubernetes

import (
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeFile writes a file into the folder and returns its path.
func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKubeconfig: a client with a kubeconfig file verifies the certificate of the
// cluster and sends the token of a file, which may change.
func TestKubeconfig(t *testing.T) {
	t.Parallel()
	tokens := make(chan string, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens <- r.Header.Get("Authorization")
		w.Write([]byte(`{}`))
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	writeFile(t, dir, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	path := writeFile(t, dir, "config", `
current-context: c
contexts: [{name: c, context: {cluster: k, user: u, namespace: bots}}]
clusters: [{name: k, cluster: {server: "`+server.URL+`/", certificate-authority: ca.pem}}]
users: [{name: u, user: {tokenFile: token}}]
`)
	config, namespace, err := FindCluster(path)
	if err != nil || namespace != "bots" || config.Host != server.URL {
		t.Fatalf("%+v %q %v", config, namespace, err)
	}
	client, err := newClient(config, namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"one", "two"} {
		writeFile(t, dir, "token", token+"\n")
		if err := client.get(t.Context(), "/version", nil); err != nil {
			t.Fatal(err)
		}
		if got := <-tokens; got != "Bearer "+token {
			t.Errorf("the cluster got %q, want the token %s", got, token)
		}
	}
	other, err := newClient(&Config{Host: server.URL}, namespace)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.get(t.Context(), "/version", nil); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate was accepted: %v", err)
	}
}

// TestKubeconfigErrors: a kubeconfig that cannot be used is refused with the cause,
// and the error quotes no credentials.
func TestKubeconfigErrors(t *testing.T) {
	t.Parallel()
	const (
		clusters = `clusters: [{name: k, cluster: {server: "https://k"}}]` + "\n"
		contexts = `contexts: [{name: c, context: {cluster: k, user: u}}]` + "\n"
		current  = "current-context: c\n"
	)
	for name, test := range map[string]struct{ content, want string }{
		"not YAML":        {"\ttoken: hidden-token", "not a kubeconfig"},
		"no context":      {clusters, "no context"},
		"no cluster":      {current + contexts, `no cluster "k"`},
		"no server":       {current + contexts + "clusters: [{name: k}]\n", "no server"},
		"no user":         {current + contexts + clusters, `no user "u"`},
		"program":         {current + contexts + clusters + "users: [{name: u, user: {exec: {command: aws}}}]", "only tokens and certificates"},
		"password":        {current + contexts + clusters + "users: [{name: u, user: {username: a, password: hidden-token}}]", "only tokens and certificates"},
		"bad certificate": {current + contexts + clusters + "users: [{name: u, user: {client-certificate-data: '" + base64.StdEncoding.EncodeToString([]byte("hidden-token")) + "'}}]", "client certificate"},
		"not base64":      {current + contexts + clusters + "users: [{name: u, user: {client-key-data: hidden-token}}]", "not base64"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := FindCluster(writeFile(t, t.TempDir(), "config", test.content))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hidden-token") {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

// TestMergedKubeconfigs: the first of several files that has an entry wins.
func TestMergedKubeconfigs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := writeFile(t, dir, "one", "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: {token: first}}]\n")
	two := writeFile(t, dir, "two", "current-context: other\nclusters: [{name: k, cluster: {server: 'https://k'}}]\nusers: [{name: u, user: {token: second}}]\n")
	config, namespace, err := readKubeconfigs(filepath.Join(dir, "missing"), one, two)
	if err != nil || config.Host != "https://k" || config.Token != "first" || namespace != "default" {
		t.Errorf("%+v %q %v", config, namespace, err)
	}
}

// TestRetryAfter: a request that the cluster asks to repeat is repeated.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Write([]byte(`{"gitVersion": "v1.36.0"}`))
	}))
	t.Cleanup(server.Close)
	client, err := newClient(&Config{Host: server.URL}, "bots")
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ GitVersion string }
	if err := client.get(t.Context(), "/version", &info); err != nil || info.GitVersion != "v1.36.0" || calls != 3 {
		t.Errorf("%+v after %d calls (%v)", info, calls, err)
	}
}

// TestRetryAfterLimits checks the limits of the pause that a cluster asks for.
func TestRetryAfterLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		code   int
		header string
		want   time.Duration
		retry  bool
	}{
		{http.StatusTooManyRequests, "1", time.Second, true},
		{http.StatusServiceUnavailable, "3600", maxRetryAfter, true},
		{http.StatusServiceUnavailable, "", 0, false},
		{http.StatusConflict, "1", 0, false},
		{http.StatusTooManyRequests, "-1", 0, false},
	} {
		response := &http.Response{StatusCode: test.code, Header: http.Header{"Retry-After": {test.header}}}
		if got, retry := retryAfter(response); got != test.want || retry != test.retry {
			t.Errorf("%d with Retry-After %q: %s %v", test.code, test.header, got, retry)
		}
	}
}

// FuzzKubeconfig checks that no kubeconfig file crashes the parser.
func FuzzKubeconfig(f *testing.F) {
	f.Add("current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nclusters: [{name: k, cluster: {server: 'https://k'}}]\nusers: [{name: u, user: {token: t}}]\n")
	f.Fuzz(func(t *testing.T, content string) {
		path := writeFile(t, t.TempDir(), "config", content)
		if config, _, err := readKubeconfigs(path); err == nil && config.Host == "" {
			t.Error("a cluster without an address")
		}
	})
}
