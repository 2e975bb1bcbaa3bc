package doctor

import (
	"context"
	"fmt"
	"strings"

	"standin/internal/launch"
	"standin/internal/launch/docker"
	"standin/internal/launch/kubernetes"
)

// checkLauncher checks that the engine can start bots.
func checkLauncher(ctx context.Context, settings Settings) Check {
	const name = checkName("launcher")
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	if err := settings.Engines.CheckServiceURL(settings.Launcher, settings.BotServiceURL); err != nil {
		return name.fail("set STANDIN_BOT_SERVICE_URL to how bots reach the service from their containers, as in http://standin:8080",
			"%v", err)
	}
	switch settings.Launcher {
	case "", "process":
		return name.ok("process: bots run on this machine, with its browser")
	case "manual":
		return name.ok("manual: the operator runs standin bot")
	case "docker":
		bots := settings.Engines.OnDocker()
		found, err := docker.Check(ctx, bots)
		switch {
		case err != nil && found.Where == "":
			return name.fail(chooseImage, "docker: %v", err)
		case err != nil:
			return name.fail("make sure that the engine runs, that STANDIN_DOCKER_HOST or DOCKER_HOST is its address, and that this user may "+
				"use it: its socket belongs to root and usually to the group docker",
				"docker at %s: %v", found.Where, err)
		case found.HasImage:
			return name.ok("docker at %s: %s, with the image %s", found.Where, found.Engine, bots.Image)
		}
		missing := fmt.Sprintf("docker at %s: %s does not have the image %s", found.Where, found.Engine, bots.Image)
		fix := fmt.Sprintf("docker pull %s, or build it: docker build -t %s -f deploy/Dockerfile .", bots.Image, bots.Image)
		if bots.Pull == launch.PullNever {
			return name.fail(fix, "%s, and STANDIN_BOT_PULL is never", missing)
		}
		return name.warn(fix,
			"%s yet: it is pulled when the service starts, which fails if no registry has it", missing)
	case "kubernetes":
		bots, err := settings.Engines.OnKubernetes()
		if err != nil {
			return name.fail("make sure that STANDIN_KUBERNETES_KUBECONFIG or KUBECONFIG is a kubeconfig file of the cluster, unless the "+
				"service runs in it, and that STANDIN_KUBERNETES_POD_TEMPLATE, if set, is a PodTemplateSpec",
				"kubernetes: %v", err)
		}
		found, err := kubernetes.Check(ctx, bots)
		in := fmt.Sprintf("kubernetes at %s, namespace %q", found.Where, bots.Namespace)
		switch {
		case err != nil && found.Where == "":
			return name.fail(chooseImage, "kubernetes: %v", err)
		case err != nil:
			return name.fail("make sure that the API server runs, that this machine reaches it, and that the kubeconfig file has valid credentials",
				"%s: %v", in, err)
		case len(found.Missing) > 0:
			return name.fail("kubectl apply -f deploy/kubernetes/rbac.yaml, with that namespace and the service's own account, or set "+
				"STANDIN_KUBERNETES_NAMESPACE to the namespace where it has permissions",
				"%s: the service may not %s there", in, strings.Join(found.Missing, ", "))
		}
		return name.ok("%s: %s, with all permissions that bots need; nodes pull the image %s", in, found.Version, bots.Image)
	}
	return name.fail("set STANDIN_LAUNCHER to process, docker, kubernetes or manual",
		"there is no launcher %q", settings.Launcher)
}

// chooseImage is what to do without an image for bots.
const chooseImage = "set STANDIN_BOT_IMAGE to the image made from deploy/Dockerfile, and see /docs/guide/scale-out.html#choose-a-launcher " +
	"of the service"
