package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
	"standin/internal/service"
)

// launcherFlags say how bots are started.
type launcherFlags struct {
	Launcher string `env:"STANDIN_LAUNCHER" default:"process" enum:"process,docker,kubernetes,manual" help:"How bots are started: process, docker, kubernetes, or manual (the operator runs them)."`

	engineFlags `group:"Bots in containers:"`
	Docker      dockerFlags     `embed:"" prefix:"docker-" group:"Launcher docker:"`
	Kubernetes  kubernetesFlags `embed:"" prefix:"kubernetes-" group:"Launcher kubernetes:"`
}

// engineFlags are those of both launchers whose bots run in containers.
type engineFlags struct {
	StartTime time.Duration `env:"STANDIN_START_TIME" default:"5m" help:"How long an engine may take to start a bot, its image's pull included, before the job fails."`
}

// dockerFlags are those of the launcher docker.
type dockerFlags struct {
	Host             string   `env:"STANDIN_DOCKER_HOST" placeholder:"unix:///…" help:"The engine. Default: DOCKER_HOST, else /var/run/docker.sock."`
	Image            string   `env:"STANDIN_DOCKER_IMAGE" help:"The bots' image, made from deploy/Dockerfile. Required with this launcher."`
	Pull             string   `env:"STANDIN_DOCKER_PULL" default:"missing" enum:"missing,always,never" help:"When the image is pulled: missing, always (before every launch) or never."`
	RegistryUser     string   `env:"STANDIN_DOCKER_REGISTRY_USER" help:"Who pulls the image. Default: nobody in particular."`
	RegistryPassword string   `env:"STANDIN_DOCKER_REGISTRY_PASSWORD" help:"The password that goes with it. Better in the environment than on the command line."`
	Network          string   `env:"STANDIN_DOCKER_NETWORK" help:"The bots' network. Default: the engine's."`
	ExtraHosts       []string `env:"STANDIN_DOCKER_EXTRA_HOSTS" placeholder:"NAME:ADDRESS" help:"Further names that bots know, such as host.docker.internal:host-gateway."`
	CPUs             float64  `env:"STANDIN_DOCKER_CPUS" name:"cpus" default:"2" help:"Cores that a bot may use; 0: all."`
	Memory           string   `env:"STANDIN_DOCKER_MEMORY" default:"3Gi" help:"Memory that a bot may use, in bytes or as in 3Gi; 0: all."`
	Shm              string   `env:"STANDIN_DOCKER_SHM" default:"1Gi" help:"Size of /dev/shm, a part of the memory, in bytes or as in 1Gi."`
	Tmp              string   `env:"STANDIN_DOCKER_TMP" default:"256Mi" help:"Size of /tmp, a part of the memory, in bytes or as in 256Mi."`
	Processes        int64    `env:"STANDIN_DOCKER_PROCESSES" default:"1024" help:"Processes and threads that a bot may have; 0: any number."`
	User             string   `env:"STANDIN_DOCKER_USER" default:"10001:10001" placeholder:"UID:GID" help:"Whom bots run as, in numbers; never root."`
	Seccomp          string   `env:"STANDIN_DOCKER_SECCOMP" type:"existingfile" help:"Seccomp profile that lets Chromium make its own sandbox, such as deploy/seccomp.json. Default: the engine's, and Chromium runs without its own sandbox."`
	SpoolVolume      string   `env:"STANDIN_DOCKER_SPOOL_VOLUME" help:"Named volume for what bots have yet to hand in; nothing is ever removed there. Default: each bot has a volume of its own, which goes with it."`
}

// settings are what the flags say.
func (f dockerFlags) settings() (docker.Settings, error) {
	var errs []error
	bytes := func(flag, value string) int64 {
		quantity, err := parseQuantity(flag, value)
		errs = append(errs, err)
		return quantity.Value()
	}
	settings := docker.Settings{
		Host: f.Host, Image: f.Image, Pull: docker.Pull(f.Pull), Network: f.Network, Hosts: trimmed(f.ExtraHosts),
		Registry: docker.Registry{User: f.RegistryUser, Password: f.RegistryPassword}, User: f.User, Volume: f.SpoolVolume,
		Limits: docker.Limits{
			CPUs: f.CPUs, MemoryBytes: bytes("docker-memory", f.Memory), Processes: f.Processes,
			ShmBytes: bytes("docker-shm", f.Shm), TmpBytes: bytes("docker-tmp", f.Tmp),
		},
	}
	if f.Seccomp != "" {
		profile, err := os.ReadFile(f.Seccomp)
		if err != nil {
			errs = append(errs, fmt.Errorf("read the seccomp profile: %w", err))
		}
		settings.Seccomp = string(profile)
	}
	return settings, errors.Join(errs...)
}

// kubernetesFlags are those of the launcher kubernetes.
type kubernetesFlags struct {
	Kubeconfig    string `env:"STANDIN_KUBERNETES_KUBECONFIG" name:"kubeconfig" type:"existingfile" help:"Access to the cluster. Default: the one that the service runs in, else KUBECONFIG or ~/.kube/config."`
	Namespace     string `env:"STANDIN_KUBERNETES_NAMESPACE" help:"The bots' namespace. Default: the service's own."`
	Image         string `env:"STANDIN_KUBERNETES_IMAGE" help:"The bots' image, made from deploy/Dockerfile. Required with this launcher."`
	Pull          string `env:"STANDIN_KUBERNETES_PULL" enum:"IfNotPresent,Always,Never," default:"" help:"When nodes pull the image: IfNotPresent, Always or Never. Default: the cluster's."`
	CPURequest    string `env:"STANDIN_KUBERNETES_CPU_REQUEST" name:"cpu-request" default:"1" help:"Cores that a bot is reckoned with, as in 500m; 0: left to the cluster."`
	CPULimit      string `env:"STANDIN_KUBERNETES_CPU_LIMIT" name:"cpu-limit" default:"2" help:"Cores that a bot may use; 0: left to the cluster."`
	MemoryRequest string `env:"STANDIN_KUBERNETES_MEMORY_REQUEST" default:"1Gi" help:"Memory that a bot is reckoned with; 0: left to the cluster."`
	MemoryLimit   string `env:"STANDIN_KUBERNETES_MEMORY_LIMIT" default:"3Gi" help:"Memory that a bot may use; 0: left to the cluster."`
	Shm           string `env:"STANDIN_KUBERNETES_SHM" default:"1Gi" help:"Size of /dev/shm, a part of the memory."`
	Tmp           string `env:"STANDIN_KUBERNETES_TMP" default:"1Gi" help:"Size of /tmp, on the node's disk."`
	Spool         string `env:"STANDIN_KUBERNETES_SPOOL" default:"8Gi" help:"What a bot may keep of what it has yet to hand in, on the node's disk; a bot that keeps more is evicted. 0: any amount."`
	User          int64  `env:"STANDIN_KUBERNETES_USER" default:"10001" help:"Whom bots run as, in numbers; never root."`
	Group         int64  `env:"STANDIN_KUBERNETES_GROUP" default:"10001" help:"The group that goes with it."`
	Seccomp       string `env:"STANDIN_KUBERNETES_SECCOMP" placeholder:"PATH" help:"Seccomp profile of the nodes, below the kubelet's folder, that lets Chromium make its own sandbox. Default: the runtime's, and Chromium runs without its own sandbox."`
	PodTemplate   string `env:"STANDIN_KUBERNETES_POD_TEMPLATE" type:"existingfile" help:"A PodTemplateSpec in YAML that bots' pods are made from: node selectors, tolerations, pull secrets, volumes. Default: no more than a bot needs."`
}

// settings are what the flags say.
func (f kubernetesFlags) settings() (service.KubernetesSettings, error) {
	var errs []error
	quantity := func(flag, value string) resource.Quantity {
		quantity, err := parseQuantity(flag, value)
		errs = append(errs, err)
		return quantity
	}
	settings := service.KubernetesSettings{
		Kubeconfig: f.Kubeconfig, PodTemplate: f.PodTemplate,
		Settings: kubernetes.Settings{
			Namespace: f.Namespace, Image: f.Image, Pull: corev1.PullPolicy(f.Pull), User: f.User, Group: f.Group, Seccomp: f.Seccomp,
			Resources: kubernetes.Resources{
				CPURequest: quantity("kubernetes-cpu-request", f.CPURequest), CPULimit: quantity("kubernetes-cpu-limit", f.CPULimit),
				MemoryRequest: quantity("kubernetes-memory-request", f.MemoryRequest), MemoryLimit: quantity("kubernetes-memory-limit", f.MemoryLimit),
				Shm: quantity("kubernetes-shm", f.Shm), Tmp: quantity("kubernetes-tmp", f.Tmp), Spool: quantity("kubernetes-spool", f.Spool),
			},
		},
	}
	return settings, errors.Join(errs...)
}

// engines are the settings of both launchers, of which one is used at the most.
func (f launcherFlags) engines() (settings service.Settings, err error) {
	var dockerErr, kubernetesErr error
	settings.Docker, dockerErr = f.Docker.settings()
	settings.Kubernetes, kubernetesErr = f.Kubernetes.settings()
	return settings, errors.Join(dockerErr, kubernetesErr)
}

// parseQuantity reads an amount as Kubernetes writes it; both launchers do.
func parseQuantity(flag, value string) (resource.Quantity, error) {
	quantity, err := resource.ParseQuantity(value)
	if err != nil || quantity.Sign() < 0 {
		return resource.Quantity{}, fmt.Errorf("--%s: %q is no amount such as 500m, 2 or 1Gi", flag, value)
	}
	return quantity, nil
}
