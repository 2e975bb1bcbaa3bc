// Package confine limits what programs can do to this machine. It starts
// programs that handle what strangers send, such as bots and ffmpeg, so that they
// reach few files, and keeps the memory of this process from other processes of
// the same user.
package confine

import (
	"os"
	"path/filepath"
)

// Access is what a confined program, and every program that it starts, may use
// besides the system's own files: programs, libraries, settings and devices.
type Access struct {
	Read  []string // folders and files; missing ones are ignored
	Write []string // the same, with everything below

	NoSockets bool // it can connect to nothing, not even on this machine
}

// systemRead are the folders of the system's programs and settings. No folder with
// data of services or users is among them, such as /home and /var/lib.
func systemRead() []string {
	folders := []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store", "/snap", "/sys",
		// not /run, which has secrets and sockets of services
		"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/current-system", "/run/opengl-driver",
		"/var/cache/fontconfig", "/var/lib/ca-certificates", "/var/lib/snapd",
	}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "SSL_CERT_DIR"} {
		folders = append(folders, filepath.SplitList(os.Getenv(name))...)
	}
	for _, name := range []string{"FONTCONFIG_FILE", "SSL_CERT_FILE"} {
		folders = append(folders, os.Getenv(name))
	}
	return folders
}
