package browser

import (
	"errors"
	"strings"
	"testing"
)

func TestWhoRunsWithoutASandbox(t *testing.T) {
	t.Parallel()
	tests := []struct {
		asRoot, noSandbox, want bool
	}{
		{asRoot: false, noSandbox: false, want: true},
		{asRoot: true, noSandbox: false, want: false},
		{asRoot: false, noSandbox: true, want: false},
		{asRoot: true, noSandbox: true, want: false},
	}
	for _, test := range tests {
		if got := sandboxed(Options{asRoot: test.asRoot, NoSandbox: test.noSandbox}); got != test.want {
			t.Errorf("%+v: sandboxed is %v", test, got)
		}
	}
}

func TestALaunchWithoutASandboxIsExplained(t *testing.T) {
	t.Parallel()
	for _, printed := range []string{
		"[7:7:FATAL:zygote_host_impl_linux.cc(127)] No usable sandbox! Update your kernel or see",
		"The SUID sandbox helper binary was found, but is not configured correctly.",
		"Failed to move to new namespace: PID namespaces supported, Network namespace supported, but failed: errno = Operation not permitted",
	} {
		err := explainLaunch(errors.New("chrome failed to start:\n" + printed))
		var sandbox *SandboxError
		if !errors.As(err, &sandbox) || !strings.Contains(err.Error(), NoSandboxSetting) || !strings.Contains(sandbox.Unwrap().Error(), printed) {
			t.Errorf("%q is explained as %v", printed, err)
		}
	}
	other := errors.New("no display at all")
	if err := explainLaunch(other); !errors.Is(err, other) || errors.As(err, new(*SandboxError)) {
		t.Errorf("%v is explained as %v", other, err)
	}
}
