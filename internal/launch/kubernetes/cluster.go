package kubernetes

import (
	"errors"
	"fmt"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// Rate limit of requests to the cluster: enough to launch the bots of a full
// hour at once. client-go's default is 5 per second.
const (
	requestsPerSecond = 200
	requestBurst      = 400
)

// Clients of the three kinds that the launcher uses. client-go's clientset would
// link every kind into the binary.
type (
	jobClient    = gentype.ClientWithList[*batchv1.Job, *batchv1.JobList]
	podClient    = gentype.ClientWithList[*corev1.Pod, *corev1.PodList]
	secretClient = gentype.Client[*corev1.Secret]
)

// cluster holds the clients of a namespace.
type cluster struct {
	jobs    *jobClient
	pods    *podClient
	secrets *secretClient
}

// FindCluster returns the configuration and namespace of the cluster: from the
// kubeconfig file if it is not empty, else from the environment of a pod or the
// user's default kubeconfig.
func FindCluster(kubeconfig string) (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("find the Kubernetes cluster: %w", err)
	}
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", fmt.Errorf("find the Kubernetes namespace: %w", err)
	}
	return config, namespace, nil
}

// ReadPodTemplate reads a PodTemplateSpec in YAML.
func ReadPodTemplate(path string) (*corev1.PodTemplateSpec, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the bots' pod template: %w", err)
	}
	var template corev1.PodTemplateSpec
	if err := yaml.UnmarshalStrict(content, &template); err != nil {
		return nil, fmt.Errorf("read the bots' pod template %s: %w", path, err)
	}
	return &template, nil
}

// newCluster returns the clients, without connecting.
func newCluster(config *rest.Config, namespace string) (cluster, error) {
	if config == nil {
		return cluster{}, errors.New("the Kubernetes cluster is not set")
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(batchv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return cluster{}, fmt.Errorf("register the Kubernetes API types: %w", err)
	}
	parameters := runtime.NewParameterCodec(scheme)
	batch, batchErr := newClient(config, scheme, batchv1.SchemeGroupVersion, "/apis")
	core, coreErr := newClient(config, scheme, corev1.SchemeGroupVersion, "/api")
	if err := errors.Join(batchErr, coreErr); err != nil {
		return cluster{}, fmt.Errorf("create the clients of the Kubernetes cluster: %w", err)
	}
	return cluster{
		jobs: gentype.NewClientWithList("jobs", batch, parameters, namespace,
			func() *batchv1.Job { return &batchv1.Job{} }, func() *batchv1.JobList { return &batchv1.JobList{} }),
		pods: gentype.NewClientWithList("pods", core, parameters, namespace,
			func() *corev1.Pod { return &corev1.Pod{} }, func() *corev1.PodList { return &corev1.PodList{} }),
		secrets: gentype.NewClient("secrets", core, parameters, namespace,
			func() *corev1.Secret { return &corev1.Secret{} }),
	}, nil
}

// newClient returns a client of one API group.
func newClient(config *rest.Config, scheme *runtime.Scheme, group schema.GroupVersion, path string) (rest.Interface, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &group, path
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.WarningHandler = rest.NoWarnings{} // they address authors of manifests
	c.UserAgent, c.QPS, c.Burst = "standin", requestsPerSecond, requestBurst
	return rest.RESTClientFor(c)
}

// withLabels returns the options that select objects with the labels.
func withLabels(labels map[string]string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})}
}
