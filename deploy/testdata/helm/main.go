// Command helm checks a chart with Helm's linter and renders it as helm
// template does, with Helm's own packages. Compiling them takes less time than
// compiling the helm command.
//
//	helm CHART RELEASE NAMESPACE KUBERNETES-VERSION <values.yaml
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"path"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 5 {
		log.Fatal("usage: helm CHART RELEASE NAMESPACE KUBERNETES-VERSION <values.yaml")
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		log.Fatal(err)
	}
}

// run prints the chart's manifests in the order in which Helm installs them.
func run(dir, release, namespace, kubernetes string) error {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	values, err := chartutil.ReadValues(input)
	if err != nil {
		return err
	}
	version, err := chartutil.ParseKubeVersion(kubernetes)
	if err != nil {
		return err
	}
	for _, message := range lint.AllWithKubeVersion(dir, values, namespace, version).Messages {
		if message.Severity > support.InfoSev {
			return message
		}
	}
	chart, err := loader.Load(dir)
	if err != nil {
		return err
	}
	if err := chartutil.ProcessDependencies(chart, values); err != nil {
		return err
	}
	capabilities := *chartutil.DefaultCapabilities
	capabilities.KubeVersion = *version
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	data, err := chartutil.ToRenderValues(chart, values, options, &capabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, data)
	if err != nil {
		return err
	}
	for name := range files {
		if path.Base(name) == "NOTES.txt" {
			delete(files, name) // it is text for the user
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, capabilities.APIVersions, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	if len(hooks) > 0 {
		return fmt.Errorf("%s is a hook", hooks[0].Path)
	}
	for _, manifest := range manifests {
		fmt.Printf("---\n# Source: %s\n%s\n", manifest.Name, manifest.Content)
	}
	return nil
}
