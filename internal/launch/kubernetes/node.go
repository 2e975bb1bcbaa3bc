package kubernetes

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// startupTaint keeps bots from a new node, if its group of nodes has it.
const startupTaint = "standin.dev/unchecked"

// AdmitBots removes the startup taint from a node.
func AdmitBots(ctx context.Context, config *rest.Config, name string) error {
	client, err := newClient(config)
	if err != nil {
		return err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return clusterError("read the node", err)
	}
	at := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == startupTaint })
	if at < 0 {
		return nil
	}
	patch := fmt.Appendf(nil, `[{"op":"test","path":"/metadata/resourceVersion","value":%q},{"op":"remove","path":"/spec/taints/%d"}]`,
		node.ResourceVersion, at)
	if _, err = client.CoreV1().Nodes().Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		return clusterError("remove the taint of the node", err)
	}
	return nil
}
