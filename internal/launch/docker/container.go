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
	memory := l.settings.MemoryLimit.Value()
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(l.settings.Network),
		ExtraHosts:     l.settings.ExtraHosts,
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges:true"},
		ReadonlyRootfs: true,
		Tmpfs:          map[string]string{"/tmp": "rw,nosuid,nodev,mode=1777,size=256m"},
		ShmSize:        1 << 30,
		Init:           new(true), // reaps orphaned processes of the browser
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Mounts:         l.mounts(key),
		Resources: container.Resources{
			NanoCPUs: l.settings.CPULimit.ScaledValue(resource.Nano), Memory: memory, MemorySwap: memory, PidsLimit: new(int64(maxProcesses)),
		},
	}
	if l.settings.Seccomp != "" {
		host.SecurityOpt = append(host.SecurityOpt, "seccomp="+l.settings.Seccomp)
	}
	command := append(slices.Clone(l.settings.Command), "--config", path.Join(botDir(key), launch.ConfigFile))
	environment := []string{"HOME=/tmp", "TMPDIR=/tmp"}
	for _, name := range launch.ProxyVariables {
		environment = append(environment, name+"="+os.Getenv(name)) // an empty one counts as unset
	}
	return client.ContainerCreateOptions{
		Name: l.settings.Name(key),
		Config: &container.Config{
			Image: l.settings.Image, Cmd: command, User: l.settings.User, Labels: l.settings.Labels(key),
			Env:         environment,
			StopTimeout: new(int(l.settings.LeaveTime / time.Second)),
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, // that of the image is for the service
		},
		HostConfig: host,
	}
}

// mounts returns the volume for the spool and, read-only, the folder of the
// bots' profiles. No two bots share a volume: a bot must not read what another
// has recorded.
func (l *Launcher) mounts(key launch.Key) []mount.Mount {
	volume := ""
	if l.settings.Volume != "" {
		volume = l.settings.Volume + "-" + key.String()
	}
	mounts := []mount.Mount{{
		Type: mount.TypeVolume, Source: volume, Target: spoolDir, VolumeOptions: &mount.VolumeOptions{Labels: l.settings.Labels(key)},
	}}
	if folder := l.settings.Bot.Profiles; folder != "" {
		mounts = append(mounts, mount.Mount{Type: mount.TypeBind, Source: folder, Target: folder, ReadOnly: true})
	}
	return mounts
}

// configArchive returns a tar archive of the bot's folder with its
// configuration, which is copied into the volume so that inspecting the
// container reveals no secrets.
func (l *Launcher) configArchive(a launch.Assignment) (*bytes.Buffer, error) {
	dir := botDir(a.Key())
	config, encodeErr := launch.NewBotConfig(a, l.settings.Bot, dir).Encode()
	uid, gid, userErr := l.settings.UserIDs()
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
		header.Uid, header.Gid, header.ModTime = int(uid), int(gid), l.settings.Now()
		errs = append(errs, archive.WriteHeader(header))
	}
	_, err := archive.Write(config)
	if err := errors.Join(append(errs, err, archive.Close())...); err != nil {
		return nil, fmt.Errorf("archive the bot's configuration: %w", err)
	}
	return &content, nil
}
