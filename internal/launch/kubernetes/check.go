package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

// right is one that the launcher needs in its namespace, as
// deploy/kubernetes/rbac.yaml gives them.
type right struct{ group, resource, verb string }

func (r right) String() string { return r.verb + " " + r.resource }

// rights are all that the launcher needs.
func rights() []right {
	var all []right
	for _, on := range []struct {
		group, resource string
		verbs           []string
	}{
		{"batch", "jobs", []string{"create", "get", "list", "watch", "patch", "delete"}},
		{"", "pods", []string{"list", "watch", "delete"}},
		{"", "secrets", []string{"create"}},
	} {
		for _, verb := range on.verbs {
			all = append(all, right{on.group, on.resource, verb})
		}
	}
	return all
}

// Found is what a look at a cluster found.
type ClusterInfo struct {
	Where   string   // the API server's address
	Version string   // of the cluster
	Missing []string // rights that the service lacks in the namespace, as in "create jobs"
}

// Check asks the cluster whether it is there and which rights the service has
// in its namespace. Nothing is made. An error with an empty Found is one of the
// settings; with one that says where, the cluster's.
func Check(ctx context.Context, settings Settings) (ClusterInfo, error) {
	settings.Instance = "check" // its Jobs are not looked at
	settings, err := settings.complete()
	if err != nil {
		return ClusterInfo{}, err
	}
	asking, err := asker(settings.Cluster)
	if err != nil {
		return ClusterInfo{}, err
	}
	found := ClusterInfo{Where: settings.Cluster.Host}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var is version.Info
	answer, err := asking.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return found, away("ask for the cluster's version", err)
	}
	if err := json.Unmarshal(answer, &is); err != nil {
		return found, fmt.Errorf("read the cluster's version: %w", err)
	}
	found.Version = is.GitVersion
	for _, right := range rights() {
		may, err := mayDo(ctx, asking, settings.Namespace, right)
		if err != nil {
			return found, away("ask for the right to "+right.String(), err)
		}
		if !may {
			found.Missing = append(found.Missing, right.String())
		}
	}
	return found, nil
}

// asker makes a client that asks what its user may do.
func asker(config *rest.Config) (rest.Interface, error) {
	if config == nil {
		return nil, errors.New("no Kubernetes cluster is set")
	}
	scheme := runtime.NewScheme()
	if err := authorizationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("learn the cluster's kinds: %w", err)
	}
	client, err := clientOf(config, scheme, authorizationv1.SchemeGroupVersion, "/apis")
	if err != nil {
		return nil, fmt.Errorf("reach the Kubernetes cluster: %w", err)
	}
	return client, nil
}

// mayDo asks the cluster for one right of whoever asks.
func mayDo(ctx context.Context, asking rest.Interface, namespace string, right right) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Group: right.group, Resource: right.resource, Verb: right.verb,
		},
	}}
	err := asking.Post().Resource("selfsubjectaccessreviews").Body(review).Do(ctx).Into(review)
	return review.Status.Allowed, err
}
