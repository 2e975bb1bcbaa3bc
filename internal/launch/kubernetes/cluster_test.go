package kubernetes_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"standin/internal/launch"
	"standin/internal/launch/kubernetes"
	"standin/internal/testing/launchtest"
)

// writeFile writes a file and returns its path.
func writeFile(t *testing.T, path, content string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// kubeconfig writes a kubeconfig file with a user into the folder.
func kubeconfig(t *testing.T, dir, server, authority string, user any) string {
	t.Helper()
	content, err := json.Marshal(object{
		"current-context": "c",
		"contexts":        []object{{"name": "c", "context": object{"cluster": "k", "user": "u", "namespace": namespace}}},
		"clusters":        []object{{"name": "k", "cluster": object{"server": server, "certificate-authority-data": []byte(authority)}}},
		"users":           []object{{"name": "u", "user": user}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, filepath.Join(dir, "config"), string(content), 0o600)
}

// behindTLS starts a TLS server in front of a fake cluster that accepts one bearer
// token, and returns its certificate.
func behindTLS(t *testing.T, cluster *fakeCluster, token string) (address, certificate string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			respondError(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
			return
		}
		cluster.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// TestCredentials: a launcher with a kubeconfig file verifies the cluster's
// certificate and signs in with each kind of credentials that the file can name.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const token = "header.eyJleHAiOjQxMDI0NDQ4MDB9.signature" // as OpenID Connect's; it expires in 2100
	for name, user := range map[string]object{
		"token":      {"token": token},
		"token file": {"tokenFile": "token"},
		"program": {"exec": object{
			"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "IfAvailable",
			"command": "./sign-in", "args": []string{"bots"}, "env": []object{{"name": "SECRET", "value": token}},
		}},
		"auth provider": {"auth-provider": object{"name": "oidc", "config": object{
			"idp-issuer-url": "https://issuer.test", "client-id": "standin", "id-token": token,
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, cluster := t.TempDir(), newFakeCluster(t)
			address, certificate := behindTLS(t, cluster, token)
			writeFile(t, filepath.Join(dir, "token"), token+"\n", 0o600)
			writeFile(t, filepath.Join(dir, "sign-in"), `#!/bin/sh
test "$1" = bots && echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "'$SECRET'"}}'
`, 0o700)
			config, found, err := kubernetes.FindCluster(kubeconfig(t, dir, address, certificate, user))
			if err != nil || found != namespace || config.Host != address {
				t.Fatalf("%v in the namespace %q (%v)", config, found, err)
			}
			h, a := newHarness(t, config), launchtest.Assignment()
			h.launch(t, a)
			h.Run(t, a)

			for name, other := range map[string]*rest.Config{
				"other credentials":    {Host: address, TLSClientConfig: config.TLSClientConfig, BearerToken: "other"},
				"unknown certificates": {Host: address, BearerToken: token},
			} {
				if found, err := kubernetes.Check(t.Context(), checkSettings(other)); err == nil {
					t.Errorf("%s: %+v", name, found)
				}
			}
		})
	}
}

// TestFailingProgram: the error of a program that provides no credentials is
// reported.
func TestFailingProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, test := range map[string]struct {
		exec object
		want string
	}{
		"missing": {object{"command": "/no/such/program", "interactiveMode": "Never"}, "/no/such/program"},
		"failing": {
			object{"command": writeFile(t, filepath.Join(dir, "fail"), "#!/bin/sh\nexit 7\n", 0o700), "interactiveMode": "Never"}, "exit code 7",
		},
		"wants a terminal": {object{"command": "true", "interactiveMode": "Always"}, "interactive mode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.exec["apiVersion"] = "client.authentication.k8s.io/v1"
			config, _, err := kubernetes.FindCluster(kubeconfig(t, t.TempDir(), "https://127.0.0.1:1", "", object{"exec": test.exec}))
			if err == nil {
				_, err = kubernetes.Check(t.Context(), checkSettings(config))
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

// TestKubeconfigErrors: a kubeconfig that cannot be used is refused, and the error
// quotes no credentials.
func TestKubeconfigErrors(t *testing.T) {
	t.Parallel()
	const (
		clusters = `clusters: [{name: k, cluster: {server: "https://k"}}]` + "\n"
		contexts = `contexts: [{name: c, context: {cluster: k, user: u}}]` + "\n"
		current  = "current-context: c\n"
	)
	for name, test := range map[string]struct{ content, want string }{
		"not YAML":   {"\ttoken: hidden-token", "find the Kubernetes cluster"},
		"not closed": {"token: [hidden-token", "find the Kubernetes cluster"},
		"wrong type": {"users: hidden-token", "find the Kubernetes cluster"},
		"empty":      {"", "no kubeconfig file names a cluster"},
		"no context": {current + clusters, "context: c"},
		"no cluster": {current + contexts, "no kubeconfig file names a cluster"},
		"bad certificate": {
			current + contexts + clusters + "users: [{name: u, user: {client-certificate-data: hidden-token}}]", "find the Kubernetes cluster",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, _, err := kubernetes.FindCluster(writeFile(t, filepath.Join(t.TempDir(), "config"), test.content, 0o600))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hidden-token") {
				t.Errorf("%v, and the error is %v, want %q", config, err, test.want)
			}
		})
	}
}

// TestMergedKubeconfigs: the first of several files that has an entry wins.
func TestMergedKubeconfigs(t *testing.T) {
	dir := t.TempDir()
	one := writeFile(t, filepath.Join(dir, "one"),
		"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: {token: first}}]\n", 0o600)
	two := writeFile(t, filepath.Join(dir, "two"),
		"current-context: other\nclusters: [{name: k, cluster: {server: 'https://k'}}]\nusers: [{name: u, user: {token: second}}]\n", 0o600)
	t.Setenv("KUBECONFIG", strings.Join([]string{filepath.Join(dir, "missing"), one, two}, string(os.PathListSeparator)))
	config, found, err := kubernetes.FindCluster("")
	if err != nil || config.Host != "https://k" || config.BearerToken != "first" || found != "default" {
		t.Errorf("%v %q %v", config, found, err)
	}
}

// TestRetryAfter: a request that the cluster asks to repeat is repeated.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	cluster := newFakeCluster(t)
	calls := make(map[string]int) // guarded by the cluster's lock
	cluster.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
		cluster.mu.Lock()
		defer cluster.mu.Unlock()
		call := r.Method + " " + r.URL.Path
		if calls[call]++; calls[call]%3 == 0 || r.URL.Query().Get("watch") != "" {
			return false
		}
		w.Header().Set("Retry-After", "0")
		respondError(w, http.StatusTooManyRequests, "TooManyRequests", "try again")
		return true
	})
	h, a := newHarness(t, &rest.Config{Host: cluster.URL}), launchtest.Assignment()
	if err := h.Launch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	h.Expect(t, a, launch.Starting)
	cluster.SetFault(nil)
	h.End(t, a)
	cluster.mu.Lock()
	defer cluster.mu.Unlock()
	for _, resource := range []string{"secrets", "pods"} {
		if calls["POST /api/v1/namespaces/standin/"+resource] != 3 {
			t.Errorf("%s was created with %d requests", resource, calls["POST /api/v1/namespaces/standin/"+resource])
		}
	}
}
