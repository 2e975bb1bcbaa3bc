package confine

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	readAccess = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	// fileAccess are the rights that a rule for a file may have.
	fileAccess = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	allAccess = 2*unix.LANDLOCK_ACCESS_FS_IOCTL_DEV - 1 // it and all rights before it
)

// Version returns the version of the kernel's Landlock interface, or 0 if Start
// cannot confine programs.
func Version() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || version < 2 { // the first version allows no file to be moved between folders
		return 0
	}
	return int(version)
}

// Start starts a command that has only this access, which it cannot extend. It
// cannot gain privileges by setuid programs, and cannot trace or signal processes
// that it did not start. Without a kernel that supports it, the command starts
// without these limits. The command must not have a parent-death signal.
func Start(command *exec.Cmd, access Access) error {
	version := Version()
	if version == 0 && !access.NoSockets {
		return command.Start()
	}
	started := make(chan error, 1)
	go func() {
		// The limits apply to this thread, from which the command inherits them.
		// The thread ends with the goroutine, because it stays locked.
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil && version > 0 {
			err = restrictThread(version, access)
		}
		if err == nil && access.NoSockets {
			err = denySockets()
		}
		if err == nil {
			err = command.Start()
		}
		started <- err
	}()
	return <-started
}

// restrictThread restricts the current thread (landlock(7)).
func restrictThread(version int, access Access) error {
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: allAccess}
	if version < 3 {
		attributes.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version < 5 {
		attributes.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	size := unsafe.Offsetof(attributes.Handled_access_net)
	if version >= 6 {
		attributes.Scoped, size = unix.LANDLOCK_SCOPE_SIGNAL, unsafe.Offsetof(attributes.Quiet_access_fs)
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attributes)), size, 0) //nolint:gosec // a system call takes addresses
	if errno != 0 {
		return fmt.Errorf("create a Landlock ruleset: %w", errno)
	}
	defer func() { _ = unix.Close(int(ruleset)) }()
	for rights, paths := range map[uint64][]string{
		readAccess: append(systemRead(), access.Read...),
		// Devices and processes: Chromium's sandbox writes the user map of its processes.
		allAccess: append([]string{"/dev", "/proc"}, access.Write...),
	} {
		for _, path := range paths {
			if path == "" {
				continue // such as a variable that is not set
			}
			if err := addRule(int(ruleset), path, rights&attributes.Handled_access_fs); err != nil {
				return fmt.Errorf("allow access to %s: %w", path, err)
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("restrict access to files: %w", errno)
	}
	return nil
}

// denySockets makes the system calls fail by which the current thread could get a socket
// (seccomp(2)), and all calls of another architecture.
func denySockets() error {
	architecture, known := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !known {
		return nil
	}
	const number, arch = 0, 4 // offsets in struct seccomp_data
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	program := []unix.SockFilter{load(arch), {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: architecture, Jt: 1}, {}, load(number)}
	denied := []uint32{unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_IO_URING_SETUP}
	for i, call := range denied {
		skipped := uint8(len(denied) - i + 1) //nolint:gosec // small
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jt: skipped})
	}
	const firstX32 = 0x40000000
	refuse := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)}
	program = append(program,
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: firstX32, Jt: 1},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}, refuse)
	program[2] = refuse
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // small
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&filter))) //nolint:gosec // a system call takes addresses
	if errno != 0 {
		return fmt.Errorf("deny sockets: %w", errno)
	}
	return nil
}

// addRule allows access to a file, or to a folder and everything in it.
func addRule(ruleset int, path string, rights uint64) error {
	file, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(file) }()
	var status unix.Stat_t
	if err := unix.Fstat(file, &status); err != nil {
		return err
	}
	if status.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileAccess
	}
	rule := unix.LandlockPathBeneathAttr{
		Allowed_access: rights, Parent_fd: int32(file),
	} //nolint:gosec // file descriptors are small
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // a system call takes addresses
	if errno != 0 {
		return errno
	}
	return nil
}

// UserNamespaces reports whether programs of this user may create user namespaces,
// so that Chromium needs no setuid program for its sandbox.
func UserNamespaces() bool {
	command := exec.CommandContext(context.Background(), "/bin/true") // it ends at once
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return command.Run() == nil
}

// ProtectMemory keeps other processes of the same user from reading the memory,
// the environment and the open files of this process (proc(5), PR_SET_DUMPABLE).
func ProtectMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect the memory of the process: %w", err)
	}
	return nil
}
