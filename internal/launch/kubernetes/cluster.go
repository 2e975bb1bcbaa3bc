package kubernetes

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // auth-provider entries of kubeconfig files
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"standin/internal/launch"
)

// FindCluster returns the configuration of the cluster and the namespace of the
// bots: from the kubeconfig file if one is given, else from the files in
// KUBECONFIG or ~/.kube/config, else from the service account of the pod in which
// the service runs. The service cannot answer prompts, so credential plugins that
// need a terminal fail.
func FindCluster(kubeconfig string) (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = kubeconfig, false
	files := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, new(clientcmd.ConfigOverrides))
	config, err = files.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("no kubeconfig file names a cluster, and this is not a pod")
	}
	if err == nil {
		namespace, _, err = files.Namespace()
	}
	if err != nil {
		return nil, "", fmt.Errorf("find the Kubernetes cluster: %w", err)
	}
	if config.ExecProvider != nil {
		config.ExecProvider.StdinUnavailable = true
	}
	return config, namespace, nil
}

// newClient returns a client, without connecting. It has no limit of its own: the dispatcher bounds its calls, and the
// API server's priority and fairness the rest.
func newClient(config *rest.Config) (*kubernetes.Clientset, error) {
	if config == nil {
		return nil, errors.New("the Kubernetes cluster is not set")
	}
	config = rest.CopyConfig(config)
	config.UserAgent, config.WarningHandler, config.QPS = "standin", rest.NoWarnings{}, -1
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("configure the Kubernetes client: %w", err)
	}
	return client, nil
}

// pods returns the client of the pods of bots.
func (l *Launcher) pods() core.PodInterface { return l.cluster.CoreV1().Pods(l.Namespace) }

// strict makes the cluster refuse unknown fields.
var strict = metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}

// clusterError wraps an error of a call to the cluster.
func clusterError(action string, err error) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return fmt.Errorf("%s: Kubernetes says: %w", action, launch.ShortError{Err: err})
	}
	return fmt.Errorf("%s: Kubernetes does not answer: %w", action, launch.ShortError{Err: err})
}
