package kubernetes

import (
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// ReadPodTemplate reads the operator's base of all bot pods, a PodTemplateSpec in
// YAML. It refuses unknown fields.
func ReadPodTemplate(path string) (*corev1.PodTemplateSpec, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the bots' pod template: %w", err)
	}
	template := new(corev1.PodTemplateSpec)
	if err := yaml.UnmarshalStrict(content, template); err != nil {
		return nil, fmt.Errorf("read the bots' pod template %s: %w", path, err)
	}
	return template, nil
}
