package deploy_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies: the released binary has neither the replica's WebRTC stack nor
// Kubernetes' types, which tests and the demo use.
func TestDependencies(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../cmd/standin").Output()
	if err != nil || !strings.Contains(string(out), "standin/internal/service") {
		t.Fatalf("go list: %v %s", err, out)
	}
	for _, forbidden := range []string{"github.com/pion/", "k8s.io/", "standin/internal/replica", "standin/internal/demo"} {
		if strings.Contains(string(out), "\n"+forbidden) {
			t.Errorf("the binary contains %s", forbidden)
		}
	}
}
