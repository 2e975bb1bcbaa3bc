package kubernetes

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestPodFields compares podFields with Kubernetes' own type.
func TestPodFields(t *testing.T) {
	t.Parallel()
	var want []string
	for field := range reflect.TypeFor[corev1.PodSpec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		want = append(want, name)
	}
	if !slices.Equal(podFields, want) {
		t.Errorf("podFields is %q, want %q", podFields, want)
	}
}

// FuzzPodTemplate checks that any accepted template can be sent to the cluster,
// and leaves the bot its restrictions.
func FuzzPodTemplate(f *testing.F) {
	f.Add("metadata: {labels: {team: a}}\nspec: {nodeSelector: {bots: 'yes'}, containers: [{name: bot, securityContext: {privileged: true}}]}")
	f.Add("spec: {hostNetwork: true, containers: [{name: bot, resources: {limits: 1}}, 7], volumes: [null]}")
	f.Fuzz(func(t *testing.T, content string) {
		template, err := parsePodTemplate([]byte(content))
		if err != nil {
			return
		}
		l := &Launcher{settings: Settings{Template: template}}
		pod := l.containers(template.Spec["containers"])
		if _, err := json.Marshal(pod); err != nil {
			t.Fatal(err)
		}
		for _, container := range pod {
			fields, ok := container.(object)
			if ok && fields["name"] == containerName && fields["securityContext"].(object)["privileged"] != false {
				t.Errorf("the bot is privileged: %v", fields)
			}
		}
	})
}
