// Command server is a Kubernetes control plane for tests: the real API server
// on an etcd of its own, and the controllers without which a Job is only a
// row: those of Jobs, of finished Jobs' time to live, and of owned objects. No
// node belongs to it; a test says what becomes of pods.
//
// Its module is its own: nothing of it is part of Standin.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: server etcd|apiserver|controllers FLAGS")
		os.Exit(2)
	}
	part, flags := os.Args[1], os.Args[1:]
	os.Args = flags
	switch part {
	case "etcd":
		etcdmain.Main(flags)
	case "apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "controllers":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	default:
		fmt.Fprintf(os.Stderr, "there is no part %q\n", part)
		os.Exit(2)
	}
}
