package docker

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"standin/internal/launch"
)

// EngineInfo is the result of Check.
type EngineInfo struct {
	Where    string // the engine's address
	Engine   string // its name and version
	HasImage bool
}

// Check reports whether the engine answers and has the bots' image, and changes
// nothing. When Where is set, the error comes from the engine; otherwise, from
// the settings.
func Check(ctx context.Context, settings Settings) (EngineInfo, error) {
	settings.Instance = "check" // not used
	settings, err := settings.withDefaults()
	if err != nil {
		return EngineInfo{}, err
	}
	engine, err := newClient(settings.Host)
	if err != nil {
		return EngineInfo{}, err
	}
	defer engine.Close()
	found := EngineInfo{Where: engine.DaemonHost()}
	ctx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
	defer cancel()
	version, err := engine.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return found, engineError("query the engine's version", err)
	}
	found.Engine = fmt.Sprintf("%s (API %s)", version.Version, version.APIVersion)
	if version.Platform.Name != "" {
		found.Engine = version.Platform.Name + " " + found.Engine
	}
	_, err = engine.ImageInspect(ctx, settings.Image)
	if err != nil && !errdefs.IsNotFound(err) {
		return found, engineError("inspect the bots' image", err)
	}
	found.HasImage = err == nil
	return found, nil
}
