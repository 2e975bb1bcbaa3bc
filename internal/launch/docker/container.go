package docker

import (
	"archive/tar"
	"bytes"
	"fmt"
	"path"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"standin/internal/launch"
)

// Labels by which containers are found again. None of them is a secret.
const (
	labelInstance = "standin.instance"
	labelJob      = "standin.job"
	labelAttempt  = "standin.attempt"
)

// Places in a bot's container.
const (
	spoolDir = "/var/spool/standin" // what has yet to be handed in, on a volume
	taskFile = "task"               // in the bot's folder
)

// name is the one that an attempt's container has: the engine gives it once.
func (l *Launcher) name(key launch.Key) string {
	return fmt.Sprintf("standin-%s-%s-%d", l.settings.Instance, key.JobID, key.Attempt)
}

// labels are those of an attempt's container.
func (l *Launcher) labels(key launch.Key) map[string]string {
	return map[string]string{
		labelInstance: l.settings.Instance,
		labelJob:      key.JobID.String(),
		labelAttempt:  strconv.Itoa(key.Attempt),
	}
}

// keyOf reads whose container it is; false when it is none of this instance's.
func (l *Launcher) keyOf(labels map[string]string) (launch.Key, bool) {
	jobID, err := uuid.Parse(labels[labelJob])
	if err != nil || labels[labelInstance] != l.settings.Instance {
		return launch.Key{}, false
	}
	attempt, err := strconv.Atoi(labels[labelAttempt])
	return launch.Key{JobID: jobID, Attempt: attempt}, err == nil
}

// dir is the bot's folder in its container.
func dir(key launch.Key) string {
	return path.Join(spoolDir, key.JobID.String()+"-"+strconv.Itoa(key.Attempt))
}

// container describes an attempt's container: a bot needs a network, memory
// and a place for what it records, and gets nothing else.
func (l *Launcher) container(key launch.Key) client.ContainerCreateOptions {
	limits := l.settings.Limits
	withInit := true // which buries the browser's orphans
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(l.settings.Network),
		ExtraHosts:     l.settings.Hosts,
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges:true"},
		ReadonlyRootfs: true,
		Tmpfs:          map[string]string{"/tmp": "rw,nosuid,nodev,mode=1777" + size(limits.TmpBytes)},
		ShmSize:        limits.ShmBytes,
		Init:           &withInit,
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Mounts:         l.mounts(),
		Resources: container.Resources{
			NanoCPUs: int64(limits.CPUs * 1e9), Memory: limits.MemoryBytes, MemorySwap: limits.MemoryBytes,
		},
	}
	if limits.Processes > 0 {
		host.PidsLimit = &limits.Processes
	}
	if l.settings.Seccomp != "" {
		host.SecurityOpt = append(host.SecurityOpt, "seccomp="+l.settings.Seccomp)
	}
	leave := int(l.settings.LeaveTime / time.Second)
	return client.ContainerCreateOptions{
		Name: l.name(key),
		Config: &container.Config{
			Image: l.settings.Image, Cmd: l.settings.Command, User: l.settings.User, Labels: l.labels(key),
			Env:         []string{launch.EnvTask + "=" + path.Join(dir(key), taskFile), "HOME=/tmp", "TMPDIR=/tmp"},
			StopTimeout: &leave,
		},
		HostConfig: host,
	}
}

// size is a tmpfs option; none for the engine's default.
func size(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf(",size=%d", bytes)
}

// mounts are the volume of what has yet to be handed in, and the folders of
// the bots' setup, which no bot may change.
func (l *Launcher) mounts() []mount.Mount {
	mounts := []mount.Mount{{Type: mount.TypeVolume, Source: l.settings.Volume, Target: spoolDir}}
	for _, folder := range []string{l.settings.Bot.Profiles, l.settings.Bot.SignIn, l.settings.Bot.ZoomSDK.Dir} {
		if folder != "" {
			mounts = append(mounts, mount.Mount{Type: mount.TypeBind, Source: folder, Target: folder, ReadOnly: true})
		}
	}
	return mounts
}

// archive is the bot's folder with its task in it, to be put into the volume:
// nothing of it is to be seen in what the engine tells of a container.
func (l *Launcher) archive(a launch.Assignment) (*bytes.Buffer, error) {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	task, err := a.Task(dir(key), l.settings.Bot, l.settings.More)
	if err != nil {
		return nil, err
	}
	uid, gid, err := l.settings.ids()
	if err != nil {
		return nil, err
	}
	folder := path.Base(dir(key))
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	for _, header := range []*tar.Header{
		{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o700},
		{Typeflag: tar.TypeReg, Name: path.Join(folder, taskFile), Mode: 0o600, Size: int64(len(task))},
	} {
		header.Uid, header.Gid, header.ModTime = uid, gid, l.settings.Now()
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack the bot's task: %w", err)
		}
	}
	if _, err := archive.Write(task); err != nil {
		return nil, fmt.Errorf("pack the bot's task: %w", err)
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("pack the bot's task: %w", err)
	}
	return &content, nil
}
