package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"standin/internal/base/confine"
	"standin/internal/bot/browser"
)

// sandboxRoleVariable makes the test binary run sandboxProcess with this profile.
const sandboxRoleVariable = "STANDIN_TEST_SANDBOX_PROFILE"

// Output of sandboxProcess.
const (
	noSandbox     = "no sandbox"
	sandboxFormat = "seccomp %d namespaces %d"
)

// nobody is the ID of an unprivileged user.
const nobody = 65534

// rendererSandbox returns the seccomp mode of a renderer process and its number of
// nested process namespaces (proc(5), /proc/pid/status).
func rendererSandbox(profile string) (seccomp, namespaces int, err error) {
	commandLines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, 0, err
	}
	for _, path := range commandLines {
		commandLine, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(commandLine, []byte("--type=renderer")) || !bytes.Contains(commandLine, []byte(profile)) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(path), "status"))
		if err != nil {
			continue
		}
		for text := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(strings.TrimSpace(text), ":")
			switch name {
			case "Seccomp":
				seccomp, _ = strconv.Atoi(strings.TrimSpace(value))
			case "NSpid":
				namespaces = len(strings.Fields(value))
			}
		}
		return seccomp, namespaces, nil
	}
	return 0, 0, errors.New("no renderer process")
}

// sandboxProcess launches a browser and prints the sandbox of its renderer.
func sandboxProcess(profile string) int {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	b, err := browser.Launch(ctx, browser.Options{ProfileDir: profile, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	var sandbox *browser.SandboxError
	if errors.As(err, &sandbox) {
		fmt.Println(noSandbox)
		return 0
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer b.Close()
	page, err := b.NewPage(ctx)
	if err == nil {
		err = page.EvalInPage(ctx, "1", nil)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	seccomp, namespaces, err := rendererSandbox(profile)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf(sandboxFormat+"\n", seccomp, namespaces)
	return 0
}

// runAsNobody runs sandboxProcess as an unprivileged user and returns its output.
func runAsNobody(t *testing.T) string {
	t.Helper()
	// Other users have no access to t.TempDir and to the test binary.
	folder, err := os.MkdirTemp("", "standin-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	binary, profile := filepath.Join(folder, "test"), filepath.Join(folder, "nobodys", "profile")
	err = errors.Join(os.Chmod(folder, 0o755), os.Mkdir(filepath.Dir(profile), 0o700), copyExecutable(binary))
	if err != nil {
		t.Fatal(err)
	}
	ctx := limited(t)
	command := exec.CommandContext(ctx, binary)
	command.Dir = folder
	command.Env = []string{"PATH=" + os.Getenv("PATH"), sandboxRoleVariable + "=" + profile}
	if os.Geteuid() == 0 {
		if err := os.Chown(filepath.Dir(profile), nobody, nobody); err != nil {
			t.Fatal(err)
		}
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	// The launcher confines bots too.
	err = confine.Start(command, confine.Access{Write: []string{folder, os.TempDir(), "/tmp"}})
	if err == nil {
		err = command.Wait()
	}
	output := stdout.Bytes()
	if err != nil {
		t.Fatalf("%v: %s%s", err, output, stderr.Bytes())
	}
	if strings.Contains(stderr.String(), "without its own sandbox") {
		t.Errorf("unexpected warning: %s", stderr.Bytes())
	}
	return strings.TrimSpace(string(output))
}

// copyExecutable copies the test binary.
func copyExecutable(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	source, err := os.Open(self)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// A renderer has its own process namespace and a system call filter, also in a
// confined bot, unless the browser runs as root.
func TestRendererSandbox(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this test reads /proc, which only Linux has")
	}
	executable(t)
	output := runAsNobody(t)
	if output == noSandbox {
		t.Log("this system provides no sandbox, and Launch returned a SandboxError")
		return
	}
	var seccomp, namespaces int
	if _, err := fmt.Sscanf(output, sandboxFormat, &seccomp, &namespaces); err != nil || seccomp != 2 || namespaces < 2 {
		t.Errorf("renderer of an unprivileged user: %s; want seccomp mode 2 in its own process namespace", output)
	}
}
