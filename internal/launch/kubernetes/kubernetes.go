// Package kubernetes runs bots in a Kubernetes cluster: one pod for each attempt.
//
// A pod's name consists of the instance, the job and the attempt, so the cluster
// refuses a second pod for an attempt. A pod is created with a scheduling gate,
// then a Secret with the bot's configuration is created with the pod as its owner,
// and then the gate is removed. The next launch continues where an interrupted one
// stopped, and no Secret is left without an owner. States come from watches and
// from periodic lists. There is no Job: the cluster's controller of Jobs creates a
// few pods per second.
package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"standin/internal/launch"
)

const defaultResync = time.Minute

// Settings configure a Launcher. The folders in Bot are folders of the bot's
// container.
type Settings struct {
	launch.RemoteSettings `kong:"-"`

	Namespace     string            `env:"NAMESPACE" help:"Namespace of the bots. Default: the namespace of the service."`
	CPURequest    resource.Quantity `env:"CPU_REQUEST" name:"cpu-request" default:"1" help:"CPU request of a bot, such as 500m; 0 omits it."`
	MemoryRequest resource.Quantity `env:"MEMORY_REQUEST" default:"1Gi" help:"Memory request of a bot; 0 omits it."`

	Cluster   *rest.Config            `kong:"-"`
	Template  *corev1.PodTemplateSpec `kong:"-"` // base of all pods; may be nil
	LostAfter time.Duration           `kong:"-"` // time beyond LeaveTime for a node to report a pod's end; default 1 minute
}

// Launcher starts bots as pods.
type Launcher struct {
	*launch.Remote
	Settings
	cluster *kubernetes.Clientset
}

// New returns a launcher, which watches the cluster until Close and recognizes
// the bots that run there. The cluster need not be reachable yet.
func New(settings Settings) (*Launcher, error) {
	settings, err := settings.withDefaults()
	if err != nil {
		return nil, err
	}
	cluster, err := newClient(settings.Cluster)
	if err != nil {
		return nil, err
	}
	l := &Launcher{Settings: settings, cluster: cluster}
	l.Remote = launch.NewRemote("the Kubernetes cluster", engine{l}, settings.RemoteSettings)
	l.Start()
	return l, nil
}

// withDefaults returns the settings with defaults for unset fields.
func (s Settings) withDefaults() (Settings, error) {
	var err error
	if s.RemoteSettings, err = s.WithDefaults(defaultResync); err != nil {
		return s, err
	}
	switch {
	case s.Namespace == "":
		return s, errors.New("the namespace of the bots is not set")
	case s.CPURequest.Sign() < 0 || s.MemoryRequest.Sign() < 0:
		return s, errors.New("the requests of a bot must not be negative")
	}
	s.LostAfter = cmp.Or(s.LostAfter, time.Minute)
	return s, nil
}

// ClusterInfo is the result of Check.
type ClusterInfo struct {
	Where   string   // the API server's address
	Version string   // of the cluster
	Missing []string // permissions that the service lacks in the namespace, as in "create pods"
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
	cluster, err := newClient(settings.Cluster)
	if err != nil {
		return ClusterInfo{}, err
	}
	found := ClusterInfo{Where: settings.Cluster.Host}
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	content, err := cluster.CoreV1().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return found, clusterError("query the cluster's version", err)
	}
	var info version.Info
	if err := json.Unmarshal(content, &info); err != nil {
		return found, fmt.Errorf("decode the cluster's version: %w", err)
	}
	found.Version = info.GitVersion
	for _, required := range []struct { // which deploy/kubernetes/rbac.yaml grants
		resource string
		verbs    []string
	}{
		{"pods", []string{"create", "list", "watch", "patch", "delete"}},
		{"secrets", []string{"create"}},
	} {
		for _, verb := range required.verbs {
			permission := verb + " " + required.resource
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: settings.Namespace, Resource: required.resource, Verb: verb,
				},
			}}
			review, err := cluster.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return found, clusterError("check the permission to "+permission, err)
			}
			if !review.Status.Allowed {
				found.Missing = append(found.Missing, permission)
			}
		}
	}
	return found, nil
}

// Check implements launch.RemoteLauncher.
func (l *Launcher) Check(ctx context.Context) error {
	found, err := Check(ctx, l.Settings)
	if err == nil && len(found.Missing) > 0 {
		err = fmt.Errorf("the service may not %s in the namespace %q", strings.Join(found.Missing, ", "), l.Namespace)
	}
	return err
}
