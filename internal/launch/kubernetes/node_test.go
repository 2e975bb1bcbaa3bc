package kubernetes_test

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clients "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"standin/internal/launch/kubernetes"
	"standin/internal/testing/await"
)

// TestNodeAccount checks on a real API server that the account of the chart's DaemonSet can remove the startup taint of its own
// node, and change nothing else.
func TestNodeAccount(t *testing.T) {
	if os.Getenv(realCluster) == "" {
		t.Skip("set " + realCluster + "=1, or run make launchers, for the tests on a real API server")
	}
	t.Parallel()
	host, _ := startCluster(t, "garbage-collector-controller")
	create(t, host, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "meetings"}}`)
	for object := range renderChart(t, "meetings", "nodeCheck: {enabled: true}") {
		if strings.Contains(object, "rec-standin-node") {
			create(t, host, object)
		}
	}
	for _, name := range []string{"own", "other"} {
		create(t, host, `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "`+name+`"}, "spec": {"taints": [
			{"key": "dedicated", "effect": "NoSchedule"}, {"key": "standin.dev/unchecked", "effect": "NoSchedule"}]}}`)
	}
	create(t, host, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "check", "namespace": "meetings"}, "spec": {
		"nodeName": "own", "serviceAccountName": "rec-standin-node", "containers": [{"name": "check", "image": "standin"}]}}`)
	code, answer := send(t, http.MethodPost, host+"/api/v1/namespaces/meetings/serviceaccounts/rec-standin-node/token", []byte(
		`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
			"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "check"}}}`))
	var token struct{ Status struct{ Token string } }
	if err := json.Unmarshal(answer, &token); err != nil || token.Status.Token == "" {
		t.Fatalf("token: %d %s", code, answer)
	}
	account := &rest.Config{Host: host, BearerToken: token.Status.Token, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	client, err := clients.NewForConfig(account)
	if err != nil {
		t.Fatal(err)
	}
	nodes := client.CoreV1().Nodes()
	patch := func(node, text string) string {
		_, err := nodes.Patch(t.Context(), node, types.JSONPatchType, []byte(text), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err.Error()
		}
		return ""
	}
	await.Until(t, "the policy", func() bool { return patch("other", `[{"op": "remove", "path": "/spec/taints/1"}]`) != "" })
	const taints, others = "only the taint standin.dev/unchecked may be removed", "nothing else of a node may be changed"
	for text, want := range map[string]string{
		`[{"op": "remove", "path": "/spec/taints/0"}]`:                                                 taints,
		`[{"op": "add", "path": "/spec/taints/-", "value": {"key": "mine", "effect": "NoSchedule"}}]`:  taints,
		`[{"op": "replace", "path": "/spec/taints/1/effect", "value": "NoExecute"}]`:                   taints,
		`[{"op": "add", "path": "/metadata/labels", "value": {"node-role.kubernetes.io/master": ""}}]`: others,
		`[{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]`:                        others,
		`[{"op": "add", "path": "/spec/unschedulable", "value": true}]`:                                others,
		`[{"op": "remove", "path": "/spec/taints/1"}]`:                                                 "",
	} {
		if got := patch("own", text); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("patch %s of the own node: %q, want %q", text, got, want)
		}
	}
	err = kubernetes.AdmitBots(t.Context(), account, "other")
	if err == nil || !strings.Contains(err.Error(), "a pod may change its own node only") {
		t.Errorf("another node: %v", err)
	}
	for range 2 { // the second time there is nothing to do
		if err := kubernetes.AdmitBots(t.Context(), account, "own"); err != nil {
			t.Error(err)
		}
	}
	node, err := nodes.Get(t.Context(), "own", metav1.GetOptions{})
	unchecked := func(t corev1.Taint) bool { return t.Key == "standin.dev/unchecked" }
	if err != nil || slices.ContainsFunc(node.Spec.Taints, unchecked) || node.Spec.Taints[0].Key != "dedicated" {
		t.Errorf("the own node has the taints %v (%v)", node.Spec.Taints, err)
	}
}
