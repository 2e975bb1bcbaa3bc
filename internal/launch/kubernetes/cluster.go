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

// How many requests a second the service asks of the cluster: those of a full
// hour's bots, which begin at once. client-go's own limit is 5.
const (
	requestsPerSecond = 200
	requestsAtOnce    = 400
)

// Clients of the three kinds that the launcher knows. client-go's set of all
// clients would bring every kind there is into the binary.
type (
	jobClient    = gentype.ClientWithList[*batchv1.Job, *batchv1.JobList]
	podClient    = gentype.ClientWithList[*corev1.Pod, *corev1.PodList]
	secretClient = gentype.Client[*corev1.Secret]
)

// cluster is the part of a cluster that the launcher works with.
type cluster struct {
	jobs    *jobClient
	pods    *podClient
	secrets *secretClient
}

// Find finds the cluster: that of the file, else the one that this process
// runs in, else that of the user's own settings; with the namespace that goes
// with it.
func FindCluster(kubeconfig string) (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	found := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	if config, err = found.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("find the Kubernetes cluster: %w", err)
	}
	if namespace, _, err = found.Namespace(); err != nil {
		return nil, "", fmt.Errorf("find the Kubernetes namespace: %w", err)
	}
	return config, namespace, nil
}

// ReadTemplate reads what pods are made from.
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

// connect makes the clients. Nothing is asked yet.
func connect(config *rest.Config, namespace string) (cluster, error) {
	if config == nil {
		return cluster{}, errors.New("no Kubernetes cluster is set")
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(batchv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return cluster{}, fmt.Errorf("learn the cluster's kinds: %w", err)
	}
	parameters := runtime.NewParameterCodec(scheme)
	batch, batchErr := clientOf(config, scheme, batchv1.SchemeGroupVersion, "/apis")
	core, coreErr := clientOf(config, scheme, corev1.SchemeGroupVersion, "/api")
	if err := errors.Join(batchErr, coreErr); err != nil {
		return cluster{}, fmt.Errorf("reach the Kubernetes cluster: %w", err)
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

// clientOf makes a client of one group of kinds.
func clientOf(config *rest.Config, scheme *runtime.Scheme, group schema.GroupVersion, path string) (rest.Interface, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &group, path
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.WarningHandler = rest.NoWarnings{} // they are for whoever writes manifests
	c.UserAgent, c.QPS, c.Burst = "standin", requestsPerSecond, requestsAtOnce
	return rest.RESTClientFor(c)
}

// selected are the options that choose what belongs to an instance, or to one
// of its attempts.
func selected(labels map[string]string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})}
}
