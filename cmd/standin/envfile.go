package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"standin/internal/base/fsutil"
)

// packagedSettings is the file with the settings of the service that the package for Debian installs.
const packagedSettings = "/etc/standin/standin.env"

// envFileFlags read settings that are not in the environment from a file, so that commands on the
// machine of a service have its settings.
type envFileFlags struct {
	EnvFile string `placeholder:"FILE" help:"File with settings, as in the environment of the service, which has precedence. Default: /etc/standin/standin.env, if it is readable."`
}

// BeforeReset reads the file before the flags get their values from the environment.
func (f *envFileFlags) BeforeReset(ctx *kong.Context) error {
	for _, flag := range ctx.Flags() {
		if flag.Name != "env-file" {
			continue
		}
		if path, ok := ctx.FlagValue(flag).(string); ok && path != "" {
			return readEnvFile(path)
		}
	}
	err := readEnvFile(packagedSettings)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// readEnvFile sets the variables of a file that the environment does not have. The file has a
// variable on each line, as systemd reads it.
func readEnvFile(path string) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	for row := range strings.Lines(string(file)) {
		row = strings.TrimSpace(row)
		name, value, found := strings.Cut(row, "=")
		if !found || strings.HasPrefix(row, "#") || strings.HasPrefix(row, ";") {
			continue
		}
		if name = strings.TrimSpace(name); os.Getenv(name) != "" {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 1 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
			value = value[1 : n-1]
		}
		if value == "" {
			continue // an unset setting
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("read the settings in %s: %w", path, err)
		}
	}
	return nil
}

// readFile returns the content of the file that the variable NAME_FILE names, for a setting whose
// variable NAME is not set; empty without one. So secrets need not be in the environment.
func readFile(name string) (string, error) {
	path := os.Getenv(name + "_FILE")
	if path == "" || os.Getenv(name) != "" {
		return "", nil
	}
	value, err := fsutil.ReadSecret(path)
	if err == nil && value == "" {
		err = fmt.Errorf("%s is empty", path)
	}
	if err != nil {
		return "", fmt.Errorf("read %s_FILE: %w", name, err)
	}
	return value, nil
}

// resolveFile is a kong.ResolverFunc that reads the settings of flags from files.
func resolveFile(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (resolved any, err error) {
	for _, name := range flag.Envs {
		if value, err := readFile(name); value != "" || err != nil {
			return value, err
		}
	}
	return resolved, nil
}

// secretOf returns a secret that has no flag.
func secretOf(name string) (string, error) {
	if value := os.Getenv(name); value != "" {
		return value, nil
	}
	return readFile(name)
}

// actAsOwner makes a command that root runs act as the owner of the data directory, so that the
// service can use the files that the command creates. It also gives the owner the given folders,
// which it creates.
func actAsOwner(dataDir string, folders ...string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(filepath.Dir(dataDir))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the owner of the data directory: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	user, group := int(owner.Uid), int(owner.Gid)
	for _, folder := range folders {
		if err := os.Mkdir(folder, 0o700); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		if err := os.Chown(folder, user, group); err != nil {
			return err
		}
	}
	if err := errors.Join(syscall.Setgroups([]int{group}), syscall.Setgid(group), syscall.Setuid(user)); err != nil {
		return fmt.Errorf("act as the owner of %s: %w", dataDir, err)
	}
	return nil
}
