package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"standin/internal/testing/await"
	"standin/internal/testing/launchtest"
	"standin/internal/testing/logtail"
)

// realEngine is the variable that enables the tests on a real engine (make
// launchers).
const realEngine = "STANDIN_TEST_PODMAN"

// TestPodman runs the tests of every engine on Podman's Docker API, with running
// containers, without registry and network.
func TestPodman(t *testing.T) {
	if os.Getenv(realEngine) == "" {
		t.Skip("set " + realEngine + "=1, or run make launchers, for the tests on a real engine")
	}
	t.Parallel()
	host := startPodman(t)
	importImage(t, host)
	everyEngine(t, "tcp://"+host)
}

// startPodman starts Podman's service until the test ends.
func startPodman(t *testing.T) string {
	t.Helper()
	podman, err := exec.LookPath("podman")
	if err != nil {
		t.Fatal("install podman, runc and catatonit: ", err)
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Fatal("install runc: ", err)
	}
	dir := t.TempDir()
	settings := filepath.Join(dir, "containers.conf")
	// Podman's default limits exceed those of this process.
	content := "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n"
	if err := os.WriteFile(settings, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	address := launchtest.FreeAddress(t)
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, podman, "--runtime", runc, "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs",
		"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "system", "service", "--time=0", "tcp:"+address)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+settings)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("output of podman:\n%s", logtail.Last(log.String()))
		}
	})
	await.Until(t, "podman to answer", func() bool {
		response, err := http.Get("http://" + address + "/_ping")
		if err == nil {
			response.Body.Close()
		}
		return err == nil
	})
	return address
}

// importImage creates the image of the bots: testbot only.
func importImage(t *testing.T, host string) {
	t.Helper()
	built := filepath.Join(t.TempDir(), "testbot")
	build := exec.Command("go", "build", "-o", built, "standin/internal/testing/testbot")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build testbot: %v\n%s", err, out)
	}
	binary, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	var root bytes.Buffer
	archive := tar.NewWriter(&root)
	err = errors.Join(
		archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o777}),
		archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "testbot", Mode: 0o755, Size: int64(len(binary))}),
	)
	_, writeErr := archive.Write(binary)
	if err := errors.Join(err, writeErr, archive.Close()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{
		"/v1.41/images/create?fromSrc=-&repo=localhost/standin-testbot",
		"/v1.41/images/localhost/standin-testbot:latest/tag?repo=localhost/standin-testbot&tag=1",
	} {
		response, err := http.Post("http://"+host+step, "application/x-tar", &root)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode/100 != 2 {
			t.Fatalf("%s: %s", step, response.Status)
		}
	}
}
