package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"k8s.io/apimachinery/pkg/api/resource"

	"standin/internal/launch"
)

// spoolDir is where the volume for media that is not uploaded yet is mounted.
const spoolDir = "/var/spool/standin"

// maxProcesses limits the processes and threads of a bot.
const maxProcesses = 1024

// botDir returns the bot's folder in its container.
func botDir(key launch.Key) string { return path.Join(spoolDir, key.String()) }

// containerOptions describes an attempt's container. Beyond network, memory and
// a place for its spool, a bot gets no privileges.
func (l *Launcher) containerOptions(key launch.Key) client.ContainerCreateOptions {
	// The volume for the spool and, read-only, the folder of the bots' profiles. No two bots share a volume: a bot
	// must not read what another has recorded.
	volume := ""
	if l.Volume != "" {
		volume = l.Volume + "-" + key.String()
	}
	mounts := []mount.Mount{{
		Type: mount.TypeVolume, Source: volume, Target: spoolDir, VolumeOptions: &mount.VolumeOptions{Labels: l.Labels(key)},
	}}
	if folder := l.Bot.Profiles; folder != "" {
		mounts = append(mounts, mount.Mount{Type: mount.TypeBind, Source: folder, Target: folder, ReadOnly: true})
	}
	memory := l.MemoryLimit.Value()
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(l.Network),
		ExtraHosts:     l.ExtraHosts,
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges:true"},
		ReadonlyRootfs: true,
		Tmpfs:          map[string]string{"/tmp": "rw,nosuid,nodev,mode=1777,size=256m"},
		ShmSize:        1 << 30,
		Init:           new(true), // reaps orphaned processes of the browser
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Mounts:         mounts,
		Resources: container.Resources{
			NanoCPUs: l.CPULimit.ScaledValue(resource.Nano), Memory: memory, MemorySwap: memory, PidsLimit: new(int64(maxProcesses)),
		},
	}
	if l.Seccomp != "" {
		host.SecurityOpt = append(host.SecurityOpt, "seccomp="+l.Seccomp)
	}
	command := append(slices.Clone(l.Command), "--config", path.Join(botDir(key), launch.ConfigFile))
	environment := []string{"HOME=/tmp", "TMPDIR=/tmp"}
	for _, name := range launch.ProxyVariables {
		environment = append(environment, name+"="+os.Getenv(name)) // an empty one counts as unset
	}
	return client.ContainerCreateOptions{
		Name: l.Name(key),
		Config: &container.Config{
			Image: l.Image, Cmd: command, User: l.User, Labels: l.Labels(key),
			Env:         environment,
			StopTimeout: new(int(l.LeaveTime / time.Second)),
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, // that of the image is for the service
		},
		HostConfig: host,
	}
}

// configArchive returns a tar archive of the bot's folder with its
// configuration, which is copied into the volume so that inspecting the
// container reveals no secrets.
func (l *Launcher) configArchive(a launch.Assignment) (*bytes.Buffer, error) {
	dir := botDir(a.Key())
	config, encodeErr := launch.NewBotConfig(a, l.Bot, dir).Encode()
	uid, gid, userErr := l.UserIDs()
	if err := errors.Join(encodeErr, userErr); err != nil {
		return nil, err
	}
	folder := path.Base(dir)
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	var errs []error
	for _, header := range []*tar.Header{
		{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o700},
		{Typeflag: tar.TypeReg, Name: path.Join(folder, launch.ConfigFile), Mode: 0o600, Size: int64(len(config))},
	} {
		header.Uid, header.Gid, header.ModTime = int(uid), int(gid), l.Now()
		errs = append(errs, archive.WriteHeader(header))
	}
	_, err := archive.Write(config)
	if err := errors.Join(append(errs, err, archive.Close())...); err != nil {
		return nil, fmt.Errorf("archive the bot's configuration: %w", err)
	}
	return &content, nil
}
