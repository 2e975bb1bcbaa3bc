package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestBotThatConnectsToPrivateNetworks loads egress.nft in a network namespace
// that routes between a bot and other hosts, and connects from the bot. Public
// addresses answer; private networks, the metadata address and the router itself
// do not, although they answer without the rules.
func TestBotThatConnectsToPrivateNetworks(t *testing.T) {
	t.Parallel()
	long(t)
	n := newTestNetwork(t)
	public := []string{"93.184.215.10", "[2606:2800:1::10]"}
	private := []string{
		"10.1.2.3", "100.64.0.5", "169.254.169.254", "172.20.0.9", "192.168.7.7", "198.18.0.1", "168.63.129.16", "192.0.0.192", "203.0.113.7",
		"[fd00:2::1]", "[64:ff9b::a9fe:a9fe]", "[2002:a00:1::1]", "[2001:db8::1]",
		"172.30.0.1", // the router
	}
	n.listen(n.internet, n.router)
	for _, address := range append(public, private...) {
		err := n.connect(address, 10*time.Second)
		for range 20 { // IPv6 needs a moment after the interfaces are up
			if err == nil {
				break
			}
			err = n.connect(address, 10*time.Second)
		}
		if err != nil {
			t.Fatalf("without the rules, %s does not answer: %v", address, err)
		}
	}
	rules, err := filepath.Abs("egress.nft")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the file can be loaded again
		n.run("ip", "netns", "exec", n.router, "nft", "-f", rules)
	}
	for _, address := range public {
		if err := n.connect(address, 10*time.Second); err != nil {
			t.Errorf("a bot cannot reach %s: %v", address, err)
		}
	}
	for _, address := range private {
		if err := n.connect(address, 300*time.Millisecond); !timedOut(err) {
			t.Errorf("a bot connects to %s: %v", address, err)
		}
	}
}

// testNetwork consists of three network namespaces. The router has the bridge
// standin-bots towards the bot, and routes everything else to the internet.
type testNetwork struct {
	*testing.T
	bot, router, internet string
}

// networkScript makes the namespaces $1, $2 and $3 of the bot, the router and the internet.
const networkScript = `
for name in "$@"; do ip netns add $name; ip -n $name link set lo up; done
link() { ip -n $1 link add $2 type veth peer name $4 netns $3; ip -n $1 link set $2 up; ip -n $3 link set $4 up; }
link $1 eth0 $2 standin-bots
link $3 eth0 $2 uplink
address() { device=$1 namespace=$2; shift 2; for a in "$@"; do case $a in *:*) a="$a nodad";; esac; ip -n $namespace address add ${a% nodad} dev $device ${a#${a% nodad}}; done; }
address eth0 $1 172.30.0.2/24 fd00:1::2/64
address standin-bots $2 172.30.0.1/24 fd00:1::1/64
address uplink $2 93.184.215.1/24 2606:2800:1::1/64
address eth0 $3 93.184.215.10/24 10.1.2.3/32 100.64.0.5/32 169.254.169.254/32 172.20.0.9/32 192.168.7.7/32 198.18.0.1/32 168.63.129.16/32 192.0.0.192/32 203.0.113.7/32 \
	2606:2800:1::10/64 fd00:2::1/128 64:ff9b::a9fe:a9fe/128 2002:a00:1::1/128 2001:db8::1/128
route() { ip -n $1 route add default via $2; ip -n $1 -6 route add default via $3; }
route $1 172.30.0.1 fd00:1::1
route $2 93.184.215.10 2606:2800:1::10
route $3 93.184.215.1 2606:2800:1::1
ip netns exec $2 sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward && echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'`

func newTestNetwork(t *testing.T) *testNetwork {
	t.Helper()
	needRoot(t, "ip", "nft")
	prefix := fmt.Sprintf("standin-%d-", os.Getpid())
	n := &testNetwork{T: t, bot: prefix + "bot", router: prefix + "router", internet: prefix + "internet"}
	t.Cleanup(func() {
		n.run("sh", "-c", `for name in "$@"; do ip netns delete $name; done`, "sh", n.bot, n.router, n.internet)
	})
	n.run("sh", "-ec", networkScript, "sh", n.bot, n.router, n.internet)
	return n
}

func (n *testNetwork) run(command ...string) {
	n.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		n.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
}

// needRoot skips a test without root or without a tool, and fails it in CI.
func needRoot(t *testing.T, tools ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		need(t, "root")
	}
	need(t, tools...)
}

// need skips a test without a tool, and fails it in CI.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("CI") != "" {
			t.Fatalf("this test needs %s (scripts/setup.sh test installs it)", tool)
		} else if err != nil {
			t.Skipf("this test needs %s", tool)
		}
	}
}

// testPort is where the namespaces accept connections.
const testPort = "8080"

// listen accepts connections in namespaces.
func (n *testNetwork) listen(namespaces ...string) {
	n.Helper()
	for _, namespace := range namespaces {
		var listener net.Listener
		err := inNamespace(namespace, func() (err error) {
			listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", ":"+testPort)
			return err
		})
		if err != nil {
			n.Fatal(err)
		}
		n.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return // closed
				}
				_ = conn.Close()
			}
		}()
	}
}

// connect connects from the bot to an address, within a time.
func (n *testNetwork) connect(address string, timeout time.Duration) error {
	return inNamespace(n.bot, func() error {
		dialer := net.Dialer{Timeout: timeout}
		conn, err := dialer.DialContext(n.Context(), "tcp", address+":"+testPort)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// timedOut reports whether nothing answered an attempt to connect.
func timedOut(err error) bool {
	failed := net.Error(nil)
	return errors.As(err, &failed) && failed.Timeout()
}

// inNamespace calls do on a thread in a network namespace.
func inNamespace(name string, do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		file, err := os.Open(filepath.Join("/run/netns", name))
		if err == nil {
			defer file.Close()
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = do()
		}
		done <- err
	}()
	return <-done
}
