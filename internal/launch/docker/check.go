package docker

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// Found is what a look at an engine found.
type EngineInfo struct {
	Where    string // the engine's address
	Engine   string // its name and version, as it tells them
	HasImage bool
}

// Check asks the engine whether it is there and has the bots' image. Nothing is
// pulled or made. An error with an empty Found is one of the settings; with one
// that says where, the engine's.
func Check(ctx context.Context, settings Settings) (EngineInfo, error) {
	settings.Instance = "check" // its containers are not looked at
	settings, err := settings.complete()
	if err != nil {
		return EngineInfo{}, err
	}
	engine, err := connect(settings.Host)
	if err != nil {
		return EngineInfo{}, err
	}
	defer engine.Close() // idle connections only
	found := EngineInfo{Where: engine.DaemonHost()}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	version, err := engine.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return found, away("ask for the engine's version", err)
	}
	found.Engine = fmt.Sprintf("%s (API %s)", version.Version, version.APIVersion)
	if version.Platform.Name != "" {
		found.Engine = version.Platform.Name + " " + found.Engine
	}
	_, err = engine.ImageInspect(ctx, settings.Image)
	if err != nil && !errdefs.IsNotFound(err) {
		return found, away("look for the bots' image", err)
	}
	found.HasImage = err == nil
	return found, nil
}

// connect makes a client. Nothing is asked yet.
func connect(host string) (*client.Client, error) {
	options := []client.Opt{client.FromEnv, client.WithUserAgent("standin")}
	if host != "" {
		options = append(options, client.WithHost(host))
	}
	engine, err := client.New(options...)
	if err != nil {
		return nil, fmt.Errorf("reach the Docker engine: %w", err)
	}
	return engine, nil
}
