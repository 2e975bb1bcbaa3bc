package kubernetes_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"standin/internal/testing/await"
	"standin/internal/testing/launchtest"
	"standin/internal/testing/logtail"
)

// realCluster is the variable that enables the tests on a real API server (make
// launchers).
const realCluster = "STANDIN_TEST_KUBERNETES"

// The tokens of the real cluster's users.
const (
	serviceToken = "of-the-service"
	adminToken   = "of-the-tests"
)

// asNodes returns the configuration with which the tests act as nodes.
func asNodes(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	if config.BearerToken == serviceToken {
		config.BearerToken = adminToken
	}
	return config
}

// TestRealCluster runs the tests of every cluster on a real kube-apiserver with
// etcd and the real garbage collector, with the permissions and the namespace of
// deploy/kubernetes, which enforces the restricted Pod Security Standard. The
// tests act as the nodes.
func TestRealCluster(t *testing.T) {
	if os.Getenv(realCluster) == "" {
		t.Skip("set " + realCluster + "=1, or run make launchers, for the tests on a real API server")
	}
	t.Parallel()
	host, _ := startCluster(t, "garbage-collector-controller")
	everyCluster(t, deployTo(t, host))
}

// deployTo creates the objects of deploy/kubernetes, and returns the configuration of the service.
func deployTo(t *testing.T, host string) *rest.Config {
	t.Helper()
	for _, file := range []string{"namespace.yaml", "rbac.yaml", "network.yaml", "service.yaml"} {
		apply(t, host, filepath.Join("..", "..", "..", "deploy", "kubernetes", file))
	}
	return &rest.Config{Host: host, BearerToken: serviceToken, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// startCluster starts etcd, the API server and controllers until the test ends. run
// starts another part of the cluster with a kubeconfig.
func startCluster(t *testing.T, controllers string) (host string, run func(part string, flags ...string)) {
	t.Helper()
	dir := t.TempDir()
	server := filepath.Join(dir, "server")
	build := exec.Command("go", "build", "-o", server, ".")
	build.Dir = filepath.Join("..", "..", "testing", "apiservertest", "server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the cluster (the first time it takes ten minutes, and needs Go's module proxy): %v\n%s", err, out)
	}
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	etcd, peer, api := "http://"+launchtest.FreeAddress(t), "http://"+launchtest.FreeAddress(t), launchtest.FreeAddress(t)
	host = "https://" + api
	_, port, _ := net.SplitHostPort(api)
	key := write("key.pem", newKey(t))
	tokens := write("tokens.csv", serviceToken+",system:serviceaccount:standin:standin,1\n"+adminToken+",tests,2,system:masters\n")
	kubeconfig := write("kubeconfig", kubeconfigOf(host, adminToken))

	begin(t, server, "etcd", "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level", "error",
		"--listen-client-urls", etcd, "--advertise-client-urls", etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	begin(t, server, "apiserver", "--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
		"--secure-port", port, "--cert-dir", filepath.Join(dir, "certificates"), "--token-auth-file", tokens,
		"--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount",
		"--service-account-issuer", "https://tests", "--service-account-key-file", key, "--service-account-signing-key-file", key)
	await.Until(t, "the API server", func() bool { code, _ := send(t, http.MethodGet, host+"/readyz", nil); return code == http.StatusOK })
	run = func(part string, flags ...string) {
		begin(t, server, part, append(flags, "--kubeconfig", kubeconfig, "--leader-elect=false", "--secure-port=0")...)
	}
	run("controllers", "--controllers", controllers)
	return host, run
}

// kubeconfigOf returns a kubeconfig that does not check the server's certificate.
func kubeconfigOf(host, token string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": [{"name": "c", "cluster": {"server": %q, "insecure-skip-tls-verify": true}}],
		"users": [{"name": "u", "user": {"token": %q}}],
		"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}`, host, token)
}

// renderChart returns the objects of the chart in a namespace.
func renderChart(t *testing.T, namespace, values string) iter.Seq[string] {
	t.Helper()
	render := exec.CommandContext(t.Context(), "go", "run", ".", filepath.Join("..", "..", "helm", "standin"), "rec", namespace, "1.34.0")
	render.Dir = filepath.Join("..", "..", "..", "deploy", "testdata", "helm")
	render.Stdin = strings.NewReader("{existingSecret: rec-secret, baseURL: 'https://rec.example', " + values + "}")
	rendered, err := render.Output()
	if err != nil {
		t.Fatal("render the chart", err)
	}
	return strings.SplitSeq(string(rendered), "\n---\n")
}

// begin starts a process of the cluster until the test ends.
func begin(t *testing.T, server, part string, flags ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, server, append([]string{part}, flags...)...)
	log := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s says:\n%s", part, logtail.Last(log.String()))
		}
	})
}

// client returns a client with the permissions of the tests.
func client() *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

// send sends a request and returns the status code, or 0 without a response.
func send(t *testing.T, method, address string, body []byte) (int, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	request.Header.Set("Content-Type", "application/json")
	response, err := client().Do(request)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	return response.StatusCode, answer
}

// apply creates the objects of a manifest.
func apply(t *testing.T, host, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	create(t, host, string(content))
}

// create creates objects with strict field validation.
func create(t *testing.T, host, content string) {
	t.Helper()
	for document := range strings.SplitSeq(content, "\n---\n") {
		var o struct {
			APIVersion, Kind string
			Metadata         struct{ Namespace string }
		}
		encoded, err := yaml.ToJSON([]byte(document))
		if err == nil {
			err = yaml.Unmarshal(encoded, &o)
		}
		if err != nil {
			t.Fatalf("%s: %v", document, err)
		}
		root := "/apis/" + o.APIVersion
		if o.APIVersion == "v1" {
			root = "/api/v1"
		}
		if o.Metadata.Namespace != "" {
			root += "/namespaces/" + o.Metadata.Namespace
		}
		resource := strings.ToLower(o.Kind) + "s"
		resource = strings.Replace(resource, "policys", "policies", 1)
		code, answer := send(t, http.MethodPost, host+root+"/"+resource+"?fieldValidation=Strict", encoded)
		if code/100 != 2 {
			t.Fatalf("%s: %d %s", document, code, answer)
		}
	}
}

// newKey creates the key for service account tokens, which are not used.
func newKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}))
}
