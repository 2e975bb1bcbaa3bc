package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAttackEnvironmentOfTheService reads the environment and the memory of a service
// as another process of the same user, such as a bot whose browser was taken over.
func TestAttackEnvironmentOfTheService(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a service as another user")
	}
	const nobody = 65534
	folder, err := os.MkdirTemp("", "standin-test-") // t.TempDir is private to this user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	binary, data := filepath.Join(folder, "standin"), filepath.Join(folder, "data")
	if err := errors.Join(os.Chmod(folder, 0o755), copyFile(testedBinary(), binary), os.Mkdir(data, 0o700),
		os.Chown(data, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	asNobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}

	service := exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--data-dir", data)
	service.Dir, service.SysProcAttr = folder, asNobody
	service.Env = []string{
		"PATH=" + os.Getenv("PATH"), "STANDIN_LAUNCHER=manual", "STANDIN_ADMIN_SECRET=topsecret", "AWS_SECRET_ACCESS_KEY=topsecret",
	}
	output, err := service.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Process.Kill(); _ = service.Wait() })
	text := make([]byte, 4096)
	if n, err := io.ReadAtLeast(output, text, len("standin")); err != nil || !strings.Contains(string(text[:n]), "listening") {
		t.Fatalf("the service does not start: %q, %v", text[:n], err)
	}
	for _, file := range []string{"environ", "mem", "auxv"} {
		attack := exec.Command("cat", fmt.Sprintf("/proc/%d/%s", service.Process.Pid, file))
		attack.Dir, attack.SysProcAttr = folder, asNobody
		if read, err := attack.CombinedOutput(); err == nil || !strings.Contains(string(read), "Permission denied") {
			t.Errorf("%s of the service: %v, %.200q", file, err, read)
		}
	}
}

// copyFile copies an executable file.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755) //nolint:gosec // an executable
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
