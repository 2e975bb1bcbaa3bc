package doctor

import (
	"context"
	"fmt"
	"strings"

	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
	"standin/internal/service"
)

// elsewhere reports whether bots run in containers, which bring their own
// browser.
func (s Settings) elsewhere() bool { return s.Launcher == "docker" || s.Launcher == "kubernetes" }

// checkLauncher asks the engine that starts the bots whether it can.
func checkLauncher(ctx context.Context, settings Settings) Check {
	const name = verdict("launcher")
	ctx, cancel := context.WithTimeout(ctx, serverTime)
	defer cancel()
	served := service.Settings{Launcher: settings.Launcher, BotServiceURL: settings.BotServiceURL, Docker: settings.Docker}
	if err := served.CheckLauncher(); err != nil {
		return name.fail(err.Error(), "set STANDIN_BOT_SERVICE_URL to how bots reach the service from their containers, as in http://standin:8080")
	}
	switch settings.Launcher {
	case "", "process":
		return name.ok("process: bots run on this machine, with its browser")
	case "manual":
		return name.ok("manual: nothing is launched, the operator runs standin bot")
	case "docker":
		return checkDocker(ctx, name, settings.Docker)
	case "kubernetes":
		return checkKubernetes(ctx, name, settings.Kubernetes)
	}
	return name.fail(fmt.Sprintf("there is no launcher %q", settings.Launcher), "set STANDIN_LAUNCHER to process, docker, kubernetes or manual")
}

// checkDocker asks the engine for its version and for the bots' image.
func checkDocker(ctx context.Context, name verdict, settings docker.Settings) Check {
	found, err := docker.Check(ctx, settings)
	switch {
	case err != nil && found.Where == "":
		return name.fail("docker: "+err.Error(), "set STANDIN_DOCKER_IMAGE to the image made from deploy/Dockerfile, and the rest as docs/launchers.md says")
	case err != nil:
		return name.fail(fmt.Sprintf("docker at %s: %v", found.Where, err),
			"see that the engine runs, that STANDIN_DOCKER_HOST or DOCKER_HOST leads to it, and that this user may use it: "+
				"its socket belongs to root and mostly to the group docker")
	case found.HasImage:
		return name.ok("docker at %s: %s, with the image %s", found.Where, found.Engine, settings.Image)
	}
	is := fmt.Sprintf("docker at %s: %s does not have the image %s", found.Where, found.Engine, settings.Image)
	get := fmt.Sprintf("docker pull %s, or build it: docker build -t %s -f deploy/Dockerfile .", settings.Image, settings.Image)
	if settings.Pull == docker.PullNever {
		return name.fail(is+", and STANDIN_DOCKER_PULL is never", get)
	}
	return name.warn(is+" yet: it is pulled when the service starts, which fails where no registry has it", get)
}

// checkKubernetes asks the cluster for its version and for the service's
// rights.
func checkKubernetes(ctx context.Context, name verdict, settings service.KubernetesSettings) Check {
	from, err := settings.Resolve()
	if err != nil {
		return name.fail("kubernetes: "+err.Error(), "see that STANDIN_KUBERNETES_KUBECONFIG or KUBECONFIG names a file that leads to the cluster, unless the service runs in it, "+
			"and STANDIN_KUBERNETES_POD_TEMPLATE, where it is set, a PodTemplateSpec")
	}
	found, err := kubernetes.Check(ctx, from)
	in := fmt.Sprintf("kubernetes at %s, namespace %q", found.Where, from.Namespace)
	switch {
	case err != nil && found.Where == "":
		return name.fail("kubernetes: "+err.Error(), "set STANDIN_KUBERNETES_IMAGE to the image made from deploy/Dockerfile, and the rest as docs/launchers.md says")
	case err != nil:
		return name.fail(in+": "+err.Error(),
			"see that the API server runs, that it is reachable from here, and that the token or certificate of the service account is the cluster's")
	case len(found.Missing) > 0:
		return name.fail(fmt.Sprintf("%s: the service may not %s there", in, strings.Join(found.Missing, ", ")),
			"kubectl apply -f deploy/kubernetes/rbac.yaml, with that namespace and the service's own account, or set STANDIN_KUBERNETES_NAMESPACE to where it has its rights")
	}
	return name.ok("%s: %s, with all rights that bots need; nodes pull the image %s", in, found.Version, from.Image)
}
