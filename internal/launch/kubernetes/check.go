package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/version"

	"standin/internal/launch"
)

// requiredPermissions returns the permissions that the launcher needs in its
// namespace, which deploy/kubernetes/rbac.yaml grants.
func requiredPermissions(namespace string) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, required := range []struct {
		group, resource string
		verbs           []string
	}{
		{"batch", "jobs", []string{"create", "get", "list", "watch", "patch", "delete"}},
		{"", "pods", []string{"list", "watch", "delete"}},
		{"", "secrets", []string{"create"}},
	} {
		for _, verb := range required.verbs {
			all = append(all, authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: required.group, Resource: required.resource, Verb: verb,
			})
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
	cluster, err := newClient(settings.Cluster, settings.Namespace)
	if err != nil {
		return ClusterInfo{}, err
	}
	found := ClusterInfo{Where: settings.Cluster.Host}
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	content, err := cluster.core.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return found, clusterError("query the cluster's version", err)
	}
	var info version.Info
	if err := json.Unmarshal(content, &info); err != nil {
		return found, fmt.Errorf("decode the cluster's version: %w", err)
	}
	found.Version = info.GitVersion
	for _, required := range requiredPermissions(settings.Namespace) {
		permission := required.Verb + " " + required.Resource
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &required}}
		if err := cluster.authorization.Post().Resource("selfsubjectaccessreviews").Body(review).Do(ctx).Into(review); err != nil {
			return found, clusterError("check the permission to "+permission, err)
		}
		if !review.Status.Allowed {
			found.Missing = append(found.Missing, permission)
		}
	}
	return found, nil
}
