package kubernetes

import (
	"context"

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
	client, err := newClient(settings.Cluster, settings.Namespace)
	if err != nil {
		return ClusterInfo{}, err
	}
	found := ClusterInfo{Where: settings.Cluster.Host}
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	var info struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := client.get(ctx, "/version", &info); err != nil {
		return found, clusterError("query the cluster's version", err)
	}
	found.Version = info.GitVersion
	for _, permission := range requiredPermissions() {
		allowed, err := client.isAllowed(ctx, permission)
		if err != nil {
			return found, clusterError("check the permission to "+permission.String(), err)
		}
		if !allowed {
			found.Missing = append(found.Missing, permission.String())
		}
	}
	return found, nil
}

// isAllowed asks the cluster whether the client's user has a permission.
func (c *client) isAllowed(ctx context.Context, required permission) (bool, error) {
	var review struct {
		Status struct {
			Allowed bool `json:"allowed"`
		} `json:"status"`
	}
	err := c.create(ctx, "/apis/"+authorizationVersion+"/selfsubjectaccessreviews", object{
		"apiVersion": authorizationVersion, "kind": "SelfSubjectAccessReview",
		"spec": object{"resourceAttributes": object{
			"namespace": c.namespace, "group": required.group, "resource": required.resource, "verb": required.verb,
		}},
	}, &review)
	return review.Status.Allowed, err
}
