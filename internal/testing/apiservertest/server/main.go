// Command server runs a component of a Kubernetes control plane for tests: etcd,
// the API server, the controllers or the scheduler. The control plane has no
// nodes, so tests set the status of pods.
//
// It is a separate module, so that Standin does not depend on Kubernetes.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: server etcd|apiserver|controllers|scheduler FLAGS")
		os.Exit(2)
	}
	component, flags := os.Args[1], os.Args[1:]
	os.Args = flags
	switch component {
	case "etcd":
		etcdmain.Main(flags)
	case "apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "controllers":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	default:
		fmt.Fprintf(os.Stderr, "there is no part %q\n", component)
		os.Exit(2)
	}
}
