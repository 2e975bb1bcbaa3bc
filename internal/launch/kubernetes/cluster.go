package kubernetes

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // auth-provider entries of kubeconfig files
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"

	"standin/internal/launch"
)

// Rate limit of requests to the cluster: enough to launch the bots of a full
// hour at once.
const (
	requestsPerSecond = 200
	requestBurst      = 400
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

var (
	scheme     = newScheme()
	parameters = runtime.NewParameterCodec(scheme)
)

// newScheme returns the types of the API groups that the launcher uses.
func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	groups := runtime.NewSchemeBuilder(corev1.AddToScheme, batchv1.AddToScheme, authorizationv1.AddToScheme)
	utilruntime.Must(groups.AddToScheme(s))
	return s
}

// client calls the API of a cluster, in one namespace. It has REST clients for
// three API groups instead of client-go's typed clients, because compiling those
// takes almost as long as compiling everything else that this package imports.
type client struct {
	namespace                  string
	core, batch, authorization *rest.RESTClient
}

// newClient returns a client, without connecting.
func newClient(config *rest.Config, namespace string) (*client, error) {
	if config == nil {
		return nil, errors.New("the Kubernetes cluster is not set")
	}
	config = rest.CopyConfig(config)
	config.UserAgent, config.WarningHandler = "standin", rest.NoWarnings{}
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(requestsPerSecond, requestBurst)
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	connections, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("configure the Kubernetes client: %w", err)
	}
	c := &client{namespace: namespace}
	for _, group := range []struct {
		client  **rest.RESTClient
		version schema.GroupVersion
		path    string
	}{
		{&c.core, corev1.SchemeGroupVersion, "/api"},
		{&c.batch, batchv1.SchemeGroupVersion, "/apis"},
		{&c.authorization, authorizationv1.SchemeGroupVersion, "/apis"},
	} {
		config.GroupVersion, config.APIPath = &group.version, group.path
		if *group.client, err = rest.RESTClientForConfigAndClient(config, connections); err != nil {
			return nil, fmt.Errorf("configure the Kubernetes client: %w", err)
		}
	}
	return c, nil
}

// create creates an object and stores the cluster's version of it in into. The
// cluster refuses unknown fields.
func (c *client) create(ctx context.Context, group *rest.RESTClient, resource string, object, into runtime.Object) error {
	options := &metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	return group.Post().Namespace(c.namespace).Resource(resource).VersionedParams(options, parameters).Body(object).Do(ctx).Into(into)
}

func (c *client) delete(ctx context.Context, group *rest.RESTClient, resource, name string, options *metav1.DeleteOptions) error {
	return group.Delete().Namespace(c.namespace).Resource(resource).Name(name).Body(options).Do(ctx).Error()
}

// list stores the objects that have the labels in into.
func (c *client) list(ctx context.Context, group *rest.RESTClient, resource string, having labels.Set, into runtime.Object) error {
	options := &metav1.ListOptions{LabelSelector: having.String()}
	return group.Get().Namespace(c.namespace).Resource(resource).VersionedParams(options, parameters).Do(ctx).Into(into)
}

// watch reports changes of objects. The caller must stop it.
func (c *client) watch(ctx context.Context, group *rest.RESTClient, resource string, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return group.Get().Namespace(c.namespace).Resource(resource).VersionedParams(&options, parameters).Watch(ctx)
}

// clusterError wraps an error of a call to the cluster.
func clusterError(action string, err error) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return fmt.Errorf("%s: Kubernetes says: %w", action, launch.ShortError{Err: err})
	}
	return fmt.Errorf("%s: Kubernetes does not answer: %w", action, launch.ShortError{Err: err})
}
