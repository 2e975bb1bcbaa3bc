package browser

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestCheckSandbox(t *testing.T) {
	t.Parallel()
	if err := CheckSandbox(true); err != nil {
		t.Errorf("CheckSandbox(true) = %v", err)
	}
	if err := CheckSandbox(false); (err != nil) != (os.Geteuid() == 0) || err != nil && !errors.Is(err, ErrSandboxAsRoot) {
		t.Errorf("CheckSandbox(false) = %v as user %d", err, os.Geteuid())
	}
}

func TestAsSandboxError(t *testing.T) {
	t.Parallel()
	for _, printed := range []string{
		"[7:7:FATAL:zygote_host_impl_linux.cc(127)] No usable sandbox! Update your kernel or see",
		"The SUID sandbox helper binary was found, but is not configured correctly.",
		"Failed to move to new namespace: PID namespaces supported, Network namespace supported, but failed: errno = Operation not permitted",
	} {
		err := asSandboxError(errors.New("chrome failed to start:\n" + printed))
		var sandbox *SandboxError
		if !errors.As(err, &sandbox) || !strings.Contains(err.Error(), NoSandboxSetting) || !strings.Contains(sandbox.Unwrap().Error(), printed) {
			t.Errorf("asSandboxError(%q) = %v", printed, err)
		}
	}
	other := errors.New("no display at all")
	if err := asSandboxError(other); !errors.Is(err, other) || errors.As(err, new(*SandboxError)) {
		t.Errorf("asSandboxError(%v) = %v", other, err)
	}
}
