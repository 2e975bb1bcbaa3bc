package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"standin/deploy"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
	"standin/internal/service"
)

// launcherFlags select and configure the launcher.
type launcherFlags struct {
	Launcher string `env:"STANDIN_LAUNCHER" default:"process" enum:"process,docker,kubernetes,manual" help:"How bots are launched: process, docker, kubernetes, or manual (the operator runs them)."`

	engineFlags `group:"Bots in containers:"`
	Docker      dockerFlags     `embed:"" prefix:"docker-" group:"Launcher docker:"`
	Kubernetes  kubernetesFlags `embed:"" prefix:"kubernetes-" group:"Launcher kubernetes:"`
}

// engineFlags are shared by the docker and kubernetes launchers.
type engineFlags struct {
	StartTime time.Duration `env:"STANDIN_START_TIME" default:"5m" help:"How long the engine may take to start a bot, including the image pull, before the job fails."`
}

// dockerFlags configure the docker launcher.
type dockerFlags struct {
	Host             string   `env:"STANDIN_DOCKER_HOST" placeholder:"unix:///…" help:"Address of the Docker engine. Default: DOCKER_HOST, else /var/run/docker.sock."`
	Image            string   `env:"STANDIN_DOCKER_IMAGE" help:"Image of the bots, built from deploy/Dockerfile. Required with this launcher."`
	Pull             string   `env:"STANDIN_DOCKER_PULL" default:"missing" enum:"missing,always,never" help:"When the image is pulled: missing, always (before every launch) or never."`
	RegistryUser     string   `env:"STANDIN_DOCKER_REGISTRY_USER" help:"User name for the image registry. Default: none."`
	RegistryPassword string   `env:"STANDIN_DOCKER_REGISTRY_PASSWORD" help:"Password for the image registry. Prefer the environment variable."`
	Network          string   `env:"STANDIN_DOCKER_NETWORK" help:"Network of the bots. Default: the engine's default network."`
	ExtraHosts       []string `env:"STANDIN_DOCKER_EXTRA_HOSTS" placeholder:"NAME:ADDRESS" help:"Additional host entries in the bots' containers, such as host.docker.internal:host-gateway."`
	CPUs             float64  `env:"STANDIN_DOCKER_CPUS" name:"cpus" default:"2" help:"CPU limit of a bot, in cores; 0 means no limit."`
	Memory           string   `env:"STANDIN_DOCKER_MEMORY" default:"3Gi" help:"Memory limit of a bot, in bytes or such as 3Gi; 0 means no limit."`
	Shm              string   `env:"STANDIN_DOCKER_SHM" default:"1Gi" help:"Size of /dev/shm, in bytes or such as 1Gi; counts against the memory limit."`
	Tmp              string   `env:"STANDIN_DOCKER_TMP" default:"256Mi" help:"Size of /tmp, in bytes or such as 256Mi; counts against the memory limit."`
	Processes        int64    `env:"STANDIN_DOCKER_PROCESSES" default:"1024" help:"Maximum number of processes and threads of a bot; 0 means no limit."`
	User             string   `env:"STANDIN_DOCKER_USER" default:"10001:10001" placeholder:"UID:GID" help:"Numeric user and group of the bots; root is rejected."`
	Seccomp          string   `env:"STANDIN_DOCKER_SECCOMP" default:"embedded" placeholder:"embedded|engine|FILE" help:"Seccomp profile of bots: embedded (deploy/seccomp.json, which allows Chromium's sandbox), engine (the engine's own, with Chromium's sandbox off), or a file."`
	SpoolVolume      string   `env:"STANDIN_DOCKER_SPOOL_VOLUME" help:"Prefix of named volumes for the bots' spools, one for each bot, which are never removed. Default: an anonymous volume for each bot, removed with the bot."`
}

// settings converts the flags.
func (f dockerFlags) settings() (docker.Settings, error) {
	var errs []error
	bytes := func(flag, value string) int64 {
		size, err := parseQuantity(flag, value)
		errs = append(errs, err)
		return size.Value()
	}
	settings := docker.Settings{
		RemoteSettings: launch.RemoteSettings{Image: f.Image},
		Host:           f.Host, Pull: docker.Pull(f.Pull), Network: f.Network, ExtraHosts: trimmed(f.ExtraHosts),
		Registry: docker.Registry{User: f.RegistryUser, Password: f.RegistryPassword}, User: f.User, Volume: f.SpoolVolume,
		Limits: docker.Limits{
			CPUs: f.CPUs, MemoryBytes: bytes("docker-memory", f.Memory), Processes: f.Processes,
			ShmBytes: bytes("docker-shm", f.Shm), TmpBytes: bytes("docker-tmp", f.Tmp),
		},
	}
	switch f.Seccomp {
	case "engine":
	case "embedded":
		settings.Seccomp = deploy.SeccompProfile()
	default:
		profile, err := os.ReadFile(f.Seccomp)
		if err != nil {
			errs = append(errs, fmt.Errorf("read the seccomp profile: %w", err))
		}
		settings.Seccomp = string(profile)
	}
	return settings, errors.Join(errs...)
}

// kubernetesFlags configure the kubernetes launcher.
type kubernetesFlags struct {
	Kubeconfig    string `env:"STANDIN_KUBERNETES_KUBECONFIG" name:"kubeconfig" type:"existingfile" help:"Kubeconfig file. Default: KUBECONFIG or ~/.kube/config, else the cluster that the service runs in."`
	Namespace     string `env:"STANDIN_KUBERNETES_NAMESPACE" help:"Namespace of the bots. Default: the namespace of the service."`
	Image         string `env:"STANDIN_KUBERNETES_IMAGE" help:"Image of the bots, built from deploy/Dockerfile. Required with this launcher."`
	Pull          string `env:"STANDIN_KUBERNETES_PULL" enum:"IfNotPresent,Always,Never," default:"" help:"Image pull policy: IfNotPresent, Always or Never. Default: the cluster's default."`
	CPURequest    string `env:"STANDIN_KUBERNETES_CPU_REQUEST" name:"cpu-request" default:"1" help:"CPU request of a bot, such as 500m; 0 omits it."`
	CPULimit      string `env:"STANDIN_KUBERNETES_CPU_LIMIT" name:"cpu-limit" default:"2" help:"CPU limit of a bot; 0 omits it."`
	MemoryRequest string `env:"STANDIN_KUBERNETES_MEMORY_REQUEST" default:"1Gi" help:"Memory request of a bot; 0 omits it."`
	MemoryLimit   string `env:"STANDIN_KUBERNETES_MEMORY_LIMIT" default:"3Gi" help:"Memory limit of a bot; 0 omits it."`
	Shm           string `env:"STANDIN_KUBERNETES_SHM" default:"1Gi" help:"Size of /dev/shm; counts against the memory limit."`
	Tmp           string `env:"STANDIN_KUBERNETES_TMP" default:"1Gi" help:"Size of /tmp on the node's disk."`
	Spool         string `env:"STANDIN_KUBERNETES_SPOOL" default:"8Gi" help:"Size of a bot's spool on the node's disk; a bot that exceeds it is evicted. 0 means no limit."`
	User          int64  `env:"STANDIN_KUBERNETES_USER" default:"10001" help:"Numeric user of the bots; root is rejected."`
	Group         int64  `env:"STANDIN_KUBERNETES_GROUP" default:"10001" help:"Numeric group of the bots."`
	Seccomp       string `env:"STANDIN_KUBERNETES_SECCOMP" placeholder:"PATH" help:"Seccomp profile on the nodes, relative to the kubelet's directory, that allows Chromium's sandbox. Default: the runtime's profile, with Chromium's sandbox off."`
	PodTemplate   string `env:"STANDIN_KUBERNETES_POD_TEMPLATE" type:"existingfile" help:"YAML file with a PodTemplateSpec that bot pods are based on: node selectors, tolerations, pull secrets, volumes. Default: a minimal pod."`
}

// settings converts the flags.
func (f kubernetesFlags) settings() (service.KubernetesSettings, error) {
	var errs []error
	quantity := func(flag, value string) resource.Quantity {
		size, err := parseQuantity(flag, value)
		errs = append(errs, err)
		return size
	}
	settings := service.KubernetesSettings{
		Kubeconfig: f.Kubeconfig, PodTemplate: f.PodTemplate,
		Settings: kubernetes.Settings{
			RemoteSettings: launch.RemoteSettings{Image: f.Image},
			Namespace:      f.Namespace, Pull: corev1.PullPolicy(f.Pull), User: f.User, Group: f.Group, Seccomp: f.Seccomp,
			Resources: kubernetes.Resources{
				CPURequest: quantity("kubernetes-cpu-request", f.CPURequest), CPULimit: quantity("kubernetes-cpu-limit", f.CPULimit),
				MemoryRequest: quantity("kubernetes-memory-request", f.MemoryRequest), MemoryLimit: quantity("kubernetes-memory-limit", f.MemoryLimit),
				Shm: quantity("kubernetes-shm", f.Shm), Tmp: quantity("kubernetes-tmp", f.Tmp), Spool: quantity("kubernetes-spool", f.Spool),
			},
		},
	}
	return settings, errors.Join(errs...)
}

// engines converts the flags of both launchers. At most one of them is used.
func (f launcherFlags) engines() (settings service.Settings, err error) {
	var dockerErr, kubernetesErr error
	settings.Docker, dockerErr = f.Docker.settings()
	settings.Kubernetes, kubernetesErr = f.Kubernetes.settings()
	return settings, errors.Join(dockerErr, kubernetesErr)
}

// parseQuantity returns the value of a flag that is a Kubernetes quantity.
func parseQuantity(flag, value string) (resource.Quantity, error) {
	size, err := resource.ParseQuantity(value)
	if err != nil || size.Sign() < 0 {
		return resource.Quantity{}, fmt.Errorf("--%s: %q is not a quantity such as 500m, 2 or 1Gi", flag, value)
	}
	return size, nil
}
