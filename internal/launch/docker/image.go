package docker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"standin/internal/launch"
)

// pullProgress is the progress of pulling the image.
type pullProgress struct {
	mu      sync.Mutex
	pulling bool
	layers  map[string]layerProgress
}

// layerProgress is the progress of a layer of the image, in bytes.
type layerProgress struct{ done, total int64 }

func (p *pullProgress) setPulling(pulling bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pulling, p.layers = pulling, make(map[string]layerProgress)
}

func (p *pullProgress) setLayer(id string, layer layerProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.layers[id] = layer
}

// String completes the sentence "the bots' image …".
func (p *pullProgress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.pulling {
		return "cannot be checked: the Docker engine does not answer"
	}
	var sum layerProgress
	for _, layer := range p.layers {
		sum.done, sum.total = sum.done+layer.done, sum.total+layer.total
	}
	return fmt.Sprintf("is still being pulled, %d of %d MB so far", sum.done>>20, sum.total>>20)
}

// ensureImage waits at most PullWait until the engine has the image. The
// dispatcher tries a launch again that timed out, and launches other jobs
// meanwhile.
func (l *Launcher) ensureImage(ctx context.Context) error {
	timeout := time.NewTimer(l.settings.PullWait)
	defer timeout.Stop()
	reply := make(chan error, 1)
	requests := l.imageRequests // nil after the request
	for {
		select {
		case requests <- reply:
			requests = nil
		case err := <-reply:
			return err
		case <-timeout.C:
			return fmt.Errorf("the bots' image %s %s", l.settings.Image, &l.pull)
		case <-ctx.Done():
			return fmt.Errorf("wait for the bots' image %s: %w", l.settings.Image, ctx.Err())
		}
	}
}

// serveImage pulls the image before the first launch and on every request.
// Requests that arrive during a pull share its result.
func (l *Launcher) serveImage(ctx context.Context) {
	if err := l.fetchImage(ctx); err != nil && ctx.Err() == nil {
		l.settings.Log.Error("bots cannot be launched", "error", err)
	}
	for {
		select {
		case reply := <-l.imageRequests:
			err := l.fetchImage(ctx)
			reply <- err
			l.replyAll(err)
		case <-ctx.Done():
			return
		}
	}
}

// replyAll answers all requests that wait now.
func (l *Launcher) replyAll(err error) {
	for {
		select {
		case reply := <-l.imageRequests:
			reply <- err
		default:
			return
		}
	}
}

// fetchImage pulls the image if the settings require it.
func (l *Launcher) fetchImage(ctx context.Context) error {
	switch l.settings.Pull {
	case launch.PullNever:
		return nil // without the image, creating the container fails
	case launch.PullMissing:
		inspectCtx, cancel := context.WithTimeout(ctx, launch.CallTimeout)
		defer cancel()
		_, err := l.client.ImageInspect(inspectCtx, l.settings.Image)
		if err == nil {
			return nil
		}
		if !errdefs.IsNotFound(err) {
			return engineError("inspect the bots' image", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	l.pull.setPulling(true)
	defer l.pull.setPulling(false)
	action := "pull the bots' image " + l.settings.Image
	auth, err := l.registryAuth()
	if err != nil {
		return err
	}
	stream, err := l.client.ImagePull(ctx, l.settings.Image, client.ImagePullOptions{RegistryAuth: auth})
	if err != nil {
		return engineError(action, err)
	}
	defer stream.Close()
	// Engines report most errors in the progress stream, after a successful status code.
	for message, err := range stream.JSONMessages(ctx) {
		switch {
		case err != nil:
			return engineError(action, err)
		case message.Error != nil:
			return engineError(action, message.Error)
		case message.Progress != nil && message.Progress.Total > 0:
			l.pull.setLayer(message.ID, layerProgress{message.Progress.Current, message.Progress.Total})
		}
	}
	l.settings.Log.Info("pulled the bots' image", "image", l.settings.Image)
	return nil
}

// registryAuth returns the header with the registry's credentials.
func (l *Launcher) registryAuth() (string, error) {
	if l.settings.Registry == (Registry{}) {
		return "", nil
	}
	named, err := reference.ParseNormalizedNamed(l.settings.Image)
	if err != nil {
		return "", fmt.Errorf("parse the name of the bots' image: %w", err)
	}
	encoded, err := authconfig.Encode(registry.AuthConfig{
		Username: l.settings.Registry.User, Password: l.settings.Registry.Password, ServerAddress: reference.Domain(named),
	})
	if err != nil {
		return "", fmt.Errorf("encode the registry's credentials: %w", err)
	}
	return encoded, nil
}
