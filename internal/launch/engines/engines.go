// Package engines connects the service to the engines that run bots in containers. The
// service does not import it, so that a program without them does not link their clients.
package engines

import (
	"cmp"
	"fmt"

	"standin/internal/bot/browser"
	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
)

// Settings configure the engines.
type Settings struct {
	launch.ContainerSettings `embed:"" prefix:"bot-" envprefix:"STANDIN_BOT_" group:"Bots in containers:"`

	Docker     docker.Settings    `embed:"" prefix:"docker-" envprefix:"STANDIN_DOCKER_" group:"Launcher docker:"`
	Kubernetes KubernetesSettings `embed:"" prefix:"kubernetes-" envprefix:"STANDIN_KUBERNETES_" group:"Launcher kubernetes:"`
}

// KubernetesSettings configure the launcher kubernetes.
type KubernetesSettings struct {
	kubernetes.Settings
	Kubeconfig  string `env:"KUBECONFIG" name:"kubeconfig" type:"existingfile" help:"Kubeconfig file. Default: KUBECONFIG or ~/.kube/config, else the cluster that the service runs in."`
	PodTemplate string `env:"POD_TEMPLATE" type:"existingfile" help:"YAML file with a PodTemplateSpec that bot pods are based on: node selectors, tolerations, pull secrets, volumes. Default: a minimal pod."`
}

// OnDocker returns the settings of the launcher docker.
func (s Settings) OnDocker() docker.Settings {
	settings := s.Docker
	settings.ContainerSettings = s.ContainerSettings
	return settings
}

// OnKubernetes returns the settings of the launcher kubernetes with the cluster, its namespace
// and the pod template.
func (s Settings) OnKubernetes() (kubernetes.Settings, error) {
	settings := s.Kubernetes.Settings
	settings.ContainerSettings = s.ContainerSettings
	config, namespace, err := kubernetes.FindCluster(s.Kubernetes.Kubeconfig)
	if err != nil {
		return settings, err
	}
	settings.Cluster = config
	settings.Namespace = cmp.Or(settings.Namespace, namespace)
	if s.Kubernetes.PodTemplate != "" {
		settings.Template, err = kubernetes.ReadPodTemplate(s.Kubernetes.PodTemplate)
	}
	return settings, err
}

// CheckServiceURL returns an error if bots in the containers of a launcher cannot reach
// the service.
func (s Settings) CheckServiceURL(launcher, url string) error {
	if inContainers := launcher == "docker" || launcher == "kubernetes"; inContainers && url == "" && s.Docker.Network != "host" {
		return fmt.Errorf("STANDIN_BOT_SERVICE_URL must be set with the launcher %s: "+
			"in a bot's container the address that the service listens on is the container itself", launcher)
	}
	return nil
}

// Open connects to the engine of a launcher, with settings of the service.
func (s Settings) Open(launcher string, shared launch.RemoteSettings) (launch.RemoteLauncher, error) {
	shared.ContainerSettings = s.ContainerSettings
	switch launcher {
	case "docker":
		settings := s.Docker
		settings.RemoteSettings = withSandbox(shared, s.Seccomp != docker.EngineSeccomp)
		connected, err := docker.New(settings)
		if err != nil {
			return nil, err
		}
		return connected, nil
	case "kubernetes":
		settings, err := s.OnKubernetes()
		if err != nil {
			return nil, err
		}
		settings.RemoteSettings = withSandbox(shared, s.Seccomp != "")
		connected, err := kubernetes.New(settings)
		if err != nil {
			return nil, err
		}
		return connected, nil
	}
	return nil, fmt.Errorf("unknown launcher %q; the launchers are process, docker, kubernetes and manual", launcher)
}

// withSandbox turns Chromium's sandbox off unless the seccomp profile allows it, which the default
// profiles of containers do not. Under those, the container is the sandbox.
func withSandbox(shared launch.RemoteSettings, allowed bool) launch.RemoteSettings {
	switch {
	case shared.Bot.NoSandbox:
		browser.WarnNoSandbox(shared.Log, browser.NoSandboxSetting+" is set")
	case !allowed:
		shared.Bot.NoSandbox = true
		browser.WarnNoSandbox(shared.Log, "the default seccomp profile of containers does not allow it")
	}
	return shared
}
