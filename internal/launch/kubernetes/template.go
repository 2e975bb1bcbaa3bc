package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

// PodTemplate is the operator's base of all bot pods, a Kubernetes
// PodTemplateSpec. The cluster checks the fields of its containers and volumes.
type PodTemplate struct {
	Metadata struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec object `json:"spec"`
}

// podFields are the fields of a PodSpec.
var podFields = []string{
	"volumes", "initContainers", "containers", "ephemeralContainers", "restartPolicy", "terminationGracePeriodSeconds",
	"activeDeadlineSeconds", "dnsPolicy", "nodeSelector", "serviceAccountName", "serviceAccount", "automountServiceAccountToken",
	"nodeName", "hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "securityContext", "imagePullSecrets", "hostname",
	"subdomain", "affinity", "schedulerName", "tolerations", "hostAliases", "priorityClassName", "priority", "dnsConfig",
	"readinessGates", "runtimeClassName", "enableServiceLinks", "preemptionPolicy", "overhead", "topologySpreadConstraints",
	"setHostnameAsFQDN", "os", "hostUsers", "schedulingGates", "resourceClaims", "resources", "hostnameOverride", "schedulingGroup",
	"evictionResponders",
}

// ReadPodTemplate reads a PodTemplateSpec in YAML. It refuses unknown fields of
// the template and of its spec.
func ReadPodTemplate(path string) (*PodTemplate, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the bots' pod template: %w", err)
	}
	template, err := parsePodTemplate(content)
	if err != nil {
		return nil, fmt.Errorf("read the bots' pod template %s: %w", path, err)
	}
	return template, nil
}

func parsePodTemplate(content []byte) (*PodTemplate, error) {
	var decoded any
	if err := yaml.Unmarshal(content, &decoded); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(decoded) // fails for keys that are not strings
	if err != nil {
		return nil, err
	}
	template := new(PodTemplate)
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(template); err != nil {
		return nil, err
	}
	for field, value := range template.Spec {
		if !slices.Contains(podFields, field) {
			return nil, fmt.Errorf("unknown field %q in spec", field)
		}
		_, isList := value.([]any)
		if (field == "containers" || field == "volumes") && value != nil && !isList {
			return nil, fmt.Errorf("spec.%s is not a list", field)
		}
	}
	return template, nil
}
