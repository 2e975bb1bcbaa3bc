// Package netns runs tests in network namespaces of their own, where they have
// public addresses without reaching anybody.
package netns

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// insideVariable is set in the process that runs in the namespace.
const insideVariable = "STANDIN_TEST_NETWORK_NAMESPACE"

// setup gives the namespace a network interface with the addresses that follow,
// and executes the test.
const setup = `set -e
ip link set lo up
ip link add eth0 type veth peer name peer0
ip link set peer0 up
ip link set eth0 up
ip address add "$1" dev eth0
ip route add default dev eth0
shift
exec "$@"`

// Inside reports whether the test runs in a namespace of its own. If not, it
// runs the test again in one, whose interface has the address with the length of
// its prefix, such as "8.8.4.4/24". The caller then returns. Without root the
// test is skipped, and fails in CI.
func Inside(t *testing.T, address string) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("this test needs root")
		}
		t.Skip("this test needs root")
	}
	//nolint:gosec // the test runs itself
	command := exec.CommandContext(t.Context(), "unshare", "--net", "sh", "-c", setup, "sh", address,
		os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	command.Env = append(os.Environ(), insideVariable+"=1")
	output, err := command.CombinedOutput()
	t.Logf("in a network namespace with the address %s:\n%s", address, output)
	if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("the test fails in its network namespace: %v", err)
	}
	return false
}
