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

	"standin/internal/launch"
)

// permission is one of the permissions that deploy/kubernetes/rbac.yaml grants.
type permission struct{ group, resource, verb string }

func (p permission) String() string { return p.verb + " " + p.resource }

// requiredPermissions returns the permissions that the launcher needs in its
// namespace.
func requiredPermissions() []permission {
	var all []permission
	for _, required := range []struct {
		group, resource string
		verbs           []string
	}{
		{"batch", "jobs", []string{"create", "get", "list", "watch", "patch", "delete"}},
		{"", "pods", []string{"list", "watch", "delete"}},
		{"", "secrets", []string{"create"}},
	} {
		for _, verb := range required.verbs {
			all = append(all, permission{required.group, required.resource, verb})
		}
	}
	return all
}

// ClusterInfo is the result of Check.
type ClusterInfo struct {
	Where   string   // the API server's address
	Version string   // of the cluster
	Missing []string // permissions that the service lacks in the namespace, as in "create jobs"
}

// Check reports whether the cluster answers and which permissions the service
// has in its namespace, and changes nothing. When Where is set, the error comes
// from the cluster; otherwise, from the settings.
func Check(ctx context.Context, settings Settings) (ClusterInfo, error) {
	settings.Instance = "check" // not used
	settings, err := settings.withDefaults()
	if err != nil {
		return ClusterInfo{}, err
	}
	client, err := authorizationClient(settings.Cluster)
	if err != nil {
		return ClusterInfo{}, err
	}
	found := ClusterInfo{Where: settings.Cluster.Host}
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	body, err := client.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return found, clusterError("query the cluster's version", err)
	}
	var info version.Info
	if err := json.Unmarshal(body, &info); err != nil {
		return found, fmt.Errorf("decode the cluster's version: %w", err)
	}
	found.Version = info.GitVersion
	for _, permission := range requiredPermissions() {
		allowed, err := isAllowed(ctx, client, settings.Namespace, permission)
		if err != nil {
			return found, clusterError("check the permission to "+permission.String(), err)
		}
		if !allowed {
			found.Missing = append(found.Missing, permission.String())
		}
	}
	return found, nil
}

// authorizationClient returns a client of the authorization API.
func authorizationClient(config *rest.Config) (rest.Interface, error) {
	if config == nil {
		return nil, errors.New("the Kubernetes cluster is not set")
	}
	scheme := runtime.NewScheme()
	if err := authorizationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the Kubernetes API types: %w", err)
	}
	client, err := newClient(config, scheme, authorizationv1.SchemeGroupVersion, "/apis")
	if err != nil {
		return nil, fmt.Errorf("create the clients of the Kubernetes cluster: %w", err)
	}
	return client, nil
}

// isAllowed asks the cluster whether the client's user has a permission.
func isAllowed(ctx context.Context, client rest.Interface, namespace string, required permission) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Group: required.group, Resource: required.resource, Verb: required.verb,
		},
	}}
	err := client.Post().Resource("selfsubjectaccessreviews").Body(review).Do(ctx).Into(review)
	return review.Status.Allowed, err
}
